//! What `info`, `verify` and `repair` share: reading a recording with progress, and saying what is in it.

use core::time::Duration;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use schwann_recorder::{Finding, Limits, findings_by};
use schwann_xdf::{Comparison, Location, StreamHeader, StreamSurvey, Survey, compare};
use serde_json::{Value, json};

use crate::exit::Problem;
use crate::terminal::{Readable, plural};

/// Surveys a recording.
pub(crate) fn of(recording: &Location, progress: &mut Progress) -> Result<Survey, Problem> {
    let survey = Survey::of(recording.clone(), |done, all| progress.show(done, all));
    progress.clear();
    survey.map_err(|error| Problem::with(recording.path().display(), error))
}

/// Compares every byte of a recording with the checksums that its recorder wrote.
pub(crate) fn compared(recording: &Location, survey: &Survey) -> Result<Comparison, Problem> {
    let mut progress = Progress::new("hashing");
    let path = recording.path();
    let source = recording.open().map_err(|error| Problem::with(path.display(), error))?;
    let compared = compare(source, &survey.checksums, |done| progress.show(done, survey.file_bytes));
    progress.clear();
    compared.map_err(|error| Problem::with(path.display(), error))
}

/// Returns why a stream is not as it was recorded, as far as it shows within the stream.
pub(crate) fn complaints(stream: &StreamSurvey) -> Vec<String> {
    let guessed = plural(stream.guessed_stamp_count as usize, "sample");
    let guesses = || {
        format!(
            "GUESSED TIMES: damage took the stamps that tell the times of {guessed}; compare these with no other stream"
        )
    };
    footer_complaint(stream).into_iter().chain((stream.guessed_stamp_count > 0).then(guesses)).collect()
}

/// Returns what is wrong with a stream's footer, if anything is.
fn footer_complaint(stream: &StreamSurvey) -> Option<String> {
    match stream.footer_agrees() {
        Some(true) => None,
        Some(false) => {
            let counted = stream.footer.as_ref().and_then(|footer| footer.sample_count).unwrap_or_default();
            Some(format!(
                "FOOTER DISAGREES: it counts {counted} samples, the file has {}",
                stream.sample_count
            ))
        }
        None if stream.footer.is_some() => Some("FOOTER says no sample count".to_owned()),
        None => Some("NO FOOTER: the recording did not end in an orderly way".to_owned()),
    }
}

/// Returns a survey as JSON. Times are in seconds on each stream's own clock.
pub(crate) fn json(survey: &Survey, limits: &Limits) -> Value {
    json!({
        "read": "all",
        "file_bytes": survey.file_bytes,
        "datetime": survey.datetime,
        "sound": survey.is_sound(),
        "truncated": survey.is_truncated(),
        "boundary_count": survey.boundary_count,
        "damage_count": survey.damage_count,
        "damaged_bytes": survey.damaged_bytes,
        "damage": survey.damage.iter().map(|damage| json!({
            "at": damage.at,
            "bytes": damage.bytes,
            "what": damage.kind.to_string(),
        })).collect::<Vec<_>>(),
        "streams": survey.streams.iter().zip(findings_by(survey, limits)).map(|(stream, found)| stream_json(stream, &found, limits)).collect::<Vec<_>>(),
    })
}

/// Returns a number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    let mut scaled = count as f64;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if scaled < 1000.0 {
            return if unit == "bytes" { format!("{count} bytes") } else { format!("{scaled:.1} {unit}") };
        }
        scaled /= 1000.0;
    }
    format!("{scaled:.1} TB")
}

/// Returns a duration for people.
pub(crate) fn seconds(seconds: f64) -> String {
    // Rounded first: no minute has 60.0 s.
    let rounded = (seconds * 10.0).round() / 10.0;
    match if seconds < 59.9995 { seconds } else { rounded } {
        s if s < 0.1 => format!("{:.1} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.3} s"),
        s if s < 3600.0 => format!("{} min {:04.1} s", (s / 60.0) as u64, s % 60.0),
        s if s < 1e12 => format!("{} h {:02} min", (s / 3600.0) as u64, (s / 60.0) as u64 % 60),
        s => format!("{:.1} s", Readable(s)),
    }
}

/// One line on the terminal that says how far a long task has come; nothing where there is no terminal.
pub(crate) struct Progress {
    task: &'static str,
    began: Instant,
    shown: Option<Instant>,
    /// Of a task that reads its file several times, which time it is.
    pass: Option<u32>,
    done: u64,
}

impl Progress {
    /// Begins a task, named by what is being done, such as `reading`.
    pub(crate) fn new(task: &'static str) -> Self {
        Self { task, began: Instant::now(), shown: None, pass: None, done: 0 }
    }

