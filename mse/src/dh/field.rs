//! Arithmetic modulo one fixed prime, without a branch or an index that depends on a value.
//!
//! Numbers are `N` words of 64 bits, least significant first, in Montgomery form unless a name says
//! otherwise. Every prime used here begins with 64 one-bits; [`Field::shifted`] relies on it.

use core::hint::black_box;

use zeroize::Zeroize;

/// A prime field, with what Montgomery's method needs to know of it.
pub(super) struct Field<const N: usize> {
    prime: [u64; N],
    /// `-prime^-1` modulo 2^64.
    inverse: u64,
    /// `R mod prime` with `R = 2^(64 N)`: the number one in Montgomery form. Because the prime's top
    /// bit is set it equals `R - prime`.
    one: [u64; N],
    /// `R^2 mod prime`: brings a number into Montgomery form.
    square: [u64; N],
}

impl<const N: usize> Field<N> {
    /// Prepares a field, at compile time.
    pub(super) const fn new(prime: [u64; N]) -> Self {
        assert!(prime[N - 1] == u64::MAX, "the top word must be all ones");
        let one = negated(&prime);
        let mut square = one;
        let mut doublings = 0;
        while doublings < 64 * N {
            square = doubled(&square, &prime);
            doublings += 1;
        }
        Self { prime, inverse: negated_inverse(prime[0]), one, square }
    }

    /// Returns `2^exponent` as an ordinary number.
    pub(super) fn power_of_two(&self, exponent: &[u8; EXPONENT]) -> [u64; N] {
        let mut power = self.one;
        for window in 0..WINDOWS {
            for _ in 0..WINDOW {
                power = self.product(&power, &power);
            }
            power = self.shifted(&power, digit(exponent, window));
        }
        let out = self.ordinary(&power);
        power.zeroize();
        out
    }

    /// Returns `base^exponent` as an ordinary number; `base` is an ordinary number below the prime.
    pub(super) fn power(&self, base: &[u64; N], exponent: &[u8; EXPONENT]) -> [u64; N] {
        let mut table = [self.one; TABLE];
        let base = self.product(base, &self.square);
        for n in 1..TABLE {
            table[n] = self.product(&table[n - 1], &base);
        }
        let mut power = self.one;
        for window in 0..WINDOWS {
            for _ in 0..WINDOW {
                power = self.product(&power, &power);
            }
            power = self.product(&power, &selected(&table, digit(exponent, window)));
        }
        let out = self.ordinary(&power);
        power.zeroize();
        out
    }

    /// Montgomery's product: `a b / R`, word by word (the "CIOS" order of Koç, Acar and Kaliski, 1996).
    #[inline]
    fn product(&self, a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        let mut sum = [0; N];
        let mut top = 0;
        for &word in b {
            let mut carry = 0;
            for j in 0..N {
                (sum[j], carry) = multiply_add(sum[j], a[j], word, carry);
            }
            let (high, first) = add(top, carry);
            let factor = sum[0].wrapping_mul(self.inverse);
            (_, carry) = multiply_add(sum[0], factor, self.prime[0], 0);
            for j in 1..N {
                (sum[j - 1], carry) = multiply_add(sum[j], factor, self.prime[j], carry);
            }
            let (high, second) = add(high, carry);
            sum[N - 1] = high;
            top = first + second;
        }
        self.reduced(&sum, top)
    }

    /// Returns `a * 2^bits` for `bits < 64`: a shift, then the overflow folded back with
    /// `R mod prime`. That remainder is short, because the prime's top word is all ones.
    #[inline]
    fn shifted(&self, a: &[u64; N], bits: u64) -> [u64; N] {
        let factor = 1 << bits;
        let mut sum = [0; N];
        let mut over = 0;
        for j in 0..N {
            (sum[j], over) = multiply_add(0, a[j], factor, over);
        }
        let mut carry = 0;
        for (word, fold) in sum.iter_mut().zip(&self.one) {
            (*word, carry) = multiply_add(*word, *fold, over, carry);
        }
        self.reduced(&sum, carry)
    }

