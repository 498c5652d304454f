//! What a buffer holds, and the rules for putting in and getting out (spec: fieldtrip §6–§11).
//!
//! Sans-IO: time comes in as an argument, and nothing here locks or waits. [`Buffer`](crate::Buffer) shares a
//! store between threads.

mod events;
mod refused;
mod samples;

use core::time::Duration;
use std::sync::Arc;

use events::EventRing;
pub use refused::Refused;
use samples::SampleRing;
pub use samples::SharedBytes;

use crate::wire::{
    ByteOrder, EVENT_BYTES, Header, LAST, NOW, SamplesDefinition, Selection, Totals, WaitRequest,
    normalise_events,
};

/// How much a buffer keeps. The default is what the original keeps, which old programs may rely on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Capacity {
    /// Kept samples of any type, up to [`WIDE`](Self::WIDE) channels.
    pub samples: u32,
    /// Bytes of samples kept with more channels than that.
    pub wide_bytes: u64,
    /// Events kept.
    pub events: usize,
    /// Bytes of events kept; the original has no such limit.
    pub event_bytes: usize,
}

impl Capacity {
    /// Largest number of channels for which the ring is counted in samples.
    pub const WIDE: u32 = 256;

    fn samples_for(&self, header: &Header) -> u64 {
        if header.channel_count <= Self::WIDE {
            u64::from(self.samples)
        } else {
            (self.wide_bytes / header.stride().max(1)).min(u64::from(u32::MAX - 1))
        }
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self { samples: 600_000, wide_bytes: 512 << 20, events: 100, event_bytes: 16 << 20 }
    }
}

/// A range of samples or events, by absolute numbers that do not wrap.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// Number of the first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// One buffer's header, samples and events.
#[derive(Debug, Default)]
pub struct Store {
    capacity: Capacity,
    acquisition: Option<Acquisition>,
    generation: u64,
}

