//! ChaCha20 over many unrelated blocks at once.
//!
//! A block's four rows lie in four registers, side by side with the rows of other blocks. So a column round is a
//! handful of register-wide instructions. After turning the rows against each other by one, two and three words, a
//! diagonal round is the same. Blocks need nothing in common: key, nonce and counter are each block's own.

#![allow(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::Block;
use super::simd::Simd;
use crate::kernel::portable::chacha20::CONSTANTS;
use crate::{Key, Nonce};

/// Replaces the initial states of `SETS · PARTS` blocks by their key stream.
///
/// Sets are independent chains of operations: one alone would wait for itself most of the time.
#[inline(always)]
pub(in crate::kernel) fn key_stream<S: Simd, const SETS: usize>(simd: S, blocks: &mut [Block]) {
    let mut sets = [simd.load_blocks(blocks); SETS];
    for i in 1..SETS {
        sets[i] = simd.load_blocks(&blocks[i * S::PARTS..]);
    }
    simd.rounds(&mut sets);
    for i in 0..SETS {
        simd.add_to_blocks(sets[i], &mut blocks[i * S::PARTS..]);
    }
}

/// Writes `SETS · PARTS` blocks of one message's key stream, from counter `first` on.
///
/// The rows of the initial state are made in registers. For one short message, writing the states to
/// memory and reading them back would take a tenth of the time.
#[inline(always)]
pub(in crate::kernel) fn blocks_from<S: Simd, const SETS: usize>(
    simd: S,
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block],
) {
    blocks_from_and::<S, SETS>(simd, key, nonce, first, blocks, None::<fn()>);
}

/// As [`blocks_from`], with something else to do after every round.
#[inline(always)]
pub(in crate::kernel) fn blocks_from_and<S: Simd, const SETS: usize>(
    simd: S,
    key: &Key,
    nonce: &Nonce,
    first: u32,
    blocks: &mut [Block],
    between: Option<impl FnMut()>,
) {
    let [k0, k1, k2, k3, k4, k5, k6, k7] = *key.words();
    let [n1, n2, n3] = nonce.words();
    let a = simd.splat_row(CONSTANTS);
    let (b, c) = (simd.splat_row([k0, k1, k2, k3]), simd.splat_row([k4, k5, k6, k7]));
    let mut d = simd.add32(simd.splat_row([first, n1, n2, n3]), simd.count_parts());
    let step = simd.splat_row([S::PARTS as u32, 0, 0, 0]);
    let mut sets = [[a, b, c, d]; SETS];
    for i in 1..SETS {
        sets[i][3] = simd.add32(sets[i - 1][3], step);
    }
    match between {
        Some(between) => rounds_and(simd, &mut sets, between),
        None => simd.rounds(&mut sets),
    }
    for i in 0..SETS {
        let [w, x, y, z] = sets[i];
        let rows = [simd.add32(w, a), simd.add32(x, b), simd.add32(y, c), simd.add32(z, d)];
        simd.store_blocks(rows, &mut blocks[i * S::PARTS..]);
        d = simd.add32(d, step);
    }
}

/// Ten double rounds (RFC 8439 §2.3).
#[inline(always)]
pub(in crate::kernel) fn rounds<S: Simd, const SETS: usize>(simd: S, sets: &mut [[S::Vector; 4]; SETS]) {
    rounds_and(simd, sets, || ());
}

/// As [`rounds`], with something else to do after every round.
#[inline(always)]
pub(in crate::kernel) fn rounds_and<S: Simd, const SETS: usize>(
    simd: S,
    sets: &mut [[S::Vector; 4]; SETS],
    mut between: impl FnMut(),
) {
    for _ in 0..10 {
        round(simd, sets);
        // The row that is ready last, b, stays where it is and the others turn: no instruction waits for it.
        for [a, _, c, d] in &mut *sets {
            *a = simd.words3(*a);
            *c = simd.words1(*c);
            *d = simd.words2(*d);
        }
        between();
        round(simd, sets);
        for [a, _, c, d] in &mut *sets {
            *a = simd.words1(*a);
            *c = simd.words3(*c);
            *d = simd.words2(*d);
        }
        between();
    }
}

/// Four quarter rounds (RFC 8439 §2.1) on every block, step by step over all sets.
#[inline(always)]
fn round<S: Simd, const SETS: usize>(simd: S, sets: &mut [[S::Vector; 4]; SETS]) {
    for [a, b, _, d] in &mut *sets {
        *a = simd.add32(*a, *b);
        *d = simd.rotate16(simd.xor(*d, *a));
    }
    for [_, b, c, d] in &mut *sets {
        *c = simd.add32(*c, *d);
        *b = simd.rotate12(simd.xor(*b, *c));
    }
    for [a, b, _, d] in &mut *sets {
        *a = simd.add32(*a, *b);
        *d = simd.rotate8(simd.xor(*d, *a));
    }
    for [_, b, c, d] in &mut *sets {
        *c = simd.add32(*c, *d);
        *b = simd.rotate7(simd.xor(*b, *c));
    }
}