    /// Leaves Montgomery form.
    fn ordinary(&self, a: &[u64; N]) -> [u64; N] {
        let mut unit = [0; N];
        unit[0] = 1;
        self.product(a, &unit)
    }

    /// Subtracts the prime once if `top * R + a` is not below it.
    #[inline]
    fn reduced(&self, a: &[u64; N], top: u64) -> [u64; N] {
        let mut less = [0; N];
        let mut borrow = 0;
        for j in 0..N {
            (less[j], borrow) = subtract(a[j], self.prime[j], borrow);
        }
        // All ones keeps `a`: only if subtracting borrowed and there was no top word to borrow from.
        let keep = black_box(0u64.wrapping_sub(borrow & (top ^ 1)));
        for j in 0..N {
            less[j] = (a[j] & keep) | (less[j] & !keep);
        }
        less
    }
}

/// The `index`-th group of [`WINDOW`] bits of a big-endian exponent, most significant first.
#[inline]
fn digit(exponent: &[u8; EXPONENT], index: usize) -> u64 {
    let bit = index * WINDOW;
    let high = u16::from(exponent[bit / 8]) << 8;
    let low = exponent.get(bit / 8 + 1).map_or(0, |&byte| u16::from(byte));
    u64::from(((high | low) >> (16 - WINDOW - bit % 8)) & (TABLE as u16 - 1))
}

/// Reads one entry by reading all of them, so that the cache does not learn which.
#[inline]
fn selected<const N: usize>(table: &[[u64; N]; TABLE], index: u64) -> [u64; N] {
    let mut out = [0; N];
    for (n, entry) in (0u64..).zip(table) {
        let differs = n ^ index;
        // `differs` is below 2^63, so subtracting one sets the top bit for zero alone.
        let mask = black_box(0u64.wrapping_sub(differs.wrapping_sub(1) >> 63));
        for (out, word) in out.iter_mut().zip(entry) {
            *out |= word & mask;
        }
    }
    out
}

#[inline]
const fn multiply_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let wide = sum as u128 + a as u128 * b as u128 + carry as u128;
    (wide as u64, (wide >> 64) as u64)
}

#[inline]
const fn add(a: u64, b: u64) -> (u64, u64) {
    let (sum, over) = a.overflowing_add(b);
    (sum, over as u64)
}

#[inline]
const fn subtract(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let wide = (a as u128).wrapping_sub(b as u128).wrapping_sub(borrow as u128);
    (wide as u64, (wide >> 64) as u64 & 1)
}

/// `2^(64 N) - a`.
const fn negated<const N: usize>(a: &[u64; N]) -> [u64; N] {
    let (mut out, mut borrow, mut j) = ([0; N], 0, 0);
    while j < N {
        (out[j], borrow) = subtract(0, a[j], borrow);
        j += 1;
    }
    out
}

/// `2 a mod prime`, for public numbers at compile time.
const fn doubled<const N: usize>(a: &[u64; N], prime: &[u64; N]) -> [u64; N] {
    let (mut twice, mut less, mut carry, mut borrow, mut j) = ([0; N], [0; N], 0, 0, 0);
    while j < N {
        twice[j] = a[j] << 1 | carry;
        carry = a[j] >> 63;
        (less[j], borrow) = subtract(twice[j], prime[j], borrow);
        j += 1;
    }
    if carry == 1 || borrow == 0 { less } else { twice }
}

/// `-word^-1` modulo 2^64 for odd words, by Newton's iteration: each step doubles the correct bits.
const fn negated_inverse(word: u64) -> u64 {
    let (mut inverse, mut step) = (word, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(word.wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg()
}

/// Bits taken from the exponent at a time. 160 is a multiple of it. Squarings and multiplications are
/// then near their minimum; wider windows only grow the table to scan.
const WINDOW: usize = 5;
const TABLE: usize = 1 << WINDOW;
const WINDOWS: usize = EXPONENT * 8 / WINDOW;

/// Length of a private exponent in bytes.
pub(super) const EXPONENT: usize = 20;