/// What [`Store::put_header`] and [`Store::flush_header`] replaced. Drop it when no lock is held: giving back a
/// full ring takes milliseconds.
#[derive(Debug)]
pub struct Retired(#[expect(dead_code, reason = "held only to be dropped later")] Option<Acquisition>);

#[derive(Debug)]
struct Acquisition {
    header: Header,
    samples: SampleRing,
    events: EventRing,
    /// When the last block came.
    last_block_at: Option<Duration>,
}

impl Store {
    /// An empty store.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, acquisition: None, generation: 0 }
    }

    /// Replaces the header; drops all samples and events.
    ///
    /// - Errors: [`Refused::TooLarge`] if one sample takes 4 GiB or more.
    pub fn put_header(&mut self, header: Header) -> Result<Retired, Refused> {
        let stride = u32::try_from(header.stride()).map_err(|_| Refused::TooLarge)?;
        let stride = usize::try_from(stride).map_err(|_| Refused::TooLarge)?;
        let fresh = Acquisition {
            samples: SampleRing::new(stride, self.capacity.samples_for(&header)),
            events: EventRing::new(self.capacity.events, self.capacity.event_bytes),
            last_block_at: None,
            header,
        };
        self.generation += 1;
        Ok(Retired(self.acquisition.replace(fresh)))
    }

    /// Says whether a block with this definition would be taken, and how many bytes of values it has.
    ///
    /// `payload_bytes` is the length of the whole payload, the definition included. Call it before taking
    /// memory for the block.
    #[inline]
    pub fn admit(&self, block: SamplesDefinition, payload_bytes: u64) -> Result<usize, Refused> {
        let acquisition = self.acquisition.as_ref().ok_or(Refused::NoHeader)?;
        let header = &acquisition.header;
        if block.channel_count != header.channel_count || block.data_type != header.data_type.code() {
            return Err(Refused::Mismatch);
        }
        if u64::from(block.sample_count) > acquisition.samples.capacity() {
            return Err(Refused::TooLarge);
        }
        let needed = block.needed(header.data_type).ok_or(Refused::TooLarge)?;
        let carried = u64::from(block.value_bytes);
        if carried < needed || crate::wire::SAMPLES_BYTES as u64 + carried > payload_bytes {
            return Err(Refused::Malformed);
        }
        usize::try_from(needed).map_err(|_| Refused::TooLarge)
    }

    /// Appends samples by copying `values`, which are in the machine's byte order and of the admitted length.
    ///
    /// - Units: `now` is any clock that does not go back, the same in every call.
    #[inline]
    pub fn put_samples(
        &mut self,
        block: SamplesDefinition,
        values: &[u8],
        now: Duration,
    ) -> Result<(), Refused> {
        let needed = self.admit(block, full_payload(block))?;
        let values = values.get(..needed).ok_or(Refused::Malformed)?;
        let acquisition = self.acquisition.as_mut().ok_or(Refused::NoHeader)?;
        acquisition.samples.append(values, u64::from(block.sample_count));
        acquisition.last_block_at = Some(now);
        Ok(())
    }

    /// Appends samples by taking the memory they are in; each piece holds whole samples.
    ///
    /// Returns views of what it took.
    pub fn adopt_samples(
        &mut self,
        block: SamplesDefinition,
        pieces: Vec<Vec<u8>>,
        now: Duration,
    ) -> Result<impl Iterator<Item = SharedBytes>, Refused> {
        let needed = self.admit(block, full_payload(block))?;
        let acquisition = self.acquisition.as_mut().ok_or(Refused::NoHeader)?;
        let stride = acquisition.samples.stride().max(1);
        let length: usize = pieces.iter().map(Vec::len).sum();
        if length != needed || pieces.iter().any(|piece| piece.len() % stride != 0) {
            return Err(Refused::Malformed);
        }
        acquisition.last_block_at = Some(now);
        Ok(acquisition.samples.adopt(pieces, u64::from(block.sample_count)))
    }

    /// Memory for samples of a block to come, used again where possible; its content has no meaning.
    pub fn take_segment(&mut self, length: usize) -> Vec<u8> {
        match &mut self.acquisition {
            Some(acquisition) => acquisition.samples.take_segment(length),
            None => vec![0; length],
        }
    }

    /// Appends events; fills in the sample number of events that want it. Calls `stored` for
    /// each.
    ///
    /// - Errors: [`Refused::Malformed`] if any event is wrong; then none is stored.
    pub fn put_events(
        &mut self,
        order: ByteOrder,
        payload: &[u8],
        now: Duration,
        mut stored: impl FnMut(&Arc<[u8]>),
    ) -> Result<(), Refused> {
        let acquisition = self.acquisition.as_mut().ok_or(Refused::NoHeader)?;
        let automatic = acquisition.sample_at(now);
        normalise_events(order, payload, |event, mut bytes| {
            if event.sample == NOW
                && let Some(place) = bytes.get_mut(EVENT_SAMPLE)
            {
                place.copy_from_slice(&automatic.to_ne_bytes());
            }
            let bytes: Arc<[u8]> = bytes.into();
            stored(&bytes);
            acquisition.events.push(bytes);
        })?;
        Ok(())
    }

    /// Removes header, samples and events.
    pub fn flush_header(&mut self) -> Result<Retired, Refused> {
        let old = self.acquisition.take().ok_or(Refused::NoHeader)?;
        self.generation += 1;
        Ok(Retired(Some(old)))
    }

    /// Removes the samples; their numbering starts again.
    pub fn flush_samples(&mut self) -> Result<Retired, Refused> {
        let acquisition = self.acquisition.as_mut().ok_or(Refused::NoHeader)?;
        let empty = SampleRing::new(acquisition.samples.stride(), acquisition.samples.capacity());
        let old = core::mem::replace(&mut acquisition.samples, empty);
        self.generation += 1;
        Ok(Retired(Some(Acquisition {
            header: acquisition.header.clone(),
            samples: old,
            events: EventRing::new(0, 0),
            last_block_at: None,
        })))
    }

    /// Removes the events; their numbering starts again.
    pub fn flush_events(&mut self) -> Result<(), Refused> {
        self.acquisition.as_mut().ok_or(Refused::NoHeader)?.events.clear();
        Ok(())
    }

    /// The header.
    pub fn header(&self) -> Result<&Header, Refused> {
        self.acquisition.as_ref().map(|acquisition| &acquisition.header).ok_or(Refused::NoHeader)
    }

    /// The totals as they travel: they start again at 0 after 2³².
    pub fn totals(&self) -> Result<Totals, Refused> {
        let acquisition = self.acquisition.as_ref().ok_or(Refused::NoHeader)?;
        Ok(Totals {
            samples: wire_count(acquisition.samples.total()),
            events: wire_count(acquisition.events.total()),
        })
    }

    /// Finds the samples of a selection; none means everything in the ring.
    ///
    /// - Errors: [`Refused::OutOfRange`] if there are none, or if any is not in the ring: nothing is clipped.
    pub fn locate_samples(&self, selection: Option<Selection>) -> Result<Span, Refused> {
        let acquisition = self.acquisition.as_ref().ok_or(Refused::NoHeader)?;
        let total = acquisition.samples.total();
        let held = total.min(acquisition.samples.capacity());
        let selection = selection.map(|Selection { begin, end }| {
            let end = if end == LAST { wire_count(total).wrapping_sub(1) } else { end };
            Selection { begin, end }
        });
        locate(total, held, selection)
    }

    /// Finds the events of a selection; none means all that are kept.
    ///
    /// - Errors: [`Refused::OutOfRange`] if there are none, or if any is not kept.
    pub fn locate_events(&self, selection: Option<Selection>) -> Result<Span, Refused> {
        let acquisition = self.acquisition.as_ref().ok_or(Refused::NoHeader)?;
        locate(acquisition.events.total(), acquisition.events.len(), selection)
    }

    /// Changes whenever the numbering of the samples starts again.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether samples found in this generation are still in the ring.
    pub fn holds_samples(&self, generation: u64, span: Span) -> bool {
        generation == self.generation
            && self.acquisition.as_ref().is_some_and(|acquisition| {
                let total = acquisition.samples.total();
                let oldest = total.saturating_sub(acquisition.samples.capacity());
                span.first >= oldest && span.first + span.count <= total
            })
    }

    /// Appends located samples to `shared` and, as far as they may still change places, as a copy to `tail`.
    pub fn share_samples(&self, span: Span, shared: &mut Vec<SharedBytes>, tail: &mut Vec<u8>) {
        if let Some(acquisition) = &self.acquisition {
            acquisition.samples.share(span.first, span.count, shared, tail);
        }
    }

    /// Copies located samples to the front of `out`.
    pub fn copy_samples(&self, span: Span, out: &mut [u8]) {
        if let Some(acquisition) = &self.acquisition {
            acquisition.samples.copy(span.first, span.count, out);
        }
    }

    /// Located events, as they travel in the machine's byte order.
    pub fn events(&self, span: Span) -> impl Iterator<Item = &Arc<[u8]>> {
        self.acquisition.iter().flat_map(move |acquisition| acquisition.events.range(span.first, span.count))
    }

    /// Whether a wait for this threshold is over; the thresholds compare with strictly greater.
    ///
    /// - Errors: [`Refused::NoHeader`]: there is nothing to wait for.
    pub fn is_past(&self, threshold: Totals) -> Result<bool, Refused> {
        let acquisition = self.acquisition.as_ref().ok_or(Refused::NoHeader)?;
        Ok(exceeds(acquisition.samples.total(), threshold.samples)
            || exceeds(acquisition.events.total(), threshold.events))
    }

    /// Whether a wait needs no waiting at all: it asks for none, or is over already.
    pub fn is_over(&self, wait: WaitRequest) -> Result<bool, Refused> {
        Ok(self.is_past(wait.threshold)? || wait.timeout_ms == 0)
    }
}

