//! Registers of 512 bits: AVX-512 F, BW, DQ and VL, with or without IFMA.

#![allow(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use core::arch::asm;
use core::arch::x86_64::*;

use super::{instructions, wipe};
use crate::kernel::scalar::Number;
use crate::kernel::wide::limbs26::Limbs26;
use crate::kernel::wide::limbs44::Limbs44;
use crate::kernel::wide::simd::{Multiply52, Simd};
use crate::kernel::wide::{Block, chacha20, poly1305, shape, unit};
use crate::{Key, Nonce};

/// Proof that this CPU has AVX-512 F, BW, DQ and VL; only `Avx512::detect` makes one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        let has = [
            super::has!("avx512f"),
            super::has!("avx512bw"),
            super::has!("avx512dq"),
            super::has!("avx512vl"),
        ];
        has.iter().all(|&has| has).then_some(Self(()))
    }
}

/// Proof that this CPU has AVX-512 F, BW, DQ, VL and IFMA; only `Avx512Ifma::detect` makes one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Avx512Ifma(());

impl Avx512Ifma {
    pub(crate) fn detect() -> Option<Self> {
        (Avx512::detect().is_some() && super::has!("avx512ifma")).then_some(Self(()))
    }
}

macro_rules! simd_512 {
    ($token:ty) => {
        impl Simd for $token {
            type Vector = __m512i;
            type Square = [__m512i; 8];
            const WIDTH: usize = 64;

            instructions! { __m512i;
                add32(a, b) = _mm512_add_epi32;
                rotate16(a) = _mm512_rol_epi32::<16>;
                rotate12(a) = _mm512_rol_epi32::<12>;
                rotate8(a) = _mm512_rol_epi32::<8>;
                rotate7(a) = _mm512_rol_epi32::<7>;
                words1(a) = _mm512_shuffle_epi32::<0x39>;
                words2(a) = _mm512_shuffle_epi32::<0x4e>;
                words3(a) = _mm512_shuffle_epi32::<0x93>;
                xor(a, b) = _mm512_xor_si512;
                and(a, b) = _mm512_and_si512;
                or(a, b) = _mm512_or_si512;
                select(mask, a, b) = _mm512_ternarylogic_epi64::<0xca>;
                add64(a, b) = _mm512_add_epi64;
                mul32(a, b) = multiply32;
                low_halves(a, b) = _mm512_unpacklo_epi64;
                high_halves(a, b) = _mm512_unpackhi_epi64;
            }

            #[inline(always)]
            fn splat(self, lane: u64) -> __m512i {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { _mm512_set1_epi64(lane as i64) }
            }

            #[inline(always)]
            fn shl(self, a: __m512i, by: u32) -> __m512i {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { _mm512_sll_epi64(a, _mm_set_epi64x(0, i64::from(by))) }
            }

            #[inline(always)]
            fn shr(self, a: __m512i, by: u32) -> __m512i {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { _mm512_srl_epi64(a, _mm_set_epi64x(0, i64::from(by))) }
            }

            #[inline(always)]
            fn load(self, bytes: &[u8]) -> __m512i {
                let bytes: &[u8; 64] = bytes.first_chunk().expect("the caller counts");
                // SAFETY: the reference is to 64 bytes; the token proves the CPU feature.
                unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
            }

            #[inline(always)]
            fn load_behind(self, padding: usize, bytes: &[u8]) -> __m512i {
                let mask = ones(padding + bytes.len()) & !ones(padding);
                // Masked bytes cannot fault, but where there is no page, the CPU takes microseconds to find
                // that out. An empty slice may point anywhere.
                let start =
                    if bytes.is_empty() { NOTHING.as_ptr() } else { bytes.as_ptr().wrapping_sub(padding) };
                // SAFETY: only the bytes of the slice are read; the token proves the CPU feature.
                unsafe { _mm512_maskz_loadu_epi8(mask, start.cast()) }
            }

            #[inline(always)]
            fn store_lanes(self, a: __m512i, lanes: &mut [u64]) {
                let lanes: &mut [u64; 8] = lanes.first_chunk_mut().expect("the caller counts");
                // SAFETY: the reference is to 64 bytes; the token proves the CPU feature.
                unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), a) }
            }

            #[inline(always)]
            fn load_lanes(self, lanes: &[u64]) -> __m512i {
                let lanes: &[u64; 8] = lanes.first_chunk().expect("the caller counts");
                // SAFETY: the reference is to 64 bytes; the token proves the CPU feature.
                unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
            }

            #[inline(always)]
            fn load_blocks(self, blocks: &[Block]) -> [__m512i; 4] {
                let blocks = blocks.first_chunk().expect("the caller counts");
                // SAFETY: holding the token proves the CPU feature.
                unsafe { load_blocks(blocks) }
            }

            #[inline(always)]
            fn add_to_blocks(self, rows: [__m512i; 4], blocks: &mut [Block]) {
                let blocks = blocks.first_chunk_mut().expect("the caller counts");
                // SAFETY: holding the token proves the CPU feature.
                unsafe { add_to_blocks(rows, blocks) };
            }

            #[inline(always)]
            fn store_blocks(self, rows: [__m512i; 4], blocks: &mut [Block]) {
                let blocks: &mut [Block; 4] = blocks.first_chunk_mut().expect("the caller counts");
                // SAFETY: holding the token proves the CPU feature.
                let stored = unsafe { transpose_parts(rows) };
                for i in 0..4 {
                    // SAFETY: holding the token proves the CPU feature.
                    unsafe { blocks[i].store(stored[i]) };
                }
            }

            #[inline(always)]
            fn splat_row(self, [a, b, c, d]: [u32; 4]) -> __m512i {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { splat_row(a as i32, b as i32, c as i32, d as i32) }
            }

            #[inline(always)]
            fn count_parts(self) -> __m512i {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0) }
            }

            #[inline(always)]
            fn transpose(self, square: [__m512i; 8]) -> [__m512i; 8] {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { transpose_lanes(square) }
            }

            #[inline(always)]
            fn square(self, a: __m512i) -> [__m512i; 8] {
                [a; 8]
            }

            #[inline(always)]
            fn rounds<const SETS: usize>(self, sets: &mut [[__m512i; 4]; SETS]) {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { rounds(self, sets) };
            }

            #[inline(always)]
            fn apply(self, data: &mut [u8], stream: &[Block]) {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { apply(data, stream) };
            }
        }
    };
}

