//! Poly1305 in vector lanes, two ways: a message per lane, or one message over all lanes.

#![allow(clippy::needless_range_loop, reason = "iterators over registers are not always inlined")]

use super::Block;
use super::field::{Field, Vector};
use super::simd::Simd;
use crate::kernel::scalar::Number;

/// As many sums as a register has lanes, each over its own message.
///
/// All lanes take `PARTS` blocks at a time: h = (h + m0) r^P + m1 r^(P−1) + … with one carry.
struct LaneSums<F: Field> {
    h: F::Element,
    /// r^1 to r^PARTS.
    powers: [F::Multiplier; MAX_PARTS],
    s: [Vector<F>; 2],
}

impl<F: Field> LaneSums<F> {
    /// Takes the one-time keys from the first `LANES` blocks.
    #[inline(always)]
    fn new(field: F, keys: &[Block]) -> Self {
        let v = field.simd();
        let [low, high, s_low, s_high] = key_lanes(v, keys);
        let low = v.and(low, v.splat(0x0fff_fffc_0fff_ffff));
        let high = v.and(high, v.splat(0x0fff_fffc_0fff_fffc));
        let r = field.element(low, high, v.splat(0));
        let r1 = field.multiplier(r);
        let mut powers = [r1; MAX_PARTS];
        if <F::Simd as Simd>::PARTS >= 2 {
            let r2 = field.reduce(field.multiply(r, &r1));
            powers[1] = field.multiplier(r2);
            if <F::Simd as Simd>::PARTS >= 4 {
                powers[2] = field.multiplier(field.reduce(field.multiply(r2, &r1)));
                powers[3] = field.multiplier(field.reduce(field.multiply(r2, &powers[1])));
            }
        }
        Self { h: field.zero(), powers, s: [s_low, s_high] }
    }

    /// Adds `WIDTH` bytes to every lane, from position `at` of its text.
    #[inline(always)]
    fn absorb_full(&mut self, field: F, texts: &[&[u8]], at: usize) {
        let v = field.simd();
        let parts = <F::Simd as Simd>::PARTS;
        let mut rows = v.square(v.splat(0));
        for i in 0..<F::Simd as Simd>::LANES {
            rows.as_mut()[i] = v.load(&texts[i][at..]);
        }
        let columns = v.transpose(rows);
        let columns = columns.as_ref();
        let one = v.splat(1);
        let first = field.add(self.h, field.element(columns[0], columns[1], one));
        let mut sum = field.multiply(first, &self.powers[parts - 1]);
        for i in 1..parts {
            let block = field.element(columns[2 * i], columns[2 * i + 1], one);
            sum = field.multiply_add(sum, block, &self.powers[parts - 1 - i]);
        }
        self.h = field.reduce(sum);
    }

    /// Adds what is left of every lane's text from `at`, at most `WIDTH` bytes, padded to whole blocks.
    ///
    /// A lane with fewer than `PARTS` blocks puts zeros before them, and its sum so far where its first
    /// block is. Leading zeros change nothing. A lane without any keeps its sum.
    #[inline(always)]
    fn absorb_ragged(&mut self, field: F, texts: &[&[u8]], at: usize) {
        let v = field.simd();
        let parts = <F::Simd as Simd>::PARTS;
        let mut rows = v.square(v.splat(0));
        let mut missing = [0_u64; MAX_LANES];
        for i in 0..<F::Simd as Simd>::LANES {
            let rest = texts[i].get(at..).unwrap_or_default();
            let rest = &rest[..rest.len().min(<F::Simd as Simd>::WIDTH)];
            let absent = parts - rest.len().div_ceil(16);
            missing[i] = absent as u64;
            rows.as_mut()[i] = v.load_behind(absent * 16, rest);
        }
        let missing = v.load_lanes(&missing);
        let columns = v.transpose(rows);
        let columns = columns.as_ref();
        let mut sum = field.multiply(field.zero(), &self.powers[0]);
        for i in 0..parts {
            let top = v.shr(v.add64(missing, v.splat((i as u64).wrapping_neg().wrapping_sub(1))), 63);
            let mut block = field.element(columns[2 * i], columns[2 * i + 1], top);
            block = field.add(block, field.keep(equal_small(v, missing, i as u64), self.h));
            sum = field.multiply_add(sum, block, &self.powers[parts - 1 - i]);
        }
        let done = equal_small(v, missing, parts as u64);
        self.h = field
            .add(field.keep(done, self.h), field.keep(v.xor(done, v.splat(u64::MAX)), field.reduce(sum)));
    }

