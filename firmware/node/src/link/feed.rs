//! What one subscriber is being sent.

use core::sync::atomic::{AtomicU32, Ordering};

use schwann_proto::wire::{
    Sink,
    feed::Agreement,
    sample::{EncodeError, Layout, Stamp},
};

use super::{Host, Moved, Pace};
use crate::{
    description::Description,
    ring::{Consumer, MAX_SAMPLE_WORDS, Shape},
    time::Micros,
};

/// What one subscriber is being sent.
pub(crate) struct Feed {
    layout: Layout,
    /// Number of the next sample to be sent; wraps.
    next: u32,
    /// Samples to hold for this subscriber.
    limit: u32,
    /// Since when samples wait to be sent together.
    pub(super) held_since: Option<Micros>,
}

impl Feed {
    /// Begins with the next sample that is pushed.
    pub(super) fn begin(agreement: &Agreement, host: &Host<'_, '_>) -> Self {
        let Description { format, channel_count, .. } = *host.description;
        Self {
            layout: agreement.layout(format, channel_count),
            next: host.samples.written(),
            limit: u32::try_from(agreement.max_buffer_length).unwrap_or(1).min(host.samples.slots() - 1),
            held_since: None,
        }
    }

    /// Samples that this subscriber has not got yet.
    pub(crate) fn behind(&self, samples: &Consumer<'_>) -> u32 {
        samples.written().wrapping_sub(self.next)
    }

    /// Gives up what is too old, and returns how many samples wait.
    pub(super) fn catch_up(&mut self, samples: &Consumer<'_>, moved: &mut Moved) -> u32 {
        let waiting = self.behind(samples);
        let late = waiting.saturating_sub(self.limit);
        self.next = self.next.wrapping_add(late);
        moved.lost += late;
        waiting - late
    }

    /// Until when to wait for more samples to go together, if so.
    pub(super) fn holds(
        &mut self,
        waiting: u32,
        host: &Host<'_, '_>,
        now: Micros,
        room: usize,
    ) -> Option<Micros> {
        let Pace::Within(micros) = host.pace else { return None };
        let until = self.held_since.get_or_insert(now).after(micros);
        let fitting = u32::try_from(room / self.longest_sample(host)).unwrap_or(u32::MAX);
        // Half of what may wait is no time to hold anything.
        let full = waiting >= fitting.min(self.limit / 2).max(1);
        (now < until && !full).then_some(until)
    }

    pub(super) fn longest_sample(&self, host: &Host<'_, '_>) -> usize {
        // Tag and stamp.
        9 + self.layout.values_len().unwrap_or_else(|| longest_strings(&host.samples.shape()))
    }

    /// Appends up to `most` samples, as many as fit.
    pub(super) fn put_samples(
        &mut self,
        most: u32,
        host: &Host<'_, '_>,
        out: &mut impl Sink,
        moved: &mut Moved,
    ) -> Result<(), EncodeError> {
        for _ in 0..most {
            let start = out.len();
            let put = put_sample(&self.layout, host.samples, self.next, out);
            // A sample that changed meanwhile, or that ends half-way, is worth nothing.
            if !host.samples.has(self.next) {
                out.truncate(start);
                let oldest = host.samples.oldest();
                moved.lost += oldest.wrapping_sub(self.next);
                self.next = oldest;
                return Ok(());
            }
            match put {
                Ok(()) => {
                    self.next = self.next.wrapping_add(1);
                    moved.sent += 1;
                }
                Err(EncodeError::NoRoom) => {
                    out.truncate(start);
                    return Ok(());
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}

/// Most bytes of one sample of strings. A length takes two bytes in the ring, and five before a text of more than 255.
pub(super) fn longest_strings(shape: &Shape) -> usize {
    shape.string_room + 3 * shape.channel_count.min(shape.string_room / 258)
}

/// Appends sample `index` from its slot, in parts, so that no copy of a whole sample is needed.
fn put_sample(
    layout: &Layout,
    samples: &Consumer<'_>,
    index: u32,
    out: &mut impl Sink,
) -> Result<(), EncodeError> {
    let Some((stamp, slot)) = samples.slot(index) else { return Err(EncodeError::Shape) };
    let Some(mut left) = layout.values_len() else {
        return put_strings(layout, stamp, slot, out);
    };
    layout.put_stamp(Stamp::from(stamp), out)?;
    for cells in slot.chunks(PART_WORDS) {
        let mut part = [0_u32; PART_WORDS];
        part.iter_mut().zip(cells).for_each(|(word, cell)| *word = cell.load(Ordering::Relaxed));
        let bytes: &[u8] = bytemuck::cast_slice(&part);
        let len = left.min(4 * cells.len());
        layout.put_values(bytes.get(..len).unwrap_or_default(), out)?;
        left -= len;
    }
    Ok(())
}

/// Not part of its caller, whose frame has no room for a whole sample.
#[inline(never)]
fn put_strings(
    layout: &Layout,
    stamp: f64,
    slot: &[AtomicU32],
    out: &mut impl Sink,
) -> Result<(), EncodeError> {
    let mut words = [0_u32; MAX_SAMPLE_WORDS];
    words.iter_mut().zip(slot).for_each(|(word, cell)| *word = cell.load(Ordering::Relaxed));
    let mut rest: &[u8] = bytemuck::cast_slice(&words);
    let strings = (0..layout.channel_count).map(|_| {
        let (len, behind) = rest.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let (text, behind) = behind.split_at_checked(u16::from_ne_bytes(*len).into()).unwrap_or_default();
        rest = behind;
        text
    });
    layout.encode_raw_strings(Stamp::from(stamp), strings, out)
}

/// Words of a slot that are read together: whole values of any format.
const PART_WORDS: usize = 16;

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use schwann_proto::{
        stream::ChannelFormat,
        wire::sample::{ByteOrder, Layout, Stamp},
    };

    use super::{Shape, longest_strings};

    #[test]
    fn no_strings_take_more_than_there_is_kept_for_them() {
        let text = [b'x'; 1024];
        for lens in [[0, 0], [255, 0], [255, 255], [256, 0], [257, 255], [256, 256], [700, 320]] {
            let room = lens.iter().map(|len| len + 2).sum();
            let shape = Shape { format: ChannelFormat::String, channel_count: 2, string_room: room };
            let layout = Layout::new(shape.format, shape.channel_count, ByteOrder::NATIVE);
            let mut out = Vec::new();
            layout.encode_raw_strings(Stamp::Sent(1.0), lens.map(|len| &text[..len]), &mut out).unwrap();
            assert!(out.len() <= 9 + longest_strings(&shape), "{lens:?}");
        }
    }
}
