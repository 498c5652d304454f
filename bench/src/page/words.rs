//! The sentences of the report, made from its numbers.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use schwann::log::Utc;

use super::chapter::Chapter;
use super::escape;
use super::heat::Outcome;
use super::plots::{Found, in_short};
use super::tables::goal;
use crate::analysis::Comparison;
use crate::record::{Manifest, Records, Role};
use crate::report::number;
use crate::scenario::drift::Drift;
use crate::scenario::{Axis, Cell};

/// Where and how, in a paragraph of the page.
pub(super) fn circumstances(manifest: &Manifest) -> String {
    let machine = &manifest.machine;
    let other = manifest.other.as_ref().map_or_else(String::new, |(machine, program)| {
        format!(
            " The other computer: {} × {}, {}. Its program {}.",
            machine.cores,
            escape(&machine.processor),
            escape(&machine.kernel),
            escape(program)
        )
    });
    let libraries = manifest.subjects.iter().filter(|subject| subject.role != Role::Null);
    let subjects: Vec<String> = libraries.map(|s| format!("{} ({})", s.label, brief(&s.version))).collect();
    format!(
        "<p>{} × {}, {}, governor {}, {}. Program {}. From {}.{other}</p>\n<p class=\"faint\">{}</p>",
        machine.cores,
        escape(&machine.processor),
        escape(&machine.kernel),
        escape(&machine.governor),
        escape(&machine.memory),
        escape(&manifest.program),
        date(manifest.started_at),
        escape(&subjects.join("; ").replace(" ()", "")),
    )
}

/// A version without how it was built.
fn brief(version: &str) -> &str {
    let version = version.trim();
    version.split_once('/').map_or(version, |(brief, _)| brief)
}

/// The day and minute, UTC.
pub(super) fn date(unix: u64) -> String {
    let whole = Utc(UNIX_EPOCH + Duration::from_secs(unix)).to_string();
    let minute = whole.rsplit_once(':').map_or(whole.as_str(), |(minute, _)| minute);
    format!("{} UTC", minute.replace('T', " "))
}

/// What a suite found, in a sentence or two.
pub(super) fn verdict(chapter: &Chapter) -> String {
    let with_goal: Vec<bool> = chapter
        .comparisons
        .iter()
        .filter_map(|c| goal(c).map(|goal| c.metric.better.reaches(c.ratio.median, goal)))
        .chain(chapter.records.readings.iter().filter_map(|reading| reading.met))
        .collect();
    let mut words = Vec::new();
    if !with_goal.is_empty() {
        let met = with_goal.iter().filter(|met| **met).count();
        words.push(format!("{met} of {} goals are met.", with_goal.len()));
    }
    let ours: Vec<&Comparison> = chapter
        .comparisons
        .iter()
        .filter(|c| (c.subject, c.base) == (Role::Schwann, Role::Opponent))
        .collect();
    if !ours.is_empty() {
        words.push(tally(&ours));
    }
    let sealed: Vec<&Comparison> = chapter
        .comparisons
        .iter()
        .filter(|c| (c.subject, c.base) == (Role::Sealed, Role::Opponent))
        .collect();
    if !sealed.is_empty() {
        words.push(tally(&sealed));
    }
    let null: Vec<&Comparison> = chapter.comparisons.iter().filter(|c| c.subject == Role::Null).collect();
    if !null.is_empty() {
        let differ: Vec<f64> = null.iter().map(|c| 100.0 * (c.ratio.median.ln().abs().exp() - 1.0)).collect();
        let found = null.iter().filter(|c| c.p_holm.is_some_and(|p| p < 0.05)).count();
        words.push(format!(
            "liblsl against itself differs by {}, and {found} of {} such comparisons of equals pass for different.",
            from_to(&differ, &|percent| format!("{} %", number(percent))),
            null.len()
        ));
    }
    if words.is_empty() {
        words.push(format!("{} figures.", chapter.records.readings.len()));
    }
    words.join(" ")
}

/// When and by which program a suite was measured: a report may hold suites of several days.
pub(super) fn made(manifest: &Manifest) -> String {
    let form = if manifest.quick { "Quick form. " } else { "" };
    format!("{form}Begun {}, program {}.", date(manifest.started_at), manifest.program)
}

/// What was not believed, and how restless the machine was.
pub(super) fn faults(records: &Records) -> Vec<String> {
    let faulty: Vec<String> = records
        .runs
        .iter()
        .filter_map(|run| Some(format!("{} in {} ({})", run.subject, run.place.cell, run.fault.as_deref()?)))
        .collect();
    let mut words = Vec::new();
    if !faulty.is_empty() {
        words.push(format!(
            "{} of {} runs take no part, because they failed their own checks: {}.",
            faulty.len(),
            records.runs.len(),
            faulty.join("; ")
        ));
    }
    let late = |name: &str| -> Vec<f64> {
        records.runs.iter().filter_map(|run| run.figures.values.get(name).copied()).collect()
    };
    let (half, most) = (late("line_late_p50_us"), late("line_late_p99_us"));
    if !half.is_empty() {
        words.push(format!(
            "The line itself was late by {} in the median and {} at 99 %, from run to run: smaller differences are its own.",
            from_to(&half, &us),
            from_to(&most, &us)
        ));
    }
    let of_steps = records.readings.iter().map(|reading| reading.load).filter(|load| *load > 0.0);
    let loads: Vec<f64> = records.runs.iter().map(|run| run.load).chain(of_steps).collect();
    let greatest = loads.iter().copied().fold(0.0, f64::max);
    if greatest > records.manifest.machine.cores as f64 {
        words.push(format!(
            "The machine was busy with other things: its load was {} on {} cores. Absolute times are too long; ratios \
             stand, because all subjects took turns.",
            from_to(&loads, &number),
            records.manifest.machine.cores
        ));
    }
    words
}

