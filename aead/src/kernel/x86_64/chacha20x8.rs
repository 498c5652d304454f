//! ChaCha20 on eight blocks in sixteen registers of 256 bits: a word of all blocks per register.
//!
//! Nothing is turned between rounds, as it must be where registers hold rows. No register is to spare, and
//! with the compiler's schedule a third of the loop would go to memory. Here word 3 lives in memory, and its
//! register serves the rotations.

use core::arch::asm;
use core::arch::x86_64::*;

use crate::kernel::portable::chacha20::CONSTANTS;
use crate::kernel::scalar::Number;
use crate::kernel::wide::Block;
use crate::{Key, Nonce};

/// Replaces eight initial states by their key stream.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn key_stream(blocks: &mut [Block; 8]) {
    make_stream::<false>(blocks, &mut Sum::nothing());
}

/// As [`key_stream`], while blocks of text are added to the sum h with the multiplier r.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn key_stream_and_sum(
    blocks: &mut [Block; 8],
    (h, r): (Number, Number),
    text: &[[u8; 16]],
) -> Number {
    let mut sum = Sum::new(h, r, text);
    make_stream::<true>(blocks, &mut sum);
    sum.h
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn make_stream<const SUM: bool>(blocks: &mut [Block; 8], sum: &mut Sum<'_>) {
    let rows = [half(blocks, 0), half(blocks, 1)];
    let mut words = [rows[0][0]; 16];
    words[..8].copy_from_slice(&transpose(rows[0]));
    words[8..].copy_from_slice(&transpose(rows[1]));
    rounds::<SUM, 0>(&mut words, sum);
    for (i, words) in words.as_chunks().0.iter().enumerate() {
        for (block, row) in blocks.iter_mut().zip(transpose(*words)) {
            let place = block.0.as_mut_ptr().wrapping_add(32 * i).cast();
            // SAFETY: half a block is 32 aligned bytes.
            let sum = _mm256_add_epi32(row, unsafe { _mm256_load_si256(place) });
            // SAFETY: half a block is 32 aligned bytes.
            unsafe { _mm256_store_si256(place, sum) };
        }
    }
}

/// Writes eight blocks of one message's key stream, from counter `first` on.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn blocks_from(key: &Key, nonce: &Nonce, first: u32, blocks: &mut [Block; 8]) {
    make_blocks::<false>(key, nonce, first, blocks, &mut Sum::nothing());
}

/// As [`blocks_from`], while blocks of text are added to a sum.
///
/// The rounds leave the 64-bit multipliers idle and wait for themselves a part of the time, so the steps of the sum
/// between them cost a third of what they would cost alone.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn blocks_and_sum(
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block; 8],
    (h, r): (Number, Number),
    text: &[[u8; 16]],
) -> Number {
    let mut sum = Sum::new(h, r, text);
    make_blocks::<true>(key, nonce, first, blocks, &mut sum);
    sum.h
}

/// A sum that is continued between rounds.
struct Sum<'a> {
    h: Number,
    /// The lower and the upper half of r, and 5/4 of the upper.
    r: [u64; 3],
    text: &'a [[u8; 16]],
    /// Steps to do in all.
    steps: usize,
    /// Steps that are due, in twentieths: evenly spread, and all done after the last round.
    due: usize,
}

impl<'a> Sum<'a> {
    #[inline(always)]
    fn new(h: Number, Number([r0, r1, _]): Number, text: &'a [[u8; 16]]) -> Self {
        Self { h, r: [r0, r1, r1 + (r1 >> 2)], text, steps: text.len(), due: 0 }
    }

    /// Nothing to add.
    #[inline(always)]
    fn nothing() -> Self {
        Self { h: Number::ZERO, r: [0; 3], text: &[], steps: 0, due: 0 }
    }

    #[inline(always)]
    fn after_round(&mut self, r: &[u64; 3]) {
        self.due += self.steps;
        while self.due >= 20 {
            self.due -= 20;
            if let [block, rest @ ..] = self.text {
                // SAFETY: who has steps to do has BMI2; see `blocks_and_sum`.
                self.h = unsafe { step(self.h, block, r) };
                self.text = rest;
            }
        }
    }
}

