//! What one subscriber is being sent.

use schwann_proto::wire::{
    Sink,
    feed::Agreement,
    sample::{EncodeError, Layout, Stamp},
};

use super::{Host, Moved, Pace};
use crate::{
    description::Description,
    ring::{Consumer, Lapped},
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
        // Tag and stamp; a string's length takes at most one byte more than in the ring.
        let shape = host.samples.shape();
        9 + self.layout.values_len().unwrap_or(shape.string_room + shape.channel_count)
    }

    /// Appends up to `most` samples, as many as fit.
    pub(super) fn put_samples(
        &mut self,
        most: u32,
        host: &Host<'_, '_>,
        sample: &mut [u32],
        out: &mut impl Sink,
        moved: &mut Moved,
    ) -> Result<(), EncodeError> {
        for _ in 0..most {
            let stamp = match host.samples.read(self.next, sample) {
                Ok(stamp) => Stamp::from(stamp),
                Err(Lapped) => {
                    let oldest = host.samples.oldest();
                    moved.lost += oldest.wrapping_sub(self.next);
                    self.next = oldest;
                    return Ok(());
                }
            };
            match put_sample(&self.layout, stamp, bytemuck::cast_slice(sample), out) {
                Ok(()) => {
                    self.next = self.next.wrapping_add(1);
                    moved.sent += 1;
                }
                Err(EncodeError::NoRoom) => return Ok(()),
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}

/// Appends one sample from a ring's slot.
fn put_sample(layout: &Layout, stamp: Stamp, slot: &[u8], out: &mut impl Sink) -> Result<(), EncodeError> {
    if let Some(len) = layout.values_len() {
        return layout.encode_raw(stamp, slot.get(..len).unwrap_or_default(), out);
    }
    let mut rest = slot;
    let strings = (0..layout.channel_count).map(|_| {
        let (len, behind) = rest.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let (text, behind) = behind.split_at_checked(u16::from_ne_bytes(*len).into()).unwrap_or_default();
        rest = behind;
        text
    });
    layout.encode_strings(stamp, strings, out)
}
