//! One stream of a recording on its page.

use core::fmt::Write as _;

use schwann_recorder::{Finding, Limits, unjudged};
use schwann_xdf::{ClockMap, ClockOffset, StreamSurvey};

use super::draw::{curve, histogram};
use super::{has, put_more, text, time};
use crate::cmd::survey;
use crate::terminal::{Readable, plural, thousands};

/// Appends the section of a stream.
pub(super) fn put(out: &mut String, stream: &StreamSurvey, found: &[Finding], limits: &Limits) {
    let header = &stream.header;
    let _ = writeln!(out, "<section>\n<h2>Stream {}: <bdi>{}</bdi></h2>", header.id, text(&header.name));
    put_findings(out, stream, found, limits);
    put_facts(out, stream);
    put_gaps(out, stream);
    put_clock(out, stream);
    put_jitter(out, stream, found);
    put_lag(out, stream);
    out.push_str("</section>\n");
}

/// What was found. Green is a stream in which every rule had something to judge by.
fn put_findings(out: &mut String, stream: &StreamSurvey, found: &[Finding], limits: &Limits) {
    let complaints = survey::complaints(stream);
    let unjudged: Vec<_> = unjudged(stream).into_iter().filter(|word| !has(found, word)).collect();
    if found.is_empty() && complaints.is_empty() {
        let class = if unjudged.is_empty() { "good" } else { "note" };
        let _ = writeln!(out, "<p class=\"{class}\">No problems found.</p>");
    } else {
        put_list_of(out, &complaints, found, limits);
    }
    if stream.sample_count == 0 {
        out.push_str("<p class=\"note\">It has no sample, so nothing was judged.</p>\n");
    } else if !unjudged.is_empty() {
        let words = unjudged.join(", ");
        let _ = writeln!(
            out,
            "<p class=\"note\">Not judged, because too little was recorded or measured: {words}.</p>"
        );
    }
}

fn put_list_of(out: &mut String, complaints: &[String], found: &[Finding], limits: &Limits) {
    out.push_str("<ul>\n");
    for complaint in complaints {
        let _ = writeln!(out, "<li class=\"bad\">{}</li>", text(complaint));
    }
    for one in found {
        let limit = one.mark(limits).map_or_else(String::new, |mark| {
            format!(" ({:.6} {}; limit {} {})", mark.number, mark.unit, mark.limit, mark.unit)
        });
        let _ = writeln!(out, "<li class=\"bad\">{}: {}{limit}</li>", one.word(), text(&one.to_string()));
    }
    out.push_str("</ul>\n");
}

fn put_facts(out: &mut String, stream: &StreamSurvey) {
    let header = &stream.header;
    let rate = match header.nominal_rate {
        0.0 => "irregular".to_owned(),
        rate if stream.effective_rate > 0.0 => {
            format!("{} Hz, measured {:.4} Hz", Readable(rate), Readable(stream.effective_rate))
        }
        rate => format!("{} Hz, not measured", Readable(rate)),
    };
    out.push_str("<table class=\"facts\">\n");
    for (name, value) in [
        ("Type", text(&header.content_type)),
        ("From", text(&header.hostname)),
        ("Source id", text(&header.source_id)),
        ("Channels", format!("{} x {}", header.channel_count, header.format.name())),
        ("Rate", rate),
        ("Samples", thousands(stream.sample_count)),
        ("Duration", time(stream.duration.as_secs_f64())),
        ("Stamps that go back", thousands(stream.backward_count)),
        ("Stamps that are no time", thousands(stream.invalid_stamp_count)),
    ] {
        let value = if value.is_empty() { "not said".to_owned() } else { value };
        let _ = writeln!(out, "<tr><th>{name}</th><td><bdi>{value}</bdi></td></tr>");
    }
    out.push_str("</table>\n");
}

