use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::{RecordedAcquisition, RecordingError, Timing};
use crate::buffer::Buffer;
use crate::client::{Client, ClientError};
use crate::store::Refused;
use crate::wire::{Event, Header, SamplesDefinition};

/// Where data go: a client of a server, or a buffer of this process.
pub trait Target {
    /// Why it would not take them.
    type Error;

    /// Replaces the header.
    fn put_header(&mut self, header: &Header) -> Result<(), Self::Error>;

    /// Appends samples given as bytes in the machine's order.
    fn put_sample_bytes(&mut self, block: SamplesDefinition, values: &[u8]) -> Result<(), Self::Error>;

    /// Appends events.
    fn put_events(&mut self, events: &[Event]) -> Result<(), Self::Error>;
}

impl Target for Buffer {
    type Error = Refused;

    fn put_header(&mut self, header: &Header) -> Result<(), Refused> {
        Self::put_header(self, header.clone())
    }

    fn put_sample_bytes(&mut self, block: SamplesDefinition, values: &[u8]) -> Result<(), Refused> {
        Self::put_sample_bytes(self, block, values)
    }

    fn put_events(&mut self, events: &[Event]) -> Result<(), Refused> {
        Self::put_events(self, events)
    }
}

impl Target for Client {
    type Error = ClientError;

    fn put_header(&mut self, header: &Header) -> Result<(), ClientError> {
        Self::put_header(self, header)
    }

    fn put_sample_bytes(&mut self, block: SamplesDefinition, values: &[u8]) -> Result<(), ClientError> {
        Self::put_sample_bytes(self, block, values)
    }

    fn put_events(&mut self, events: &[Event]) -> Result<(), ClientError> {
        Self::put_events(self, events)
    }
}

/// What to play next, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// Time since the header.
    pub at: Duration,
    /// What.
    pub item: Item,
}

/// A block of a recording, by numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// These events.
    Events(Range<usize>),
    /// So many samples from this one on.
    Samples(u64, u32),
}

/// The blocks of a recording in the order and at the times in which they came. What the times do not cover, because
/// the recorder was stopped hard or kept none, follows at the sampling rate.
#[derive(Debug)]
pub struct Playback {
    timing: std::vec::IntoIter<Timing>,
    samples: Range<u64>,
    events: Range<usize>,
    last: Duration,
    rate: f64,
}

impl Playback {
    /// The blocks of this acquisition.
    pub fn new(acquisition: &RecordedAcquisition) -> Self {
        let rate = f64::from(acquisition.header().rate);
        Self {
            timing: acquisition.timing().to_vec().into_iter(),
            samples: 0..acquisition.sample_count(),
            events: 0..acquisition.events().len(),
            last: Duration::ZERO,
            rate: if rate.is_finite() && rate > 0.0 { rate } else { f64::INFINITY },
        }
    }

    fn take_samples(&mut self, count: u32, at: Duration) -> Option<Due> {
        let left = u32::try_from(self.samples.end - self.samples.start).unwrap_or(u32::MAX);
        let (first, count) = (self.samples.start, count.min(left));
        self.samples.start += u64::from(count);
        (count > 0).then_some(Due { at, item: Item::Samples(first, count) })
    }

    fn take_events(&mut self, count: usize, at: Duration) -> Option<Due> {
        let end = self.events.end.min(self.events.start.saturating_add(count));
        let range = self.events.start..end;
        self.events.start = end;
        (!range.is_empty()).then_some(Due { at, item: Item::Events(range) })
    }
}

impl Iterator for Playback {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        while let Some(timing) = self.timing.next() {
            let due = match timing {
                Timing::Samples(count, at) => {
                    self.last = at;
                    self.take_samples(count, at)
                }
                Timing::Events(count, at) => {
                    self.last = at;
                    self.take_events(usize::try_from(count).unwrap_or(usize::MAX), at)
                }
            };
            // A block that a crash cut off is skipped.
            if due.is_some() {
                return due;
            }
        }
        if let Some(due) = self.take_events(usize::MAX, self.last) {
            return Some(due);
        }
        self.last += Duration::try_from_secs_f64(f64::from(UNTIMED_BLOCK) / self.rate).unwrap_or_default();
        self.take_samples(UNTIMED_BLOCK, self.last)
    }
}

/// Plays a recorded acquisition into `target`, `speed` times as fast as it came; infinity plays at once.
///
/// - Errors: the outer ones are the recording's, the inner one is the target's.
pub fn play<T: Target>(
    acquisition: &mut RecordedAcquisition,
    target: &mut T,
    speed: f64,
    stop: &AtomicBool,
) -> Result<Result<(), T::Error>, RecordingError> {
    if let Err(error) = target.put_header(acquisition.header()) {
        return Ok(Err(error));
    }
    let started = Instant::now();
    let mut values = Vec::new();
    for due in Playback::new(acquisition) {
        let at = Duration::try_from_secs_f64(due.at.as_secs_f64() / speed).unwrap_or_default();
        sleep_until(started, at, stop);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let outcome = match due.item {
            Item::Samples(first, count) => {
                let block = acquisition.read_samples(first, count, &mut values)?;
                target.put_sample_bytes(block, &values)
            }
            Item::Events(range) => target.put_events(acquisition.events().get(range).unwrap_or_default()),
        };
        if outcome.is_err() {
            return Ok(outcome);
        }
    }
    Ok(Ok(()))
}

/// Sleeps until `at` after `started`, in steps short enough to be stopped.
pub(crate) fn sleep_until(started: Instant, at: Duration, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let left = at.saturating_sub(started.elapsed());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(STEP));
    }
}

const STEP: Duration = Duration::from_millis(100);

/// Samples of a block whose time is not known.
const UNTIMED_BLOCK: u32 = 64;
