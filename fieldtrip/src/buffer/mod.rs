//! A buffer in this process: who may touch it when. Putting in is here, getting out and waiting beside it.

mod read;
mod sample;
mod waiting;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use sample::Sample;
pub(crate) use sample::definition;
pub(crate) use waiting::Begun;

use crate::herald::Herald;
use crate::store::{Capacity, Refused, Store};
use crate::tap::{Change, Tap, TapSender, Values};
use crate::wait::{WaitSet, Wake};
use crate::wire::{ByteOrder, Event, Header, SamplesDefinition};

/// A buffer in this process: what servers share with their clients, and what a program that acquires or analyses
/// uses directly.
///
/// Clones are handles to the same buffer. Every call is one transaction: readers see whole blocks. A call costs
/// a lock and a copy; big blocks are copied while nobody is locked out.
#[derive(Clone)]
pub struct Buffer {
    inner: Arc<Inner>,
}

struct Inner {
    made: Instant,
    shared: Mutex<Shared>,
    herald: Herald,
}

#[derive(Default)]
struct Shared {
    store: Store,
    waits: WaitSet,
    taps: Vec<TapSender>,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(capacity: Capacity) -> Self {
        let shared = Shared { store: Store::new(capacity), ..Shared::default() };
        let (made, shared) = (Instant::now(), Mutex::new(shared));
        Self { inner: Arc::new(Inner { made, shared, herald: Herald::default() }) }
    }

    /// Replaces the header; drops all samples and events.
    ///
    /// - Errors: [`Refused::TooLarge`] if one sample takes 4 GiB or more.
    pub fn put_header(&self, header: Header) -> Result<(), Refused> {
        let at = self.now();
        let mut shared = self.lock();
        let change = (!shared.taps.is_empty()).then(|| Change::Header { header: header.clone(), at });
        let retired = shared.store.put_header(header)?;
        shared.tell(change);
        drop(shared);
        drop(retired);
        Ok(())
    }

    /// Appends samples.
    ///
    /// - Shape: samples × channels, one row per sample.
    /// - Errors: [`Refused::Mismatch`] if type or channels differ from the header's; [`Refused::Malformed`] if
    ///   the last sample is not whole.
    pub fn put_samples<T: Sample>(&self, channel_count: u32, values: &[T]) -> Result<(), Refused> {
        let block = definition::<T>(channel_count, values.len())?;
        self.put_block(block, bytemuck::cast_slice(values)).map(|wake| self.announce(wake))
    }

    /// Appends samples given as bytes in the machine's order, of any type.
    ///
    /// - Errors: as [`Buffer::put_samples`].
    pub fn put_sample_bytes(&self, block: SamplesDefinition, values: &[u8]) -> Result<(), Refused> {
        self.put_block(block, values).map(|wake| self.announce(wake))
    }

    /// Appends events.
    ///
    /// - Errors: [`Refused::NoHeader`].
    pub fn put_events(&self, events: &[Event]) -> Result<(), Refused> {
        let mut payload = Vec::new();
        events.iter().for_each(|event| event.encode(ByteOrder::NATIVE, &mut payload));
        self.put_event_bytes(ByteOrder::NATIVE, &payload).map(|wake| self.announce(wake))
    }

    /// Appends events that are encoded already, in this byte order.
    ///
    /// - Errors: [`Refused::Malformed`] if any is wrong; then none is stored.
    pub fn put_encoded_events(&self, order: ByteOrder, events: &[u8]) -> Result<(), Refused> {
        self.put_event_bytes(order, events).map(|wake| self.announce(wake))
    }

    /// Removes header, samples and events; waits end with [`Refused::NoHeader`].
    pub fn flush_header(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        let retired = shared.store.flush_header()?;
        shared.tell(Some(Change::HeaderFlushed));
        let wake = shared.take_finished();
        drop(shared);
        drop(retired);
        self.announce(wake);
        Ok(())
    }

    /// Removes the samples; their numbering starts again at 0.
    pub fn flush_samples(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        let retired = shared.store.flush_samples()?;
        shared.tell(Some(Change::SamplesFlushed));
        drop(shared);
        drop(retired);
        Ok(())
    }

    /// Removes the events; their numbering starts again at 0.
    pub fn flush_events(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        shared.store.flush_events()?;
        shared.tell(Some(Change::EventsFlushed));
        Ok(())
    }

    /// Follows everything that the buffer accepts from now on, beginning with the present header if there is
    /// one. Nothing is lost while less than `limit` bytes wait to be taken.
    pub fn tap(&self, limit: usize) -> Tap {
        let (sender, tap) = crate::tap::tap(limit);
        let at = self.now();
        let mut shared = self.lock();
        let header = shared.store.header().ok().cloned();
        if header.is_none_or(|header| sender.send(Change::Header { header, at })) {
            shared.taps.push(sender);
        }
        tap
    }

