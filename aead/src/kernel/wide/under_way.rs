//! Messages whose sums are under way, in slots.

use super::pass::{Run, Sums};
use super::{Block, Number};
use crate::kernel::scalar;

/// Secrets of the messages that are under way.
pub(in crate::kernel) struct UnderWay<const SLOTS: usize> {
    /// As in [`Sums`].
    multipliers: [[u64; 3]; SLOTS],
    totals: [Number; SLOTS],
    /// The half of the one-time key that is added last.
    last: [u128; SLOTS],
}

impl<const SLOTS: usize> UnderWay<SLOTS> {
    pub(super) const NOTHING: Self =
        Self { multipliers: [[0; 3]; SLOTS], totals: [Number::ZERO; SLOTS], last: [0; SLOTS] };

    /// Begins the sum of a message, whose first block is `key`.
    #[inline(always)]
    pub(super) fn begin(&mut self, slot: usize, key: &Block, aad: &[u8]) {
        let r = Number::r(key);
        self.multipliers[slot] = r.with_quarters();
        self.totals[slot] = Number::ZERO.absorb(aad, r);
        self.last[slot] = scalar::last(key);
    }

    /// The sums, with `runs` of so many blocks each still to add.
    #[inline(always)]
    pub(super) fn sums<'t>(&'t mut self, runs: &'t [Run<'t>], steps: usize) -> Sums<'t, SLOTS> {
        Sums { runs, steps, multipliers: &self.multipliers, totals: &mut self.totals }
    }

    /// The tag of a message whose sum is complete.
    #[inline(always)]
    pub(super) fn tag(&self, slot: usize) -> u128 {
        self.totals[slot].tag(self.last[slot])
    }
}
