//! Poly1305 (RFC 8439 §2.5) with five limbs of 26 bits, whose products fit 64 bits on any CPU.

use zeroize::{Zeroize, Zeroizing};

use super::chacha20::BLOCK;
use crate::Tag;

/// A tag being computed over whole 16-byte blocks: all that ChaCha20-Poly1305 needs.
pub(crate) struct Poly1305 {
    /// The clamped half of the one-time key.
    r: [u32; 5],
    /// Five times its limbs: what lies above 2^130 comes back five times at the bottom.
    r5: [u32; 5],
    /// The sum so far; every limb below 2^27.
    h: [u32; 5],
    /// The half of the one-time key that is added last.
    s: [u32; 4],
}

impl Poly1305 {
    /// Takes the one-time key from the first 32 bytes of `block` (RFC 8439 §2.6).
    pub(crate) fn new(block: &[u8; BLOCK]) -> Self {
        let mut words = Zeroizing::new([0; 8]);
        for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let [r0, r1, r2, r3, s @ ..] = *words;
        let clamped = [r0 & 0x0fff_ffff, r1 & 0x0fff_fffc, r2 & 0x0fff_fffc, r3 & 0x0fff_fffc];
        let r = limbs(clamped, 0);
        Self { r, r5: r.map(|limb| 5 * limb), h: [0; 5], s }
    }

    /// Adds `bytes`, filled up with zeros to a multiple of 16 (RFC 8439 §2.8, `pad16`).
    pub(crate) fn update_padded(&mut self, bytes: &[u8]) {
        let (blocks, tail) = bytes.as_chunks();
        let mut h = self.h;
        for block in blocks {
            h = self.add(h, block);
        }
        if !tail.is_empty() {
            let mut block = [0; 16];
            block[..tail.len()].copy_from_slice(tail);
            h = self.add(h, &block);
        }
        self.h = h;
    }

    /// Adds the block of lengths and returns the tag (RFC 8439 §2.8).
    pub(crate) fn finish(mut self, aad_len: usize, message_len: usize) -> Tag {
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(aad_len as u64).to_le_bytes());
        lengths[8..].copy_from_slice(&(message_len as u64).to_le_bytes());
        self.h = self.add(self.h, &lengths);
        tag(canonical(self.h), self.s)
    }

    /// Returns (h + block + 2^128) · r, partly reduced modulo 2^130 − 5.
    #[inline(always)]
    fn add(&self, h: [u32; 5], block: &[u8; 16]) -> [u32; 5] {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let m = limbs(words, 1);
        let mut a = [0; 5];
        for i in 0..5 {
            a[i] = h[i] + m[i];
        }
        carry(multiply(a, self.r, self.r5))
    }
}

impl Drop for Poly1305 {
    fn drop(&mut self) {
        self.r.zeroize();
        self.r5.zeroize();
        self.h.zeroize();
        self.s.zeroize();
    }
}

/// Splits 128 bits and the bit above them into limbs of 26.
#[inline(always)]
fn limbs(w: [u32; 4], high_bit: u32) -> [u32; 5] {
    const MASK: u32 = (1 << 26) - 1;
    [
        w[0] & MASK,
        (w[0] >> 26 | w[1] << 6) & MASK,
        (w[1] >> 20 | w[2] << 12) & MASK,
        (w[2] >> 14 | w[3] << 18) & MASK,
        w[3] >> 8 | high_bit << 24,
    ]
}

/// Multiplies; `r5` is 5 r, limb by limb.
#[inline(always)]
fn multiply(a: [u32; 5], r: [u32; 5], r5: [u32; 5]) -> [u64; 5] {
    let mut sum = [0; 5];
    for (i, sum) in sum.iter_mut().enumerate() {
        for (j, &factor) in a.iter().enumerate() {
            let r = if j <= i { r[i - j] } else { r5[5 + i - j] };
            *sum += u64::from(factor) * u64::from(r);
        }
    }
    sum
}

/// Brings products back to limbs: below 2^26, but for the second, which may be 2^26 or a little more.
#[inline(always)]
fn carry(mut d: [u64; 5]) -> [u32; 5] {
    const MASK: u64 = (1 << 26) - 1;
    let mut carry = 0;
    for limb in &mut d {
        *limb += carry;
        carry = *limb >> 26;
        *limb &= MASK;
    }
    d[0] += 5 * carry;
    d[1] += d[0] >> 26;
    d[0] &= MASK;
    d.map(|limb| limb as u32)
}

/// Reduces h fully modulo p = 2^130 − 5 and packs its low 128 bits.
fn canonical(h: [u32; 5]) -> [u32; 4] {
    const MASK: u32 = (1 << 26) - 1;
    let h = carry(h.map(u64::from));
    // g = h + 5 − 2^130, which is not negative exactly if h ≥ p.
    let mut g = [0; 5];
    let mut carry = 5;
    for (g, limb) in g.iter_mut().zip(h) {
        let sum = limb + carry;
        carry = sum >> 26;
        *g = sum & MASK;
    }
    let keep_g = 0_u32.wrapping_sub(core::hint::black_box(carry));
    let mut x = [0; 5];
    for i in 0..5 {
        x[i] = (g[i] & keep_g) | (h[i] & !keep_g);
    }
    [x[0] | x[1] << 26, x[1] >> 6 | x[2] << 20, x[2] >> 12 | x[3] << 14, x[3] >> 18 | x[4] << 8]
}

/// Adds `s` modulo 2^128.
fn tag(h: [u32; 4], s: [u32; 4]) -> Tag {
    let mut bytes = [0; Tag::LEN];
    let mut carry = 0;
    for ((out, h), s) in bytes.as_chunks_mut().0.iter_mut().zip(h).zip(s) {
        let sum = u64::from(h) + u64::from(s) + carry;
        *out = (sum as u32).to_le_bytes();
        carry = sum >> 32;
    }
    Tag(bytes)
}
