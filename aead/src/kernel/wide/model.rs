//! A vector unit in plain Rust, for tools that know no wide instructions: miri and valgrind.
//!
//! It runs the very code of the AVX-512 IFMA kernel, or the stitched one of the AVX2 kernel. Only the
//! instructions are replaced, by what their manuals say.

use super::limbs44::Limbs44;
use super::simd::{Multiply52, Simd};
use super::{Block, poly1305, shape, unit};
use crate::kernel::scalar::Number;
use crate::{Key, Nonce};

/// A unit with registers of 512 bits, and 52-bit multiplications.
///
/// As the AVX-512 kernels do, or, `STITCHED`, as the AVX2 kernel does with longer messages.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Model<const STITCHED: bool>;

unit!(Model<false>, Limbs44, "sse2", sets: 8 7 6 5 4 3 2 1, usually: 8, shapes: shape::AVX512, wipe: nothing);
unit!(Model<true>, Limbs44, "sse2", sets: 8 7 6 5 4 3 2 1, usually: 8, shapes: shape::STITCHED_MODEL, wipe: nothing);

#[target_feature(enable = "sse2")]
fn nothing() {}

type V = [u64; 8];

fn words(a: V, each: impl Fn(u32) -> u32) -> V {
    a.map(|lane| u64::from(each(lane as u32)) | u64::from(each((lane >> 32) as u32)) << 32)
}

fn lanes(a: V, b: V, each: impl Fn(u64, u64) -> u64) -> V {
    core::array::from_fn(|i| each(a[i], b[i]))
}

/// In every 128-bit part, word i becomes word i + `by` mod 4.
fn turn(a: V, by: u32) -> V {
    core::array::from_fn(|i| {
        let part = u128::from(a[i & !1]) | u128::from(a[i | 1]) << 64;
        (part.rotate_right(32 * by) >> (i % 2 * 64)) as u64
    })
}

fn transpose_parts(rows: [V; 4]) -> [V; 4] {
    core::array::from_fn(|i| core::array::from_fn(|j| rows[j / 2][2 * i + j % 2]))
}

fn read(bytes: &[u8]) -> V {
    let mut lanes = [0; 8];
    for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks().0) {
        *lane = u64::from_le_bytes(*bytes);
    }
    lanes
}

impl<const STITCHED: bool> Simd for Model<STITCHED> {
    type Vector = V;
    type Square = [V; 8];
    const WIDTH: usize = 64;

    fn add32(self, a: V, b: V) -> V {
        lanes(a, b, |a, b| {
            let high = (a >> 32).wrapping_add(b >> 32) << 32;
            high | u64::from((a as u32).wrapping_add(b as u32))
        })
    }

    fn rotate16(self, a: V) -> V {
        words(a, |word| word.rotate_left(16))
    }

    fn rotate12(self, a: V) -> V {
        words(a, |word| word.rotate_left(12))
    }

    fn rotate8(self, a: V) -> V {
        words(a, |word| word.rotate_left(8))
    }

    fn rotate7(self, a: V) -> V {
        words(a, |word| word.rotate_left(7))
    }

    fn words1(self, a: V) -> V {
        turn(a, 1)
    }

    fn words2(self, a: V) -> V {
        turn(a, 2)
    }

    fn words3(self, a: V) -> V {
        turn(a, 3)
    }

    fn xor(self, a: V, b: V) -> V {
        lanes(a, b, |a, b| a ^ b)
    }

    fn and(self, a: V, b: V) -> V {
        lanes(a, b, |a, b| a & b)
    }

    fn or(self, a: V, b: V) -> V {
        lanes(a, b, |a, b| a | b)
    }

    fn select(self, mask: V, a: V, b: V) -> V {
        self.or(self.and(a, mask), lanes(b, mask, |b, mask| b & !mask))
    }

    fn splat(self, lane: u64) -> V {
        [lane; 8]
    }