    #[inline]
    pub(crate) fn put_block(&self, block: SamplesDefinition, values: &[u8]) -> Result<Wake, Refused> {
        if values.len() >= BULK_BYTES {
            return self.put_bulk(block, values);
        }
        let mut shared = self.lock();
        let mut at = Duration::ZERO;
        shared.store.put_samples(block, values, || {
            at = self.now();
            at
        })?;
        shared.waits.beat(at);
        if !shared.taps.is_empty() {
            shared.tell_block(block, values, at);
        }
        Ok(shared.take_finished())
    }

    /// Copies into memory of the ring before it takes the lock that makes the block appear.
    fn put_bulk(&self, block: SamplesDefinition, values: &[u8]) -> Result<Wake, Refused> {
        let payload_bytes = crate::wire::SAMPLES_BYTES as u64 + values.len() as u64;
        let (needed, piece_bytes) = self.admit(block, payload_bytes)?;
        let values = values.get(..needed).ok_or(Refused::Malformed)?;
        let fill = |values: &[u8]| {
            let mut piece = self.take_segment(values.len());
            piece.copy_from_slice(values);
            piece
        };
        self.adopt_block(block, values.chunks(piece_bytes).map(fill).collect())
    }

    /// Whether a block would be taken: the bytes of its values, and the largest piece to bring them in.
    pub(crate) fn admit(
        &self,
        block: SamplesDefinition,
        payload_bytes: u64,
    ) -> Result<(usize, usize), Refused> {
        let shared = self.lock();
        let needed = shared.store.admit(block, payload_bytes)?;
        let stride = usize::try_from(shared.store.header()?.stride()).map_err(|_| Refused::TooLarge)?.max(1);
        Ok((needed, (PIECE_BYTES / stride).max(1) * stride))
    }

    pub(crate) fn take_segment(&self, length: usize) -> Vec<u8> {
        self.lock().store.take_segment(length)
    }

    pub(crate) fn adopt_block(
        &self,
        block: SamplesDefinition,
        pieces: Vec<Vec<u8>>,
    ) -> Result<Wake, Refused> {
        let now = self.now();
        let mut shared = self.lock();
        let is_tapped = !shared.taps.is_empty();
        let adopted = shared.store.adopt_samples(block, pieces, now)?;
        if let Some(values) = is_tapped.then(move || adopted.map(Values::Shared).collect()) {
            shared.tell(Some(Change::Samples { count: block.sample_count, values, at: now }));
        }
        shared.waits.beat(now);
        Ok(shared.take_finished())
    }

    pub(crate) fn put_event_bytes(&self, order: ByteOrder, payload: &[u8]) -> Result<Wake, Refused> {
        let now = self.now();
        let mut events = Vec::new();
        let mut shared = self.lock();
        let is_tapped = !shared.taps.is_empty();
        shared.store.put_events(order, payload, now, |event| {
            if is_tapped {
                events.push(Arc::clone(event));
            }
        })?;
        if !events.is_empty() {
            shared.tell(Some(Change::Events { events, at: now }));
        }
        Ok(shared.take_finished())
    }

    /// Has readers told that their waits are over, without holding up whoever put what they waited for.
    #[inline]
    fn announce(&self, wake: Wake) {
        self.inner.herald.announce(wake);
    }

    /// Runs `look` on the store.
    pub(crate) fn with_store<R>(&self, look: impl FnOnce(&Store) -> R) -> R {
        look(&self.lock().store)
    }

    #[inline]
    fn now(&self) -> Duration {
        self.inner.made.elapsed()
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing under the lock leaves the store half changed; a panic elsewhere must not take the buffer along.
        self.inner.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(Capacity::default())
    }
}

impl core::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Buffer").field("totals", &self.totals()).finish_non_exhaustive()
    }
}

impl Shared {
    fn tell(&mut self, change: Option<Change>) {
        if let Some(change) = change {
            self.taps.retain(|tap| tap.send(change.clone()));
        }
    }

    /// Out of the way of a block that nobody taps.
    #[cold]
    fn tell_block(&mut self, block: SamplesDefinition, values: &[u8], at: Duration) {
        let values = vec![Values::Copied(values.into())];
        self.tell(Some(Change::Samples { count: block.sample_count, values, at }));
    }

    #[inline]
    fn take_finished(&mut self) -> Wake {
        self.waits.take_finished(&self.store)
    }
}

/// Blocks from this size on become segments of their own.
pub(crate) const BULK_BYTES: usize = 48 << 10;

/// Size of the pieces of a big block, in whole samples.
const PIECE_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
