//! Three limbs of 44, 44 and 42 bits, for units that multiply 52-bit lanes.

use super::field::Field;
use super::simd::{Multiply52, Simd};
use crate::kernel::scalar::Number;

/// The field with limbs of 44 bits.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Limbs44<S>(pub(in crate::kernel) S);

/// A multiplier: the limbs, and 20 times the upper two, since 2^132 ≡ 20.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Multiplier<V> {
    r: [V; 3],
    s: [V; 2],
}

/// Low and high halves of the products, by the limb they begin at; a high half counts 2^52 times.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Product<V> {
    low: [V; 3],
    high: [V; 3],
}

impl<S: Multiply52> Field for Limbs44<S> {
    type Simd = S;
    type Element = [S::Vector; 3];
    type Multiplier = Multiplier<S::Vector>;
    type Product = Product<S::Vector>;

    #[inline(always)]
    fn simd(self) -> S {
        self.0
    }

    #[inline(always)]
    fn element(self, low: S::Vector, high: S::Vector, top: S::Vector) -> [S::Vector; 3] {
        let v = self.0;
        let mask = v.splat(MASK44);
        let middle = v.or(v.shr(low, 44), v.shl(high, 20));
        [v.and(low, mask), v.and(middle, mask), v.or(v.shr(high, 24), v.shl(top, 40))]
    }

    #[inline(always)]
    fn zero(self) -> [S::Vector; 3] {
        [self.0.splat(0); 3]
    }

    #[inline(always)]
    fn add(self, a: [S::Vector; 3], b: [S::Vector; 3]) -> [S::Vector; 3] {
        let v = self.0;
        [v.add64(a[0], b[0]), v.add64(a[1], b[1]), v.add64(a[2], b[2])]
    }

    #[inline(always)]
    fn keep(self, mask: S::Vector, a: [S::Vector; 3]) -> [S::Vector; 3] {
        let v = self.0;
        [v.and(a[0], mask), v.and(a[1], mask), v.and(a[2], mask)]
    }

    #[inline(always)]
    fn multiplier(self, r: [S::Vector; 3]) -> Multiplier<S::Vector> {
        let v = self.0;
        let s1 = v.add64(v.shl(r[1], 4), v.shl(r[1], 2));
        let s2 = v.add64(v.shl(r[2], 4), v.shl(r[2], 2));
        Multiplier { r, s: [s1, s2] }
    }

    #[inline(always)]
    fn multiply(self, a: [S::Vector; 3], b: &Multiplier<S::Vector>) -> Product<S::Vector> {
        let zero = self.0.splat(0);
        self.multiply_add(Product { low: [zero; 3], high: [zero; 3] }, a, b)
    }

    // Operands stay below 2^52: a sum of two elements below 2^46, 20 r below 2^49. So a low half is below
    // 2^52 and a high half below 2^43. Sixteen products of three terms sum below 2^58 and 2^49.
    #[inline(always)]
    fn multiply_add(
        self,
        sum: Product<S::Vector>,
        a: [S::Vector; 3],
        b: &Multiplier<S::Vector>,
    ) -> Product<S::Vector> {
        let v = self.0;
        let Multiplier { r: [r0, r1, r2], s: [s1, s2] } = *b;
        let terms = [[r0, s2, s1], [r1, r0, s2], [r2, r1, r0]];
        let Product { mut low, mut high } = sum;
        for j in 0..3 {
            for i in 0..3 {
                low[i] = v.add_low52(low[i], a[j], terms[i][j]);
                high[i] = v.add_high52(high[i], a[j], terms[i][j]);
            }
        }
        Product { low, high }
    }

    // Out come limbs below 2^44, 2^44 + 2^15 and 2^42.
    #[inline(always)]
    fn reduce(self, product: Product<S::Vector>) -> [S::Vector; 3] {
        let v = self.0;
        let (mask44, mask42) = (v.splat(MASK44), v.splat(MASK42));
        let Product { low, high } = product;
        let d0 = low[0];
        let d1 = v.add64(low[1], v.shl(high[0], 8));
        let d2 = v.add64(low[2], v.shl(high[1], 8));
        let d1 = v.add64(d1, v.shr(d0, 44));
        let d2 = v.add64(d2, v.shr(d1, 44));
        // What begins at 2^132 counts four times in units of 2^130, and those five times at the bottom.
        let over = v.add64(v.shr(d2, 42), v.shl(high[2], 10));
        let over = v.add64(over, v.shl(over, 2));
        let d0 = v.add64(v.and(d0, mask44), over);
        let d1 = v.add64(v.and(d1, mask44), v.shr(d0, 44));
        [v.and(d0, mask44), d1, v.and(d2, mask42)]
    }

    #[inline(always)]
    fn finish(self, a: [S::Vector; 3], s: [S::Vector; 2]) -> [S::Vector; 2] {
        let v = self.0;
        let [x, y, z] = carry(v, a);
        let over = v.shr(z, 42);
        let x = v.add64(x, v.add64(over, v.shl(over, 2)));
        let a = carry(v, [x, y, v.and(z, v.splat(MASK42))]);
        // a + 5 reaches 2^130 exactly if a ≥ p; then its low bits are those of a − p.
        let b = carry(v, [v.add64(a[0], v.splat(5)), a[1], a[2]]);
        let reached = v.add64(v.xor(v.shr(b[2], 42), v.splat(1)), v.splat(u64::MAX));
        let a = [v.select(reached, b[0], a[0]), v.select(reached, b[1], a[1]), v.select(reached, b[2], a[2])];
        let s = self.element(s[0], s[1], v.splat(0));
        let [x, y, z] = carry(v, self.add(a, s));
        [v.or(x, v.shl(y, 44)), v.or(v.shr(y, 20), v.shl(z, 24))]
    }

    #[inline(always)]
    fn sum(self, a: [S::Vector; 3]) -> Number {
        // Eight limbs below 2^45 sum below 2^48.
        let [x, y, z] = [self.0.sum64(a[0]), self.0.sum64(a[1]), self.0.sum64(a[2])];
        let low = u128::from(x) + (u128::from(y) << 44);
        let high = (u128::from(z) << 24) + (low >> 64);
        Number::fold(low as u64, high as u64, (high >> 64) as u64)
    }
}

/// Carries from the lower two limbs.
#[inline(always)]
fn carry<S: Simd>(v: S, [x, y, z]: [S::Vector; 3]) -> [S::Vector; 3] {
    let mask = v.splat(MASK44);
    let y = v.add64(y, v.shr(x, 44));
    let z = v.add64(z, v.shr(y, 44));
    [v.and(x, mask), v.and(y, mask), z]
}

const MASK44: u64 = (1 << 44) - 1;
const MASK42: u64 = (1 << 42) - 1;
