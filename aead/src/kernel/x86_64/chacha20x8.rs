//! ChaCha20 on eight blocks in sixteen registers of 256 bits: a word of all blocks per register.
//!
//! Nothing is turned between rounds, as it must be where registers hold rows.

#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "what is called is not always inlined")]

mod rounds;

use core::arch::x86_64::*;

use rounds::rounds;

use super::between::{AfterRound, Between, Nothing, Sum};
use crate::kernel::portable::chacha20::CONSTANTS;
use crate::kernel::scalar::Number;
use crate::kernel::wide::Block;
use crate::kernel::wide::pass::{QUAD, Quad, SLOTS, States, Sums};
use crate::{Key, Nonce};

/// Replaces eight initial states by their key stream.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn key_stream(blocks: &mut [Block; 8]) {
    make_stream::<0, _>(blocks, Nothing);
}

/// As [`key_stream`], while blocks of text are added to the sum h with the multiplier r.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn key_stream_and_sum(
    blocks: &mut [Block; 8],
    (h, r): (Number, Number),
    text: &[[u8; 16]],
) -> Number {
    make_stream::<4, _>(blocks, Sum::new(h, &r.with_quarters(), text)).h
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn make_stream<const CALLER: u8, B: AfterRound>(blocks: &mut [Block; 8], between: B) -> B {
    let rows = [half(blocks, 0), half(blocks, 1)];
    let mut words = [rows[0][0]; 16];
    words[..8].copy_from_slice(&transpose(rows[0]));
    words[8..].copy_from_slice(&transpose(rows[1]));
    let between = rounds::<CALLER, _>(&mut words, between);
    for (i, words) in words.as_chunks().0.iter().enumerate() {
        for (block, row) in blocks.iter_mut().zip(transpose(*words)) {
            let place = block.0.as_mut_ptr().wrapping_add(32 * i).cast();
            // SAFETY: half a block is 32 aligned bytes.
            let sum = _mm256_add_epi32(row, unsafe { _mm256_load_si256(place) });
            // SAFETY: half a block is 32 aligned bytes.
            unsafe { _mm256_store_si256(place, sum) };
        }
    }
    between
}

/// Writes eight blocks of key stream, and works on sums meanwhile.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn pass(states: &States<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, SLOTS>) {
    let mut initial = constants();
    let mut keys = [_mm256_setzero_si256(); 8];
    for i in 0..keys.len() {
        keys[i] = words(states.keys[i].words());
    }
    let keys = transpose(keys);
    for i in 0..keys.len() {
        initial[4 + i] = keys[i];
    }
    initial[12] = words(&states.counters);
    for i in 0..states.nonces.len() {
        initial[13 + i] = words(&states.nonces[i]);
    }
    make_pass::<1, _>(initial, blocks, sums);
}

/// As [`pass`], of a quad.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn quad(states: &Quad<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, QUAD>) {
    let mut initial = constants();
    let keys = quad_keys(states.keys);
    for i in 0..keys.len() {
        initial[4 + i] = keys[i];
    }
    initial[12] = _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0);
    let row = |place: usize| {
        let [a, b, c] = states.nonces[place].words();
        _mm_set_epi32(0, c as i32, b as i32, a as i32)
    };
    let nonces = columns_of([row(0), row(1), row(2), row(3)]);
    for i in 0..3 {
        initial[13 + i] = _mm256_broadcastsi128_si256(nonces[i]);
    }
    make_pass::<5, _>(initial, blocks, sums);
}

/// Initial states with only the constants set.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn constants() -> [__m256i; 16] {
    let mut initial = [_mm256_setzero_si256(); 16];
    for i in 0..CONSTANTS.len() {
        initial[i] = _mm256_set1_epi32(CONSTANTS[i] as i32);
    }
    initial
}

/// The words of four keys side by side, and the same once more.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn quad_keys(keys: [&Key; QUAD]) -> [__m256i; 8] {
    let mut out = [_mm256_setzero_si256(); 8];
    let [a, b, c, d] = keys;
    if core::ptr::eq(a, b) && core::ptr::eq(a, c) && core::ptr::eq(a, d) {
        for i in 0..out.len() {
            out[i] = _mm256_set1_epi32(a.words()[i] as i32);
        }
        return out;
    }
    for half in 0..2 {
        let row = |key: &Key| {
            let [a, b, c, d] = key.words().as_chunks::<4>().0[half];
            _mm_set_epi32(d as i32, c as i32, b as i32, a as i32)
        };
        let words = columns_of([row(a), row(b), row(c), row(d)]);
        for i in 0..words.len() {
            out[4 * half + i] = _mm256_broadcastsi128_si256(words[i]);
        }
    }
    out
}

/// Word i of row j becomes word j of row i.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn columns_of([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    let (low, high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    let (low2, high2) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    [
        _mm_unpacklo_epi64(low, low2),
        _mm_unpackhi_epi64(low, low2),
        _mm_unpacklo_epi64(high, high2),
        _mm_unpackhi_epi64(high, high2),
    ]
}

/// Makes key stream of initial states, and works on sums meanwhile.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn make_pass<const CALLER: u8, const SLOTS: usize>(
    initial: [__m256i; 16],
    blocks: &mut [Block; 8],
    sums: &mut Sums<'_, SLOTS>,
) {
    let mut words = initial;
    let mut between = rounds::<CALLER, _>(&mut words, Between::new(sums));
    between.store();
    for half in 0..2 {
        let mut sums = [_mm256_setzero_si256(); 8];
        for i in 0..sums.len() {
            sums[i] = _mm256_add_epi32(words[8 * half + i], initial[8 * half + i]);
        }
        let rows = transpose(sums);
        if SLOTS == QUAD && half == 1 {
            // A one-time key has 32 bytes.
            store_half(&mut blocks[QUAD..], half, &rows[QUAD..]);
        } else {
            store_half(blocks, half, &rows);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn words(words: &[u32; 8]) -> __m256i {
    // SAFETY: the reference is to 32 bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Writes eight blocks of one message's key stream, from counter `first` on.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn blocks_from(key: &Key, nonce: &Nonce, first: u32, blocks: &mut [Block; 8]) {
    make_blocks::<2, _>(key, nonce, first, blocks, Nothing);
}

/// As [`blocks_from`], while blocks of text are added to a sum.
///
/// The rounds leave the 64-bit multipliers idle and wait for themselves a part of the time. So the steps of
/// the sum between them cost a third of their cost alone.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn blocks_and_sum(
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block; 8],
    sum: Sum<'_>,
) -> Number {
    make_blocks::<3, _>(key, nonce, first, blocks, sum).h
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn make_blocks<const CALLER: u8, B: AfterRound>(
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block; 8],
    between: B,
) -> B {
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
    let between = rounds::<CALLER, _>(&mut words, between);
    words[12] = _mm256_add_epi32(words[12], count);
    for (i, (words, initial)) in words.as_chunks().0.iter().zip(initial.as_chunks::<8>().0).enumerate() {
        let mut sums: [__m256i; 8] = *words;
        for (sum, &word) in sums.iter_mut().zip(initial) {
            *sum = _mm256_add_epi32(*sum, _mm256_set1_epi32(word as i32));
        }
        store_half(blocks, i, &transpose(sums));
    }
    between
}

/// Writes the first or the second half of every block.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn store_half(blocks: &mut [Block], half: usize, rows: &[__m256i]) {
    for i in 0..rows.len() {
        let place = blocks[i].0.as_mut_ptr().wrapping_add(32 * half).cast();
        // SAFETY: half a block is 32 aligned bytes.
        unsafe { _mm256_store_si256(place, rows[i]) };
    }
}

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
