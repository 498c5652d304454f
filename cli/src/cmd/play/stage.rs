//! Pushes the samples of a recording when their time has come.

use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use schwann::Context;
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann_recorder::recorded_info;
use schwann_xdf::{IndexedRecording, Location, Source, StreamHeader, Values};

use super::tape::Tape;
use crate::exit::Problem;

/// Plays all streams of a recording.
pub(super) struct Player {
    location: Location,
    recording: IndexedRecording<Source>,
    /// What is played, in seconds on the recorder's clock.
    within: Range<f64>,
    streams: Vec<Stream>,
    speed: f64,
    /// When the first sample is due, in seconds on the recorder's clock.
    first: f64,
    /// When the last one is; before it was played, when it is due at the latest.
    last: f64,
    /// When playing began, in seconds on the local clock.
    began: f64,
    /// From the last sample of a round to the first of the next, in seconds on the recording's clock.
    pause: f64,
    /// The bytes at which the recording was found to be damaged when it was opened, and in earlier rounds.
    damaged: BTreeSet<u64>,
}

/// What a player says about one stream.
pub(super) struct StreamProgress {
    /// Its name.
    pub(super) name: String,
    /// Samples sent in this round.
    pub(super) sent: usize,
    /// Samples of the recording; none if a part of it is played, whose samples are counted as they come.
    pub(super) sample_count: Option<u64>,
    /// Inlets that receive it.
    pub(super) receivers: usize,
}

impl Player {
    /// Makes the streams known on the network.
    ///
    /// - Source of the samples: the file at `location`, which is that of `recording`.
    pub(super) fn new(
        location: &Location,
        stretch: Stretch,
        recording: IndexedRecording<Source>,
        name: Option<&str>,
        speed: f64,
        config: &Arc<Context>,
    ) -> Result<Self, Problem> {
        if recording.headers().is_empty() {
            return Err(Problem::Failed("the recording has no streams".to_owned()));
        }
        let (within, end) = range(&recording, stretch);
        let tape = |header: &StreamHeader| Tape::open(&recording, location, header.id, &within);
        let mut tapes = recording.headers().iter().map(tape).collect::<Result<Vec<_>, _>>()?;
        let first = first_due(&mut tapes)?.ok_or_else(|| {
            Problem::with(location.path().display(), "it has no sample between --from and --until")
        })?;
        let alone = tapes.len() == 1;
        let streams = recording.headers().iter().zip(tapes);
        let streams = streams
            .map(|(header, tape)| Stream::new(header, tape, name.map(|name| (name, alone)), speed, config))
            .collect::<Result<Vec<_>, _>>()?;
        let (location, last) = (location.clone(), end.min(within.end));
        let pause = pause(&recording);
        let damaged = recording.damage().iter().map(|damage| damage.at).collect();
        Ok(Self { location, recording, within, streams, speed, first, last, began: 0.0, pause, damaged })
    }

    /// Begins at the first sample; `now` in seconds on the local clock.
    pub(super) fn begin(&mut self, now: f64) {
        self.began = now;
        for stream in &mut self.streams {
            stream.sent = 0;
        }
    }

    /// Begins the next round as if the recording went on; at `now` if that would be long ago or far ahead.
    pub(super) fn begin_again(&mut self, now: f64) -> Result<(), Problem> {
        self.last = self.streams.iter().map(|stream| stream.last).fold(f64::NEG_INFINITY, f64::max);
        for stream in &mut self.streams {
            self.damaged.extend(stream.tape.damaged());
            stream.tape = Tape::open(&self.recording, &self.location, stream.id, &self.within)?;
        }
        let next = self.began + self.duration() + self.pause / self.speed;
        self.begin(if (next - now).abs() < LATE { next } else { now });
        Ok(())
    }

    /// Pushes every sample whose time has come by `now`; returns when the next one is due, or nothing at the end.
    ///
    /// - Units: seconds on the local clock.
    pub(super) fn push_until(&mut self, now: f64) -> Result<Option<f64>, Problem> {
        let until = self.first + (now - self.began) * self.speed;
        let mut next = f64::INFINITY;
        for stream in &mut self.streams {
            stream.push_until(until, |stamp| self.began + (stamp - self.first) / self.speed)?;
            next = next.min(stream.tape.due()?);
        }
        Ok((next != f64::INFINITY).then(|| self.began + (next - self.first) / self.speed))
    }

    /// Waits until everything is on its way to those that receive it.
    pub(super) fn flush(&self) -> Result<(), Problem> {
        for stream in &self.streams {
            let flushed = stream.outlet.flush(Some(FLUSH_PATIENCE));
            flushed.map_err(|error| Problem::with(&stream.name, error))?;
        }
        Ok(())
    }

    /// Whether every stream has so many receivers.
    pub(super) fn all_have_receivers(&self, count: usize) -> bool {
        self.streams.iter().all(|stream| stream.outlet.consumer_count() >= count)
    }

    /// In how many places the recording was found to be damaged.
    pub(super) fn damage_count(&self) -> usize {
        let found = self.streams.iter().flat_map(|stream| stream.tape.damaged());
        self.damaged.iter().chain(found).collect::<BTreeSet<_>>().len()
    }

    /// How long a round takes, in seconds.
    pub(super) fn duration(&self) -> f64 {
        (self.last - self.first).max(0.0) / self.speed
    }

    /// How long this round has taken by `now`, in seconds.
    pub(super) fn elapsed(&self, now: f64) -> f64 {
        now - self.began
    }

