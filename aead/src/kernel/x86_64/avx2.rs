//! Registers of 256 bits: AVX2.

use core::arch::asm;
use core::arch::x86_64::*;

use super::between::{self, AfterRound, Sum};
use super::chacha20x8;
use super::{apply, instructions, wipe};
use crate::kernel::scalar::Number;
use crate::kernel::wide::limbs26::Limbs26;
use crate::kernel::wide::pass::{QUAD, Quad, SLOTS, States, Sums};
use crate::kernel::wide::simd::Simd;
use crate::kernel::wide::{Block, chacha20, poly1305, shape, unit};
use crate::{Key, Nonce};

/// Proof that this CPU has AVX2 and BMI2; only `Avx2::detect` makes one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        (super::has!("avx2") && super::has!("bmi2")).then_some(Self(()))
    }
}

unit!(Avx2, Limbs26, "avx2,bmi2", sets: 5 4 3 2 1, usually: 4, shapes: shape::AVX2, wipe: wipe::ymm);

impl Simd for Avx2 {
    type Vector = __m256i;
    type Square = [__m256i; 4];
    const WIDTH: usize = 32;

    instructions! { __m256i;
        add32(a, b) = _mm256_add_epi32;
        rotate16(a) = rotate16;
        rotate12(a) = rotate12;
        rotate8(a) = rotate8;
        rotate7(a) = rotate7;
        words1(a) = _mm256_shuffle_epi32::<0x39>;
        words2(a) = _mm256_shuffle_epi32::<0x4e>;
        words3(a) = _mm256_shuffle_epi32::<0x93>;
        xor(a, b) = _mm256_xor_si256;
        and(a, b) = _mm256_and_si256;
        or(a, b) = _mm256_or_si256;
        select(mask, a, b) = select;
        add64(a, b) = _mm256_add_epi64;
        mul32(a, b) = _mm256_mul_epu32;
        low_halves(a, b) = _mm256_unpacklo_epi64;
        high_halves(a, b) = _mm256_unpackhi_epi64;
    }

    #[inline(always)]
    fn splat(self, lane: u64) -> __m256i {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { _mm256_set1_epi64x(lane as i64) }
    }

    #[inline(always)]
    fn shl(self, a: __m256i, by: u32) -> __m256i {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { shl(a, by) }
    }

    #[inline(always)]
    fn shr(self, a: __m256i, by: u32) -> __m256i {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { shr(a, by) }
    }

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m256i {
        let bytes: &[u8; 32] = bytes.first_chunk().expect("the caller counts");
        // SAFETY: the reference is to 32 bytes; the token proves the CPU feature.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_behind(self, padding: usize, bytes: &[u8]) -> __m256i {
        let mut padded = [0; 32];
        padded[padding..padding + bytes.len()].copy_from_slice(bytes);
        self.load(&padded)
    }

    #[inline(always)]
    fn store_lanes(self, a: __m256i, lanes: &mut [u64]) {
        let lanes: &mut [u64; 4] = lanes.first_chunk_mut().expect("the caller counts");
        // SAFETY: the reference is to 32 bytes; the token proves the CPU feature.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), a) }
    }

    #[inline(always)]
    fn load_lanes(self, lanes: &[u64]) -> __m256i {
        let lanes: &[u64; 4] = lanes.first_chunk().expect("the caller counts");
        // SAFETY: the reference is to 32 bytes; the token proves the CPU feature.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> [__m256i; 4] {
        let [a, b] = blocks.first_chunk().expect("the caller counts");
        let rows = [self.load(&a.0), self.load(&a.0[32..]), self.load(&b.0), self.load(&b.0[32..])];
        // SAFETY: holding the token proves the CPU feature.
        unsafe { split_rows(rows) }
    }

    #[inline(always)]
    fn add_to_blocks(self, rows: [__m256i; 4], blocks: &mut [Block]) {
        let blocks: &mut [Block; 2] = blocks.first_chunk_mut().expect("the caller counts");
        // SAFETY: holding the token proves the CPU feature.
        unsafe { add_to_blocks(rows, blocks) };
    }

    #[inline(always)]
    fn store_blocks(self, rows: [__m256i; 4], blocks: &mut [Block]) {
        let blocks: &mut [Block; 2] = blocks.first_chunk_mut().expect("the caller counts");
        // SAFETY: holding the token proves the CPU feature.
        unsafe { store_blocks(rows, blocks) };
    }