/// How many comparisons went which way.
pub(super) fn tally(comparisons: &[&Comparison]) -> String {
    let count = |outcome| comparisons.iter().filter(|c| Outcome::of(c) == outcome).count();
    let (better, worse) = (count(Outcome::Better), count(Outcome::Worse));
    let (equal, open) = (count(Outcome::Equal), count(Outcome::Unresolved));
    let subject = match comparisons.first().map(|c| c.subject) {
        Some(Role::Sealed) => "Sealed Schwann",
        _ => "Schwann",
    };
    let base = match comparisons.first().map(|c| c.base) {
        Some(Role::Schwann) => "in the clear",
        Some(Role::Raw) => "a raw socket",
        _ => "liblsl",
    };
    format!(
        "Of {} comparisons of {subject} with {base}, {better} are better, {worse} worse, {equal} equal within 5 %, and \
         {open} not resolved.",
        comparisons.len()
    )
}

/// What a cumulative distribution shows.
pub(super) fn distribution(cell: &Cell, name: &str, found: &[Found]) -> String {
    let what = match name {
        "push" => "In the median, a push returns after",
        "jitter" => "In the median, the time between two samples differs from the schedule by",
        "round_trip_push" => "In the median, a sample is back after",
        _ => "In the median, a sample arrives after",
    };
    let each: Vec<String> = found
        .iter()
        .map(|(_, label, distribution)| {
            let [half, most, all] = in_short(distribution);
            format!("{label} {half} (99 %: {most}, longest {all})")
        })
        .collect();
    format!("{what}: {}. {}.", each.join("; "), cell.about)
}

/// What violins show: whose times are how far apart.
pub(super) fn violins(found: &[Found]) -> String {
    let each: Vec<String> = found
        .iter()
        .map(|(_, label, d)| format!("{label} {} to {}", us(d.quantile(0.05)), us(d.quantile(0.95))))
        .collect();
    format!("Nine of ten samples lie between: {}.", each.join("; "))
}

/// What a sweep shows, from ours over theirs at each point.
pub(super) fn sweep(axis: Axis, name: &str, ratios: &[(f64, f64)]) -> String {
    let (Some(first), Some(last)) = (ratios.first(), ratios.last()) else {
        return "No point has both.".to_owned();
    };
    let values: Vec<f64> = ratios.iter().map(|point| point.1).collect();
    format!(
        "From {} to {} {}, Schwann's {} is {} times liblsl's. Ribbons are 95 % intervals of the medians, or ranges when runs \
         are few.",
        first.0,
        last.0,
        axis.unit(),
        name.split(',').next().unwrap_or(name),
        from_to(&values, &|ratio| format!("{ratio:.2}")),
    )
}

/// What the time series shows.
pub(super) fn drift(drifts: &[(String, Drift)]) -> String {
    let each: Vec<String> = drifts
        .iter()
        .map(|(label, drift)| {
            format!(
                "{label} {:+.1} µs per minute ({:+.0} % over the run)",
                drift.us_per_minute, drift.percent
            )
        })
        .collect();
    format!("The line through each subject's stretches would show a drift: {}.", each.join("; "))
}

/// Who is compared with whom.
pub(super) fn against(comparison: &Comparison) -> &'static str {
    match (comparison.subject, comparison.base) {
        (Role::Schwann, Role::Opponent) => "Schwann / liblsl",
        (Role::Schwann, Role::ZeroMq) => "Schwann / ZeroMQ",
        (Role::Schwann, Role::Zenoh) => "Schwann / Zenoh",
        (Role::Schwann, _) => "Schwann / raw socket",
        (Role::Sealed, Role::Schwann) => "sealed / plain",
        (Role::Sealed, _) => "sealed / liblsl",
        _ => "liblsl / itself",
    }
}

/// A metric's name in words, its unit last.
pub(super) fn metric(name: &str) -> String {
    let units = [
        ("_us", "µs"),
        ("_mb_per_s", "MB/s"),
        ("_samples_per_s", "samples/s"),
        ("_percent", "%"),
        ("_mb", "MB"),
    ];
    let found = units.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
    let (stem, unit) = match (name, found) {
        ("cpu_s_per_million", _) => ("CPU seconds per million samples", ""),
        (_, Some((stem, unit))) => (stem, unit),
        (name, None) => (name, ""),
    };
    let words = stem.replace("latency_", "latency from ").replace('_', " ");
    let words = words
        .replace("p999", "99.9 %")
        .replace("p99", "99 %")
        .replace("p90", "90 %")
        .replace("p50", "median");
    if unit.is_empty() { words } else { format!("{words}, {unit}") }
}

/// Microseconds, or milliseconds when they are many.
pub(super) fn us(value: f64) -> String {
    if value >= 1000.0 { format!("{} ms", number(value / 1e3)) } else { format!("{} µs", number(value)) }
}

/// A range in words; one value when its ends read alike.
pub(super) fn from_to(values: &[f64], show: &dyn Fn(f64) -> String) -> String {
    let low = show(values.iter().copied().fold(f64::INFINITY, f64::min));
    let high = show(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_210_096), "2024-02-29 12:34 UTC");
        assert_eq!(date(1_795_305_540), "2026-11-21 23:59 UTC");
    }

    #[test]
    fn metrics_read_as_words_with_their_unit() {
        assert_eq!(metric("latency_push_p99_us"), "latency from push 99 %, µs");
        assert_eq!(metric("delivered_mb_per_s"), "delivered, MB/s");
        assert_eq!(metric("cpu_s_per_million"), "CPU seconds per million samples");
    }
}
