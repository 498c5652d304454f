//! What the demonstration shows, and its verdict.

use core::fmt::Write as _;
use std::io::{self, Stdout, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use schwann::Context;
use schwann::inlet::Protection;
use schwann_dash::Dashboard;
use schwann_recorder::{Phase, Reading, RecordingStream};
use schwann_xdf::Health;
use serde_json::json;

use super::Sent;
use super::check::Tally;
use super::script::{CHANNEL_COUNT, RATE};
use crate::cmd::survey::bytes;
use crate::exit::Problem;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{Destination, Look, Palette, Screen, plural, short_time, stopwatch, thousands, times};

/// The screen of the demonstration.
pub(super) struct View {
    screen: Screen<Stdout>,
    palette: Palette,
    began: Instant,
    seconds: Option<f64>,
    json: bool,
    dashboard: Option<String>,
    /// Lines are printed this often where nothing can be repainted.
    next_line: f64,
}

/// What the demonstration has shown.
pub(super) struct Verdict {
    /// What was sent.
    pub(super) sent: Sent,
    /// What the checks found, of samples and of markers.
    pub(super) tallies: [Tally; 2],
    /// Samples and markers in the recording; none if it is not whole.
    pub(super) recorded: Option<[u64; 2]>,
    /// Size of the recording.
    pub(super) file_bytes: u64,
    /// Where the recording is.
    pub(super) path: PathBuf,
    /// The EEG and the markers at the end.
    pub(super) streams: Vec<RecordingStream>,
}

impl Verdict {
    /// Whether everything that was sent arrived as it was sent, and is in the recording.
    pub(super) fn is_good(&self) -> bool {
        let [samples, markers] = self.tallies;
        let as_sent = |tally: Tally, sent: u64| tally == Tally { right: sent, missing: 0, wrong: 0 };
        self.sent.samples > 0
            && self.sent.dropped == 0
            && as_sent(samples, self.sent.samples)
            && as_sent(markers, self.sent.markers)
            && self.recorded == Some([self.sent.samples, self.sent.markers])
            && self.streams.iter().all(|stream| stream.reading.gap_count == 0 && stream.unrecorded == 0)
    }
}

impl View {
    /// Begins to show.
    pub(super) fn new(json: bool, seconds: Option<f64>) -> Self {
        let screen = Screen::new(io::stdout());
        let palette = Palette::of(screen.destination());
        Self { screen, palette, began: Instant::now(), seconds, json, dashboard: None, next_line: 0.0 }
    }

    /// Shows where things stand; where nothing can be repainted, a line every two seconds.
    pub(super) fn show(
        &mut self,
        streams: &[RecordingStream],
        tallies: &[Tally],
        path: &Path,
        health: &Health,
    ) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        if self.screen.destination() == Destination::Terminal {
            let text = self.page(streams, tallies, path, health);
            return self.screen.paint(&text);
        }
        let elapsed = self.began.elapsed().as_secs_f64();
        let (Some(stream), Some(tally)) = (streams.first(), tallies.first()) else { return Ok(()) };
        if elapsed < self.next_line || stream.reading.sample_count == 0 {
            return Ok(());
        }
        self.next_line = elapsed + LINE_EVERY;
        self.screen.paint(&line(elapsed, &stream.reading, *tally))
    }

    /// Serves the dashboard, and opens it if there is a terminal; the demonstration goes on without, too.
    pub(super) fn open_dashboard(&mut self, config: &Arc<Context>) -> Result<Dashboard, Problem> {
        let options =
            schwann_dash::Options { context: Some(Arc::clone(config)), ..schwann_dash::Options::default() };
        let dashboard = schwann_dash::serve(&options)?;
        let url = dashboard.url();
        if self.screen.destination() == Destination::Terminal {
            // Without a browser the demonstration goes on.
            let _ = dashboard.open_browser();
        } else {
            self.screen.paint(&format!("dashboard: {url}\n"))?;
        }
        self.dashboard = Some(url);
        Ok(dashboard)
    }

    /// Says how it went.
    pub(super) fn conclude(&mut self, verdict: &Verdict) -> io::Result<()> {
        if self.json {
            return writeln!(io::stdout(), "{:#}", verdict_json(verdict));
        }
        self.screen.keep();
        let text = self.verdict_text(verdict).expect("a string takes any text");
        self.screen.paint(&text)
    }

    fn page(&self, streams: &[RecordingStream], tallies: &[Tally], path: &Path, health: &Health) -> String {
        let mut out = format!(
            "{}  {CHANNEL_COUNT} channels of EEG at {RATE} Hz, and markers, from another process   {}{}\n\n",
            self.palette.paint(Look::Strong, "schwann demo"),
            stopwatch(self.began.elapsed().as_secs_f64()),
            self.seconds.map(|seconds| format!(" of {seconds} s")).unwrap_or_default(),
        );
        let mut table = Table::new(&COLUMNS);
        streams.iter().zip(tallies).for_each(|(stream, tally)| table.push(row(stream, *tally)));
        out.push_str(&table.text(self.palette, self.screen.width()));
        write!(out, "\n  recording {}, {}\n", path.display(), bytes(health.file_bytes))
            .expect("a string takes any text");
        if let Some(url) = &self.dashboard {
            writeln!(out, "  dashboard {url}").expect("a string takes any text");
        }
        if self.seconds.is_none() {
            out.push_str("  Ctrl-C ends it\n");
        }
        out
    }

    fn verdict_text(&self, verdict: &Verdict) -> Result<String, core::fmt::Error> {
        let mut out = String::from("\n");
        let [samples, markers] = verdict.tallies;
        let sent = verdict.sent;
        let (word, look) = if verdict.is_good() { ("GOOD", Look::Good) } else { ("NOT GOOD", Look::Wrong) };
        writeln!(
            out,
            "{}  {} of {} samples and {} of {} markers arrived as they were sent",
            self.palette.paint(look, word),
            thousands(samples.right),
            thousands(sent.samples),
            thousands(markers.right),
            thousands(sent.markers),
        )?;
        put_losses(&mut out, verdict)?;
        if let Some(stream) = verdict.streams.first() {
            writeln!(out, "  {}", lag(stream))?;
        }
        let state = match verdict.recorded {
            Some(counts) if counts == [sent.samples, sent.markers] => "whole, read back".to_owned(),
            Some([samples, markers]) => format!("HOLDS {samples} samples and {markers} markers"),
            None => "NOT WHOLE".to_owned(),
        };
        writeln!(out, "  recording: {} ({}, {state})", verdict.path.display(), bytes(verdict.file_bytes))?;
        Ok(out)
    }
}