    #[inline(always)]
    fn splat_row(self, [a, b, c, d]: [u32; 4]) -> __m256i {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { splat_row(a as i32, b as i32, c as i32, d as i32) }
    }

    #[inline(always)]
    fn count_parts(self) -> __m256i {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { _mm256_set_epi64x(0, 1, 0, 0) }
    }

    #[inline(always)]
    fn transpose(self, square: [__m256i; 4]) -> [__m256i; 4] {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { transpose(square) }
    }

    #[inline(always)]
    fn square(self, a: __m256i) -> [__m256i; 4] {
        [a; 4]
    }

    #[inline(always)]
    fn key_stream<const SETS: usize>(self, blocks: &mut [Block]) {
        match blocks.first_chunk_mut() {
            // SAFETY: holding the token proves the CPU feature.
            Some(blocks) if SETS == 4 => unsafe { chacha20x8::key_stream(blocks) },
            _ => chacha20::key_stream::<Self, SETS>(self, blocks),
        }
    }

    #[inline(always)]
    fn blocks_from<const SETS: usize>(self, key: &Key, nonce: &Nonce, first: u32, blocks: &mut [Block]) {
        match blocks.first_chunk_mut() {
            // SAFETY: holding the token proves the CPU feature.
            Some(blocks) if SETS == 4 => unsafe { chacha20x8::blocks_from(key, nonce, first, blocks) },
            _ => chacha20::blocks_from::<Self, SETS>(self, key, nonce, first, blocks),
        }
    }

    #[inline(always)]
    fn pass(self, states: &States<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, SLOTS>) {
        // SAFETY: holding the token proves the CPU features.
        unsafe { chacha20x8::pass(states, blocks, sums) }
    }

    #[inline(always)]
    fn quad(self, states: &Quad<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, QUAD>) {
        // SAFETY: holding the token proves the CPU features.
        unsafe { chacha20x8::quad(states, blocks, sums) }
    }

    #[inline(always)]
    fn sum_quad(self, sums: &mut Sums<'_, QUAD>) {
        // SAFETY: holding the token proves the CPU features.
        unsafe { between::sum_quad(sums) }
    }

    #[inline(always)]
    fn sum(self, sums: &mut Sums<'_, SLOTS>) {
        // SAFETY: holding the token proves the CPU features.
        unsafe { between::sum(sums) }
    }