    /// Adds the block of lengths and returns the tags, lane by lane.
    #[inline(always)]
    fn finish(&self, field: F, aads: &[&[u8]], texts: &[&[u8]]) -> [[u64; MAX_LANES]; 2] {
        let v = field.simd();
        let mut lanes = [[0_u64; MAX_LANES]; 2];
        for i in 0..<F::Simd as Simd>::LANES {
            lanes[0][i] = aads[i].len() as u64;
            lanes[1][i] = texts[i].len() as u64;
        }
        let lengths = field.element(v.load_lanes(&lanes[0]), v.load_lanes(&lanes[1]), v.splat(1));
        let h = field.reduce(field.multiply(field.add(self.h, lengths), &self.powers[0]));
        let [low, high] = field.finish(h, self.s);
        v.store_lanes(low, &mut lanes[0]);
        v.store_lanes(high, &mut lanes[1]);
        lanes
    }
}

/// Computes the tags of `GROUPS · LANES` messages side by side; every slice has one entry each.
#[inline(always)]
pub(in crate::kernel) fn lane_tags<F: Field, const GROUPS: usize>(
    field: F,
    keys: &[Block],
    aads: &[&[u8]],
    texts: &[&[u8]],
    tags: &mut [u128],
) {
    let lanes = <F::Simd as Simd>::LANES;
    let mut sums = [LaneSums::new(field, keys); GROUPS];
    for g in 1..GROUPS {
        sums[g] = LaneSums::new(field, &keys[g * lanes..]);
    }
    absorb(field, &mut sums, aads);
    absorb(field, &mut sums, texts);
    for g in 0..GROUPS {
        let group = g * lanes..(g + 1) * lanes;
        let [low, high] = sums[g].finish(field, &aads[group.clone()], &texts[group.clone()]);
        let tags = &mut tags[group];
        for i in 0..lanes {
            tags[i] = u128::from(high[i]) << 64 | u128::from(low[i]);
        }
    }
}

impl<F: Field> Clone for LaneSums<F> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Field> Copy for LaneSums<F> {}

/// Adds every lane's text, padded to whole blocks.
#[inline(always)]
fn absorb<F: Field, const GROUPS: usize>(field: F, sums: &mut [LaneSums<F>; GROUPS], texts: &[&[u8]]) {
    let (lanes, width) = (<F::Simd as Simd>::LANES, <F::Simd as Simd>::WIDTH);
    let mut bounds = [(usize::MAX, 0); GROUPS];
    let mut longest = 0;
    for g in 0..GROUPS {
        let (mut shortest, mut all) = (usize::MAX, 0);
        for i in g * lanes..(g + 1) * lanes {
            shortest = shortest.min(texts[i].len());
            all = all.max(texts[i].len());
        }
        bounds[g] = (shortest, all);
        longest = longest.max(all);
    }
    let mut at = 0;
    while at < longest {
        for g in 0..GROUPS {
            let texts = &texts[g * lanes..(g + 1) * lanes];
            if at + width <= bounds[g].0 {
                sums[g].absorb_full(field, texts, at);
            } else if at < bounds[g].1 {
                sums[g].absorb_ragged(field, texts, at);
            }
        }
        at += width;
    }
}

/// All ones in the lanes that equal `value`; lanes and value are at most `MAX_PARTS`.
#[inline(always)]
fn equal_small<S: Simd>(v: S, lanes: S::Vector, value: u64) -> S::Vector {
    // Only zero has a borrow left when one is subtracted; spread it over the lane.
    let difference = v.xor(lanes, v.splat(value));
    let borrow = v.shr(v.add64(difference, v.splat(u64::MAX)), 63);
    v.add64(v.xor(borrow, v.splat(1)), v.splat(u64::MAX))
}

/// The sum over one long message, with all lanes at work on it.
///
/// Lane l holds every `LANES`th block and is multiplied by r^LANES. At the end, the lanes are multiplied by
/// the powers that set them apart, and summed. Four registers of blocks share one carry.
pub(in crate::kernel) struct LongSum<F: Field> {
    r: Number,
    /// The powers that set the lanes apart.
    apart: F::Multiplier,
    /// r^LANES to r^(4 LANES), in every lane.
    strides: [F::Multiplier; 4],
}