    fn add64(self, a: V, b: V) -> V {
        lanes(a, b, u64::wrapping_add)
    }

    fn shl(self, a: V, by: u32) -> V {
        a.map(|lane| lane << by)
    }

    fn shr(self, a: V, by: u32) -> V {
        a.map(|lane| lane >> by)
    }

    fn mul32(self, a: V, b: V) -> V {
        lanes(a, b, |a, b| u64::from(a as u32) * u64::from(b as u32))
    }

    fn low_halves(self, a: V, b: V) -> V {
        core::array::from_fn(|i| if i % 2 == 0 { a[i] } else { b[i - 1] })
    }

    fn high_halves(self, a: V, b: V) -> V {
        core::array::from_fn(|i| if i % 2 == 0 { a[i + 1] } else { b[i] })
    }

    fn load(self, bytes: &[u8]) -> V {
        read(&bytes[..64])
    }

    fn load_behind(self, padding: usize, bytes: &[u8]) -> V {
        let mut padded = [0; 64];
        padded[padding..padding + bytes.len()].copy_from_slice(bytes);
        read(&padded)
    }

    fn store_lanes(self, a: V, lanes: &mut [u64]) {
        lanes[..8].copy_from_slice(&a);
    }

    fn load_lanes(self, lanes: &[u64]) -> V {
        lanes[..8].try_into().expect("eight lanes")
    }

    fn load_blocks(self, blocks: &[Block]) -> [V; 4] {
        transpose_parts(core::array::from_fn(|i| read(&blocks[i].0)))
    }

    fn add_to_blocks(self, rows: [V; 4], blocks: &mut [Block]) {
        for (block, sum) in blocks.iter_mut().zip(transpose_parts(rows)) {
            let sum = self.add32(read(&block.0), sum);
            for (bytes, lane) in block.0.as_chunks_mut().0.iter_mut().zip(sum) {
                *bytes = lane.to_le_bytes();
            }
        }
    }

    fn store_blocks(self, rows: [V; 4], blocks: &mut [Block]) {
        blocks[..4].fill(Block::ZERO);
        self.add_to_blocks(rows, blocks);
    }

    fn splat_row(self, [a, b, c, d]: [u32; 4]) -> V {
        let (low, high) = (u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c));
        core::array::from_fn(|i| if i % 2 == 0 { low } else { high })
    }

    fn count_parts(self) -> V {
        [0, 0, 1, 0, 2, 0, 3, 0]
    }

    fn transpose(self, square: [V; 8]) -> [V; 8] {
        core::array::from_fn(|i| core::array::from_fn(|j| square[j][i]))
    }

    fn square(self, a: V) -> [V; 8] {
        [a; 8]
    }

    fn apply(self, data: &mut [u8], stream: &[Block]) {
        for (data, block) in data.chunks_mut(64).zip(stream) {
            for (byte, key) in data.iter_mut().zip(block.0) {
                *byte ^= key;
            }
        }
    }
}

impl<const STITCHED: bool> Multiply52 for Model<STITCHED> {
    fn add_low52(self, sum: V, a: V, b: V) -> V {
        lanes(sum, lanes(a, b, |a, b| product52(a, b) as u64 & MASK52), u64::wrapping_add)
    }

    fn add_high52(self, sum: V, a: V, b: V) -> V {
        lanes(sum, lanes(a, b, |a, b| (product52(a, b) >> 52) as u64), u64::wrapping_add)
    }
}

/// The product of the low 52 bits; the kernel must not rely on bits above being dropped.
fn product52(a: u64, b: u64) -> u128 {
    // Branching on secrets is what valgrind looks for; there the bounds are not looked at.
    if !super::super::tests::taint::watched() {
        assert!(a <= MASK52 && b <= MASK52, "an operand is longer than the bounds of the limbs say");
    }
    u128::from(a) * u128::from(b)
}

const MASK52: u64 = (1 << 52) - 1;