fn put_gaps(out: &mut String, stream: &StreamSurvey) {
    if stream.gap_count == 0 {
        return;
    }
    let (count, all) = (plural(stream.gap_count as usize, "gap"), time(stream.gap_seconds));
    let _ = writeln!(out, "<details><summary>{count}, {all} in all</summary>\n<table>");
    out.push_str("<tr><th>After (s, its own clock)</th><th>Seconds</th><th>Missing samples</th></tr>\n");
    for gap in stream.gaps.iter().take(super::LINES_MAX) {
        let (after, seconds, missing) = (gap.after, gap.seconds, thousands(gap.missing));
        let _ = writeln!(out, "<tr><td>{after:.4}</td><td>{seconds:.4}</td><td>{missing}</td></tr>");
    }
    out.push_str("</table>");
    put_more(out, stream.gap_count as usize);
    out.push_str("</details>\n");
}

fn put_clock(out: &mut String, stream: &StreamSurvey) {
    let clock = &stream.clock;
    if clock.offset_count == 0 {
        out.push_str("<p>Its clock was never measured.</p>\n");
        return;
    }
    let _ = writeln!(
        out,
        "<p>Clock: {}, scatter {}, reset {}.</p>",
        plural(clock.offset_count, "measurement"),
        time(clock.residual),
        crate::terminal::times(clock.reset_count as u64)
    );
    for segment in stream.timing.segments.iter().take(super::LINES_MAX) {
        if let Some(drift) = segment.drift {
            let (from, to) = (segment.from, segment.to);
            let _ = writeln!(
                out,
                "<p>Drift from {from:.1} to {to:.1} s: {:+.2} ± {:.2} ppm.</p>",
                drift.ppm, drift.plus_minus
            );
        }
    }
    put_offsets(out, &stream.offsets);
}

/// The measurements of a clock, and what a steady drift does not explain of them.
fn put_offsets(out: &mut String, offsets: &[ClockOffset]) {
    let first = offsets.first().map_or(0.0, |one| one.offset);
    let points: Vec<_> = offsets.iter().map(|one| [one.collected, (one.offset - first) * 1e3]).collect();
    out.push_str(&curve("Offset of its clock against the first measurement", "ms", &points));
    let mut line = ClockMap::fit(offsets);
    let left: Vec<_> = offsets
        .iter()
        .map(|one| [one.collected, (one.offset - (line.place(one.collected) - one.collected)) * 1e3])
        .collect();
    out.push_str(&curve("What is left of that beside a steady drift", "ms", &left));
}

/// How old samples were when they were recorded, as far as the file tells it: a stream without a rate may just be silent.
fn put_lag(out: &mut String, stream: &StreamSurvey) {
    if stream.header.nominal_rate <= 0.0 {
        return;
    }
    let ages = &stream.timing.ages;
    let mut sorted: Vec<f64> =
        ages.iter().map(|[_, seconds]| *seconds).filter(|age| age.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(median), Some(most)) = (sorted.get(sorted.len() / 2), sorted.last()) else {
        out.push_str("<p>Lag: not known, because its clock was not measured while samples came.</p>\n");
        return;
    };
    let _ = writeln!(
        out,
        "<p>Lag: when its clock was measured, the newest sample was {} old (median), {} at most.</p>",
        age(*median),
        age(*most)
    );
    let points: Vec<_> = ages.iter().map(|[at, seconds]| [*at, seconds * 1e3]).collect();
    out.push_str(&curve("Lag: age of the newest sample when its clock was measured", "ms", &points));
}

/// A time that may lie ahead.
fn age(seconds: f64) -> String {
    if seconds < 0.0 { format!("-{}", time(-seconds)) } else { time(seconds) }
}

fn put_jitter(out: &mut String, stream: &StreamSurvey, found: &[Finding]) {
    let jitter = &stream.timing.jitter;
    let (Some(p50), Some(p99)) = (jitter.quantile(0.5), jitter.quantile(0.99)) else { return };
    let is_bad = has(found, "jitter");
    let _ = writeln!(
        out,
        "<p{}>Intervals differ from the nominal one by {} (median) and {} (99 of 100).</p>",
        if is_bad { " class=\"bad\"" } else { "" },
        time(p50),
        time(p99)
    );
    out.push_str(&histogram("How far intervals are from the nominal one", jitter));
}
