//! Poly1305 (RFC 8439 §2.5) in the 64-bit registers of the CPU: for one short message nothing is faster.
//!
//! Also makes the powers of r for the wide kernels. Needs a multiplier of 64 × 64 → 128 bits that takes
//! the same time for all operands, as on x86-64 and aarch64.

use super::wide::Block;

/// A number modulo 2^130 − 5, partly reduced: bits 0..64, 64..128 and the few above.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) [u64; 3]);

impl Number {
    pub(super) const ZERO: Self = Self([0; 3]);

    /// The clamped half of the one-time key in `block`.
    #[inline(always)]
    pub(super) fn r(block: &Block) -> Self {
        let [low, high, ..] = block.words64();
        Self([low & 0x0fff_fffc_0fff_ffff, high & 0x0fff_fffc_0fff_fffc, 0])
    }

    /// Both halves of a clamped r, and 5/4 of the upper: that has no remainder.
    #[inline(always)]
    pub(super) fn with_quarters(self) -> [u64; 3] {
        let [low, high, _] = self.0;
        [low, high, high + (high >> 2)]
    }

    /// Returns (self + block + 2^128) · r, for a clamped r.
    #[inline(always)]
    pub(super) fn step(self, block: &[u8; 16], r: Self) -> Self {
        let block = u128::from_le_bytes(*block);
        let (low, carry) = self.0[0].overflowing_add(block as u64);
        let (high, carry) = add_with(self.0[1], (block >> 64) as u64, carry);
        let top = self.0[2] + 1 + u64::from(carry);
        // r1 · 2^64 · 2^64 ≡ 5/4 · r1.
        let [r0, r1, s1] = r.with_quarters();
        let d0 = wide(low, r0) + wide(high, s1);
        let d1 = wide(low, r1) + wide(high, r0) + u128::from(top * s1) + (d0 >> 64);
        let d2 = top * r0 + (d1 >> 64) as u64;
        Self::fold(d0 as u64, d1 as u64, d2)
    }

    /// Adds `bytes`, filled up with zeros to a multiple of 16, block by block.
    #[inline(always)]
    pub(super) fn absorb(mut self, bytes: &[u8], r: Self) -> Self {
        for block in bytes.as_chunks().0 {
            self = self.step(block, r);
        }
        match padded_tail(bytes) {
            Some(block) => self.step(&block, r),
            None => self,
        }
    }

    /// Adds the block of lengths and the half of the one-time key that comes last (RFC 8439 §2.8).
    #[inline(always)]
    pub(super) fn finish(self, aad_len: usize, text_len: usize, r: Self, key: &Block) -> u128 {
        self.step(&lengths(aad_len, text_len), r).tag(last(key))
    }

    /// Reduces fully and adds the half of the one-time key that comes last.
    #[inline(always)]
    pub(super) fn tag(self, last: u128) -> u128 {
        let [low, high, top] = self.0;
        let h = u128::from(high) << 64 | u128::from(low);
        // h + 5 reaches 2^130 exactly if h ≥ p; then its low bits are those of h − p.
        let (plus5, carry) = h.overflowing_add(5);
        let reached = 0_u128.wrapping_sub(u128::from((top + u64::from(carry)) >> 2));
        let h = (plus5 & reached) | (h & !reached);
        h.wrapping_add(last)
    }

    /// Returns self · other; both have at most three bits above 2^128.
    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let d0 = wide(a0, b0);
        // The middle sum can pass 2^128, so its halves are summed apart.
        let (x, y) = (wide(a0, b1), wide(a1, b0));
        let d1 = (d0 >> 64) + u128::from(x as u64) + u128::from(y as u64);
        let d2 = (d1 >> 64) + (x >> 64) + (y >> 64) + u128::from(wide(a1, b1) as u64);
        let d2 = d2 + wide(a0, b2) + wide(a2, b0);
        let d3 = (d2 >> 64) + (wide(a1, b1) >> 64) + wide(a1, b2) + wide(a2, b1);
        let d4 = (d3 >> 64) as u64 + a2 * b2;
        let (d0, d1, d2, d3) = (d0 as u64, d1 as u64, d2 as u64, d3 as u64);
        // What lies above 2^130 counts five times: four times where it lies, shifted by two, and once more.
        let s0 = u128::from(d0) + u128::from(d2 & !3) + u128::from(d2 >> 2 | d3 << 62);
        let s1 = u128::from(d1) + u128::from(d3) + u128::from(d3 >> 2 | d4 << 62) + (s0 >> 64);
        let s2 = (d2 & 3) + d4 + (d4 >> 2) + (s1 >> 64) as u64;
        Self::fold(s0 as u64, s1 as u64, s2)
    }

    /// Returns self + other.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let (low, carry) = a0.overflowing_add(b0);
        let (high, carry) = add_with(a1, b1, carry);
        Self([low, high, a2 + b2 + u64::from(carry)])
    }

    /// Brings what lies above 2^130 back, five times, at the bottom.
    #[inline(always)]
    pub(super) fn fold(low: u64, high: u64, top: u64) -> Self {
        let (low, carry) = low.overflowing_add((top & !3) + (top >> 2));
        let (high, carry) = high.overflowing_add(u64::from(carry));
        Self([low, high, (top & 3) + u64::from(carry)])
    }
}

/// What lies behind the last whole block, filled up with zeros; nothing if nothing does.
#[inline(always)]
pub(super) fn padded_tail(bytes: &[u8]) -> Option<[u8; 16]> {
    let tail = bytes.as_chunks::<16>().1;
    let block = match bytes.last_chunk() {
        _ if tail.is_empty() => return None,
        // What is read besides the tail is shifted out: faster than a copy of some length.
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - tail.len())),
        None => few(tail),
    };
    Some(block.to_le_bytes())
}

/// Fewer than 16 bytes as a number: the first and the last of them, which may overlap.
#[inline(always)]
fn few(bytes: &[u8]) -> u128 {
    let places = |read: usize| 8 * (bytes.len() - read);
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << places(8)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << places(4)
    } else {
        bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
    }
}

/// The block that is summed last (RFC 8439 §2.8).
#[inline(always)]
pub(super) fn lengths(aad_len: usize, text_len: usize) -> [u8; 16] {
    ((text_len as u128) << 64 | aad_len as u128).to_le_bytes()
}

/// The half of the one-time key in `block` that is added last.
#[inline(always)]
pub(super) fn last(block: &Block) -> u128 {
    let [_, _, low, high] = block.words64();
    u128::from(high) << 64 | u128::from(low)
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// Adds two words and a carry.
#[inline(always)]
fn add_with(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, over) = a.overflowing_add(b);
    let (sum, again) = sum.overflowing_add(u64::from(carry));
    (sum, over | again)
}
