//! Registers of 128 bits: NEON.

use core::arch::aarch64::*;
use core::arch::asm;

use crate::kernel::scalar::Number;
use crate::kernel::wide::limbs26::Limbs26;
use crate::kernel::wide::simd::Simd;
use crate::kernel::wide::{Block, poly1305, shape, unit};
use crate::{Key, Nonce};

/// Proof that this CPU has NEON; only [`Neon::detect`] makes one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Neon(());

impl Neon {
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let has = std::arch::is_aarch64_feature_detected!("neon");
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = "neon");
        has.then_some(Self(()))
    }
}

unit!(Neon, Limbs26, "neon", sets: 6 5 4 3 2 1, usually: 6, shapes: shape::NEON, wipe: wipe);

/// Stamps methods that are an inlined function of a few instructions.
macro_rules! instructions {
    ($($name:ident($($argument:ident),*);)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: uint64x2_t),*) -> uint64x2_t {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { $name($($argument),*) }
            }
        )*
    };
}

impl Simd for Neon {
    type Vector = uint64x2_t;
    type Square = [uint64x2_t; 2];
    const WIDTH: usize = 16;

    instructions! {
        add32(a, b);
        rotate16(a);
        rotate12(a);
        rotate8(a);
        rotate7(a);
        words1(a);
        words2(a);
        words3(a);
        xor(a, b);
        and(a, b);
        or(a, b);
        select(mask, a, b);
        add64(a, b);
        mul32(a, b);
        low_halves(a, b);
        high_halves(a, b);
    }

    #[inline(always)]
    fn splat(self, lane: u64) -> uint64x2_t {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { vdupq_n_u64(lane) }
    }

    #[inline(always)]
    fn shl(self, a: uint64x2_t, by: u32) -> uint64x2_t {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { shift(a, i64::from(by)) }
    }

    #[inline(always)]
    fn shr(self, a: uint64x2_t, by: u32) -> uint64x2_t {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { shift(a, -i64::from(by)) }
    }

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> uint64x2_t {
        let bytes: &[u8; 16] = bytes.first_chunk().expect("the caller counts");
        // SAFETY: holding the token proves the CPU feature.
        unsafe { load(bytes) }
    }

    #[inline(always)]
    fn load_behind(self, padding: usize, bytes: &[u8]) -> uint64x2_t {
        let mut padded = [0; 16];
        padded[padding..padding + bytes.len()].copy_from_slice(bytes);
        self.load(&padded)
    }

    #[inline(always)]
    fn store_lanes(self, a: uint64x2_t, lanes: &mut [u64]) {
        let lanes: &mut [u64; 2] = lanes.first_chunk_mut().expect("the caller counts");
        // SAFETY: the reference is to 16 bytes; the token proves the CPU feature.
        unsafe { vst1q_u64(lanes.as_mut_ptr(), a) }
    }

    #[inline(always)]
    fn load_lanes(self, lanes: &[u64]) -> uint64x2_t {
        let lanes: &[u64; 2] = lanes.first_chunk().expect("the caller counts");
        // SAFETY: the reference is to 16 bytes; the token proves the CPU feature.
        unsafe { vld1q_u64(lanes.as_ptr()) }
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> [uint64x2_t; 4] {
        let block = &blocks[0].0;
        [self.load(block), self.load(&block[16..]), self.load(&block[32..]), self.load(&block[48..])]
    }

    #[inline(always)]
    fn add_to_blocks(self, rows: [uint64x2_t; 4], blocks: &mut [Block]) {
        // SAFETY: holding the token proves the CPU feature.
        unsafe { add_to_block(rows, &mut blocks[0]) };
    }

    #[inline(always)]
    fn store_blocks(self, rows: [uint64x2_t; 4], blocks: &mut [Block]) {
        blocks[0] = Block::ZERO;
        self.add_to_blocks(rows, blocks);
    }

    #[inline(always)]
    fn splat_row(self, [a, b, c, d]: [u32; 4]) -> uint64x2_t {
        self.load_lanes(&[u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)])
    }

    #[inline(always)]
    fn count_parts(self) -> uint64x2_t {
        self.splat(0)
    }

    #[inline(always)]
    fn transpose(self, [a, b]: [uint64x2_t; 2]) -> [uint64x2_t; 2] {
        [self.low_halves(a, b), self.high_halves(a, b)]
    }

    #[inline(always)]
    fn square(self, a: uint64x2_t) -> [uint64x2_t; 2] {
        [a; 2]
    }

