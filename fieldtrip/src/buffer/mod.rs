use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::store::{Capacity, Refused, SharedBytes, Span, Store};
use crate::tap::{Change, Tap, TapSender, Values};
use crate::wait::{Parked, Sink, WaitEnd, WaitId, WaitSet, Wake};
use crate::wire::{
    ByteOrder, DataType, Event, EventIter, Header, SamplesDefinition, Selection, Totals, WaitRequest,
};

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
        Self { inner: Arc::new(Inner { made: Instant::now(), shared: Mutex::new(shared) }) }
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
        self.put_block(block, bytemuck::cast_slice(values)).map(drop)
    }

    /// Appends samples given as bytes in the machine's order, of any type.
    ///
    /// - Errors: as [`Buffer::put_samples`].
    pub fn put_sample_bytes(&self, block: SamplesDefinition, values: &[u8]) -> Result<(), Refused> {
        self.put_block(block, values).map(drop)
    }

    /// Appends events.
    ///
    /// - Errors: [`Refused::NoHeader`].
    pub fn put_events(&self, events: &[Event]) -> Result<(), Refused> {
        let mut payload = Vec::new();
        events.iter().for_each(|event| event.encode(ByteOrder::NATIVE, &mut payload));
        self.put_event_bytes(ByteOrder::NATIVE, &payload).map(drop)
    }

    /// Appends events that are encoded already, in this byte order.
    ///
    /// - Errors: [`Refused::Malformed`] if any is wrong; then none is stored.
    pub fn put_encoded_events(&self, order: ByteOrder, events: &[u8]) -> Result<(), Refused> {
        self.put_event_bytes(order, events).map(drop)
    }

    /// Removes header, samples and events; waits end with [`Refused::NoHeader`].
    pub fn flush_header(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        let retired = shared.store.flush_header()?;
        shared.tell(Some(Change::HeaderFlushed));
        let wake = shared.take_finished();
        drop(shared);
        drop(retired);
        drop(wake);
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

    /// The header and the totals.
    ///
    /// - Errors: [`Refused::NoHeader`].
    pub fn header(&self) -> Result<(Header, Totals), Refused> {
        let shared = self.lock();
        Ok((shared.store.header()?.clone(), shared.store.totals()?))
    }

    /// How many samples and events were written.
    ///
    /// - Errors: [`Refused::NoHeader`].
    pub fn totals(&self) -> Result<Totals, Refused> {
        self.lock().store.totals()
    }

    /// Fills `out` with samples from number `first` on.
    ///
    /// - Shape: samples × channels, one row per sample.
    /// - Errors: [`Refused::Mismatch`] if the type differs or the last sample would not be whole;
    ///   [`Refused::OutOfRange`] if any is not in the ring.
    pub fn read_samples<T: Sample>(&self, first: u32, out: &mut [T]) -> Result<(), Refused> {
        let shared = self.lock();
        let header = shared.store.header()?;
        let channels = usize::try_from(header.channel_count).map_err(|_| Refused::TooLarge)?;
        if header.data_type != T::DATA_TYPE || channels == 0 || !out.len().is_multiple_of(channels) {
            return Err(Refused::Mismatch);
        }
        let Some(last) = u32::try_from(out.len() / channels).ok().and_then(|count| count.checked_sub(1))
        else {
            return if out.is_empty() { Ok(()) } else { Err(Refused::OutOfRange) };
        };
        let selection = Selection { begin: first, end: first.wrapping_add(last) };
        let span = shared.store.locate_samples(Some(selection))?;
        copy_out(shared, span, bytemuck::cast_slice_mut(out));
        Ok(())
    }

    /// Takes samples out as bytes in the machine's order; no selection means everything in the ring.
    ///
    /// - Shape: samples × channels, one row per sample.
    /// - Errors: [`Refused::OutOfRange`] if there are none or any is not in the ring.
    pub fn samples(&self, selection: Option<Selection>) -> Result<(SamplesDefinition, Vec<u8>), Refused> {
        let shared = self.lock();
        let header = shared.store.header()?;
        let span = shared.store.locate_samples(selection)?;
        let count = u32::try_from(span.count).map_err(|_| Refused::TooLarge)?;
        let block =
            SamplesDefinition::new(header.channel_count, count, header.data_type).ok_or(Refused::TooLarge)?;
        let mut out = vec![0; usize::try_from(block.value_bytes).map_err(|_| Refused::TooLarge)?];
        copy_out(shared, span, &mut out);
        Ok((block, out))
    }

    /// Copies samples as bytes in the machine's order to the front of `out`; says what they are.
    ///
    /// - Errors: [`Refused::OutOfRange`] if any is not in the ring; [`Refused::TooLarge`] if `out` is too small.
    pub fn read_sample_bytes(
        &self,
        selection: Selection,
        out: &mut [u8],
    ) -> Result<SamplesDefinition, Refused> {
        let shared = self.lock();
        let header = shared.store.header()?;
        let span = shared.store.locate_samples(Some(selection))?;
        let count = u32::try_from(span.count).map_err(|_| Refused::TooLarge)?;
        let block =
            SamplesDefinition::new(header.channel_count, count, header.data_type).ok_or(Refused::TooLarge)?;
        let length = usize::try_from(block.value_bytes).map_err(|_| Refused::TooLarge)?;
        copy_out(shared, span, out.get_mut(..length).ok_or(Refused::TooLarge)?);
        Ok(block)
    }

    /// Takes events out; no selection means all that are kept.
    ///
    /// - Errors: [`Refused::OutOfRange`] if there are none or any is not kept.
    pub fn events(&self, selection: Option<Selection>) -> Result<Vec<Event>, Refused> {
        let each =
            |bytes: &Arc<[u8]>| Some(EventIter::new(ByteOrder::NATIVE, bytes).next()?.ok()?.to_event());
        Ok(self.encoded_events(selection)?.iter().filter_map(each).collect())
    }

    /// Takes events out as they travel, in the machine's byte order; see [`Buffer::events`].
    pub fn encoded_events(&self, selection: Option<Selection>) -> Result<Vec<Arc<[u8]>>, Refused> {
        let shared = self.lock();
        let span = shared.store.locate_events(selection)?;
        Ok(shared.store.events(span).cloned().collect())
    }

    /// Waits until there are more samples or more events than `threshold`, or the time is over; returns the
    /// totals then.
    ///
    /// - Errors: [`Refused::NoHeader`], also when the header goes while waiting.
    pub fn wait(&self, threshold: Totals, timeout: Duration) -> WaitEnd {
        let parked = Parked::current();
        let sink = Arc::clone(&parked);
        let timeout_ms = u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        match self.begin_wait(WaitRequest { threshold, timeout_ms }, || sink)? {
            Begun::Over(totals) => Ok(totals),
            Begun::Waiting(id) => {
                let deadline = Instant::now().checked_add(timeout);
                self.watch(&parked, threshold, deadline)
                    .or_else(|| parked.sleep_until(deadline))
                    .or_else(|| self.cancel_wait(id))
                    // Somebody is telling it at this moment.
                    .or_else(|| parked.sleep_until(None))
                    .unwrap_or(Err(Refused::NoHeader))
            }
        }
    }

    /// Is awake while the end is due, if it can be foreseen and is in time.
    fn watch(&self, parked: &Parked, threshold: Totals, deadline: Option<Instant>) -> Option<WaitEnd> {
        if threshold.samples == crate::wire::NEVER {
            return None;
        }
        let due = self.lock().waits.due()?;
        let due = self.inner.made + due.start..self.inner.made + due.end;
        if deadline.is_some_and(|deadline| deadline <= due.end) {
            return None;
        }
        let (end, vigil) = parked.watch(&due);
        if let Some(vigil) = vigil {
            self.lock().waits.kept(vigil);
        }
        end
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
        let now = self.now();
        let mut shared = self.lock();
        shared.store.put_samples(block, values, now)?;
        shared.waits.beat(now);
        if !shared.taps.is_empty() {
            let values = vec![Values::Copied(values.into())];
            shared.tell(Some(Change::Samples { count: block.sample_count, values, at: now }));
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

    /// Begins a wait; `sink` is asked for only if there is something to wait for.
    pub(crate) fn begin_wait<S: Sink + 'static>(
        &self,
        wait: WaitRequest,
        sink: impl FnOnce() -> Arc<S>,
    ) -> Result<Begun, Refused> {
        let mut shared = self.lock();
        if shared.store.is_over(wait)? {
            return shared.store.totals().map(Begun::Over);
        }
        Ok(Begun::Waiting(shared.waits.insert(wait.threshold, sink())))
    }

    /// Ends a wait early; `None` if its end was or is being told to its sink.
    pub(crate) fn cancel_wait(&self, id: WaitId) -> Option<WaitEnd> {
        let mut shared = self.lock();
        shared.waits.remove(id).then(|| shared.store.totals())
    }

    /// Runs `look` on the store.
    pub(crate) fn with_store<R>(&self, look: impl FnOnce(&Store) -> R) -> R {
        look(&self.lock().store)
    }

    fn now(&self) -> Duration {
        self.inner.made.elapsed()
    }

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

    fn take_finished(&mut self) -> Wake {
        self.waits.take_finished(&self.store)
    }
}

/// How a wait began.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is over already.
    Over(Totals),
    /// Its sink will be told.
    Waiting(WaitId),
}