/// One line for where nothing can be repainted.
fn line(elapsed: f64, reading: &Reading, tally: Tally) -> String {
    format!(
        "{elapsed:5.1} s: {} samples, {}, lag p50 {} p99 {}, {}, {}\n",
        thousands(reading.sample_count),
        rate(reading),
        time(reading.lag_p50),
        time(reading.lag_p99),
        plural(reading.gap_count as usize, "gap"),
        judgement(tally).0,
    )
}

fn row(stream: &RecordingStream, tally: Tally) -> Vec<Cell> {
    let reading = &stream.reading;
    let (judged, look) = match stream.phase {
        Phase::Connecting | Phase::Recording => judgement(tally),
        Phase::Failed => ("FAULT of schwann".to_owned(), Look::Wrong),
        Phase::Unreadable => ("NOT READABLE".to_owned(), Look::Wrong),
        Phase::Recovering | Phase::Lost => ("CONNECTION LOST".to_owned(), Look::Wrong),
    };
    let gaps = match reading.gap_count {
        0 => Cell::from("none"),
        count => Cell::looking(Look::Wrong, format!("{count}")),
    };
    vec![
        stream.info.name().to_string_lossy().into(),
        thousands(reading.sample_count).into(),
        rate(reading).into(),
        time(reading.lag_p50).into(),
        time(reading.lag_p99).into(),
        time(reading.lag_max).into(),
        gaps,
        Cell::looking(look, judged),
    ]
}

