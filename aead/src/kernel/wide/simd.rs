//! What the wide kernels need of a vector unit.
//!
//! An implementor is a token: a value of it exists only on a CPU that has the instructions. All methods are
//! inlined into a function compiled for those instructions; called from elsewhere they are correct but slow.

use super::Block;
use super::pass::{QUAD, Quad, SLOTS, States, Sums};
use crate::kernel::scalar::Number;
use crate::{Key, Nonce};

/// A vector unit whose registers hold whole 128-bit parts.
pub(in crate::kernel) trait Simd: Copy {
    /// A register.
    type Vector: Copy;
    /// As many registers as a register has 64-bit lanes.
    type Square: AsMut<[Self::Vector]> + AsRef<[Self::Vector]> + Copy;
    /// Bytes of a register.
    const WIDTH: usize;
    /// 64-bit lanes of a register.
    const LANES: usize = Self::WIDTH / 8;
    /// 128-bit parts of a register.
    const PARTS: usize = Self::WIDTH / 16;

    /// Adds 32-bit lanes.
    fn add32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Rotates 32-bit lanes left by 16.
    fn rotate16(self, a: Self::Vector) -> Self::Vector;
    /// Rotates 32-bit lanes left by 12.
    fn rotate12(self, a: Self::Vector) -> Self::Vector;
    /// Rotates 32-bit lanes left by 8.
    fn rotate8(self, a: Self::Vector) -> Self::Vector;
    /// Rotates 32-bit lanes left by 7.
    fn rotate7(self, a: Self::Vector) -> Self::Vector;
    /// In every 128-bit part, word i becomes word i + 1 mod 4 of before.
    fn words1(self, a: Self::Vector) -> Self::Vector;
    /// In every 128-bit part, word i becomes word i + 2 mod 4 of before.
    fn words2(self, a: Self::Vector) -> Self::Vector;
    /// In every 128-bit part, word i becomes word i + 3 mod 4 of before.
    fn words3(self, a: Self::Vector) -> Self::Vector;

