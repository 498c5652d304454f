//! Sums of Poly1305 in 64-bit registers, alone and between the rounds of [`chacha20x8`](super::chacha20x8).

use core::arch::asm;
use core::slice::Iter;

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
            step(&mut h, block, &sums.multipliers[slot]);
        }
        sums.totals[slot] = h;
    }
}

/// Works on the sums of a quad side by side. A step waits for the one before it, but not for steps of other sums.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn sum_quad(sums: &mut Sums<'_, QUAD>) {
    let mut longest = 0;
    for run in sums.runs {
        longest = longest.max(run.text.len());
    }
    let mut h = *sums.totals;
    let mut together = 0;
    if let [a, b, c, d] = sums.runs {
        // As far as all four have blocks, nothing is asked.
        let [h0, h1, h2, h3] = &mut h;
        let [r0, r1, r2, r3] = sums.multipliers;
        for (((a, b), c), d) in a.text.iter().zip(b.text).zip(c.text).zip(d.text) {
            step(h0, a, r0);
            step(h1, b, r1);
            step(h2, c, r2);
            step(h3, d, r3);
            together += 1;
        }
    }
    for place in together..longest {
        for run in sums.runs {
            if let Some(block) = run.text.get(place) {
                let slot = run.slot % QUAD;
                step(&mut h[slot], block, &sums.multipliers[slot]);
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
    text: Iter<'a, [u8; 16]>,
    pace: Pace,
}

impl<'a> Sum<'a> {
    #[inline(always)]
    pub(super) fn new(h: Number, r: &'a [u64; 3], text: &'a [[u8; 16]]) -> Self {
        Self { h, r, text: text.iter(), pace: Pace { steps: text.len(), due: 0 } }
    }
}

impl AfterRound for Sum<'_> {
    #[inline(always)]
    fn after_round(&mut self) {
        self.pace.after_round();
        while self.pace.step() {
            if let Some(block) = self.text.next() {
                // SAFETY: a caller with steps to do has BMI2; see `chacha20x8::blocks_and_sum`.
                unsafe { step(&mut self.h, block, self.r) };
            }
        }
    }
}

/// Many sums that are continued, one after the other.
pub(super) struct Between<'a, 't, const SLOTS: usize> {
    h: Number,
    slot: usize,
    r: &'t [u64; 3],
    text: Iter<'t, [u8; 16]>,
    runs: Iter<'t, Run<'t>>,
    multipliers: &'t [[u64; 3]; SLOTS],
    totals: &'a mut [Number; SLOTS],
    pace: Pace,
}

impl<'a, 't, const SLOTS: usize> Between<'a, 't, SLOTS> {
    #[inline(always)]
    pub(super) fn new(sums: &'a mut Sums<'t, SLOTS>) -> Self {
        let pace = Pace { steps: sums.steps, due: 0 };
        let Sums { runs, multipliers, totals, .. } = sums;
        let (h, r, text, runs) = (totals[0], &multipliers[0], [].iter(), runs.iter());
        Self { h, slot: 0, r, text, runs, multipliers, totals, pace }
    }

    #[inline(always)]
    pub(super) fn store(&mut self) {
        self.totals[self.slot] = self.h;
    }

    /// Goes on with the next sum.
    #[inline(always)]
    fn turn(&mut self) {
        if let Some(run) = self.runs.next() {
            self.store();
            self.slot = run.slot % SLOTS;
            self.h = self.totals[self.slot];
            self.r = &self.multipliers[self.slot];
            self.text = run.text.iter();
        }
    }
}

impl<const SLOTS: usize> AfterRound for Between<'_, '_, SLOTS> {
    #[inline(always)]
    fn after_round(&mut self) {
        self.pace.after_round();
        while self.pace.step() {
            if self.text.len() == 0 {
                self.turn();
            }
            if let Some(block) = self.text.next() {
                // SAFETY: a caller with steps to do has BMI2; see `chacha20x8::pass`.
                unsafe { step(&mut self.h, block, self.r) };
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

/// As [`Number::step`], in less than half as many instructions as the compiler makes of it; `r` is as in [`Sum`].
///
/// Many sums at a time take as long as their instructions take to decode. One alone takes as long as the chain from
/// h to h: 13 cycles. h has three bits above 2^128 and r has 60 bits a word. So `e` takes h2 s1 without a carry.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn step(h: &mut Number, block: &[u8; 16], r: &[u64; 3]) {
    let [h0, h1, h2] = &mut h.0;
    // SAFETY: the registers written are declared; 16 bytes are read from `block` and 24 from `r`.
    unsafe {
        asm!(
            // h += block + 2^128
            "add {h0}, [{block}]",
            "adc {h1}, [{block} + 8]",
            "adc {h2}, 1",
            // b:h0 = h0 r0 + h1 s1 + h2 s1 2^64, with s1 = 5/4 r1; d:c = h0 r1
            "mov rdx, {h0}",
            "mulx {e}, {h0}, [{r}]",
            "mulx {d}, {c}, [{r} + 8]",
            "mov rdx, {h1}",
            "mulx {b}, {h1}, [{r} + 16]",
            "mov {t}, [{r} + 16]",
            "imul {t}, {h2}",
            "add {e}, {t}",
            "add {h0}, {h1}",
            "adc {b}, {e}",
            // d:h1 = d:c + h1 r0 + b + h2 r0 2^64
            "mulx {e}, {h1}, [{r}]",
            "add {h1}, {c}",
            "adc {d}, {e}",
            "imul {h2}, [{r}]",
            "add {h1}, {b}",
            "adc {d}, {h2}",
            // What lies above 2^130 counts five times at the bottom.
            "mov {h2:e}, {d:e}",
            "and {h2:e}, 3",
            "mov {e}, {d}",
            "shr {e}, 2",
            "and {d}, -4",
            "add {d}, {e}",
            "add {h0}, {d}",
            "adc {h1}, 0",
            "adc {h2}, 0",
            block = in(reg) block.as_ptr(),
            r = in(reg) r.as_ptr(),
            h0 = inout(reg) *h0,
            h1 = inout(reg) *h1,
            h2 = inout(reg) *h2,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            e = out(reg) _,
            t = out(reg) _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
}