simd_512!(Avx512);
simd_512!(Avx512Ifma);

impl Multiply52 for Avx512Ifma {
    instructions! { __m512i;
        add_low52(sum, a, b) = _mm512_madd52lo_epu64;
        add_high52(sum, a, b) = _mm512_madd52hi_epu64;
    }
}

impl Block {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(&self) -> __m512i {
        // SAFETY: a block is 64 aligned bytes.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(&mut self, value: __m512i) {
        // SAFETY: a block is 64 aligned bytes.
        unsafe { _mm512_store_si512(self.0.as_mut_ptr().cast(), value) };
    }
}

/// See [`Simd::load_blocks`].
#[inline]
#[target_feature(enable = "avx512f")]
fn load_blocks([a, b, c, d]: &[Block; 4]) -> [__m512i; 4] {
    transpose_parts([a.load(), b.load(), c.load(), d.load()])
}

/// See [`Simd::add_to_blocks`].
#[inline]
#[target_feature(enable = "avx512f")]
fn add_to_blocks(rows: [__m512i; 4], blocks: &mut [Block; 4]) {
    for (block, sum) in blocks.iter_mut().zip(transpose_parts(rows)) {
        block.store(_mm512_add_epi32(block.load(), sum));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat_row(a: i32, b: i32, c: i32, d: i32) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi32(d, c, b, a))
}

