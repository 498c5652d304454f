//! Getting out of a buffer what is in it.

use std::sync::{Arc, MutexGuard};

use super::{BULK_BYTES, Buffer, BufferContents, Sample};
use crate::store::{Refused, SharedBytes, Span};
use crate::wire::{ByteOrder, Event, EventIter, Header, SamplesDefinition, Selection, Totals};

impl Buffer {
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
    /// - Errors: [`Refused::Mismatch`] if the type differs or the last sample would not be whole.
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
}

/// Copies located samples; what is not small is shared first and copied when the lock is gone.
fn copy_out(shared: MutexGuard<'_, BufferContents>, span: Span, out: &mut [u8]) {
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