    /// Exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// And.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Or.
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a` where `mask` has ones, `b` where it has zeros.
    fn select(self, mask: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The same 64 bits in every lane.
    fn splat(self, lane: u64) -> Self::Vector;
    /// Adds 64-bit lanes.
    fn add64(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Shifts 64-bit lanes left. `by` is a constant in every call.
    fn shl(self, a: Self::Vector, by: u32) -> Self::Vector;
    /// Shifts 64-bit lanes right. `by` is a constant in every call.
    fn shr(self, a: Self::Vector, by: u32) -> Self::Vector;
    /// Multiplies the low 32 bits of every 64-bit lane.
    fn mul32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The low halves of the 128-bit parts of `a` and `b`, alternating.
    fn low_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The high halves of the 128-bit parts of `a` and `b`, alternating.
    fn high_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Reads a register from the first `WIDTH` bytes.
    fn load(self, bytes: &[u8]) -> Self::Vector;
    /// Reads the given bytes, at most `WIDTH` with the `padding` bytes before them, and puts zeros around
    /// them.
    fn load_behind(self, padding: usize, bytes: &[u8]) -> Self::Vector;
    /// Writes the 64-bit lanes to the first `LANES` words.
    fn store_lanes(self, a: Self::Vector, lanes: &mut [u64]);
    /// Reads the 64-bit lanes from the first `LANES` words.
    fn load_lanes(self, lanes: &[u64]) -> Self::Vector;

    /// Reads the rows of `PARTS` blocks: part p of vector w is row w of block p.
    fn load_blocks(self, blocks: &[Block]) -> [Self::Vector; 4];
    /// Adds to `PARTS` blocks the rows that `load_blocks` would read from their sum.
    fn add_to_blocks(self, rows: [Self::Vector; 4], blocks: &mut [Block]);
    /// Writes `PARTS` blocks whose rows `load_blocks` would read.
    fn store_blocks(self, rows: [Self::Vector; 4], blocks: &mut [Block]);
    /// The same four words in every 128-bit part.
    fn splat_row(self, row: [u32; 4]) -> Self::Vector;
    /// In the first word of every 128-bit part its number from zero on, else zeros.
    fn count_parts(self) -> Self::Vector;
    /// Lane i of vector j becomes lane j of vector i.
    fn transpose(self, square: Self::Square) -> Self::Square;
    /// A square of the same register.
    fn square(self, a: Self::Vector) -> Self::Square;

    /// Replaces the initial states of `SETS · PARTS` blocks by their key stream.
    #[inline(always)]
    fn key_stream<const SETS: usize>(self, blocks: &mut [Block]) {
        super::chacha20::key_stream::<Self, SETS>(self, blocks);
    }

    /// Writes `SETS · PARTS` blocks of one message's key stream, from counter `first` on.
    #[inline(always)]
    fn blocks_from<const SETS: usize>(self, key: &Key, nonce: &Nonce, first: u32, blocks: &mut [Block]) {
        super::chacha20::blocks_from::<Self, SETS>(self, key, nonce, first, blocks);
    }

    /// Replaces eight initial states by their key stream, one set of registers after the other.
    #[inline(always)]
    fn set_by_set(self, blocks: &mut [Block; 8]) {
        for blocks in blocks.chunks_mut(Self::PARTS) {
            super::chacha20::key_stream::<Self, 1>(self, blocks);
        }
    }

    /// Writes eight blocks of key stream, and works on sums. A unit may know how to do both at a time.
    #[inline(always)]
    fn pass(self, states: &States<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, SLOTS>) {
        states.write(blocks);
        self.set_by_set(blocks);
        self.sum(sums);
    }

    /// Writes the eight blocks of a quad's key stream, and works on sums. The first four need only be whole up to
    /// the one-time keys. A unit may know how to do both at a time.
    #[inline(always)]
    fn quad(self, states: &Quad<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, QUAD>) {
        states.write(blocks);
        self.set_by_set(blocks);
        self.sum_quad(sums);
    }

    /// Works on the sums of a quad.
    #[inline(always)]
    fn sum_quad(self, sums: &mut Sums<'_, QUAD>) {
        sums.finish();
    }

    /// Works on sums.
    #[inline(always)]
    fn sum(self, sums: &mut Sums<'_, SLOTS>) {
        sums.finish();
    }

    /// Replaces eight initial states by their key stream. Adds blocks of text to the sum h with the multiplier r.
    /// A unit may know how to do both at a time.
    #[inline(always)]
    fn key_stream_and_sum(
        self,
        blocks: &mut [Block; 8],
        (h, r): (Number, Number),
        text: &[[u8; 16]],
    ) -> Number {
        self.set_by_set(blocks);
        text.iter().fold(h, |h, block| h.step(block, r))
    }

    /// Writes one message's key stream from counter `first` on, up to eight blocks in multiples of `PARTS`. Adds
    /// blocks of text to the sum h with the multiplier r. A unit may know how to do both at a time.
    #[inline(always)]
    fn blocks_and_sum(
        self,
        key: &Key,
        nonce: &Nonce,
        first: u32,
        blocks: &mut [Block],
        (h, r): (Number, Number),
        text: &[[u8; 16]],
    ) -> Number {
        for (i, blocks) in blocks.chunks_mut(Self::PARTS).enumerate() {
            let first = first + (i * Self::PARTS) as u32;
            super::chacha20::blocks_from::<Self, 1>(self, key, nonce, first, blocks);
        }
        text.iter().fold(h, |h, block| h.step(block, r))
    }

    /// Ten double rounds of ChaCha20 on every set; a unit may know better than the compiler how.
    #[inline(always)]
    fn rounds<const SETS: usize>(self, sets: &mut [[Self::Vector; 4]; SETS]) {
        super::chacha20::rounds(self, sets);
    }

    /// Encrypts or decrypts `data` with as many blocks as it needs.
    fn apply(self, data: &mut [u8], stream: &[Block]);

    /// The sum of the 64-bit lanes.
    #[inline(always)]
    fn sum64(self, a: Self::Vector) -> u64 {
        let mut lanes = [0; 8];
        self.store_lanes(a, &mut lanes);
        let [a, b, c, d, e, f, g, h] = lanes;
        (a + b) + (c + d) + ((e + f) + (g + h))
    }
}

/// A vector unit that also multiplies 52-bit lanes.
#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) trait Multiply52: Simd {
    /// Adds to `sum` the low 52 bits of the product of the low 52 bits of `a` and `b`.
    fn add_low52(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Adds to `sum` bits 52 to 103 of the product of the low 52 bits of `a` and `b`.
    fn add_high52(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
}
