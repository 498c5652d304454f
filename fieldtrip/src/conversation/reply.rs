use std::io::IoSlice;

use crate::buffer::Buffer;
use crate::store::{Refused, SharedBytes, Span};
use crate::wire::{
    ByteOrder, Command, DataType, Definition, Header, SAMPLES_BYTES, SamplesDefinition, Selection, Totals,
    swap_chunks,
};

/// Replies still to be sent. Small ones are gathered in `out`. At most one shares samples with the ring; its
/// place is at `split`.
#[derive(Debug, Default)]
pub(super) struct Reply {
    out: Vec<u8>,
    split: usize,
    shared: Vec<SharedBytes>,
    rest: Option<Rest>,
}

/// The part of a long reply that was not taken out of the ring yet.
#[derive(Clone, Copy, Debug)]
struct Rest {
    span: Span,
    generation: u64,
    order: ByteOrder,
    word: usize,
    window: u64,
}

/// The ring has overwritten what a client was too slow to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overwritten;

impl Reply {
    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Whether nothing may be added before this is sent.
    pub(super) fn must_go(&self) -> bool {
        !self.shared.is_empty() || self.rest.is_some() || self.out.len() >= GATHER_BYTES
    }

    /// What to send, in this order, in one write.
    pub(super) fn parts(&self) -> Vec<IoSlice<'_>> {
        let (front, back) = self.out.split_at_checked(self.split).unwrap_or((&self.out, &[]));
        let shared = self.shared.iter().map(|bytes| &bytes[..]);
        let parts = [front].into_iter().chain(shared).chain([back]);
        parts.filter(|part| !part.is_empty()).map(IoSlice::new).collect()
    }

    /// Forgets what was sent and takes the next part of a long reply out of the ring.
    pub(super) fn sent(&mut self, buffer: &Buffer) -> Result<(), Overwritten> {
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES);
        self.shared.clear();
        self.split = 0;
        match self.rest.take() {
            Some(rest) => self.take_window(buffer, rest),
            None => Ok(()),
        }
    }

    pub(super) fn empty(&mut self, code: u16, order: ByteOrder) {
        self.define(code, order, 0);
    }

    pub(super) fn totals(&mut self, order: ByteOrder, totals: Totals) {
        self.define(crate::wire::Family::Wait.ok(), order, 8);
        self.out.extend_from_slice(&totals.encode(order));
    }

    pub(super) fn header(&mut self, order: ByteOrder, header: &Header, totals: Totals) {
        let fixed = header.encode(order, totals);
        self.define(Command::GetHeader.family().ok(), order, fixed.len() + header.chunk_bytes.len());
        self.out.extend_from_slice(&fixed);
        let start = self.out.len();
        self.out.extend_from_slice(&header.chunk_bytes);
        let chunks = self.out.get_mut(start..).unwrap_or_default();
        swap_chunks(header.channel_count, ByteOrder::NATIVE, order, chunks);
    }

    pub(super) fn events(
        &mut self,
        buffer: &Buffer,
        order: ByteOrder,
        selection: Option<Selection>,
    ) -> Result<(), Refused> {
        let events: Vec<_> = buffer.with_store(|store| {
            let span = store.locate_events(selection)?;
            Ok::<_, Refused>(store.events(span).cloned().collect())
        })?;
        self.define(Command::GetEvents.family().ok(), order, events.iter().map(|event| event.len()).sum());
        for bytes in events {
            if order.is_native() {
                self.out.extend_from_slice(&bytes);
            } else if let Some(Ok(event)) = crate::wire::EventIter::new(ByteOrder::NATIVE, &bytes).next() {
                event.encode(order, &mut self.out);
            }
        }
        Ok(())
    }

    /// Adds samples; at most `window` bytes are taken out of the ring now.
    pub(super) fn samples(
        &mut self,
        buffer: &Buffer,
        order: ByteOrder,
        selection: Option<Selection>,
        window: u32,
    ) -> Result<(), Refused> {
        buffer.with_store(|store| {
            let header = store.header()?;
            let span = store.locate_samples(selection)?;
            let count = u32::try_from(span.count).map_err(|_| Refused::TooLarge)?;
            let block = SamplesDefinition::new(header.channel_count, count, header.data_type)
                .filter(|block| block.value_bytes <= u32::MAX - SAMPLES_BYTES as u32)
                .ok_or(Refused::TooLarge)?;
            self.define_samples(order, block);
            let rest = Rest {
                span,
                generation: store.generation(),
                order,
                word: DataType::size(header.data_type),
                window: (u64::from(window) / header.stride().max(1)).max(1),
            };
            self.share_window(store, rest);
            Ok::<_, Refused>(())
        })?;
        self.convert_window(order);
        Ok(())
    }

    fn take_window(&mut self, buffer: &Buffer, rest: Rest) -> Result<(), Overwritten> {
        buffer.with_store(|store| {
            let now = Span { count: rest.span.count.min(rest.window), ..rest.span };
            if !store.holds_samples(rest.generation, now) {
                return Err(Overwritten);
            }
            self.share_window(store, rest);
            Ok(())
        })?;
        self.convert_window(rest.order);
        Ok(())
    }

    fn share_window(&mut self, store: &crate::store::Store, rest: Rest) {
        let now = Span { count: rest.span.count.min(rest.window), ..rest.span };
        self.split = self.out.len();
        store.share_samples(now, &mut self.shared, &mut self.out);
        let left = Span { first: now.first + now.count, count: rest.span.count - now.count };
        self.rest = (left.count > 0 || !rest.order.is_native()).then_some(Rest { span: left, ..rest });
    }

    /// Brings a window into the client's byte order, which needs a copy of it.
    fn convert_window(&mut self, order: ByteOrder) {
        if order.is_native() {
            return;
        }
        let Some(rest) = self.rest.take_if(|_| true) else { return };
        let tail = self.out.split_off(self.split);
        for bytes in self.shared.drain(..) {
            self.out.extend_from_slice(&bytes);
        }
        self.out.extend_from_slice(&tail);
        order.convert(rest.word, self.out.get_mut(self.split..).unwrap_or_default());
        self.split = self.out.len();
        self.rest = (rest.span.count > 0).then_some(rest);
    }

    fn define_samples(&mut self, order: ByteOrder, block: SamplesDefinition) {
        let length = usize::try_from(block.value_bytes).unwrap_or(usize::MAX).saturating_add(SAMPLES_BYTES);
        self.define(Command::GetSamples.family().ok(), order, length);
        self.out.extend_from_slice(&block.encode(order));
    }

    fn define(&mut self, code: u16, order: ByteOrder, payload_bytes: usize) {
        let payload_bytes = u32::try_from(payload_bytes).unwrap_or(u32::MAX);
        self.out.extend_from_slice(&Definition { code, order, payload_bytes }.encode());
    }
}

/// Replies to requests that came together leave together, up to here.
const GATHER_BYTES: usize = 16 << 10;

/// Memory kept for the next reply.
const KEPT_BYTES: usize = 256 << 10;
