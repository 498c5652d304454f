//! What a recording shows of itself.

use std::io::{self, Stdout, Write as _};
use std::path::Path;
use std::time::Instant;

use schwann_xdf::Health;
use serde_json::{Value, json};

use crate::cmd::survey::bytes;
use crate::live::recorder::{Phase, StreamStatus};
use crate::live::table::{Align, Cell, Column, Table};
use crate::terminal::{Look, Palette, Place, Screen, plural, short_time, stopwatch, thousands, times};

/// The screen of a recording.
pub(super) struct View {
    screen: Screen<Stdout>,
    palette: Palette,
    began: Instant,
    json: bool,
    /// When to print the next line where nothing can be repainted, in seconds from the beginning.
    next_line: f64,
}

impl View {
    /// Begins to show.
    pub(super) fn new(json: bool) -> Self {
        let screen = Screen::new(io::stdout());
        let palette = Palette::of(screen.place());
        Self { screen, palette, began: Instant::now(), json, next_line: 0.0 }
    }

    /// Shows where things stand.
    pub(super) fn show(&mut self, streams: &[StreamStatus], path: &Path, health: &Health) -> io::Result<()> {
        let elapsed = self.began.elapsed().as_secs_f64();
        if self.screen.place() == Place::Terminal && !self.json {
            let text = self.page(streams, path, health.file_bytes);
            return self.screen.paint(&text);
        }
        if elapsed < self.next_line {
            return Ok(());
        }
        self.next_line = elapsed + if self.json { 1.0 } else { LINE_EVERY };
        if self.json {
            return writeln!(io::stdout(), "{}", json(streams, path, health.file_bytes, elapsed));
        }
        let samples: u64 = streams.iter().map(|stream| stream.reading.sample_count).sum();
        let gaps = streams.iter().map(|stream| stream.reading.gap_count as usize).sum();
        let away = streams.iter().filter(|stream| stream.phase != Phase::Recording).count();
        let text = format!(
            "{elapsed:7.1} s: {} ({away} not connected), {} samples, {}, {} in {}\n",
            plural(streams.len(), "stream"),
            thousands(samples),
            plural(gaps, "gap"),
            bytes(health.file_bytes),
            path.display(),
        );
        self.screen.paint(&text)
    }

    /// Says how it went.
    pub(super) fn conclude(
        &mut self,
        streams: &[StreamStatus],
        path: &Path,
        file_bytes: u64,
        lost_required: bool,
    ) -> io::Result<()> {
        if self.json {
            let mut last = json(streams, path, file_bytes, self.began.elapsed().as_secs_f64());
            last["finished"] = true.into();
            last["required_lost"] = lost_required.into();
            return writeln!(io::stdout(), "{last}");
        }
        let mut text = self.page(streams, path, file_bytes);
        if streams.is_empty() {
            text = format!(
                "NOTHING was recorded in {}: no stream was found; why: schwann doctor\n",
                path.display()
            );
        }
        if lost_required {
            text.push_str("  a REQUIRED stream was not connected at the end\n");
        }
        self.screen.paint(&text)?;
        self.screen.keep();
        Ok(())
    }

    fn page(&self, streams: &[StreamStatus], path: &Path, file_bytes: u64) -> String {
        let mut out = format!(
            "{}  {}, {}, {}\n\n",
            self.palette.paint(Look::Strong, "schwann record"),
            path.display(),
            bytes(file_bytes),
            stopwatch(self.began.elapsed().as_secs_f64()),
        );
        if streams.is_empty() {
            out.push_str("  no stream yet; whatever comes is recorded; why there is none: schwann doctor\n");
            return out;
        }
        let mut table = Table::new(&COLUMNS);
        for stream in streams {
            table.push(row(stream));
        }
        out.push_str(&table.text(self.palette, self.screen.width()));
        out
    }
}

fn row(stream: &StreamStatus) -> Vec<Cell> {
    let (info, reading) = (&stream.info, &stream.reading);
    let rate = match (reading.rate, info.nominal_rate()) {
        (None, _) => "-".to_owned(),
        (Some(rate), 0.0) => format!("{rate:.1} Hz"),
        (Some(rate), nominal) => format!("{rate:.2} of {nominal} Hz"),
    };
    let gaps = match reading.gap_count {
        0 => Cell::from(if info.nominal_rate() == 0.0 { "-" } else { "none" }),
        count => Cell::looking(Look::Wrong, format!("{count} ({} samples)", thousands(reading.missing))),
    };
    let lag = reading.lag_p99.map_or_else(|| "-".to_owned(), short_time);
    vec![
        info.name().to_string_lossy().into(),
        state(stream),
        format!("{} x {}", info.channel_count(), info.channel_format().name()).into(),
        thousands(reading.sample_count).into(),
        rate.into(),
        lag.into(),
        gaps,
    ]
}

fn state(stream: &StreamStatus) -> Cell {
    if stream.unrecorded > 0 {
        return Cell::looking(Look::Wrong, format!("{} NOT RECORDED", thousands(stream.unrecorded)));
    }
    match (stream.phase, stream.recoveries) {
        (Phase::Connecting, _) => Cell::looking(Look::Faint, "connecting"),
        (Phase::Recording, 0) => Cell::looking(Look::Good, "recording"),
        (Phase::Recording, count) => {
            Cell::looking(Look::Warning, format!("recording, WAS AWAY {}", times(count)))
        }
        (Phase::Recovering, _) => Cell::looking(Look::Warning, "AWAY, looked for"),
        (Phase::Lost, _) => Cell::looking(Look::Wrong, "GONE"),
        (Phase::Unreadable, _) => Cell::looking(Look::Wrong, "NOT RECORDED: its description is invalid"),
    }
}

fn json(streams: &[StreamStatus], path: &Path, file_bytes: u64, elapsed: f64) -> Value {
    let streams: Vec<_> = streams
        .iter()
        .map(|stream| {
            let (info, reading) = (&stream.info, &stream.reading);
            json!({
                "name": info.name().to_string_lossy(),
                "type": info.stream_type().to_string_lossy(),
                "uid": info.uid().to_string_lossy(),
                "phase": match stream.phase {
                    Phase::Connecting => "connecting",
                    Phase::Recording => "recording",
                    Phase::Recovering => "recovering",
                    Phase::Lost => "lost",
                    Phase::Unreadable => "unreadable",
                },
                "sample_count": reading.sample_count,
                "rate": reading.rate,
                "lag_p50": reading.lag_p50,
                "lag_p99": reading.lag_p99,
                "gap_count": reading.gap_count,
                "missing": reading.missing,
                "recoveries": stream.recoveries,
                "unrecorded": stream.unrecorded,
            })
        })
        .collect();
    json!({
        "file": path.display().to_string(),
        "file_bytes": file_bytes,
        "seconds": elapsed,
        "streams": streams,
    })
}

const COLUMNS: [Column; 7] = [
    ("stream", Align::Left, 0),
    ("is", Align::Left, 0),
    ("channels", Align::Left, 5),
    ("samples", Align::Right, 3),
    ("rate", Align::Right, 2),
    ("lag p99", Align::Right, 4),
    ("gaps", Align::Right, 1),
];
/// Seconds between two lines where nothing can be repainted.
const LINE_EVERY: f64 = 10.0;
