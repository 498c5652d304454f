//! What a recording shows of itself.

use std::io::{self, Stdout, Write as _};
use std::path::Path;
use std::time::Instant;

use schwann_recorder::{Phase, RecordingStream, Trouble, Unmatched, Unseen, Verdict};
use schwann_xdf::Health;
use serde_json::{Value, json};

use crate::cmd::survey::bytes;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{
    Destination, Look, Palette, Screen, plural, printable, short_time, stopwatch, thousands, times,
};

/// What there is to show.
pub(super) struct Scene {
    pub(super) streams: Vec<RecordingStream>,
    /// How each of the streams is.
    pub(super) verdicts: Vec<Verdict>,
    /// Queries that have found nothing.
    pub(super) unmatched: Vec<Unmatched>,
    /// Streams that are there and cannot be recorded from here.
    pub(super) unseen: Vec<Unseen>,
    /// How many streams are announced and not recorded, because too many do not answer.
    pub(super) waiting: usize,
    /// Whether every stream is recorded that comes.
    pub(super) takes_all: bool,
}

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
        let palette = Palette::of(screen.destination());
        Self { screen, palette, began: Instant::now(), json, next_line: 0.0 }
    }

    /// Shows where things stand.
    pub(super) fn show(&mut self, scene: &Scene, path: &Path, health: &Health) -> io::Result<()> {
        let streams = &scene.streams;
        let elapsed = self.began.elapsed().as_secs_f64();
        if self.screen.destination() == Destination::Terminal && !self.json {
            let text = self.page(scene, path, health.file_bytes);
            return self.screen.paint(&text);
        }
        if elapsed < self.next_line {
            return Ok(());
        }
        self.next_line = elapsed + if self.json { 1.0 } else { LINE_EVERY };
        if self.json {
            return writeln!(io::stdout(), "{}", json(scene, path, health.file_bytes, elapsed));
        }
        let samples = streams.iter().map(|stream| stream.reading.sample_count as usize).sum();
        let gaps = streams.iter().map(|stream| stream.reading.gap_count as usize).sum();
        let away = streams.iter().filter(|stream| stream.phase != Phase::Recording).count();
        let text = format!(
            "{elapsed:7.1} s: {} ({away} not connected), {}, {}, {} in {}\n",
            plural(streams.len(), "stream"),
            plural(samples, "sample"),
            plural(gaps, "gap"),
            bytes(health.file_bytes),
            path.display(),
        ) + &scene.remarks();
        self.screen.paint(&text)
    }

    /// Says how it went.
    pub(super) fn conclude(
        &mut self,
        scene: &Scene,
        path: &Path,
        file_bytes: u64,
        lost_required: bool,
    ) -> io::Result<()> {
        if self.json {
            let mut last = json(scene, path, file_bytes, self.began.elapsed().as_secs_f64());
            last["finished"] = true.into();
            last["required_lost"] = lost_required.into();
            return writeln!(io::stdout(), "{last}");
        }
        let mut text = self.page(scene, path, file_bytes);
        if scene.streams.is_empty() {
            let why = match scene.unmatched.first().filter(|unmatched| !unmatched.found.is_empty()) {
                Some(_) => "no stream matches",
                None => "no stream was found; why: schwann doctor",
            };
            text = format!("NOTHING was recorded in {}: {why}\n{}", path.display(), scene.remarks());
        }
        if lost_required {
            text.push_str("  a REQUIRED stream was not connected at the end\n");
        }
        self.screen.paint(&text)?;
        self.screen.keep();
        Ok(())
    }

    fn page(&self, scene: &Scene, path: &Path, file_bytes: u64) -> String {
        let mut out = format!(
            "{}  {}, {}, {}\n\n",
            self.palette.paint(Look::Strong, "schwann record"),
            path.display(),
            bytes(file_bytes),
            stopwatch(self.began.elapsed().as_secs_f64()),
        );
        if scene.streams.is_empty() && scene.takes_all {
            out.push_str("  no stream yet; whatever comes is recorded; why there is none: schwann doctor\n");
            return out + &scene.remarks();
        }
        let mut table = Table::new(&COLUMNS);
        for (stream, verdict) in scene.streams.iter().zip(&scene.verdicts) {
            table.push(row(stream, *verdict));
        }
        scene.unmatched.iter().for_each(|unmatched| table.push(unmatched_row(unmatched)));
        out.push_str(&table.text(self.palette, self.screen.width()));
        out + &scene.remarks()
    }
}

