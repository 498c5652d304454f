//! The messages that every contender seals and opens.

use core::ops::Range;

/// Messages laid out one after another, each followed by room for its tag.
pub(crate) struct Workload {
    /// All messages and tags.
    pub(crate) data: Vec<u8>,
    /// Where each message lies in `data`; its tag is the 16 bytes after.
    pub(crate) places: Vec<Range<usize>>,
    /// What every tag covers besides its message.
    pub(crate) aad: Vec<u8>,
    plain: Vec<u8>,
}

impl Workload {
    /// Lays out one message per length.
    pub(crate) fn new(lengths: impl IntoIterator<Item = usize>, aad_len: usize) -> Self {
        let mut places = Vec::new();
        let mut end = 0;
        for length in lengths {
            places.push(end..end + length);
            end += length + 16;
        }
        let plain: Vec<u8> = (0..end).map(|i| (i as u8).wrapping_mul(151)).collect();
        Self { data: plain.clone(), places, aad: vec![0xa5; aad_len], plain }
    }

    /// Lays out a batch of equal messages, some 128 KiB of them.
    pub(crate) fn of(size: usize) -> Self {
        Self::new((0..(131_072 / size).clamp(16, 256)).map(|_| size), 0)
    }

    /// Sum of the messages' lengths, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.places.iter().map(Range::len).sum()
    }

    /// Nonce of message `index`.
    pub(crate) fn nonce(index: usize) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&(index as u64).to_le_bytes());
        nonce
    }

    /// Tells whether every message is as it was before it was sealed.
    pub(crate) fn is_plain(&self) -> bool {
        self.places.iter().all(|place| self.data[place.clone()] == self.plain[place.clone()])
    }
}

/// The key of every message.
pub(crate) const KEY: [u8; 32] = *b"schwann measures with this key..";