impl<F: Field> LongSum<F> {
    #[inline(always)]
    pub(in crate::kernel) fn new(field: F, r: Number) -> Self {
        let v = field.simd();
        let (lanes, parts) = (<F::Simd as Simd>::LANES, <F::Simd as Simd>::PARTS);
        let mut powers = [r; MAX_LANES];
        for i in 1..lanes {
            // r^(i+1) from two powers of about half that, so that the chain is short.
            powers[i] = powers[i / 2].times(powers[(i - 1) / 2]);
        }
        let mut limbs = [[0_u64; MAX_LANES]; 3];
        for lane in 0..lanes {
            // `low_halves` and `high_halves` take a block from each register in turn.
            let block = lane % 2 * parts + lane / 2;
            for i in 0..3 {
                limbs[i][lane] = powers[lanes - 1 - block].0[i];
            }
        }
        let [low, high, top] = [v.load_lanes(&limbs[0]), v.load_lanes(&limbs[1]), v.load_lanes(&limbs[2])];
        let apart = field.multiplier(field.element(low, high, top));
        let [low, high, top] = powers[lanes - 1].0;
        let stride = field.element(v.splat(low), v.splat(high), v.splat(top));
        let stride1 = field.multiplier(stride);
        let stride2 = field.reduce(field.multiply(stride, &stride1));
        let stride3 = field.reduce(field.multiply(stride2, &stride1));
        let stride2 = field.multiplier(stride2);
        let stride4 = field.multiplier(field.reduce(field.multiply(stride3, &stride1)));
        Self { r, apart, strides: [stride1, stride2, field.multiplier(stride3), stride4] }
    }

    /// Adds `bytes`, filled up with zeros to whole blocks, to the sum `h`.
    #[inline(always)]
    pub(in crate::kernel) fn absorb(&self, field: F, mut h: Number, bytes: &[u8]) -> Number {
        let v = field.simd();
        let stride = 16 * <F::Simd as Simd>::LANES;
        let bulk = bytes.len() / stride * stride;
        if bulk == 0 {
            return h.absorb(bytes, self.r);
        }
        let (bulk, rest) = bytes.split_at(bulk);
        let (singles, fours) = bulk.split_at(bulk.len() / stride % 4 * stride);
        let mut first = [[0_u64; MAX_LANES]; 3];
        for i in 0..3 {
            first[i][0] = h.0[i];
        }
        let [low, high, top] = [v.load_lanes(&first[0]), v.load_lanes(&first[1]), v.load_lanes(&first[2])];
        // The sum so far joins the first block of all.
        let mut lead = field.element(low, high, top);
        let mut sum = field.zero();
        let [stride1, stride2, stride3, stride4] = &self.strides;
        for group in singles.chunks_exact(stride) {
            let shifted = field.reduce(field.multiply(sum, stride1));
            sum = field.add(shifted, field.add(lead, blocks(field, group)));
            lead = field.zero();
        }
        for four in fours.chunks_exact(4 * stride) {
            let mut product = field.multiply(sum, stride4);
            let block = field.add(lead, blocks(field, &four[..stride]));
            product = field.multiply_add(product, block, stride3);
            product = field.multiply_add(product, blocks(field, &four[stride..2 * stride]), stride2);
            product = field.multiply_add(product, blocks(field, &four[2 * stride..3 * stride]), stride1);
            sum = field.add(field.reduce(product), blocks(field, &four[3 * stride..]));
            lead = field.zero();
        }
        h = field.sum(field.reduce(field.multiply(sum, &self.apart)));
        h.absorb(rest, self.r)
    }
}

/// Reads `LANES` blocks of one message.
#[inline(always)]
fn blocks<F: Field>(field: F, bytes: &[u8]) -> F::Element {
    let v = field.simd();
    let (a, b) = (v.load(bytes), v.load(&bytes[<F::Simd as Simd>::WIDTH..]));
    field.element(v.low_halves(a, b), v.high_halves(a, b), v.splat(1))
}

/// Reads the four words of every block's one-time key, a block per lane.
#[inline(always)]
fn key_lanes<S: Simd>(v: S, keys: &[Block]) -> [S::Vector; 4] {
    let mut words = [v.splat(0); 4];
    for part in 0..(32 / S::WIDTH).max(1) {
        let mut rows = v.square(v.splat(0));
        for i in 0..S::LANES {
            rows.as_mut()[i] = v.load(&keys[i].0[part * S::WIDTH..]);
        }
        let columns = v.transpose(rows);
        for i in 0..S::LANES.min(4) {
            words[part * S::LANES + i] = columns.as_ref()[i];
        }
    }
    words
}

/// Most 128-bit parts a register has.
const MAX_PARTS: usize = 4;
/// Most 64-bit lanes a register has.
const MAX_LANES: usize = 8;
