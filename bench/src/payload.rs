//! What is inside the samples: a sequence number and a pattern, so that a receiver can prove what it got.

use crate::workload::Format;

impl Format {
    /// Sequence numbers repeat after this many samples. Every integer below it is exact in single precision, or in
    /// two values of 15 bits.
    fn modulus(self) -> u64 {
        1 << if self == Self::Float32 { 24 } else { 30 }
    }

    fn write_sequence(self, sequence: u64, sample: &mut [u8]) {
        let number = (sequence % self.modulus()) as u32;
        let bytes = match self {
            Self::Float32 => (number as f32).to_ne_bytes(),
            Self::Int16 => ((number & LOW_15) | (number >> 15) << 16).to_ne_bytes(),
        };
        sample[..SEQUENCE].copy_from_slice(&bytes);
    }

    fn read_sequence(self, sample: &[u8]) -> u64 {
        let bytes = *sample.first_chunk().expect("a sample holds its number");
        let pair = u32::from_ne_bytes(bytes);
        match self {
            Self::Float32 => f32::from_ne_bytes(bytes) as u64,
            Self::Int16 => u64::from((pair & LOW_15) | (pair >> 16) << 15),
        }
    }

    /// The bytes of a pattern of `rows`, which repeats after [`PERIOD`].
    fn pattern(self, channel_count: usize, rows: usize) -> Vec<u8> {
        let places = (0..rows).flat_map(|row| (0..channel_count).map(move |channel| (row % PERIOD, channel)));
        match self {
            Self::Float32 => places
                .flat_map(|(row, channel)| ((row * 4096 + channel) as f32 + 0.5).to_ne_bytes())
                .collect(),
            Self::Int16 => {
                places.flat_map(|(row, channel)| ((row * 997 + channel * 31) as u16).to_ne_bytes()).collect()
            }
        }
    }
}

/// The samples to send: a fixed pattern of `PERIOD` rows, over which only the sequence numbers change.
pub(crate) struct Chunk {
    values: Vec<u8>,
    format: Format,
    sample_bytes: usize,
    rows: usize,
}

impl Chunk {
    /// Makes a source of chunks with `rows` samples of `channel_count` channels.
    pub(crate) fn new(format: Format, channel_count: usize, rows: usize) -> Self {
        let sample_bytes = channel_count * format.bytes();
        assert!(sample_bytes >= SEQUENCE, "no room for the sequence number");
        Self { values: format.pattern(channel_count, PERIOD + rows), format, sample_bytes, rows }
    }

    /// Returns the chunk whose first sample is number `first`.
    pub(crate) fn at(&mut self, first: u64) -> &[u8] {
        let offset = row_of(first) * self.sample_bytes;
        let values = &mut self.values[offset..offset + self.rows * self.sample_bytes];
        for (sequence, sample) in (first..).zip(values.chunks_exact_mut(self.sample_bytes)) {
            self.format.write_sequence(sequence, sample);
        }
        values
    }
}

/// Checks every received sample: its place in the sequence and all of its values.
pub(crate) struct Verifier {
    expected: Vec<u8>,
    format: Format,
    sample_bytes: usize,
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

impl Verifier {
    /// Expects samples of `channel_count` channels, from number 0.
    pub(crate) fn new(format: Format, channel_count: usize) -> Self {
        let (expected, sample_bytes) =
            (format.pattern(channel_count, PERIOD), channel_count * format.bytes());
        Self { expected, format, sample_bytes, next: 0, tally: Tally::default() }
    }

    /// Takes the next sample and returns its number.
    pub(crate) fn take(&mut self, sample: &[u8]) -> u64 {
        self.tally.received += 1;
        let ahead = self.format.read_sequence(sample).wrapping_sub(self.next) % self.format.modulus();
        if ahead > self.format.modulus() / 2 {
            self.tally.disordered += 1;
            return self.next;
        }
        let sequence = self.next + ahead;
        self.tally.lost += ahead;
        self.next = sequence + 1;
        let row = row_of(sequence) * self.sample_bytes;
        // As bytes: one memcmp, and a NaN could not hide.
        if sample[SEQUENCE..] != self.expected[row + SEQUENCE..row + self.sample_bytes] {
            self.tally.corrupt += 1;
        }
        sequence
    }

    /// Returns the number of the sample that must come next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}

fn row_of(sequence: u64) -> usize {
    (sequence % PERIOD as u64) as usize
}

/// Rows after which the pattern repeats; prime, so no buffer size of a library hides a shift.
const PERIOD: usize = 61;
const LOW_15: u32 = 0x7fff;

/// Bytes at the beginning of a sample that hold its sequence number; a stream must have as many.
const SEQUENCE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn all_samples_verify(format: Format, first: u64) {
        let mut chunk = Chunk::new(format, 4, 100);
        let mut verifier = Verifier::new(format, 4);
        verifier.next = first;
        for block in 0..3 {
            for sample in chunk.at(first + block * 100).chunks_exact(4 * format.bytes()) {
                verifier.take(sample);
            }
        }
        assert_eq!(verifier.tally, Tally { received: 300, ..Tally::default() });
    }

    #[test]
    fn what_is_sent_verifies_across_the_wrap_of_the_sequence() {
        for format in [Format::Float32, Format::Int16] {
            all_samples_verify(format, 0);
            all_samples_verify(format, format.modulus() - 150);
        }
    }

    #[test]
    fn loss_repetition_and_damage_are_each_counted() {
        let mut chunk = Chunk::new(Format::Float32, 8, 10);
        let mut verifier = Verifier::new(Format::Float32, 8);
        let samples: Vec<Vec<u8>> = chunk.at(0).chunks_exact(32).map(<[u8]>::to_vec).collect();
        verifier.take(&samples[0]);
        verifier.take(&samples[4]);
        verifier.take(&samples[4]);
        let mut damaged = samples[5].clone();
        damaged[29] ^= 1;
        verifier.take(&damaged);
        assert_eq!(verifier.tally, Tally { received: 4, lost: 3, disordered: 1, corrupt: 1 });
    }
}
