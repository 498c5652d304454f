//! Numbers modulo 2^130 − 5, one per 64-bit lane.

use super::simd::Simd;
use crate::kernel::scalar::Number;

/// A way to hold a number in the 64-bit lanes of a few registers.
///
/// An `Element` may be a few bits longer than reduced; so may the sum of two. A `Product` may be the sum of
/// sixteen products of such sums. The bounds are stated where they are used, and tested.
pub(in crate::kernel) trait Field: Copy {
    /// The vector unit.
    type Simd: Simd;
    /// A number per lane.
    type Element: Copy;
    /// A number per lane to multiply by, with the multiples of its limbs that folding needs.
    type Multiplier: Copy;
    /// A sum of products, not yet carried.
    type Product: Copy;

    /// The vector unit.
    fn simd(self) -> Self::Simd;
    /// The number `low` + 2^64 `high` + 2^128 `top`.
    fn element(self, low: Vector<Self>, high: Vector<Self>, top: Vector<Self>) -> Self::Element;
    /// Zero in every lane.
    fn zero(self) -> Self::Element;
    /// Lane by lane.
    fn add(self, a: Self::Element, b: Self::Element) -> Self::Element;
    /// `a` in the lanes where `mask` has ones, else zero.
    fn keep(self, mask: Vector<Self>, a: Self::Element) -> Self::Element;
    /// Prepares to multiply by `a`, which must be fresh from `reduce` or `element`.
    fn multiplier(self, a: Self::Element) -> Self::Multiplier;
    /// a · b.
    fn multiply(self, a: Self::Element, b: &Self::Multiplier) -> Self::Product;
    /// sum + a · b.
    fn multiply_add(self, sum: Self::Product, a: Self::Element, b: &Self::Multiplier) -> Self::Product;
    /// Carries.
    fn reduce(self, product: Self::Product) -> Self::Element;
    /// Reduces fully, adds `s` and returns the low 128 bits.
    fn finish(self, a: Self::Element, s: [Vector<Self>; 2]) -> [Vector<Self>; 2];
    /// Sums all lanes.
    fn sum(self, a: Self::Element) -> Number;
}

/// A register of the field's vector unit.
pub(in crate::kernel) type Vector<F> = <<F as Field>::Simd as Simd>::Vector;
