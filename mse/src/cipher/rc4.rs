//! RC4, the cipher of 1987 that every BitTorrent client speaks. Broken: it hides shapes, not secrets.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Keystream bytes that MSE throws away before the first is used (spec: mse §2).
const DISCARD: usize = 1_024;

/// One direction's RC4 state, for the life of a connection. Wiped when dropped.
pub struct Rc4 {
    // Bytes, not words: 258 bytes a direction, and on today's cores the fastest of u8, u16, u32 and u64.
    state: [u8; 256],
    i: u8,
    j: u8,
}

impl Rc4 {
    /// Schedules `key` and drops the first 1,024 bytes of keystream, as MSE prescribes.
    ///
    /// - Shape: 1 to 256 bytes of key; MSE uses 20. An empty key counts as one zero byte.
    #[must_use]
    pub fn with_discard(key: &[u8]) -> Self {
        let mut cipher = Self::scheduled(key);
        cipher.skip(DISCARD);
        cipher
    }

    /// Encrypts or decrypts `data` in place.
    // Not inlined: in a caller's loop the generator's variables would compete for registers.
    #[inline(never)]
    pub fn apply(&mut self, data: &mut [u8]) {
        let mut cursor = Cursor::new(self);
        let (blocks, rest) = data.as_chunks_mut::<8>();
        for block in blocks {
            let mut keystream = 0;
            for byte in 0..8 {
                keystream |= u64::from(cursor.next(&mut self.state)) << (8 * byte);
            }
            *block = (u64::from_le_bytes(*block) ^ keystream).to_le_bytes();
        }
        for byte in rest {
            *byte ^= cursor.next(&mut self.state);
        }
        (self.i, self.j) = (cursor.i, cursor.j);
    }

    /// Throws `count` bytes of keystream away.
    pub fn skip(&mut self, count: usize) {
        let mut cursor = Cursor::new(self);
        for _ in 0..count {
            cursor.next(&mut self.state);
        }
        (self.i, self.j) = (cursor.i, cursor.j);
    }

    fn scheduled(key: &[u8]) -> Self {
        let mut state = [0; 256];
        for (value, slot) in (0..=u8::MAX).zip(&mut state) {
            *slot = value;
        }
        let mut j = 0u8;
        for (n, &byte) in (0..=u8::MAX).zip(key.iter().cycle()) {
            j = j.wrapping_add(state[usize::from(n)]).wrapping_add(byte);
            state.swap(usize::from(n), usize::from(j));
        }
        Self { state, i: 0, j: 0 }
    }
}

impl Drop for Rc4 {
    fn drop(&mut self) {
        self.state.zeroize();
        self.i.zeroize();
        self.j.zeroize();
    }
}

impl ZeroizeOnDrop for Rc4 {}

/// The generator's loop variables, in registers while a buffer is worked on.
///
/// `coming` is `state[i + 1]`, read before the swap that may overwrite it: the load then does not wait for
/// the two stores, which is worth a tenth of the speed (`bench mse`, "cipher").
struct Cursor {
    i: u8,
    j: u8,
    coming: u8,
}

impl Cursor {
    #[inline(always)]
    fn new(cipher: &Rc4) -> Self {
        let coming = cipher.state[usize::from(cipher.i.wrapping_add(1))];
        Self { i: cipher.i, j: cipher.j, coming }
    }

    #[inline(always)]
    fn next(&mut self, state: &mut [u8; 256]) -> u8 {
        let x = self.coming;
        self.i = self.i.wrapping_add(1);
        self.j = self.j.wrapping_add(x);
        let y = state[usize::from(self.j)];
        let following = self.i.wrapping_add(1);
        let ahead = state[usize::from(following)];
        state[usize::from(self.i)] = y;
        state[usize::from(self.j)] = x;
        self.coming = if self.j == following { x } else { ahead };
        state[usize::from(x.wrapping_add(y))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, kat};

    #[test]
    fn keystreams_equal_the_published_ones_with_and_without_the_discard() {
        for case in kat()["rc4"].as_array().expect("a list") {
            let key = hex(&case["key"]);
            let mut first = [0; 32];
            Rc4::scheduled(&key).apply(&mut first);
            assert_eq!(first.as_slice(), hex(&case["first32"]));
            let mut later = [0; 32];
            Rc4::with_discard(&key).apply(&mut later);
            assert_eq!(later.as_slice(), hex(&case["after_drop_1024"]));
        }
    }

    #[test]
    fn any_division_of_the_input_gives_the_same_bytes() {
        let mut whole = [0; 1_000];
        Rc4::with_discard(b"key").apply(&mut whole);
        for step in 1..70 {
            let mut parts = [0; 1_000];
            let mut cipher = Rc4::with_discard(b"key");
            parts.chunks_mut(step).for_each(|part| cipher.apply(part));
            assert_eq!(parts, whole, "steps of {step}");
        }
    }

    #[test]
    fn a_millionth_byte_equals_the_textbook_generator() {
        let mut state: [u8; 256] = core::array::from_fn(|n| n as u8);
        let key = b"a textbook's key";
        let mut j = 0u8;
        for i in 0..256 {
            j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
            state.swap(i, usize::from(j));
        }
        let (mut i, mut j) = (0u8, 0u8);
        let mut ours = Rc4::scheduled(key);
        for _ in 0..1_000_000 {
            i = i.wrapping_add(1);
            j = j.wrapping_add(state[usize::from(i)]);
            state.swap(usize::from(i), usize::from(j));
            let expected = state[usize::from(state[usize::from(i)].wrapping_add(state[usize::from(j)]))];
            let mut byte = [0];
            ours.apply(&mut byte);
            assert_eq!(byte[0], expected);
        }
    }
}