/// As [`Number::step`], in half as many instructions as the compiler makes of it; `r` is as in [`Sum`].
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn step(h: Number, block: &[u8; 16], r: &[u64; 3]) -> Number {
    let [h0, h1, h2] = h.0;
    let (low, high, top);
    // SAFETY: the registers written are declared; 16 bytes are read from `block` and 24 from `r`.
    unsafe {
        asm!(
            // h += block + 2^128
            "add {h0}, [{block}]",
            "adc {h1}, [{block} + 8]",
            "adc {h2}, 1",
            // b:a = h0 r0 + h1 s1, with s1 = 5/4 r1
            "mov rdx, [{r}]",
            "mulx {b}, {a}, {h0}",
            "mov rdx, [{r} + 8]",
            "mulx {d}, {c}, {h0}",
            "mov rdx, [{r} + 16]",
            "mulx {e}, {h0}, {h1}",
            "add {a}, {h0}",
            "adc {b}, {e}",
            // d:c = h0 r1 + h2 s1 + h1 r0
            "imul rdx, {h2}",
            "add {c}, rdx",
            "adc {d}, 0",
            "mov rdx, [{r}]",
            "mulx {e}, {h0}, {h1}",
            "add {c}, {h0}",
            "adc {d}, {e}",
            // d:c += h2 r0 2^64 + b
            "imul rdx, {h2}",
            "add {c}, {b}",
            "adc {d}, rdx",
            // What lies above 2^130 counts five times at the bottom.
            "mov {h2:e}, {d:e}",
            "and {h2:e}, 3",
            "mov {e}, {d}",
            "shr {e}, 2",
            "and {d}, -4",
            "add {d}, {e}",
            "add {a}, {d}",
            "adc {c}, 0",
            "adc {h2}, 0",
            block = in(reg) block.as_ptr(),
            r = in(reg) r.as_ptr(),
            h0 = inout(reg) h0 => _,
            h1 = inout(reg) h1 => _,
            h2 = inout(reg) h2 => top,
            a = out(reg) low,
            b = out(reg) _,
            c = out(reg) high,
            d = out(reg) _,
            e = out(reg) _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
    Number([low, high, top])
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn make_blocks<const SUM: bool>(
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block; 8],
    sum: &mut Sum<'_>,
) {
    let mut initial = [first; 16];
    initial[..4].copy_from_slice(&CONSTANTS);
    initial[4..12].copy_from_slice(key.words());
    initial[13..].copy_from_slice(&nonce.words());
    let count = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    // Not `map`: its closure is not always inlined.
    let mut words = [count; 16];
    for (word, initial) in words.iter_mut().zip(initial) {
        *word = _mm256_set1_epi32(initial as i32);
    }
    words[12] = _mm256_add_epi32(words[12], count);
    rounds::<SUM, 1>(&mut words, sum);
    words[12] = _mm256_add_epi32(words[12], count);
    for (i, (words, initial)) in words.as_chunks().0.iter().zip(initial.as_chunks::<8>().0).enumerate() {
        let mut sums: [__m256i; 8] = *words;
        for (sum, &word) in sums.iter_mut().zip(initial) {
            *sum = _mm256_add_epi32(*sum, _mm256_set1_epi32(word as i32));
        }
        for (block, row) in blocks.iter_mut().zip(transpose(sums)) {
            // SAFETY: half a block is 32 aligned bytes.
            unsafe { _mm256_store_si256(block.0.as_mut_ptr().wrapping_add(32 * i).cast(), row) };
        }
    }
}

/// Ten double rounds (RFC 8439 §2.3), and if `SUM` the steps of a sum between them.
///
/// There is one of it per `CALLER`, so that the compiler puts it there: called, it would go to memory for the
/// words and the sum.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn rounds<const SUM: bool, const CALLER: u8>(words: &mut [__m256i; 16], sum: &mut Sum<'_>) {
    let mut third = words[3];
    // What no pointer leads to stays in registers across the rounds.
    let r = sum.r;
    let mut local = Sum { r: [0; 3], ..*sum };
    for _ in 0..10 {
        columns(words, &mut third);
        if SUM {
            local.after_round(&r);
        }
        diagonals(words, &mut third);
        if SUM {
            local.after_round(&r);
        }
    }
    if SUM {
        sum.h = local.h;
    }
    words[3] = third;
}

/// Orders of bytes that rotate 32-bit lanes left by 16 and by 8.
#[repr(align(32))]
#[expect(dead_code, reason = "only instructions read it")]
struct Order([u8; 32]);

static ROTATE16: Order = Order(order([2, 3, 0, 1]));
static ROTATE8: Order = Order(order([3, 0, 1, 2]));

const fn order(word: [u8; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = (i % 16 / 4 * 4) as u8 + word[i % 4];
        i += 1;
    }
    bytes
}

/// Stamps a round: four quarter rounds on the words that it names by row (RFC 8439 §2.3).
macro_rules! round {
    ($name:ident, $b0:tt $b1:tt $b2:tt $b3:tt, $c0:tt $c1:tt $c2:tt $c3:tt, $d0:tt $d1:tt $d2:tt $d3:tt) => {
        #[inline]
        #[target_feature(enable = "avx2,bmi2")]
        fn $name(x: &mut [__m256i; 16], third: &mut __m256i) {
            // SAFETY: the registers written are declared; memory is touched at the two orders of bytes and at
            // `third`, all of them 32 aligned bytes.
            unsafe {
                asm!(
                    round!(@half "vpshufb {d0}, {d0}, [rip + {rotate16}]", "vpshufb {d1}, {d1}, [rip + {rotate16}]",
                        "vpshufb {d2}, {d2}, [rip + {rotate16}]", "vpshufb {d3}, {d3}, [rip + {rotate16}]", "12", "20"),
                    round!(@half "vpshufb {d0}, {d0}, [rip + {rotate8}]", "vpshufb {d1}, {d1}, [rip + {rotate8}]",
                        "vpshufb {d2}, {d2}, [rip + {rotate8}]", "vpshufb {d3}, {d3}, [rip + {rotate8}]", "7", "25"),
                    a0 = inout(ymm_reg) x[0], a1 = inout(ymm_reg) x[1], a2 = inout(ymm_reg) x[2],
                    b0 = inout(ymm_reg) x[$b0], b1 = inout(ymm_reg) x[$b1],
                    b2 = inout(ymm_reg) x[$b2], b3 = inout(ymm_reg) x[$b3],
                    c0 = inout(ymm_reg) x[$c0], c1 = inout(ymm_reg) x[$c1],
                    c2 = inout(ymm_reg) x[$c2], c3 = inout(ymm_reg) x[$c3],
                    d0 = inout(ymm_reg) x[$d0], d1 = inout(ymm_reg) x[$d1],
                    d2 = inout(ymm_reg) x[$d2], d3 = inout(ymm_reg) x[$d3],
                    t = out(ymm_reg) _, third = in(reg) third,
                    rotate16 = sym ROTATE16, rotate8 = sym ROTATE8,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
    (@half $s0:literal, $s1:literal, $s2:literal, $s3:literal, $left:literal, $right:literal) => {
        concat!(
            "vpaddd {a0}, {a0}, {b0}\n", "vpaddd {a1}, {a1}, {b1}\n",
            "vpaddd {a2}, {a2}, {b2}\n", "vpaddd {t}, {b3}, [{third}]\n",
            "vpxor {d0}, {d0}, {a0}\n", "vpxor {d1}, {d1}, {a1}\n",
            "vpxor {d2}, {d2}, {a2}\n", "vpxor {d3}, {d3}, {t}\n",
            "vmovdqa [{third}], {t}\n",
            $s0, "\n", $s1, "\n", $s2, "\n", $s3, "\n",
            "vpaddd {c0}, {c0}, {d0}\n", "vpaddd {c1}, {c1}, {d1}\n",
            "vpaddd {c2}, {c2}, {d2}\n", "vpaddd {c3}, {c3}, {d3}\n",
            "vpxor {b0}, {b0}, {c0}\n", "vpxor {b1}, {b1}, {c1}\n",
            "vpxor {b2}, {b2}, {c2}\n", "vpxor {b3}, {b3}, {c3}\n",
            "vpslld {t}, {b0}, ", $left, "\n", "vpsrld {b0}, {b0}, ", $right, "\n", "vpor {b0}, {b0}, {t}\n",
            "vpslld {t}, {b1}, ", $left, "\n", "vpsrld {b1}, {b1}, ", $right, "\n", "vpor {b1}, {b1}, {t}\n",
            "vpslld {t}, {b2}, ", $left, "\n", "vpsrld {b2}, {b2}, ", $right, "\n", "vpor {b2}, {b2}, {t}\n",
            "vpslld {t}, {b3}, ", $left, "\n", "vpsrld {b3}, {b3}, ", $right, "\n", "vpor {b3}, {b3}, {t}\n",
        )
    };
}

round!(columns, 4 5 6 7, 8 9 10 11, 12 13 14 15);
round!(diagonals, 5 6 7 4, 10 11 8 9, 15 12 13 14);

/// Reads the first or the second half of every block.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn half(blocks: &[Block; 8], index: usize) -> [__m256i; 8] {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (row, block) in rows.iter_mut().zip(blocks) {
        // SAFETY: half a block is 32 aligned bytes.
        *row = unsafe { _mm256_load_si256(block.0.as_ptr().wrapping_add(32 * index).cast()) };
    }
    rows
}

/// Word i of vector j becomes word j of vector i.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn transpose(v: [__m256i; 8]) -> [__m256i; 8] {
    let pair = |a, b| (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let four = |(a, b), (c, d)| {
        [
            _mm256_unpacklo_epi64(a, c),
            _mm256_unpackhi_epi64(a, c),
            _mm256_unpacklo_epi64(b, d),
            _mm256_unpackhi_epi64(b, d),
        ]
    };
    let low = four(pair(v[0], v[1]), pair(v[2], v[3]));
    let high = four(pair(v[4], v[5]), pair(v[6], v[7]));
    let mut out = v;
    for i in 0..4 {
        out[i] = _mm256_permute2x128_si256::<0x20>(low[i], high[i]);
        out[i + 4] = _mm256_permute2x128_si256::<0x31>(low[i], high[i]);
    }
    out
}
