//! What is inside the samples: a sequence number and a pattern, so that a receiver can prove what it got.

use crate::ffi::Element;

/// An element type that can carry a sequence number in a sample's first channels.
pub(crate) trait Payload: Element {
    /// Channels that hold the sequence number; a stream must have at least as many.
    const SEQUENCE_CHANNELS: usize;
    /// Sequence numbers repeat after this many samples.
    const SEQUENCE_MODULUS: u64;
    /// Writes `sequence` into the first channels of `sample`.
    fn write_sequence(sequence: u64, sample: &mut [Self]);
    /// Reads back what [`Payload::write_sequence`] wrote, modulo [`Payload::SEQUENCE_MODULUS`].
    fn read_sequence(sample: &[Self]) -> u64;
    /// The value of a pattern cell.
    fn value(row: usize, channel: usize) -> Self;
}

impl Payload for f32 {
    const SEQUENCE_CHANNELS: usize = 1;
    // Every integer below it is exact in single precision.
    const SEQUENCE_MODULUS: u64 = 1 << 24;

    fn write_sequence(sequence: u64, sample: &mut [Self]) {
        sample[0] = (sequence % Self::SEQUENCE_MODULUS) as Self;
    }

    fn read_sequence(sample: &[Self]) -> u64 {
        sample[0] as u64
    }

    fn value(row: usize, channel: usize) -> Self {
        (row * 4096 + channel) as Self + 0.5
    }
}

impl Payload for i16 {
    const SEQUENCE_CHANNELS: usize = 2;
    const SEQUENCE_MODULUS: u64 = 1 << 30;

    fn write_sequence(sequence: u64, sample: &mut [Self]) {
        sample[0] = (sequence & LOW_15) as Self;
        sample[1] = ((sequence >> 15) & LOW_15) as Self;
    }

    fn read_sequence(sample: &[Self]) -> u64 {
        (u64::from(sample[1].cast_unsigned()) << 15) | u64::from(sample[0].cast_unsigned())
    }

    fn value(row: usize, channel: usize) -> Self {
        (row * 997 + channel * 31) as u16 as Self
    }
}

/// The samples to send: a fixed pattern of `PERIOD` rows, over which only the sequence numbers change.
pub(crate) struct Chunk<T> {
    values: Vec<T>,
    channel_count: usize,
    rows: usize,
}

impl<T: Payload> Chunk<T> {
    /// Makes a source of chunks with `rows` samples of `channel_count` channels.
    pub(crate) fn new(channel_count: usize, rows: usize) -> Self {
        assert!(channel_count >= T::SEQUENCE_CHANNELS, "no room for the sequence number");
        Self { values: pattern(channel_count, PERIOD + rows), channel_count, rows }
    }

    /// Returns the chunk whose first sample is number `first`.
    pub(crate) fn at(&mut self, first: u64) -> &[T] {
        let offset = row_of(first) * self.channel_count;
        let values = &mut self.values[offset..offset + self.rows * self.channel_count];
        for (sequence, sample) in (first..).zip(values.chunks_exact_mut(self.channel_count)) {
            T::write_sequence(sequence, sample);
        }
        values
    }
}

/// Checks every received sample: its place in the sequence and all of its values.
pub(crate) struct Verifier<T> {
    expected: Vec<T>,
    channel_count: usize,
    next: u64,
    /// What was found so far.
    pub(crate) tally: Tally,
}

/// What a receiver found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub(crate) struct Tally {
    /// Samples that arrived.
    pub(crate) received: u64,
    /// Samples skipped in the sequence.
    pub(crate) lost: u64,
    /// Samples that came again or too late.
    pub(crate) disordered: u64,
    /// Samples with a wrong value.
    pub(crate) corrupt: u64,
}

impl<T: Payload> Verifier<T> {
    /// Expects samples of `channel_count` channels, from number 0.
    pub(crate) fn new(channel_count: usize) -> Self {
        Self { expected: pattern(channel_count, PERIOD), channel_count, next: 0, tally: Tally::default() }
    }

    /// Takes the next sample and returns its number.
    pub(crate) fn take(&mut self, sample: &[T]) -> u64 {
        self.tally.received += 1;
        let ahead = T::read_sequence(sample).wrapping_sub(self.next) % T::SEQUENCE_MODULUS;
        if ahead > T::SEQUENCE_MODULUS / 2 {
            self.tally.disordered += 1;
            return self.next;
        }
        let sequence = self.next + ahead;
        self.tally.lost += ahead;
        self.next = sequence + 1;
        let row = row_of(sequence) * self.channel_count;
        let expected = &self.expected[row + T::SEQUENCE_CHANNELS..row + self.channel_count];
        // As bytes: one memcmp, and a NaN could not hide.
        if bytemuck::cast_slice::<T, u8>(&sample[T::SEQUENCE_CHANNELS..])
            != bytemuck::cast_slice::<T, u8>(expected)
        {
            self.tally.corrupt += 1;
        }
        sequence
    }

    /// Returns the number of the sample that must come next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}

fn pattern<T: Payload>(channel_count: usize, rows: usize) -> Vec<T> {
    (0..rows).flat_map(|row| (0..channel_count).map(move |channel| T::value(row % PERIOD, channel))).collect()
}

fn row_of(sequence: u64) -> usize {
    (sequence % PERIOD as u64) as usize
}

/// Rows after which the pattern repeats; prime, so that no buffer size of a library hides a shift.
const PERIOD: usize = 61;
const LOW_15: u64 = 0x7fff;

#[cfg(test)]
mod tests {
    use super::*;

    fn all_samples_verify<T: Payload>(first: u64) {
        let mut chunk = Chunk::<T>::new(4, 100);
        let mut verifier = Verifier::<T>::new(4);
        verifier.next = first;
        for block in 0..3 {
            for sample in chunk.at(first + block * 100).chunks_exact(4) {
                verifier.take(sample);
            }
        }
        assert_eq!(verifier.tally, Tally { received: 300, ..Tally::default() });
    }

    #[test]
    fn what_is_sent_verifies_across_the_wrap_of_the_sequence() {
        all_samples_verify::<f32>(0);
        all_samples_verify::<f32>(f32::SEQUENCE_MODULUS - 150);
        all_samples_verify::<i16>(0);
        all_samples_verify::<i16>(i16::SEQUENCE_MODULUS - 150);
    }

    #[test]
    fn loss_repetition_and_damage_are_each_counted() {
        let mut chunk = Chunk::<f32>::new(8, 10);
        let mut verifier = Verifier::<f32>::new(8);
        let samples: Vec<Vec<f32>> = chunk.at(0).chunks_exact(8).map(<[f32]>::to_vec).collect();
        verifier.take(&samples[0]);
        verifier.take(&samples[4]);
        verifier.take(&samples[4]);
        let mut damaged = samples[5].clone();
        damaged[7] += 1.0;
        verifier.take(&damaged);
        assert_eq!(verifier.tally, Tally { received: 4, lost: 3, disordered: 1, corrupt: 1 });
    }
}
