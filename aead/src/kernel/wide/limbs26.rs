//! Five limbs of 26 bits, for units that multiply 32-bit lanes.

#![allow(clippy::needless_range_loop, reason = "limb indices are the arithmetic")]

use super::field::Field;
use super::simd::Simd;
use crate::kernel::scalar::Number;

/// The field with limbs of 26 bits.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Limbs26<S>(pub(in crate::kernel) S);

/// A multiplier: the limbs, and five times the upper four, since 2^130 ≡ 5.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Multiplier<V> {
    r: [V; 5],
    s: [V; 4],
}

impl<S: Simd> Field for Limbs26<S> {
    type Simd = S;
    type Element = [S::Vector; 5];
    type Multiplier = Multiplier<S::Vector>;
    type Product = [S::Vector; 5];

    #[inline(always)]
    fn simd(self) -> S {
        self.0
    }

    #[inline(always)]
    fn element(self, low: S::Vector, high: S::Vector, top: S::Vector) -> [S::Vector; 5] {
        let v = self.0;
        let mask = v.splat(MASK);
        let middle = v.or(v.shr(low, 52), v.shl(high, 12));
        [
            v.and(low, mask),
            v.and(v.shr(low, 26), mask),
            v.and(middle, mask),
            v.and(v.shr(high, 14), mask),
            v.or(v.shr(high, 40), v.shl(top, 24)),
        ]
    }

    #[inline(always)]
    fn zero(self) -> [S::Vector; 5] {
        [self.0.splat(0); 5]
    }

    #[inline(always)]
    fn add(self, mut a: [S::Vector; 5], b: [S::Vector; 5]) -> [S::Vector; 5] {
        for i in 0..5 {
            a[i] = self.0.add64(a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn keep(self, mask: S::Vector, mut a: [S::Vector; 5]) -> [S::Vector; 5] {
        for limb in &mut a {
            *limb = self.0.and(*limb, mask);
        }
        a
    }

    #[inline(always)]
    fn multiplier(self, r: [S::Vector; 5]) -> Multiplier<S::Vector> {
        let v = self.0;
        let mut s = [r[1], r[2], r[3], r[4]];
        for limb in &mut s {
            *limb = v.add64(*limb, v.shl(*limb, 2));
        }
        Multiplier { r, s }
    }

    #[inline(always)]
    fn multiply(self, a: [S::Vector; 5], b: &Multiplier<S::Vector>) -> [S::Vector; 5] {
        let v = self.0;
        let mut sum = b.r;
        for limb in &mut sum {
            *limb = v.mul32(a[0], *limb);
        }
        self.add_upper(sum, a, b)
    }

    #[inline(always)]
    fn multiply_add(
        self,
        mut sum: [S::Vector; 5],
        a: [S::Vector; 5],
        b: &Multiplier<S::Vector>,
    ) -> [S::Vector; 5] {
        let v = self.0;
        for i in 0..5 {
            sum[i] = v.add64(sum[i], v.mul32(a[0], b.r[i]));
        }
        self.add_upper(sum, a, b)
    }

    // The results are limbs below 2^26, except the second, below 2^26 + 2^13.
    #[inline(always)]
    fn reduce(self, [mut a, mut b, mut c, mut d, mut e]: [S::Vector; 5]) -> [S::Vector; 5] {
        let v = self.0;
        let mask = v.splat(MASK);
        // Two chains side by side: a → b → c and d → e → a.
        b = v.add64(b, v.shr(a, 26));
        e = v.add64(e, v.shr(d, 26));
        (a, d) = (v.and(a, mask), v.and(d, mask));
        c = v.add64(c, v.shr(b, 26));
        let over = v.shr(e, 26);
        a = v.add64(a, v.add64(over, v.shl(over, 2)));
        (b, e) = (v.and(b, mask), v.and(e, mask));
        d = v.add64(d, v.shr(c, 26));
        b = v.add64(b, v.shr(a, 26));
        (c, a) = (v.and(c, mask), v.and(a, mask));
        e = v.add64(e, v.shr(d, 26));
        d = v.and(d, mask);
        [a, b, c, d, e]
    }

    #[inline(always)]
    fn finish(self, a: [S::Vector; 5], s: [S::Vector; 2]) -> [S::Vector; 2] {
        let v = self.0;
        let mut a = carry(v, a);
        let over = v.shr(a[4], 26);
        a[0] = v.add64(a[0], v.add64(over, v.shl(over, 2)));
        a[4] = v.and(a[4], v.splat(MASK));
        let mut a = carry(v, a);
        // a + 5 reaches 2^130 exactly if a ≥ p; then its low bits are those of a − p.
        let mut b = a;
        b[0] = v.add64(b[0], v.splat(5));
        let b = carry(v, b);
        let reached = v.add64(v.xor(v.shr(b[4], 26), v.splat(1)), v.splat(u64::MAX));
        for i in 0..5 {
            a[i] = v.select(reached, b[i], a[i]);
        }
        let s = self.element(s[0], s[1], v.splat(0));
        let [a, b, c, d, e] = carry(v, self.add(a, s));
        let low = v.or(v.or(a, v.shl(b, 26)), v.shl(c, 52));
        let high = v.or(v.or(v.shr(c, 12), v.shl(d, 14)), v.shl(e, 40));
        [low, high]
    }

    #[inline(always)]
    fn sum(self, a: [S::Vector; 5]) -> Number {
        let mut sums = [0; 5];
        for i in 0..5 {
            sums[i] = self.0.sum64(a[i]);
        }
        let [a, b, c, d, e] = sums;
        let low = u128::from(a) + (u128::from(b) << 26) + (u128::from(c) << 52);
        let high = (low >> 64) + (u128::from(d) << 14) + (u128::from(e) << 40);
        Number::fold(low as u64, high as u64, (high >> 64) as u64)
    }
}

impl<S: Simd> Limbs26<S> {
    /// Adds the products of all limbs of `a` but the first.
    // Factors stay below 2^28 and 2^29, so sixteen products of five terms sum below 2^64.
    #[inline(always)]
    fn add_upper(
        self,
        mut sum: [S::Vector; 5],
        a: [S::Vector; 5],
        b: &Multiplier<S::Vector>,
    ) -> [S::Vector; 5] {
        let v = self.0;
        for j in 1..5 {
            for i in 0..5 {
                let factor = if j <= i { b.r[i - j] } else { b.s[4 + i - j] };
                sum[i] = v.add64(sum[i], v.mul32(a[j], factor));
            }
        }
        sum
    }
}

/// Carries from limb to limb, up to the last.
#[inline(always)]
fn carry<S: Simd>(v: S, mut a: [S::Vector; 5]) -> [S::Vector; 5] {
    let mask = v.splat(MASK);
    for i in 0..4 {
        a[i + 1] = v.add64(a[i + 1], v.shr(a[i], 26));
        a[i] = v.and(a[i], mask);
    }
    a
}

const MASK: u64 = (1 << 26) - 1;