/// A number that samples can be made of.
pub trait Sample: bytemuck::Pod {
    /// Its type on the wire.
    const DATA_TYPE: DataType;
}

macro_rules! sample {
    ($($number:ty => $data_type:ident),+ $(,)?) => {
        $(impl Sample for $number {
            const DATA_TYPE: DataType = DataType::$data_type;
        })+
    };
}

sample! {
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    f32 => Float32, f64 => Float64,
}

pub(crate) fn definition<T: Sample>(
    channel_count: u32,
    value_count: usize,
) -> Result<SamplesDefinition, Refused> {
    let channels = usize::try_from(channel_count).map_err(|_| Refused::TooLarge)?;
    if channels == 0 || !value_count.is_multiple_of(channels) {
        return Err(Refused::Malformed);
    }
    let sample_count = u32::try_from(value_count / channels).map_err(|_| Refused::TooLarge)?;
    SamplesDefinition::new(channel_count, sample_count, T::DATA_TYPE).ok_or(Refused::TooLarge)
}

/// Copies located samples; what is not small is shared first and copied when the lock is gone.
fn copy_out(shared: MutexGuard<'_, Shared>, span: Span, out: &mut [u8]) {
    if out.len() < BULK_BYTES {
        shared.store.copy_samples(span, out);
        return;
    }
    let (mut closed, mut tail): (Vec<SharedBytes>, Vec<u8>) = (Vec::new(), Vec::new());
    shared.store.share_samples(span, &mut closed, &mut tail);
    drop(shared);
    let mut rest = out;
    for bytes in closed.iter().map(|bytes| &bytes[..]).chain([&tail[..]]) {
        let Some((place, behind)) = rest.split_at_mut_checked(bytes.len()) else { return };
        place.copy_from_slice(bytes);
        rest = behind;
    }
}

/// Blocks from this size on become segments of their own.
pub(crate) const BULK_BYTES: usize = 48 << 10;

/// Size of the pieces of a big block, in whole samples.
const PIECE_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
