//! Putting samples and events into a buffer.

use core::time::Duration;
use std::sync::Arc;

use super::{BULK_BYTES, Buffer, BufferContents, Sample, definition};
use crate::store::Refused;
use crate::tap::{Change, Values};
use crate::wait::Wake;
use crate::wire::{ByteOrder, Event, SamplesDefinition};

impl Buffer {
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

    #[inline]
    pub(crate) fn put_block(&self, block: SamplesDefinition, values: &[u8]) -> Result<Wake, Refused> {
        if values.len() >= BULK_BYTES {
            return self.put_bulk(block, values);
        }
        let mut shared = self.lock();
        let at = self.now();
        shared.store.put_samples(block, values, at)?;
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
}

impl BufferContents {
    /// Out of the way of a block without taps.
    #[cold]
    fn tell_block(&mut self, block: SamplesDefinition, values: &[u8], at: Duration) {
        let values = vec![Values::Copied(values.into())];
        self.tell(Some(Change::Samples { count: block.sample_count, values, at }));
    }
}

/// Size of the pieces of a big block, in whole samples.
const PIECE_BYTES: usize = 1 << 20;