    /// Begins a task that reads its file several times: it says what is left of the pass in which it is.
    pub(crate) fn in_passes(task: &'static str) -> Self {
        Self { pass: Some(1), ..Self::new(task) }
    }

    /// Says how far the task has come, in bytes; now and then at most.
    pub(crate) fn show(&mut self, done: u64, all: u64) {
        let now = Instant::now();
        if let Some(pass) = self.pass.as_mut().filter(|_| done < self.done) {
            *pass += 1;
            self.began = now;
        }
        self.done = done;
        let due = self.shown.map_or(self.began + FIRST_SHOWN, |shown| shown + SHOWN_EVERY);
        if now < due || !io::stderr().is_terminal() {
            return;
        }
        self.shown = Some(now);
        let percent = done as f64 / all.max(1) as f64 * 100.0;
        let passed = self.began.elapsed().as_secs_f64();
        let left = passed * all.saturating_sub(done) as f64 / done.max(1) as f64;
        let rate = bytes((done as f64 / passed.max(1e-3)) as u64);
        let of_pass = self.pass.map_or_else(String::new, |pass| format!(" in pass {pass}"));
        // A terminal that cannot be written to needs no progress.
        let _ = write!(
            io::stderr(),
            "\r\x1b[K{} {} of {}, {percent:.0} %, {rate} a second, {left:.0} s left{of_pass}",
            self.task,
            bytes(done),
            bytes(all)
        );
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn stream_json(stream: &StreamSurvey, found: &[Finding], limits: &Limits) -> Value {
    let known = json!({
        "effective_rate": stream.effective_rate,
        "sample_count": stream.sample_count,
        "first_stamp": stream.first_stamp,
        "last_stamp": stream.last_stamp,
        "gap_count": stream.gap_count,
        "gap_seconds": stream.gap_seconds,
        "gaps": stream.gaps.iter().map(|gap| json!({
            "after": gap.after,
            "seconds": gap.seconds,
            "missing": gap.missing,
        })).collect::<Vec<_>>(),
        "backward_count": stream.backward_count,
        "invalid_stamp_count": stream.invalid_stamp_count,
        "guessed_stamp_count": stream.guessed_stamp_count,
        "findings": found.iter().map(|one| finding_json(*one, limits)).collect::<Vec<_>>(),
        "clock": {
            "offset_count": stream.clock.offset_count,
            "last_offset": stream.clock.last_offset,
            "reset_count": stream.clock.reset_count,
            "drift_ppm": stream.clock.drift_ppm,
            "residual": stream.clock.residual,
            "segments": stream.timing.segments.iter().map(|segment| json!({
                "from": segment.from,
                "to": segment.to,
                "sample_count": segment.sample_count,
                "rate": segment.rate,
                "drift_ppm": segment.drift.map(|drift| drift.ppm),
                "drift_plus_minus_ppm": segment.drift.map(|drift| drift.plus_minus),
            })).collect::<Vec<_>>(),
        },
        "jitter_p50": stream.timing.jitter.quantile(0.5),
        "jitter_p99": stream.timing.jitter.quantile(0.99),
        "footer_sample_count": stream.footer.as_ref().and_then(|footer| footer.sample_count),
    });
    with_header(&stream.header, known)
}

/// What the header of a stream says, followed by what is known of its samples.
pub(super) fn with_header(header: &StreamHeader, known: Value) -> Value {
    let mut all = json!({
        "id": header.id,
        "name": header.name,
        "type": header.content_type,
        "source_id": header.source_id,
        "hostname": header.hostname,
        "channel_count": header.channel_count,
        "channel_format": header.format.name(),
        "nominal_rate": header.nominal_rate,
    });
    if let (Value::Object(all), Value::Object(known)) = (&mut all, known) {
        all.extend(known);
    }
    all
}

fn finding_json(found: Finding, limits: &Limits) -> Value {
    let mark = found.mark(limits);
    json!({
        "what": found.word(),
        "says": found.to_string(),
        "number": mark.map(|mark| mark.number),
        "limit": mark.map(|mark| mark.limit),
        "unit": mark.map(|mark| mark.unit),
    })
}

/// Tasks shorter than this need no progress.
const FIRST_SHOWN: Duration = Duration::from_millis(500);
const SHOWN_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_as_people_do() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1_181_143), bytes(u64::MAX)],
            ["0 bytes", "999 bytes", "1.2 MB", "18446744.1 TB"]
        );
        assert_eq!(
            [seconds(0.0), seconds(1.5), seconds(278.14), seconds(7_260.0)],
            ["0.0 ms", "1.500 s", "4 min 38.1 s", "2 h 01 min"]
        );
    }
}