    /// Where each stream is.
    pub(super) fn streams(&self) -> impl Iterator<Item = StreamProgress> + '_ {
        let is_whole = self.within.start == f64::NEG_INFINITY;
        let counts = self.recording.index().streams.iter().map(|stream| stream.sample_count);
        self.streams.iter().zip(counts).map(move |(stream, sample_count)| StreamProgress {
            name: stream.name.clone(),
            sent: stream.sent,
            sample_count: is_whole.then_some(sample_count),
            receivers: stream.outlet.consumer_count(),
        })
    }
}

/// What is played, and where the recording ends, in seconds on the recorder's clock.
fn range(recording: &IndexedRecording<Source>, stretch: Stretch) -> (Range<f64>, f64) {
    let spans = || recording.headers().iter().filter_map(|header| recording.span(header.id));
    let begin = spans().map(|span| span.start).fold(f64::INFINITY, f64::min);
    let end = spans().map(|span| span.end).fold(f64::NEG_INFINITY, f64::max);
    let within = match stretch.is_whole() {
        true => f64::NEG_INFINITY..f64::INFINITY,
        false => begin + stretch.from..begin + stretch.until,
    };
    (within, end)
}

/// When the first sample of all is due; nothing if there is none. Samples that come before the first with a time are due
/// at once.
fn first_due(tapes: &mut [Tape]) -> Result<Option<f64>, Problem> {
    let dues = tapes.iter_mut().map(Tape::due).collect::<Result<Vec<_>, _>>()?;
    let first = dues.iter().copied().filter(|due| due.is_finite()).reduce(f64::min);
    Ok(first.or(dues.contains(&f64::NEG_INFINITY).then_some(0.0)))
}

/// From the last sample of a round to the first of the next: an interval of the fastest stream, but no more than [`PAUSE_MAX`].
fn pause(recording: &IndexedRecording<Source>) -> f64 {
    let rates = recording.headers().iter().map(|header| header.nominal_rate);
    rates.filter(|&rate| rate > 0.0).map(f64::recip).fold(PAUSE_MAX, f64::min)
}

/// A stretch of a recording, in seconds from its first sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    /// Where it begins.
    pub(super) from: f64,
    /// Where it ends; infinity for the end of the recording.
    pub(super) until: f64,
}

impl Stretch {
    fn is_whole(self) -> bool {
        self.from <= 0.0 && self.until == f64::INFINITY
    }
}

/// One stream of the recording.
struct Stream {
    name: String,
    outlet: Outlet,
    channel_count: usize,
    /// Its id in the recording.
    id: u32,
    tape: Tape,
    /// Samples that were sent in this round.
    sent: usize,
    /// When the last of them was due, on the recorder's clock.
    last: f64,
}

impl Stream {
    /// Makes a stream known; `name` is that of the player, and whether it is alone.
    fn new(
        header: &StreamHeader,
        tape: Tape,
        name: Option<(&str, bool)>,
        speed: f64,
        config: &Arc<Context>,
    ) -> Result<Self, Problem> {
        let recorded = match header.name.as_str() {
            "" => format!("stream {}", header.id),
            name => name.to_owned(),
        };
        let name = match name {
            None => recorded,
            Some((name, true)) => name.to_owned(),
            Some((name, false)) => format!("{name} {recorded}"),
        };
        let info = recorded_info(header, &name, header.nominal_rate * speed)
            .map_err(|error| Problem::with(&name, error))?;
        let outlet = Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(config))
            .map_err(|error| Problem::with(&name, error))?;
        let channel_count = header.channel_count;
        Ok(Self { name, outlet, channel_count, id: header.id, tape, sent: 0, last: f64::NEG_INFINITY })
    }

    /// Pushes what is due on the recorder's clock; `place` puts its stamps on the local one.
    fn push_until(&mut self, until: f64, place: impl Fn(f64) -> f64) -> Result<(), Problem> {
        let mut left = PUSH_MAX;
        while left > 0 && self.tape.due()? <= until {
            let (samples, rows) = self.tape.due_by(until, left);
            let recorded = samples.stamps.get(rows.clone()).unwrap_or_default();
            let stamps: Vec<_> = recorded.iter().map(|&stamp| place(stamp)).collect();
            let next = rows.start * self.channel_count..rows.end * self.channel_count;
            push(&self.outlet, &samples.values, next, &stamps)
                .map_err(|error| Problem::with(&self.name, error))?;
            self.last = samples.dues.get(..rows.end).and_then(<[f64]>::last).copied().unwrap_or(self.last);
            self.tape.skip(rows.len());
            self.sent += rows.len();
            left -= rows.len();
        }
        Ok(())
    }
}

fn push(outlet: &Outlet, values: &Values, next: Range<usize>, stamps: &[f64]) -> Result<(), schwann::Error> {
    macro_rules! numbers {
        ($values:expr) => {
            outlet.push_chunk_stamped($values.get(next).unwrap_or_default(), stamps, Flush::Now)
        };
    }
    match values {
        Values::Double64(values) => numbers!(values),
        Values::Float32(values) => numbers!(values),
        Values::Int16(values) => numbers!(values),
        Values::Int32(values) => numbers!(values),
        Values::Int64(values) => numbers!(values),
        Values::Int8(values) => numbers!(values),
        Values::String(texts) => {
            let texts: Vec<_> = texts.get(next).unwrap_or_default().iter().map(String::as_bytes).collect();
            outlet.push_string_chunk_stamped(&texts, stamps, Flush::Now)
        }
    }
}

/// The most samples of one push.
const PUSH_MAX: usize = 4096;
/// Rounds are this far apart at most, in seconds of the recording.
const PAUSE_MAX: f64 = 0.1;
/// Being later than this, in seconds, is not made up for in the next round.
const LATE: f64 = 1.0;
const FLUSH_PATIENCE: Duration = Duration::from_secs(10);