impl Scene {
    /// A line for all that is not as it should be.
    fn remarks(&self) -> String {
        let explained = self.streams.iter().zip(&self.verdicts).filter_map(|(stream, verdict)| {
            let why = verdict.trouble().and_then(Trouble::explained)?;
            Some(format!("{} of {} {why}", stream.info.name(), stream.info.hostname()))
        });
        let unmatched =
            self.unmatched.iter().map(|one| format!("no stream matches {}; {}", one.guess(), one.there()));
        let unseen = self.unseen.iter().map(|unseen| format!("not recorded: {unseen}"));
        let waiting = (self.waiting > 0).then(|| {
            format!(
                "{} more are announced and not recorded: too many do not answer, and may be made up",
                thousands(self.waiting as u64)
            )
        });
        explained
            .chain(unmatched)
            .chain(unseen)
            .chain(waiting)
            .map(|line| format!("  {}\n", printable(&line)))
            .collect()
    }
}

fn unmatched_row(unmatched: &Unmatched) -> Vec<Cell> {
    let mut row = vec![Cell::from(unmatched.query.as_str()), Cell::looking(Look::Wrong, "NO MATCH")];
    row.extend((2..COLUMNS.len()).map(|_| Cell::from("-")));
    row
}

fn row(stream: &RecordingStream, verdict: Verdict) -> Vec<Cell> {
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
    // What a sender sent while it was away is missing as well, and nothing tells how much that was.
    let gaps = match stream.away_seconds {
        0.0 => gaps,
        away => Cell::looking(Look::Wrong, format!("away {}", stopwatch(away))),
    };
    let lag = reading.lag_p99.map_or_else(|| "-".to_owned(), short_time);
    vec![
        info.name().to_string_lossy().into(),
        state(stream, verdict),
        format!("{} x {}", info.channel_count(), info.channel_format().name()).into(),
        thousands(reading.sample_count).into(),
        rate.into(),
        lag.into(),
        gaps,
    ]
}

fn state(stream: &RecordingStream, verdict: Verdict) -> Cell {
    if stream.unrecorded > 0 {
        return Cell::looking(Look::Wrong, format!("{} NOT RECORDED", thousands(stream.unrecorded)));
    }
    match (stream.phase, stream.recoveries) {
        (Phase::Connecting, _) if stream.refusal.is_some() => Cell::looking(Look::Wrong, "REFUSED"),
        (Phase::Recording, _) if is_told(verdict) => {
            Cell::looking(Look::Wrong, format!("recording, {verdict}"))
        }
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

/// Whether a stream is in trouble that no other cell of its row tells.
fn is_told(verdict: Verdict) -> bool {
    verdict.trouble().is_some_and(|trouble| !matches!(trouble, Trouble::Gaps { .. }))
}

fn json(scene: &Scene, path: &Path, file_bytes: u64, elapsed: f64) -> Value {
    let streams: Vec<_> = scene
        .streams
        .iter()
        .zip(&scene.verdicts)
        .map(|(stream, verdict)| {
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
                "away_seconds": stream.away_seconds,
                "verdict": verdict.word(),
                "trouble": verdict.trouble().map(|trouble| trouble.to_string()),
                "explanation": verdict.trouble().and_then(Trouble::explained),
                "unrecorded": stream.unrecorded,
            })
        })
        .collect();
    json!({
        "file": path.display().to_string(),
        "file_bytes": file_bytes,
        "seconds": elapsed,
        "streams": streams,
        "not_recorded": scene.waiting,
        "unmatched": scene.unmatched.iter().map(unmatched_json).collect::<Vec<_>>(),
        "unseen": scene.unseen.iter().map(|one| printable(&one.to_string()).into_owned()).collect::<Vec<_>>(),
    })
}

fn unmatched_json(unmatched: &Unmatched) -> Value {
    json!({ "query": unmatched.query, "nearest": unmatched.nearest, "found": unmatched.found })
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
