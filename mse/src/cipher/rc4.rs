//! RC4, the cipher of 1987 that every BitTorrent client speaks. Broken: it hides shapes, not secrets.

use alloc::boxed::Box;

use zeroize::{Zeroize, ZeroizeOnDrop};

/// One direction's RC4 state, for the life of a connection. Wiped when dropped.
pub struct Rc4 {
    // Words, not bytes: when a load follows a store, a core compares only part of the address. Neighbouring bytes
    // share that part and then wait for each other. It is worth more than a quarter of the speed on Zen 3, for a
    // KiB a direction. Boxed, so that a cipher that moves leaves no copy behind.
    state: Box<[u32; 256]>,
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
        cipher.apply(&mut [0; DISCARD]);
        cipher
    }

    /// Encrypts or decrypts `data` in place.
    pub fn apply(&mut self, data: &mut [u8]) {
        // Whole blocks begin where `i + 1` is a multiple of their length, so that no index wraps inside one.
        let before = BLOCK.wrapping_sub(usize::from(self.i) + 1) % BLOCK;
        let (head, rest) = data.split_at_mut(before.min(data.len()));
        head.iter_mut().for_each(|byte| *byte ^= self.next());
        let (blocks, tail) = rest.as_chunks_mut();
        self.apply_blocks(blocks);
        tail.iter_mut().for_each(|byte| *byte ^= self.next());
    }

    /// The loop that the time goes into: all but the places `j` and `x + y` are known ahead. The next `x` is
    /// read before the swap that may overwrite it. So the load does not wait for the two stores.
    // Not inlined: in a caller's loop the generator's variables would compete for registers.
    #[inline(never)]
    fn apply_blocks(&mut self, blocks: &mut [[u8; BLOCK]]) {
        let state = &mut *self.state;
        let mut start = usize::from(self.i.wrapping_add(1));
        let mut j = u32::from(self.j);
        let mut coming = state[start];
        for block in blocks {
            // The mask shows the compiler that no index below needs a check.
            let here = start & (state.len() - BLOCK);
            start = (here + BLOCK) % state.len();
            let mut keystream = 0;
            for n in 0..BLOCK {
                let x = coming;
                j = j.wrapping_add(x);
                let at = usize::from(j as u8);
                let y = state[at];
                let following = if n + 1 < BLOCK { here | (n + 1) } else { start };
                let ahead = state[following];
                state[here | n] = y;
                state[at] = x;
                coming = if at == following { x } else { ahead };
                let out = state[usize::from(x.wrapping_add(y) as u8)];
                keystream |= u64::from(out) << (8 * n);
            }
            *block = (u64::from_le_bytes(*block) ^ keystream).to_le_bytes();
        }
        self.i = (start as u8).wrapping_sub(1);
        self.j = j as u8;
    }

    /// Throws `count` bytes of keystream away.
    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    /// One byte of keystream.
    #[inline]
    fn next(&mut self) -> u8 {
        self.i = self.i.wrapping_add(1);
        let x = self.state[usize::from(self.i)];
        self.j = self.j.wrapping_add(x as u8);
        self.state.swap(usize::from(self.i), usize::from(self.j));
        let y = self.state[usize::from(self.i)];
        self.state[usize::from(x.wrapping_add(y) as u8)] as u8
    }

    fn scheduled(key: &[u8]) -> Self {
        let mut state = Box::new([0; 256]);
        for (value, slot) in (0..).zip(state.iter_mut()) {
            *slot = value;
        }
        let mut j = 0u8;
        for (n, &byte) in (0..=u8::MAX).zip(key.iter().cycle()) {
            j = j.wrapping_add(state[usize::from(n)] as u8).wrapping_add(byte);
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

/// Keystream bytes that MSE throws away before the first is used (mse §2).
const DISCARD: usize = 1_024;
/// Bytes made at a time.
const BLOCK: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, kat};
    use alloc::vec;

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
    fn a_million_bytes_equal_the_textbook_generator_alone_and_in_blocks() {
        let mut state: [u8; 256] = core::array::from_fn(|n| n as u8);
        let key = b"a textbook's key";
        let mut j = 0u8;
        for i in 0..256 {
            j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
            state.swap(i, usize::from(j));
        }
        let (mut i, mut j) = (0u8, 0u8);
        let mut ours = Rc4::scheduled(key);
        let mut whole = vec![0; 1_000_000];
        Rc4::scheduled(key).apply(&mut whole);
        for in_blocks in whole {
            i = i.wrapping_add(1);
            j = j.wrapping_add(state[usize::from(i)]);
            state.swap(usize::from(i), usize::from(j));
            let expected = state[usize::from(state[usize::from(i)].wrapping_add(state[usize::from(j)]))];
            let mut byte = [0];
            ours.apply(&mut byte);
            assert_eq!((byte[0], in_blocks), (expected, expected));
        }
    }
}