/// Multiplies the low 32 bits of every 64-bit lane.
///
/// LLVM spoils the intrinsic: it proves the high halves zero, drops the masks and ends with `vpmullq`,
/// three times as slow.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiply32(a: __m512i, b: __m512i) -> __m512i {
    let product;
    // SAFETY: the instruction touches its registers only.
    unsafe {
        asm!("vpmuludq {}, {}, {}", lateout(zmm_reg) product, in(zmm_reg) a, in(zmm_reg) b,
             options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// A mask of the low `count` bits; all 64 from there on.
#[inline(always)]
fn ones(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Exclusive-ors `data` with the key stream.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn apply(data: &mut [u8], stream: &[Block]) {
    for (data, block) in data.chunks_mut(64).zip(stream) {
        let mask = ones(data.len());
        // SAFETY: only the bytes of the slice are read.
        let text = unsafe { _mm512_maskz_loadu_epi8(mask, data.as_ptr().cast()) };
        let text = _mm512_xor_si512(text, block.load());
        // SAFETY: only the bytes of the slice are written.
        unsafe { _mm512_mask_storeu_epi8(data.as_mut_ptr().cast(), mask, text) };
    }
}

/// Part i of vector j becomes part j of vector i.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_parts([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab_low = _mm512_shuffle_i64x2::<0x44>(a, b);
    let ab_high = _mm512_shuffle_i64x2::<0xee>(a, b);
    let cd_low = _mm512_shuffle_i64x2::<0x44>(c, d);
    let cd_high = _mm512_shuffle_i64x2::<0xee>(c, d);
    [
        _mm512_shuffle_i64x2::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i64x2::<0xdd>(ab_low, cd_low),
        _mm512_shuffle_i64x2::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i64x2::<0xdd>(ab_high, cd_high),
    ]
}

/// Lane i of vector j becomes lane j of vector i.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_lanes(v: [__m512i; 8]) -> [__m512i; 8] {
    // Pairs of lanes change places inside every part; then the parts of the even and of the odd lanes.
    let even = [
        _mm512_unpacklo_epi64(v[0], v[1]),
        _mm512_unpacklo_epi64(v[2], v[3]),
        _mm512_unpacklo_epi64(v[4], v[5]),
        _mm512_unpacklo_epi64(v[6], v[7]),
    ];
    let odd = [
        _mm512_unpackhi_epi64(v[0], v[1]),
        _mm512_unpackhi_epi64(v[2], v[3]),
        _mm512_unpackhi_epi64(v[4], v[5]),
        _mm512_unpackhi_epi64(v[6], v[7]),
    ];
    let even = transpose_parts(even);
    let odd = transpose_parts(odd);
    [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
}

/// See [`Simd::rounds`].
#[inline]
#[target_feature(enable = "avx512f")]
fn rounds<S: Simd<Vector = __m512i>, const SETS: usize>(simd: S, sets: &mut [[__m512i; 4]; SETS]) {
    if let Some(sets) = sets.first_chunk_mut::<8>() {
        rounds_in_all_registers(sets);
    } else {
        chacha20::rounds(simd, sets);
    }
}

/// Ten double rounds on all 32 registers.
///
/// No register is to spare, and the compiler's schedule wants some twenty more. Its loop goes to memory 62
/// times, and takes 10 % longer (measured on Zen 5).
#[inline]
#[target_feature(enable = "avx512f")]
fn rounds_in_all_registers(sets: &mut [[__m512i; 4]; 8]) {
    macro_rules! rounds {
        ($($i:tt: $a:tt $b:tt $c:tt $d:tt;)*) => {
            // SAFETY: the registers written are declared, and the CPU has AVX-512 F.
            unsafe {
                asm!(
                    "2:",
                    rounds!(@round $($a $b $c $d;)*),
                    $(concat!("vpshufd ", $a, ",", $a, ", 0x93"),)*
                    $(concat!("vpshufd ", $c, ",", $c, ", 0x39"),)*
                    $(concat!("vpshufd ", $d, ",", $d, ", 0x4e"),)*
                    rounds!(@round $($a $b $c $d;)*),
                    $(concat!("vpshufd ", $a, ",", $a, ", 0x39"),)*
                    $(concat!("vpshufd ", $c, ",", $c, ", 0x93"),)*
                    $(concat!("vpshufd ", $d, ",", $d, ", 0x4e"),)*
                    "dec {count:e}",
                    "jnz 2b",
                    count = inout(reg) 10 => _,
                    $(
                        inout($a) sets[$i][0], inout($b) sets[$i][1],
                        inout($c) sets[$i][2], inout($d) sets[$i][3],
                    )*
                    options(pure, nomem, nostack),
                );
            }
        };
        (@round $($a:tt $b:tt $c:tt $d:tt;)*) => {
            concat!(
                $("vpaddd ", $a, ",", $a, ",", $b, "\n",)* $("vpxord ", $d, ",", $d, ",", $a, "\n",)*
                $("vprold ", $d, ",", $d, ", 16\n",)*
                $("vpaddd ", $c, ",", $c, ",", $d, "\n",)* $("vpxord ", $b, ",", $b, ",", $c, "\n",)*
                $("vprold ", $b, ",", $b, ", 12\n",)*
                $("vpaddd ", $a, ",", $a, ",", $b, "\n",)* $("vpxord ", $d, ",", $d, ",", $a, "\n",)*
                $("vprold ", $d, ",", $d, ", 8\n",)*
                $("vpaddd ", $c, ",", $c, ",", $d, "\n",)* $("vpxord ", $b, ",", $b, ",", $c, "\n",)*
                $("vprold ", $b, ",", $b, ", 7\n",)*
            )
        };
    }
    rounds! {
        0: "zmm0" "zmm1" "zmm2" "zmm3";
        1: "zmm4" "zmm5" "zmm6" "zmm7";
        2: "zmm8" "zmm9" "zmm10" "zmm11";
        3: "zmm12" "zmm13" "zmm14" "zmm15";
        4: "zmm16" "zmm17" "zmm18" "zmm19";
        5: "zmm20" "zmm21" "zmm22" "zmm23";
        6: "zmm24" "zmm25" "zmm26" "zmm27";
        7: "zmm28" "zmm29" "zmm30" "zmm31";
    }
}

/// What a load that selects nothing is pointed at.
static NOTHING: [u8; 64] = [0; 64];

unit!(Avx512, Limbs26, "avx512f,avx512bw,avx512vl", sets: 8 7 6 5 4 3 2 1, usually: 8, shapes: shape::AVX512, wipe: wipe::zmm);
unit!(Avx512Ifma, Limbs44, "avx512f,avx512bw,avx512vl,avx512ifma", sets: 8 7 6 5 4 3 2 1, usually: 8, shapes: shape::AVX512, wipe: wipe::zmm);
