//! What goes into a pass of [`stitched`](super::stitched): eight blocks to make, and sums to go on with meanwhile.

use super::Block;
use crate::kernel::scalar::Number;
use crate::{Key, Message, Nonce};

/// Eight initial states (RFC 8439 §2.3), without their constants: a word of all of them side by side.
pub(in crate::kernel) struct States<'k> {
    pub(in crate::kernel) keys: [&'k Key; 8],
    pub(in crate::kernel) counters: [u32; 8],
    pub(in crate::kernel) nonces: [[u32; 8]; 3],
}

impl<'k> States<'k> {
    #[inline]
    pub(super) fn new(key: &'k Key) -> Self {
        Self { keys: [key; 8], counters: [0; 8], nonces: [[0; 8]; 3] }
    }

    /// Sets `count` states from lane `first` on: one message's blocks from `counter` on.
    #[inline(always)]
    pub(super) fn set(&mut self, first: usize, count: usize, key: &'k Key, nonce: &Nonce, counter: u32) {
        let nonce = nonce.words();
        for i in 0..count {
            let lane = (first + i) % 8;
            self.keys[lane] = key;
            self.counters[lane] = counter.wrapping_add(i as u32);
            for (words, word) in self.nonces.iter_mut().zip(nonce) {
                words[lane] = word;
            }
        }
    }

    /// Writes them one after the other.
    #[inline]
    pub(super) fn write(&self, blocks: &mut [Block; 8]) {
        for (lane, block) in blocks.iter_mut().enumerate() {
            let nonce = self.nonces.map(|words| words[lane]);
            *block = Block::from_words(self.keys[lane], self.counters[lane], nonce);
        }
    }
}

/// The states of four messages' blocks 0, and then of their blocks 1.
pub(in crate::kernel) struct Quad<'k> {
    pub(in crate::kernel) keys: [&'k Key; QUAD],
    /// Where they are: copied, they could not be read at once as a whole.
    pub(in crate::kernel) nonces: [&'k Nonce; QUAD],
}

impl<'k> Quad<'k> {
    /// Takes one to four messages; the first stands in for the missing ones.
    #[inline(always)]
    pub(super) fn of(messages: &'k [Message<'_>]) -> Self {
        let message = |place: usize| messages.get(place).unwrap_or(&messages[0]);
        Self {
            keys: core::array::from_fn(|place| message(place).key),
            nonces: core::array::from_fn(|place| &message(place).nonce),
        }
    }

    /// Writes them one after the other.
    #[inline]
    pub(super) fn write(&self, blocks: &mut [Block; 8]) {
        for (lane, block) in blocks.iter_mut().enumerate() {
            let place = lane % QUAD;
            *block = Block::from_words(self.keys[place], (lane / QUAD) as u32, self.nonces[place].words());
        }
    }
}

/// A run of blocks that go to the same sum.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Run<'t> {
    pub(in crate::kernel) slot: usize,
    pub(in crate::kernel) text: &'t [[u8; 16]],
}

impl Run<'_> {
    pub(super) const NOTHING: Self = Self { slot: 0, text: &[] };
}

/// The sums of the messages under way, and the blocks still to add.
pub(in crate::kernel) struct Sums<'t, const SLOTS: usize> {
    /// The blocks still to add; no run is empty.
    pub(in crate::kernel) runs: &'t [Run<'t>],
    /// How many blocks that is.
    pub(in crate::kernel) steps: usize,
    /// The lower and the upper half of r, and 5/4 of the upper.
    pub(in crate::kernel) multipliers: &'t [[u64; 3]; SLOTS],
    pub(in crate::kernel) totals: &'t mut [Number; SLOTS],
}

impl<const SLOTS: usize> Sums<'_, SLOTS> {
    /// Adds everything.
    #[inline(always)]
    pub(in crate::kernel) fn finish(&mut self) {
        for run in self.runs {
            let [low, high, _] = self.multipliers[run.slot % SLOTS];
            let total = &mut self.totals[run.slot % SLOTS];
            *total = run.text.iter().fold(*total, |h, block| h.step(block, Number([low, high, 0])));
        }
    }
}

/// Messages of a [`Quad`].
pub(in crate::kernel) const QUAD: usize = 4;

/// Messages that may be under way at a time in [`short`](super::short): a pass's, and the ones of the pass
/// before.
pub(in crate::kernel) const SLOTS: usize = 16;
