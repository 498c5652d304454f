//! `verify --html`: one page on one recording for a person who reviews it.
//!
//! It needs no program but a browser, and no network: no scripts, no fonts, no pictures but those drawn in it.
//! Everything from the file is text on it, and no more than a person can read: see the limits below.

mod draw;
mod judged;
mod stream;

use core::fmt::Write as _;
use std::path::Path;

use schwann_recorder::{Finding, findings_by};
use schwann_xdf::{ClockMap, StreamSurvey, Survey, Wrapping};

use super::Examined;
use super::certified::Certified;
use crate::cmd::survey::{bytes, seconds};
use crate::terminal::{plural, printable, thousands};
use draw::{Bar, timeline};

impl Examined<'_> {
    /// The page as HTML.
    pub(super) fn html(&self) -> String {
        let name = text(&file_name(self.recording.path()));
        let verdict = if self.is_whole { "whole" } else { "NOT WHOLE" };
        let class = if self.is_whole { "good" } else { "bad" };
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{name}: {verdict}</title>\n<style>{STYLE}</style></head>\n<body><main>\n\
             <h1><bdi>{name}</bdi></h1>\n<p class=\"verdict {class}\">{verdict}</p>\n"
        );
        let found = findings_by(&self.survey, self.limits);
        self.put_facts(&mut out);
        self.put_checked(&mut out);
        self.put_certificate(&mut out);
        self.put_damage(&mut out);
        self.put_timeline(&mut out);
        for (stream, found) in self.survey.streams.iter().zip(&found).take(STREAMS_MAX) {
            stream::put(&mut out, stream, found, self.limits);
        }
        let more = self.survey.streams.len().saturating_sub(STREAMS_MAX);
        if more > 0 {
            let _ = writeln!(out, "<p>{} more are not shown.</p>", plural(more, "stream"));
        }
        let _ = writeln!(
            out,
            "<footer>Made by schwann {} verify --html.</footer>\n</main></body></html>",
            env!("CARGO_PKG_VERSION")
        );
        out
    }

    fn put_facts(&self, out: &mut String) {
        let samples: u64 = self.survey.streams.iter().map(|stream| stream.sample_count).sum();
        let wrapping = match self.recording.wrapping() {
            Ok(Wrapping::Age) => ", sealed in the format of age",
            Ok(Wrapping::Gzip) => ", compressed by gzip",
            Ok(Wrapping::None) | Err(_) => "",
        };
        let began = match self.survey.datetime.as_str() {
            "" => "not said".to_owned(),
            began => text(began),
        };
        let sha256: String = self.compared.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        out.push_str("<table class=\"facts\">\n");
        for (name, value) in [
            ("Content", format!("{}{wrapping}", bytes(self.survey.file_bytes))),
            ("SHA-256 of the content", format!("<code>{sha256}</code>")),
            ("Begun", began),
            ("Streams", thousands(self.survey.streams.len() as u64)),
            ("Samples", thousands(samples)),
        ] {
            let _ = writeln!(out, "<tr><th>{name}</th><td>{value}</td></tr>");
        }
        out.push_str("</table>\n");
    }

    /// What was looked at, and what was not: the page must not be taken for more than it is.
    fn put_checked(&self, out: &mut String) {
        let mut checked = vec![
            "Every chunk of the file was read, and every count compared with its footer, where it has one.",
        ];
        let mut not: Vec<String> = [
            "Whether the sender measured what it says: a recording holds what arrived.",
            "Whether a device that signed has been revoked since.",
            "The identity of a person who signed: only a device vouches for the name.",
        ]
        .map(str::to_owned)
        .to_vec();
        let uncovered = self.compared.uncovered;
        match self.compared.has_checksums {
            true if uncovered > 0 => {
                checked.push("Bytes were compared with the checksums of the recorder, as far as these go.");
                not.push(format!("The last {} of the file: they have no checksum.", bytes(uncovered)));
            }
            true => checked.push("Every byte was compared with the checksums of the recorder."),
            false => not.push(NO_CHECKSUMS.to_owned()),
        }
        match &self.certified {
            Certified::Read(..) => checked.push("The certificate was read, and the file compared with it."),
            Certified::Worthless(_) => checked.push("The certificate was read, and is not accepted."),
            Certified::None => not.push(NO_CERTIFICATE.to_owned()),
        }
        checked.push("Stamps and clock offsets of every stream, as far as there are any, were judged by the limits that are shown with each finding.");
        put_list(out, "Checked", checked.into_iter().map(str::to_owned));
        put_list(out, "Not checked", not.into_iter());
    }

    fn put_certificate(&self, out: &mut String) {
        put_list(out, "Certificate", self.certified.sentences().iter().map(|line| text(line)));
        let Certified::Read(read, _) = &self.certified else { return };
        let events = read.statement["predicate"]["events"].as_array().map_or(&[][..], Vec::as_slice);
        judged::put(out, &read.statement);
        if events.is_empty() {
            return;
        }
        let _ = writeln!(out, "<details><summary>{}</summary><table>", plural(events.len(), "event"));
        out.push_str("<tr><th>Time (UTC)</th><th>What</th></tr>\n");
        for event in events.iter().take(LINES_MAX) {
            let at = event["time"].as_f64().filter(|at| (0.0..1e11).contains(at)).unwrap_or_default();
            let time = std::time::SystemTime::UNIX_EPOCH + core::time::Duration::from_secs_f64(at);
            let what = text(event["what"].as_str().unwrap_or_default());
            let _fits =
                writeln!(out, "<tr><td>{}</td><td><bdi>{what}</bdi></td></tr>", schwann_xdf::datetime(time));
        }
        out.push_str("</table>");
        put_more(out, events.len());
        out.push_str("</details>\n");
    }

    fn put_damage(&self, out: &mut String) {
        let places =
            self.survey.damage.iter().map(|damage| {
                format!("at byte {}: {}, {} skipped", damage.at, damage.kind, bytes(damage.bytes))
            });
        let changed = self.compared.changed.iter();
        let changed =
            changed.map(|(from, to)| format!("changed since it was recorded: from byte {from} to {to}"));
        let all: Vec<String> = places.chain(changed).collect();
        if all.is_empty() {
            return;
        }
        let count = self.survey.damage_count as usize + self.compared.changed.len();
        put_list(out, &format!("Damage in {}", plural(count, "place")), all.into_iter().take(LINES_MAX));
        put_more(out, count);
    }

    fn put_timeline(&self, out: &mut String) {
        let bars: Vec<Bar> = self.survey.streams.iter().take(STREAMS_MAX).filter_map(bar).collect();
        if bars.is_empty() {
            return;
        }
        out.push_str("<h2>Timeline</h2>\n");
        out.push_str(&timeline(&bars));
        out.push_str("<p class=\"note\">On the recorder's clock. Red: samples are missing.");
        if bars.iter().any(|bar| bar.unlisted.is_some()) {
            let most = thousands(Survey::LISTED_MAX as u64);
            let _ = write!(out, " Grey: gaps after the first {most} of a stream are not drawn.");
        }
        out.push_str("</p>\n");
    }
}