    #[inline(always)]
    fn apply(self, data: &mut [u8], stream: &[Block]) {
        for (data, block) in data.chunks_mut(64).zip(stream) {
            for (byte, key) in data.iter_mut().zip(block.0) {
                *byte ^= key;
            }
        }
    }
}

/// Stamps functions of a few NEON instructions.
macro_rules! functions {
    ($($name:ident($($argument:ident),*) $body:block)*) => {
        $(
            #[inline]
            #[target_feature(enable = "neon")]
            fn $name($($argument: uint64x2_t),*) -> uint64x2_t $body
        )*
    };
}

functions! {
    add32(a, b) { words_back(vaddq_u32(words(a), words(b))) }
    rotate16(a) { vreinterpretq_u64_u16(vrev32q_u16(vreinterpretq_u16_u64(a))) }
    rotate12(a) { words_back(vsriq_n_u32::<20>(vshlq_n_u32::<12>(words(a)), words(a))) }
    rotate8(a) { words_back(vsriq_n_u32::<24>(vshlq_n_u32::<8>(words(a)), words(a))) }
    rotate7(a) { words_back(vsriq_n_u32::<25>(vshlq_n_u32::<7>(words(a)), words(a))) }
    words1(a) { words_back(vextq_u32::<1>(words(a), words(a))) }
    words2(a) { vextq_u64::<1>(a, a) }
    words3(a) { words_back(vextq_u32::<3>(words(a), words(a))) }
    xor(a, b) { veorq_u64(a, b) }
    and(a, b) { vandq_u64(a, b) }
    or(a, b) { vorrq_u64(a, b) }
    select(mask, a, b) { vbslq_u64(mask, a, b) }
    add64(a, b) { vaddq_u64(a, b) }
    mul32(a, b) { vmull_u32(vmovn_u64(a), vmovn_u64(b)) }
    low_halves(a, b) { vtrn1q_u64(a, b) }
    high_halves(a, b) { vtrn2q_u64(a, b) }
}

#[inline]
#[target_feature(enable = "neon")]
fn words(a: uint64x2_t) -> uint32x4_t {
    vreinterpretq_u32_u64(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn words_back(a: uint32x4_t) -> uint64x2_t {
    vreinterpretq_u64_u32(a)
}

/// Shifts left, or right if `by` is negative.
#[inline]
#[target_feature(enable = "neon")]
fn shift(a: uint64x2_t, by: i64) -> uint64x2_t {
    vshlq_u64(a, vdupq_n_s64(by))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint64x2_t {
    // SAFETY: the reference is to 16 bytes.
    vreinterpretq_u64_u8(unsafe { vld1q_u8(bytes.as_ptr()) })
}

/// See [`Simd::add_to_blocks`].
#[inline]
#[target_feature(enable = "neon")]
fn add_to_block(rows: [uint64x2_t; 4], block: &mut Block) {
    for (bytes, row) in block.0.as_chunks_mut().0.iter_mut().zip(rows) {
        let sum = vreinterpretq_u8_u64(add32(load(bytes), row));
        // SAFETY: the reference is to 16 bytes.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), sum) };
    }
}

/// Clears all 32 registers.
#[inline]
#[target_feature(enable = "neon")]
fn wipe() {
    // SAFETY: every register that is written is declared.
    unsafe {
        asm!(
            "movi v0.2d, #0", "movi v1.2d, #0", "movi v2.2d, #0", "movi v3.2d, #0",
            "movi v4.2d, #0", "movi v5.2d, #0", "movi v6.2d, #0", "movi v7.2d, #0",
            "movi v8.2d, #0", "movi v9.2d, #0", "movi v10.2d, #0", "movi v11.2d, #0",
            "movi v12.2d, #0", "movi v13.2d, #0", "movi v14.2d, #0", "movi v15.2d, #0",
            "movi v16.2d, #0", "movi v17.2d, #0", "movi v18.2d, #0", "movi v19.2d, #0",
            "movi v20.2d, #0", "movi v21.2d, #0", "movi v22.2d, #0", "movi v23.2d, #0",
            "movi v24.2d, #0", "movi v25.2d, #0", "movi v26.2d, #0", "movi v27.2d, #0",
            "movi v28.2d, #0", "movi v29.2d, #0", "movi v30.2d, #0", "movi v31.2d, #0",
            out("v0") _, out("v1") _, out("v2") _, out("v3") _,
            out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _,
            out("v16") _, out("v17") _, out("v18") _, out("v19") _,
            out("v20") _, out("v21") _, out("v22") _, out("v23") _,
            out("v24") _, out("v25") _, out("v26") _, out("v27") _,
            out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            options(nomem, nostack, preserves_flags),
        );
    }
}
