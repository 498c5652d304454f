//! What a recording shows of itself.

mod json;

use core::net::SocketAddr;
use std::io::{self, Stdout, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use schwann::security::Explained;
use schwann_recorder::control::{Ended, Progress};
use schwann_recorder::{Forecast, Phase, RecordingStream, Trouble, Unmatched, Unseen, Verdict};
use serde_json::json;

use super::control::Door;
use crate::cmd::survey::bytes;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{
    Destination, Look, Palette, Screen, Shown, plural, printable, rate, short_time, stopwatch, thousands,
    times,
};

/// What there is to show.
#[derive(Default)]
pub(super) struct Scene {
    /// The file of now; nothing while nothing is recorded.
    pub(super) path: PathBuf,
    pub(super) file_bytes: u64,
    /// Since the beginning of the recording, in seconds.
    pub(super) seconds: f64,
    /// Files of this program that are complete.
    pub(super) complete_count: usize,
    pub(super) streams: Vec<RecordingStream>,
    /// How each of the streams is.
    pub(super) verdicts: Vec<Verdict>,
    /// Queries that have found nothing.
    pub(super) unmatched: Vec<Unmatched>,
    /// Streams that are there and cannot be recorded from here.
    pub(super) unseen: Vec<Unseen>,
    /// What is said of streams that come in the clear although this computer wants sealed ones.
    pub(super) admitted: Vec<String>,
    /// How many streams are or were announced and have not been recorded, because too many did not answer.
    pub(super) left_out: usize,
    /// Whether every stream is recorded that comes.
    pub(super) takes_all: bool,
    /// How long the disk takes more.
    pub(super) forecast: Option<Forecast>,
    /// Where commands are waited for, and how many streams there are; nothing while something is recorded.
    pub(super) idle: Option<(Option<SocketAddr>, usize)>,
}

impl Scene {
    pub(super) fn of(now: &Progress, complete_count: usize) -> Self {
        Self {
            path: now.path.clone(),
            file_bytes: now.file_bytes,
            seconds: now.seconds,
            complete_count,
            streams: now.streams.clone(),
            verdicts: now.verdicts.clone(),
            unmatched: now.unmatched.clone(),
            left_out: now.left_out,
            forecast: now.forecast,
            ..Self::default()
        }
    }

    pub(super) fn of_ended(ended: &Ended, complete_count: usize) -> Self {
        Self {
            path: ended.path.clone(),
            file_bytes: ended.file_bytes,
            seconds: ended.seconds,
            complete_count,
            streams: ended.streams.clone(),
            verdicts: ended.verdicts.clone(),
            unmatched: ended.unmatched.clone(),
            left_out: ended.left_out,
            ..Self::default()
        }
    }

    pub(super) fn idle(remote: Option<SocketAddr>, found: usize, unseen: Vec<Unseen>) -> Self {
        Self { idle: Some((remote, found)), unseen, ..Self::default() }
    }
}

/// The screen of a recording.
pub(super) struct View {
    screen: Screen<Stdout>,
    palette: Palette,
    began: Instant,
    json: bool,
    /// When to print the next line where nothing can be repainted, in seconds from the beginning.
    next_line: f64,
    /// Whether no one reads it any more.
    is_lost: bool,
}

impl View {
    /// Begins to show.
    pub(super) fn new(json: bool) -> Self {
        let screen = Screen::new(io::stdout());
        let palette = Palette::of(screen.destination());
        Self { screen, palette, began: Instant::now(), json, next_line: 0.0, is_lost: false }
    }

    /// Whether a person looks at it.
    pub(super) fn is_for_a_person(&self) -> bool {
        self.screen.destination() == Destination::Terminal && !self.json
    }

    /// Shows where things stand, and below it what can be typed. A recording goes on without a reader of that.
    pub(super) fn show(&mut self, scene: &Scene, prompt: Option<&str>) {
        self.is_lost |= self.paint(scene, prompt).is_err();
    }

    fn paint(&mut self, scene: &Scene, prompt: Option<&str>) -> io::Result<()> {
        if self.is_lost {
            return Ok(());
        }
        let elapsed = self.began.elapsed().as_secs_f64();
        if self.is_for_a_person() {
            let mut text = self.page(scene);
            if let Some(prompt) = prompt {
                text.push_str(&format!("{}\n", printable(prompt)));
            }
            return self.screen.paint(&text);
        }
        if elapsed < self.next_line {
            return Ok(());
        }
        self.next_line = elapsed + if self.json { 1.0 } else { LINE_EVERY };
        if self.json {
            return writeln!(io::stdout(), "{}", Shown(&json::of(scene)));
        }
        let text = self.line(scene, elapsed) + &scene.remarks();
        self.screen.paint(&text)
    }

    /// Says where programs drive the recorder; in JSON, as an object of its own.
    pub(super) fn tell_control(&mut self, door: &Door) -> io::Result<()> {
        if self.json {
            return writeln!(io::stdout(), "{}", door.json());
        }
        self.screen.paint(&door.text())?;
        self.screen.keep();
        Ok(())
    }

    /// Says a sentence that stays; in JSON, as an object of its own.
    pub(super) fn remark(&mut self, text: &str) {
        self.is_lost |= self.put_remark(text).is_err();
    }

    fn put_remark(&mut self, text: &str) -> io::Result<()> {
        if self.json {
            return writeln!(io::stdout(), "{}", json!({ "remark": printable(text) }));
        }
        self.screen.paint(&format!("  {}\n", printable(text)))?;
        self.screen.keep();
        Ok(())
    }

    /// Says how it went.
    pub(super) fn conclude(&mut self, scene: &Scene, lost_required: bool) -> io::Result<()> {
        if self.json {
            let mut last = json::of(scene);
            last["finished"] = true.into();
            last["required_lost"] = lost_required.into();
            return writeln!(io::stdout(), "{last}");
        }
        let mut text = self.page(scene);
        if scene.streams.is_empty() {
            let why = match scene.unmatched.first().filter(|unmatched| !unmatched.found.is_empty()) {
                Some(_) => "no stream matches",
                None => "no stream was found; why: schwann doctor",
            };
            text = format!("NOTHING was recorded in {}: {why}\n{}", scene.path.display(), scene.remarks());
        }
        if lost_required {
            text.push_str("  a REQUIRED stream was not connected at the end\n");
        }
        self.screen.paint(&text)?;
        self.screen.keep();
        Ok(())
    }

    /// One line for where nothing can be repainted.
    fn line(&self, scene: &Scene, elapsed: f64) -> String {
        let streams = &scene.streams;
        if let Some((remote, found)) = scene.idle {
            return format!("{elapsed:7.1} s: {}\n", waiting_for(remote, found));
        }
        let samples = streams.iter().map(|stream| stream.reading.sample_count as usize).sum();
        let gaps = streams.iter().map(|stream| stream.reading.gap_count as usize).sum();
        let away = streams.iter().filter(|stream| stream.phase != Phase::Recording).count();
        format!(
            "{elapsed:7.1} s: {} ({away} not connected), {}, {}, {} in {}\n",
            plural(streams.len(), "stream"),
            plural(samples, "sample"),
            plural(gaps, "gap"),
            bytes(scene.file_bytes),
            scene.path.display(),
        )
    }

    fn page(&self, scene: &Scene) -> String {
        let title = self.palette.paint(Look::Strong, "schwann record");
        if let Some((remote, found)) = scene.idle {
            return format!("{title}  {}\n", waiting_for(remote, found)) + &scene.remarks();
        }
        let room = scene.forecast.and_then(|forecast| forecast.seconds_left);
        let mut out = format!(
            "{title}  {}, {}, {}{}{}\n\n",
            scene.path.display(),
            bytes(scene.file_bytes),
            stopwatch(scene.seconds),
            room.map(|left| format!(", room for {}", roughly(left))).unwrap_or_default(),
            match scene.complete_count {
                0 => String::new(),
                count => format!(", {} before", plural(count, "file")),
            },
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

/// What is said while nothing is recorded.
fn waiting_for(remote: Option<SocketAddr>, found: usize) -> String {
    let place = remote.map(|address| format!(" at {address}")).unwrap_or_default();
    format!("nothing is recorded; waiting for a command{place}; {} there", plural(found, "stream"))
}

/// A time that is only an estimate.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

impl Scene {
    /// A line for all that is not as it should be.
    fn remarks(&self) -> String {
        let explained = self.streams.iter().zip(&self.verdicts).filter_map(|(stream, verdict)| {
            let why = match stream.refusal {
                Some(refusal) => format!("is refused: {}", Explained(refusal)),
                None => verdict.trouble().and_then(Trouble::explained)?,
            };
            Some(format!("{} of {} {why}", stream.info.name(), stream.info.hostname()))
        });
        let cut = self.streams.iter().filter(|stream| stream.is_description_cut).map(cut_description);
        let unmatched =
            self.unmatched.iter().map(|one| format!("no stream matches {}; {}", one.guess(), one.there()));
        let unseen = self.unseen.iter().map(|unseen| format!("not recorded: {unseen}"));
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{} more were announced and are not recorded: they cannot be, or too many did not answer and may be made up",
                thousands(self.left_out as u64)
            )
        });
        explained
            .chain(cut)
            .chain(self.forecast.filter(Forecast::is_short).map(nearly_full))
            .chain(unmatched)
            .chain(unseen)
            .chain(self.admitted.iter().cloned())
            .chain(left_out)
            .map(|line| format!("  {}\n", printable(&line)))
            .collect()
    }
}

fn cut_description(stream: &RecordingStream) -> String {
    format!(
        "{} of {} has invalid XML in its description, such as a name with a space: the file lacks what \
         follows there, perhaps channel names",
        stream.info.name(),
        stream.info.hostname()
    )
}

/// Why a recording may end soon.
fn nearly_full(forecast: Forecast) -> String {
    let left = forecast.seconds_left.map(|left| format!(", {} at this rate", roughly(left)));
    let free = bytes(forecast.free_bytes);
    format!(
        "the DISK is nearly full: {free} left{}; make room, or stop and record elsewhere",
        left.unwrap_or_default()
    )
}

fn unmatched_row(unmatched: &Unmatched) -> Vec<Cell> {
    let row = [Cell::from(unmatched.query.as_str()), Cell::looking(Look::Wrong, "NO MATCH")];
    row.into_iter().chain((2..COLUMNS.len()).map(|_| Cell::from("-"))).collect()
}

fn row(stream: &RecordingStream, verdict: Verdict) -> Vec<Cell> {
    let (info, reading) = (&stream.info, &stream.reading);
    let rate = match (reading.rate, info.nominal_rate()) {
        (None, _) => "-".to_owned(),
        (Some(measured), 0.0) => format!("{measured:.1} Hz"),
        (Some(_), nominal) => rate(reading.rate, nominal),
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
        (Phase::Connecting, _) => Cell::looking(Look::Warning, "has not answered"),
        (Phase::Recording, 0) => Cell::looking(Look::Good, "recording"),
        (Phase::Recording, count) => {
            Cell::looking(Look::Warning, format!("recording, WAS AWAY {}", times(count)))
        }
        (Phase::Recovering, _) => Cell::looking(Look::Warning, "AWAY, looked for"),
        (Phase::Lost, _) => Cell::looking(Look::Wrong, "GONE"),
        (Phase::Failed, _) => Cell::looking(Look::Wrong, "NOT RECORDED any more: a fault of schwann"),
        (Phase::Unreadable, _) => Cell::looking(Look::Wrong, "NOT RECORDED: its description is invalid"),
    }
}

/// Whether a stream is in trouble that no other cell of its row tells.
fn is_told(verdict: Verdict) -> bool {
    verdict.trouble().is_some_and(|trouble| !matches!(trouble, Trouble::Gaps { .. }))
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
