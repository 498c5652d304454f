//! ChaCha20 (RFC 8439 §2.3 and §2.4).

use zeroize::Zeroize;

use crate::kernel::frames::Frames;
use crate::{Key, Nonce};

/// One message's key stream, from block 0 on.
pub(crate) struct ChaCha20<'f> {
    state: [u32; 16],
    frames: &'f Frames,
}

impl<'f> ChaCha20<'f> {
    pub(crate) fn new(key: &Key, nonce: &Nonce, frames: &'f Frames) -> Self {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&CONSTANTS);
        state[4..12].copy_from_slice(key.words());
        state[13..].copy_from_slice(&nonce.words());
        Self { state, frames }
    }

    /// Encrypts or decrypts `buffer` with the next blocks; a part-used last block is thrown away.
    pub(crate) fn apply(&mut self, buffer: &mut [u8]) {
        self.frames.note();
        for piece in buffer.chunks_mut(BLOCK) {
            // Nothing is wiped here: the kernel clears the stack once, at its end.
            let stream = self.next_words();
            let (words, rest) = piece.as_chunks_mut::<4>();
            let whole = words.len();
            match bytemuck::try_cast_slice_mut::<[u8; 4], u32>(words) {
                // Where the message lies at a multiple of four bytes, a small CPU takes four at a time.
                Ok(words) => words.iter_mut().zip(&stream).for_each(|(word, key)| *word ^= key.to_le()),
                Err(_) => {
                    for (bytes, key) in words.iter_mut().zip(&stream) {
                        *bytes = (u32::from_le_bytes(*bytes) ^ key).to_le_bytes();
                    }
                }
            }
            if let Some(key) = stream.get(whole) {
                rest.iter_mut().zip(key.to_le_bytes()).for_each(|(byte, key)| *byte ^= key);
            }
        }
    }

    /// Returns the next 64 bytes of key stream as little-endian words. The caller keeps count: `MAX_MESSAGE` bounds it.
    #[inline(always)]
    pub(crate) fn next_words(&mut self) -> [u32; 16] {
        let mut work = self.state;
        for _ in 0..10 {
            double_round(&mut work);
        }
        for (word, start) in work.iter_mut().zip(&self.state) {
            *word = word.wrapping_add(*start);
        }
        self.state[12] = self.state[12].wrapping_add(1);
        work
    }
}

impl Drop for ChaCha20<'_> {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

/// Four column rounds, four diagonal rounds (RFC 8439 §2.3).
#[inline(always)]
fn double_round(x: &mut [u32; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
}

/// RFC 8439 §2.1.
#[inline(always)]
fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

/// "expand 32-byte k" (RFC 8439 §2.3).
pub(crate) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// Length of a key-stream block, in bytes.
pub(crate) const BLOCK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_that_of_rfc_8439_section_2_3_2() {
        let key: [u8; 32] = core::array::from_fn(|i| i as u8);
        let nonce = Nonce([0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0]);
        let frames = Frames::new();
        let mut cipher = ChaCha20::new(&Key::new(&key), &nonce, &frames);
        cipher.next_words();
        let expected: [u8; BLOCK] = [
            0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4,
            0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22, 0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e,
            0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa, 0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2,
            0xb5, 0x12, 0x9c, 0xd1, 0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e,
        ];
        assert_eq!(cipher.next_words().map(u32::to_le_bytes).as_flattened(), expected);
    }
}