    #[inline(always)]
    fn key_stream_and_sum(self, blocks: &mut [Block; 8], sum: (Number, Number), text: &[[u8; 16]]) -> Number {
        // SAFETY: holding the token proves the CPU features.
        unsafe { chacha20x8::key_stream_and_sum(blocks, sum, text) }
    }

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
        let r = r.with_quarters();
        let mut sum = Sum::new(h, &r, text);
        if let Some(blocks) = blocks.first_chunk_mut() {
            // SAFETY: holding the token proves the CPU features.
            return unsafe { chacha20x8::blocks_and_sum(key, nonce, first, blocks, sum) };
        }
        let between = Some(|| sum.after_round());
        match blocks.len() {
            6 => chacha20::blocks_from_and::<Self, 3>(self, key, nonce, first, blocks, between),
            4 => chacha20::blocks_from_and::<Self, 2>(self, key, nonce, first, blocks, between),
            _ => chacha20::blocks_from_and::<Self, 1>(self, key, nonce, first, blocks, between),
        }
        sum.h
    }

    #[inline(always)]
    fn apply(self, data: &mut [u8], stream: &[Block]) {
        let (whole, tail) = data.as_chunks_mut();
        for (data, block) in whole.iter_mut().zip(stream) {
            // SAFETY: holding the token proves the CPU feature.
            unsafe { apply::whole(data, block) };
        }
        if let Some(block) = stream.get(whole.len()) {
            apply::tail(tail, block);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat_row(a: i32, b: i32, c: i32, d: i32) -> __m256i {
    _mm256_broadcastsi128_si256(_mm_set_epi32(d, c, b, a))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate16(a: __m256i) -> __m256i {
    let order =
        _mm256_broadcastsi128_si256(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
    shuffle_bytes(a, order)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate8(a: __m256i) -> __m256i {
    let order =
        _mm256_broadcastsi128_si256(_mm_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3));
    shuffle_bytes(a, order)
}

/// The intrinsic would do, but LLVM pulls the shuffle through the exclusive or before it, and then there
/// are two.
#[inline]
#[target_feature(enable = "avx2")]
fn shuffle_bytes(a: __m256i, order: __m256i) -> __m256i {
    let shuffled;
    // SAFETY: the instruction touches its registers only.
    unsafe {
        asm!("vpshufb {}, {}, {}", lateout(ymm_reg) shuffled, in(ymm_reg) a, in(ymm_reg) order,
             options(pure, nomem, nostack, preserves_flags));
    }
    shuffled
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate12(a: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<12>(a), _mm256_srli_epi32::<20>(a))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate7(a: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<7>(a), _mm256_srli_epi32::<25>(a))
}

#[inline]
#[target_feature(enable = "avx2")]
fn select(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
    _mm256_blendv_epi8(b, a, mask)
}

#[inline]
#[target_feature(enable = "avx2")]
fn shl(a: __m256i, by: u32) -> __m256i {
    _mm256_sll_epi64(a, _mm_set_epi64x(0, i64::from(by)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shr(a: __m256i, by: u32) -> __m256i {
    _mm256_srl_epi64(a, _mm_set_epi64x(0, i64::from(by)))
}

/// Rows 0 and 1, 2 and 3 of two blocks become row 0 of both, row 1 of both, and on.
#[inline]
#[target_feature(enable = "avx2")]
fn split_rows([a01, a23, b01, b23]: [__m256i; 4]) -> [__m256i; 4] {
    [
        _mm256_permute2x128_si256::<0x20>(a01, b01),
        _mm256_permute2x128_si256::<0x31>(a01, b01),
        _mm256_permute2x128_si256::<0x20>(a23, b23),
        _mm256_permute2x128_si256::<0x31>(a23, b23),
    ]
}

/// See [`Simd::store_blocks`].
#[inline]
#[target_feature(enable = "avx2")]
fn store_blocks(rows: [__m256i; 4], blocks: &mut [Block; 2]) {
    let [x, y] = blocks;
    let ([x01, x23], [y01, y23]) = (halves(x), halves(y));
    let [a, b, c, d] = join_rows(rows);
    for (half, row) in [(x01, a), (x23, b), (y01, c), (y23, d)] {
        // SAFETY: half a block is 32 bytes.
        unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), row) };
    }
}

/// Undoes [`split_rows`].
#[inline]
#[target_feature(enable = "avx2")]
fn join_rows([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    [
        _mm256_permute2x128_si256::<0x20>(a, b),
        _mm256_permute2x128_si256::<0x20>(c, d),
        _mm256_permute2x128_si256::<0x31>(a, b),
        _mm256_permute2x128_si256::<0x31>(c, d),
    ]
}

/// See [`Simd::add_to_blocks`].
#[inline]
#[target_feature(enable = "avx2")]
fn add_to_blocks(rows: [__m256i; 4], blocks: &mut [Block; 2]) {
    let sums = join_rows(rows);
    let [x, y] = blocks;
    let ([x01, x23], [y01, y23]) = (halves(x), halves(y));
    add_to(x01, sums[0]);
    add_to(x23, sums[1]);
    add_to(y01, sums[2]);
    add_to(y23, sums[3]);
}

/// Adds 32-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn add_to(half: &mut [u8; 32], sum: __m256i) {
    // SAFETY: half a block is 32 bytes.
    let initial = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
    let sum = _mm256_add_epi32(initial, sum);
    // SAFETY: half a block is 32 bytes.
    unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), sum) };
}

#[inline]
fn halves(block: &mut Block) -> [&mut [u8; 32]; 2] {
    let ([low, high], []) = block.0.as_chunks_mut() else { unreachable!("64 bytes are two halves of 32") };
    [low, high]
}

/// Lane i of vector j becomes lane j of vector i.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_even, ab_odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (cd_even, cd_odd) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x20>(ab_even, cd_even),
        _mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd),
        _mm256_permute2x128_si256::<0x31>(ab_even, cd_even),
        _mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd),
    ]
}