impl Acquisition {
    /// The sample number of now, by the sampling rate and the time of the last block (spec: fieldtrip §8).
    fn sample_at(&self, now: Duration) -> i32 {
        let (total, rate) = (self.samples.total(), f64::from(self.header.rate));
        let since_last_block = self.last_block_at.map_or(Duration::ZERO, |at| now.saturating_sub(at));
        let beyond = (rate * since_last_block.as_secs_f64()).trunc();
        // From floating point, `as` saturates, and NaN becomes 0.
        let sample = i64::from(wire_count(total)).saturating_add(beyond as i64);
        i32::try_from(sample).unwrap_or(if sample < 0 { i32::MIN } else { i32::MAX })
    }
}

/// Evaluates a selection in the order of spec: fieldtrip §7, on counters that wrap at 2³².
fn locate(total: u64, held: u64, selection: Option<Selection>) -> Result<Span, Refused> {
    let Some(Selection { begin, end }) = selection else {
        return if total == 0 {
            Err(Refused::OutOfRange)
        } else {
            Ok(Span { first: total - held, count: held })
        };
    };
    // How far back from the newest, which is at 1. A sample that does not exist yet is at 0 or very
    // far back.
    let newest = wire_count(total);
    let (from, to) = (u64::from(newest.wrapping_sub(begin)), u64::from(newest.wrapping_sub(end)));
    if from == 0 || from > held || to == 0 || to > total || to > from + 1 {
        return Err(Refused::OutOfRange);
    }
    Ok(Span { first: total - from, count: from + 1 - to })
}

fn exceeds(total: u64, threshold: u32) -> bool {
    if threshold == crate::wire::NEVER {
        return false;
    }
    match u32::try_from(total) {
        Ok(total) => total > threshold,
        // Once the counter has wrapped, a number less than half its range behind counts as passed.
        Err(_) => (1..=1 << 31).contains(&wire_count(total).wrapping_sub(threshold)),
    }
}

fn wire_count(total: u64) -> u32 {
    (total & u64::from(u32::MAX)) as u32
}

fn full_payload(block: SamplesDefinition) -> u64 {
    crate::wire::SAMPLES_BYTES as u64 + u64::from(block.value_bytes)
}

/// Where an encoded event has its sample number.
const EVENT_SAMPLE: core::ops::Range<usize> = 16..20;
const _: () = assert!(EVENT_SAMPLE.end < EVENT_BYTES);

#[cfg(test)]
mod tests;
