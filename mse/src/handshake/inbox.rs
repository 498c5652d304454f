//! Collects the next field of a handshake from input that comes in any pieces.

use super::PAD_MAX;

/// A field being collected. It lives inside the machine, so a stranger cannot make it grow.
pub(super) struct Inbox {
    bytes: [u8; CAPACITY],
    len: usize,
    /// Everything ever taken, in bytes.
    taken: usize,
}

impl Inbox {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0, taken: 0 }
    }

    /// Moves bytes from `input` until `want` are here; returns them once they are.
    pub(super) fn fill(&mut self, input: &mut &[u8], want: usize) -> Option<&mut [u8]> {
        let missing = want.saturating_sub(self.len).min(input.len());
        let (head, rest) = input.split_at_checked(missing)?;
        self.bytes.get_mut(self.len..self.len + missing)?.copy_from_slice(head);
        *input = rest;
        self.len += missing;
        self.taken += missing;
        if self.len < want { None } else { self.bytes.get_mut(..want) }
    }

    /// [`Self::fill`] with the length known to the compiler; the field is taken out.
    pub(super) fn take<const N: usize>(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        let field = *self.fill(input, N)?.first_chunk()?;
        self.len = 0;
        Some(field)
    }

    /// Moves bytes from `input` until they end with `mark`, which may begin at offset 0 to [`PAD_MAX`].
    pub(super) fn seek(&mut self, input: &mut &[u8], mark: &[u8]) -> Sought {
        while let Some((byte, rest)) = input.split_first() {
            let Some(slot) = self.bytes.get_mut(self.len) else {
                return Sought::Never;
            };
            *slot = *byte;
            *input = rest;
            self.len += 1;
            self.taken += 1;
            if self.bytes.get(..self.len).is_some_and(|bytes| bytes.ends_with(mark)) {
                let pad = self.len.saturating_sub(mark.len());
                self.len = 0;
                return Sought::After { pad };
            }
            if self.len >= PAD_MAX + mark.len() {
                return Sought::Never;
            }
        }
        Sought::NotYet
    }

    /// Counts `count` bytes that were taken elsewhere.
    pub(super) fn count(&mut self, count: usize) {
        self.taken += count;
    }

    /// Everything collected since the last field was taken out.
    pub(super) fn collected(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Forgets what was collected: the field has been used where it lay.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Everything ever taken, in bytes.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }
}

/// The outcome of looking for a mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sought {
    /// It came, after this much padding.
    After {
        /// Length of the padding, in bytes.
        pad: usize,
    },
    /// It did not come within its window.
    Never,
    /// The input ended first.
    NotYet,
}

/// The widest window searched for a mark: the padding and the mark itself.
const CAPACITY: usize = PAD_MAX + 20;