/// When a stream was there, on the recorder's clock; nothing if it has no sample.
fn bar(stream: &StreamSurvey) -> Option<Bar> {
    let mut map = ClockMap::fit(&stream.offsets);
    let from = map.place(stream.first_stamp?);
    let gaps: Vec<_> =
        stream.gaps.iter().map(|gap| [map.place(gap.after), map.place(gap.after + gap.seconds)]).collect();
    let are_all_listed = stream.gap_count <= gaps.len() as u64;
    let unlisted = gaps.last().map(|[_, to]| *to).filter(|to| !are_all_listed && to.is_finite());
    let to = map.place(stream.last_stamp?);
    let is_known = from.is_finite() && to.is_finite();
    let was_measured = !stream.offsets.is_empty();
    let (name, to) = (text(&stream.header.name), to.max(from));
    is_known.then_some(Bar { name, from, to, gaps, unlisted, was_measured })
}

/// A heading and a list of lines that are HTML already.
fn put_list(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let _ = writeln!(out, "<h2>{title}</h2>\n<ul>");
    lines.for_each(|line| {
        let _ = writeln!(out, "<li>{line}</li>");
    });
    out.push_str("</ul>\n");
}

/// Says how many lines of so many were left out.
fn put_more(out: &mut String, count: usize) {
    if count > LINES_MAX {
        let _ = writeln!(out, "<p>And {} more.</p>", thousands((count - LINES_MAX) as u64));
    }
}

/// What a file says, as text of a page. Nothing in it is markup, steers the reader's eye, or goes on for ever.
fn text(from_file: &str) -> String {
    let mut out = String::new();
    for character in printable(from_file).chars().take(TEXT_MAX) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A time for people; what is no number is said to be none.
fn time(value: f64) -> String {
    if value.is_finite() { seconds(value) } else { "not a number".to_owned() }
}

/// Whether one of the findings is of a kind.
fn has(found: &[Finding], word: &str) -> bool {
    found.iter().any(|one| one.word() == word)
}

const NO_CHECKSUMS: &str =
    "Values: the recorder wrote no checksums, so one that was overwritten is not seen.";
const NO_CERTIFICATE: &str = "Where the recording comes from: there is no certificate beside it.";
/// Streams that are shown.
const STREAMS_MAX: usize = 200;
/// Lines of one list.
const LINES_MAX: usize = 100;
/// Characters of a text from the file.
const TEXT_MAX: usize = 300;
const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#1b1f23;background:#fff;margin:0}\
main{max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.8rem 0 .4rem}\
table{border-collapse:collapse}th{text-align:left;font-weight:600;padding:.1rem 1rem .1rem 0;vertical-align:top}\
td{padding:.1rem 1rem .1rem 0;overflow-wrap:anywhere}ul{margin:.2rem 0;padding-left:1.2rem}\
.verdict{font-size:1.2rem;font-weight:600}.good{color:#116329}.bad{color:#a40e26}.note,footer{color:#57606a}\
section{border-top:1px solid #d0d7de;margin-top:1.5rem}svg{display:block;max-width:100%;height:auto;margin:.4rem 0}\
svg text{font:12px system-ui,sans-serif;fill:#57606a}code{font-size:.85rem}footer{margin:2rem 0}\
@media print{main{margin:0}section{break-inside:avoid}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_is_text_and_never_markup() {
        let hostile = "<script>alert('x')</script>\u{202e}\u{7}&\"";
        let shown = text(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{202e}', '\u{7}']), "{shown}");
        assert!(text(&"x".repeat(100_000)).len() <= TEXT_MAX);
    }
}
