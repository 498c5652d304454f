//! Pushes the samples of a recording when their time has come.

use core::ops::Range;
use core::time::Duration;
use std::sync::Arc;

use schwann::Context;
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann_recorder::recorded_info;
use schwann_xdf::{Location, RecordedStream, Recording, Values};

use super::tape::Tape;
use crate::exit::Problem;

/// Plays all streams of a recording.
pub(super) struct Player {
    location: Location,
    tape: Tape,
    streams: Vec<Stream>,
    speed: f64,
    /// Earliest stamp of the recording, in seconds on its clock.
    first: f64,
    /// Latest stamp of the recording, in seconds on its clock.
    last: f64,
    /// When playing began, in seconds on the local clock.
    began: f64,
    /// From the last sample of a round to the first of the next, in seconds on the recording's clock.
    pause: f64,
}

/// What a player says about one stream.
pub(super) struct StreamProgress {
    /// Its name.
    pub(super) name: String,
    /// Samples sent in this round.
    pub(super) sent: usize,
    /// Samples of the recording.
    pub(super) sample_count: usize,
    /// Inlets that receive it.
    pub(super) receivers: usize,
}

impl Player {
    /// Makes the streams known on the network.
    ///
    /// - Source of the values: the file at `location`; `recording` is without them.
    pub(super) fn new(
        location: &Location,
        stretch: Stretch,
        recording: Recording,
        name: Option<&str>,
        speed: f64,
        config: &Arc<Context>,
    ) -> Result<Self, Problem> {
        if recording.streams.is_empty() {
            return Err(Problem::Failed("the recording has no streams".to_owned()));
        }
        let (first, last) = bounds(recording.streams.iter().flat_map(|stream| &stream.stamps));
        let rates = recording.streams.iter().map(|stream| stream.header.nominal_rate);
        let pause = rates.filter(|&rate| rate > 0.0).map(f64::recip).fold(PAUSE_MAX, f64::min);
        let alone = recording.streams.len() == 1;
        let streams = recording
            .streams
            .into_iter()
            .map(|stream| Stream::new(stream, name, alone, speed, config))
            .collect::<Result<Vec<_>, _>>()?;
        let mut streams = streams;
        let within = first + stretch.from..first + stretch.until;
        streams.iter_mut().for_each(|stream| stream.keep(&within));
        let (first, last) = match stretch.is_whole() {
            true => (first, last),
            false => bounds(streams.iter().flat_map(|stream| &stream.dues)),
        };
        if first > last {
            return Err(Problem::with(
                location.path().display(),
                "it has no sample between --from and --until",
            ));
        }
        let tape = tape(location, &streams)?;
        Ok(Self { location: location.clone(), tape, streams, speed, first, last, began: 0.0, pause })
    }

    /// Begins at the first sample; `now` in seconds on the local clock.
    pub(super) fn begin(&mut self, now: f64) {
        self.began = now;
        for stream in &mut self.streams {
            stream.next = 0;
        }
    }

    /// Begins the next round as if the recording went on; at `now` if that would be long ago or far ahead.
    pub(super) fn begin_again(&mut self, now: f64) -> Result<(), Problem> {
        self.tape = tape(&self.location, &self.streams)?;
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
            stream
                .push_until(&mut self.tape, until, |stamp| self.began + (stamp - self.first) / self.speed)?;
            next = next.min(stream.due());
        }
        Ok(next.is_finite().then(|| self.began + (next - self.first) / self.speed))
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
        self.streams.iter().map(|stream| StreamProgress {
            name: stream.name.clone(),
            sent: stream.next,
            sample_count: stream.stamps.len(),
            receivers: stream.outlet.consumer_count(),
        })
    }
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

/// The smallest and the largest time; infinite and crossed if there is none.
fn bounds<'a>(times: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    times.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), &time| (from.min(time), to.max(time)))
}

/// Begins to read the values of what is played.
fn tape(location: &Location, streams: &[Stream]) -> Result<Tape, Problem> {
    let mut tape = Tape::open(location)?;
    for stream in streams.iter().filter(|stream| stream.passed_over > 0) {
        tape.pass_over(stream.id, stream.passed_over * stream.channel_count);
    }
    Ok(tape)
}

/// One stream of the recording.
struct Stream {
    name: String,
    outlet: Outlet,
    channel_count: usize,
    stamps: Vec<f64>,
    /// When each sample is due, on the clock of the stamps. Samples stay in the order of the file, even where a
    /// stamp goes back.
    dues: Vec<f64>,
    /// Its id in the recording.
    id: u32,
    /// The first sample that was not sent yet.
    next: usize,
    /// Samples of the recording before the first that is played.
    passed_over: usize,
}

impl Stream {
    fn new(
        stream: RecordedStream,
        name: Option<&str>,
        alone: bool,
        speed: f64,
        config: &Arc<Context>,
    ) -> Result<Self, Problem> {
        let recorded = match stream.header.name.as_str() {
            "" => format!("stream {}", stream.header.id),
            name => name.to_owned(),
        };
        let name = match name {
            None => recorded,
            Some(name) if alone => name.to_owned(),
            Some(name) => format!("{name} {recorded}"),
        };
        let info = recorded_info(&stream.header, &name, stream.header.nominal_rate * speed)
            .map_err(|error| Problem::with(&name, error))?;
        let outlet = Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(config))
            .map_err(|error| Problem::with(&name, error))?;
        let mut latest = f64::NEG_INFINITY;
        let dues = stream.stamps.iter().map(|&stamp| {
            latest = latest.max(stamp);
            latest
        });
        Ok(Self {
            name,
            outlet,
            channel_count: stream.header.channel_count,
            dues: dues.collect(),
            stamps: stream.stamps,
            id: stream.header.id,
            next: 0,
            passed_over: 0,
        })
    }

    /// Keeps what is due in this stretch, on the clock of the stamps.
    fn keep(&mut self, within: &Range<f64>) {
        let from = self.dues.partition_point(|due| *due < within.start);
        let until = self.dues.partition_point(|due| *due < within.end);
        self.dues = self.dues.get(from..until).unwrap_or_default().to_vec();
        self.stamps = self.stamps.get(from..until).unwrap_or_default().to_vec();
        self.passed_over = from;
    }

    /// When the next sample is due, on the clock of the stamps; infinity after the last.
    fn due(&self) -> f64 {
        self.dues.get(self.next).copied().unwrap_or(f64::INFINITY)
    }

    fn push_until(&mut self, tape: &mut Tape, until: f64, place: impl Fn(f64) -> f64) -> Result<(), Problem> {
        let waiting = self.dues.get(self.next..).unwrap_or_default();
        let count = waiting.partition_point(|&due| due <= until).min(PUSH_MAX);
        if count == 0 {
            return Ok(());
        }
        let rows = self.next..self.next + count;
        let stamps: Vec<_> =
            self.stamps.get(rows.clone()).unwrap_or_default().iter().map(|&stamp| place(stamp)).collect();
        let value_count = count * self.channel_count;
        let (values, next) = tape.next(self.id, value_count)?;
        push(&self.outlet, values, next, &stamps).map_err(|error| Problem::with(&self.name, error))?;
        tape.skip(self.id, value_count);
        self.next = rows.end;
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
