//! Sums of Poly1305 in 64-bit registers, alone and between the rounds of [`chacha20x8`](super::chacha20x8).

use core::arch::asm;

use crate::kernel::scalar::Number;
use crate::kernel::wide::pass::{QUAD, Run, SLOTS, Sums};

/// Works on sums.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn sum(sums: &mut Sums<'_, SLOTS>) {
    for run in sums.runs {
        let slot = run.slot % SLOTS;
        let mut h = sums.totals[slot];
        for block in run.text {
            h = step(h, block, &sums.multipliers[slot]);
        }
        sums.totals[slot] = h;
    }
}

/// Works on the sums of a quad side by side: a step waits for the one before it, but not for those of other sums.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn sum_quad(sums: &mut Sums<'_, QUAD>) {
    let longest = sums.runs.iter().map(|run| run.text.len()).max().unwrap_or(0);
    let mut h = *sums.totals;
    for place in 0..longest {
        for run in sums.runs {
            if let Some(block) = run.text.get(place) {
                let slot = run.slot % QUAD;
                h[slot] = step(h[slot], block, &sums.multipliers[slot]);
            }
        }
    }
    *sums.totals = h;
}

/// What is done between rounds.
pub(super) trait AfterRound {
    fn after_round(&mut self);
}

/// Nothing is done.
pub(super) struct Nothing;

impl AfterRound for Nothing {
    #[inline(always)]
    fn after_round(&mut self) {}
}

/// A sum that is continued.
pub(super) struct Sum<'a> {
    pub(super) h: Number,
    /// The lower and the upper half of r, and 5/4 of the upper. Behind a reference: with them in it, the whole would
    /// stay in memory.
    r: &'a [u64; 3],
    text: &'a [[u8; 16]],
    pace: Pace,
}

impl<'a> Sum<'a> {
    #[inline(always)]
    pub(super) fn new(h: Number, r: &'a [u64; 3], text: &'a [[u8; 16]]) -> Self {
        Self { h, r, text, pace: Pace { steps: text.len(), due: 0 } }
    }
}

impl AfterRound for Sum<'_> {
    #[inline(always)]
    fn after_round(&mut self) {
        self.pace.after_round();
        while self.pace.step() {
            if let [block, rest @ ..] = self.text {
                // SAFETY: who has steps to do has BMI2; see `chacha20x8::blocks_and_sum`.
                self.h = unsafe { step(self.h, block, self.r) };
                self.text = rest;
            }
        }
    }
}

/// Many sums that are continued, one after the other.
pub(super) struct Between<'a, 't, const SLOTS: usize> {
    h: Number,
    slot: usize,
    text: &'t [[u8; 16]],
    runs: &'t [Run<'t>],
    multipliers: &'t [[u64; 3]; SLOTS],
    totals: &'a mut [Number; SLOTS],
    pace: Pace,
}

impl<'a, 't, const SLOTS: usize> Between<'a, 't, SLOTS> {
    #[inline(always)]
    pub(super) fn new(sums: &'a mut Sums<'t, SLOTS>) -> Self {
        let pace = Pace { steps: sums.steps, due: 0 };
        let Sums { runs, multipliers, totals, .. } = sums;
        Self { h: totals[0], slot: 0, text: &[], runs, multipliers, totals, pace }
    }

    #[inline(always)]
    pub(super) fn store(&mut self) {
        self.totals[self.slot] = self.h;
    }
}

impl<const SLOTS: usize> AfterRound for Between<'_, '_, SLOTS> {
    #[inline(always)]
    fn after_round(&mut self) {
        self.pace.after_round();
        while self.pace.step() {
            if self.text.is_empty()
                && let [run, rest @ ..] = self.runs
            {
                self.store();
                (self.slot, self.text, self.runs) = (run.slot % SLOTS, run.text, rest);
                self.h = self.totals[self.slot];
            }
            if let [block, rest @ ..] = self.text {
                // SAFETY: who has steps to do has BMI2; see `chacha20x8::pass`.
                self.h = unsafe { step(self.h, block, &self.multipliers[self.slot]) };
                self.text = rest;
            }
        }
    }
}

/// Spreads steps evenly over twenty rounds; all are done after the last.
struct Pace {
    steps: usize,
    /// Steps that are due, in twentieths.
    due: usize,
}

impl Pace {
    #[inline(always)]
    fn after_round(&mut self) {
        self.due += self.steps;
    }

    /// Whether a step is due; then it counts as done.
    #[inline(always)]
    fn step(&mut self) -> bool {
        let due = self.due >= 20;
        if due {
            self.due -= 20;
        }
        due
    }
}

/// As [`Number::step`], in half as many instructions as the compiler makes of it; `r` is as in [`Sum`].
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn step(h: Number, block: &[u8; 16], r: &[u64; 3]) -> Number {
    let [h0, h1, h2] = h.0;
    let (low, high, top);
    // SAFETY: the registers written are declared; 16 bytes are read from `block` and 24 from `r`.
    unsafe {
        asm!(
            // h += block + 2^128
            "add {h0}, [{block}]",
            "adc {h1}, [{block} + 8]",
            "adc {h2}, 1",
            // b:a = h0 r0 + h1 s1, with s1 = 5/4 r1
            "mov rdx, [{r}]",
            "mulx {b}, {a}, {h0}",
            "mov rdx, [{r} + 8]",
            "mulx {d}, {c}, {h0}",
            "mov rdx, [{r} + 16]",
            "mulx {e}, {h0}, {h1}",
            "add {a}, {h0}",
            "adc {b}, {e}",
            // d:c = h0 r1 + h2 s1 + h1 r0
            "imul rdx, {h2}",
            "add {c}, rdx",
            "adc {d}, 0",
            "mov rdx, [{r}]",
            "mulx {e}, {h0}, {h1}",
            "add {c}, {h0}",
            "adc {d}, {e}",
            // d:c += h2 r0 2^64 + b
            "imul rdx, {h2}",
            "add {c}, {b}",
            "adc {d}, rdx",
            // What lies above 2^130 counts five times at the bottom.
            "mov {h2:e}, {d:e}",
            "and {h2:e}, 3",
            "mov {e}, {d}",
            "shr {e}, 2",
            "and {d}, -4",
            "add {d}, {e}",
            "add {a}, {d}",
            "adc {c}, 0",
            "adc {h2}, 0",
            block = in(reg) block.as_ptr(),
            r = in(reg) r.as_ptr(),
            h0 = inout(reg) h0 => _,
            h1 = inout(reg) h1 => _,
            h2 = inout(reg) h2 => top,
            a = out(reg) low,
            b = out(reg) _,
            c = out(reg) high,
            d = out(reg) _,
            e = out(reg) _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
    Number([low, high, top])
}
