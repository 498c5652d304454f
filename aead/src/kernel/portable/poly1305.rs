//! Poly1305 (RFC 8439 §2.5) in words of 32 bits, whose products fit 64 bits on any CPU.

use zeroize::Zeroize;

use crate::Tag;
use crate::kernel::frames::Frames;

/// A tag being computed over whole 16-byte blocks: all that ChaCha20-Poly1305 needs.
pub(crate) struct Poly1305<'f> {
    /// The clamped half of the one-time key.
    r: [u32; 4],
    /// 5/4 of its words; clamping makes the last three divide without a remainder.
    quarters: [u32; 4],
    /// The sum so far, modulo 2^130 − 5; the last word is 4 at most.
    h: [u32; 5],
    /// The half of the one-time key that is added last.
    s: [u32; 4],
    frames: &'f Frames,
}

impl<'f> Poly1305<'f> {
    /// Takes the one-time key from the first half of a block of key stream (RFC 8439 §2.6).
    #[inline(always)]
    pub(crate) fn new(block: &[u32; 16], frames: &'f Frames) -> Self {
        let [r0, r1, r2, r3, s0, s1, s2, s3, ..] = *block;
        let r = [r0 & 0x0fff_ffff, r1 & 0x0fff_fffc, r2 & 0x0fff_fffc, r3 & 0x0fff_fffc];
        Self { r, quarters: r.map(|word| 5 * (word >> 2)), h: [0; 5], s: [s0, s1, s2, s3], frames }
    }

    /// Adds `bytes`, filled up with zeros to a multiple of 16 (RFC 8439 §2.8, `pad16`).
    pub(crate) fn update_padded(&mut self, bytes: &[u8]) {
        self.frames.note();
        let (blocks, tail) = bytes.as_chunks::<16>();
        match bytemuck::try_cast_slice::<[u8; 16], [u32; 4]>(blocks) {
            // Where the message lies at a multiple of four bytes, a small CPU takes four at a time.
            Ok(blocks) => blocks.iter().for_each(|block| self.add(block.map(u32::from_le))),
            Err(_) => blocks.iter().for_each(|block| self.add(words(block))),
        }
        if !tail.is_empty() {
            let mut block = [0; 4];
            for (word, bytes) in block.iter_mut().zip(tail.chunks(4)) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            }
            self.add(block);
        }
    }

    /// Adds the block of lengths and returns the tag (RFC 8439 §2.8).
    pub(crate) fn finish(mut self, aad_len: usize, message_len: usize) -> Tag {
        self.frames.note();
        let (aad_len, message_len) = (aad_len as u64, message_len as u64);
        self.add([aad_len as u32, (aad_len >> 32) as u32, message_len as u32, (message_len >> 32) as u32]);
        tag(canonical(self.h), self.s)
    }

    /// Makes h (h + block + 2^128) · r, partly reduced modulo 2^130 − 5.
    #[inline(always)]
    fn add(&mut self, block: [u32; 4]) {
        let mut a = [0; 4];
        let mut carry = 0;
        for i in 0..4 {
            let sum = u64::from(self.h[i]) + u64::from(block[i]) + carry;
            a[i] = sum as u32;
            carry = sum >> 32;
        }
        // 6 at most.
        let top = self.h[4] + 1 + carry as u32;
        self.h = multiply(a, top, self.r, self.quarters);
    }
}

impl Drop for Poly1305<'_> {
    fn drop(&mut self) {
        self.r.zeroize();
        self.quarters.zeroize();
        self.h.zeroize();
        self.s.zeroize();
    }
}

#[inline(always)]
fn words(block: &[u8; 16]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// Multiplies `a` and `top` · 2^128 by `r`, modulo 2^130 − 5; `quarters` is 5/4 of `r`, word by word.
///
/// At 2^128 and above, a product of words of `a` and `r` comes back as 5/4 at the bottom. r has 28 bits a word
/// and its quarters 29, so four products and `top`'s stay below 2^63.
#[inline(always)]
fn multiply(a: [u32; 4], top: u32, r: [u32; 4], quarters: [u32; 4]) -> [u32; 5] {
    let mut h = [0; 5];
    let mut carry = 0;
    for i in 0..4 {
        // A product of `top` with a quarter has 32 bits at most.
        let mut sum = carry + u64::from(top * quarters[i]);
        for j in 0..4 {
            let factor = if j <= i { r[i - j] } else { quarters[4 + i - j] };
            sum += u64::from(a[j]) * u64::from(factor);
        }
        h[i] = sum as u32;
        carry = sum >> 32;
    }
    // The two low bits of r's first word have no quarter: they stay at 2^128.
    let above = carry as u32 + top * (r[0] & 3);
    let mut carry = u64::from((above >> 2) * 5);
    for word in &mut h[..4] {
        carry += u64::from(*word);
        *word = carry as u32;
        carry >>= 32;
    }
    h[4] = (above & 3) + carry as u32;
    h
}

/// Reduces h fully modulo p = 2^130 − 5 and returns its low 128 bits.
fn canonical(h: [u32; 5]) -> [u32; 4] {
    // h is below 2 p. g = h + 5 reaches 2^130 exactly if h ≥ p; then its low bits are those of h − p.
    let mut g = [0; 4];
    let mut carry = 5;
    for (g, word) in g.iter_mut().zip(h) {
        let sum = u64::from(word) + carry;
        *g = sum as u32;
        carry = sum >> 32;
    }
    let reached = core::hint::black_box((h[4] + carry as u32) >> 2);
    let keep_g = 0_u32.wrapping_sub(reached);
    let mut x = [0; 4];
    for i in 0..4 {
        x[i] = (g[i] & keep_g) | (h[i] & !keep_g);
    }
    x
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