/// What did not arrive as it was sent, and what was not recorded.
fn put_losses(out: &mut String, verdict: &Verdict) -> core::fmt::Result {
    for (tally, what) in verdict.tallies.iter().zip(["samples", "markers"]) {
        if tally.missing + tally.wrong > 0 {
            writeln!(out, "  {what}: {} MISSING, {} WRONG", tally.missing, tally.wrong)?;
        }
    }
    let dropped = verdict.sent.dropped;
    if dropped > 0 {
        writeln!(out, "  {dropped} DROPPED by the sender, because this process was too slow")?;
    }
    for stream in &verdict.streams {
        if stream.recoveries > 0 {
            writeln!(out, "  {}: LOST and found again {}", stream.info.name(), times(stream.recoveries))?;
        }
        if stream.unrecorded > 0 {
            writeln!(out, "  {}: {} NOT RECORDED", stream.info.name(), stream.unrecorded)?;
        }
    }
    Ok(())
}

/// How long samples were on their way, whether any is missing, and how they travelled.
fn lag(stream: &RecordingStream) -> String {
    let reading = &stream.reading;
    let gaps = match reading.gap_count {
        0 => "no gaps".to_owned(),
        count => format!("{} GAPS", thousands(count)),
    };
    let protection = match stream.protection {
        Some(Protection::Sealed) => "sealed",
        Some(Protection::Plain) => "not encrypted: no key installed",
        None => "not connected at the end",
    };
    format!(
        "lag from due to received: p50 {}, p99 {}, longest {}; {}; {gaps}; {protection}",
        time(reading.lag_p50),
        time(reading.lag_p99),
        time(reading.lag_max),
        rate(reading),
    )
}

fn verdict_json(verdict: &Verdict) -> serde_json::Value {
    let [samples, markers] = verdict.tallies;
    let reading = verdict.streams.first().map(|stream| stream.reading);
    let of = |value: fn(&Reading) -> Option<f64>| reading.as_ref().and_then(value);
    json!({
        "good": verdict.is_good(),
        "samples": { "sent": verdict.sent.samples, "right": samples.right, "missing": samples.missing,
            "wrong": samples.wrong },
        "markers": { "sent": verdict.sent.markers, "right": markers.right, "missing": markers.missing,
            "wrong": markers.wrong },
        "dropped_by_sender": verdict.sent.dropped,
        "rate": of(|reading| reading.rate),
        "lag_p50": of(|reading| reading.lag_p50),
        "lag_p99": of(|reading| reading.lag_p99),
        "lag_max": of(|reading| reading.lag_max),
        "sealed": verdict.streams.first().map(|stream| stream.protection == Some(Protection::Sealed)),
        "gap_count": reading.map(|reading| reading.gap_count),
        "recording": verdict.path.display().to_string(),
        "recorded": verdict.recorded,
        "file_bytes": verdict.file_bytes,
    })
}

/// Returns what the checks say, in words and a look.
fn judgement(tally: Tally) -> (String, Look) {
    match tally {
        Tally { missing: 0, wrong: 0, .. } => ("as sent".to_owned(), Look::Good),
        Tally { missing, wrong, .. } => (format!("{missing} MISSING, {wrong} WRONG"), Look::Wrong),
    }
}

fn rate(reading: &Reading) -> String {
    reading.rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2} Hz"))
}

fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), short_time)
}

const COLUMNS: [Column; 8] = [
    ("stream", Align::Left, 0),
    ("samples", Align::Right, 2),
    ("rate", Align::Right, 3),
    ("lag p50", Align::Right, 5),
    ("lag p99", Align::Right, 4),
    ("longest", Align::Right, 6),
    ("gaps", Align::Right, 1),
    ("values", Align::Left, 0),
];
/// Seconds between two lines where nothing can be repainted.
const LINE_EVERY: f64 = 2.0;
