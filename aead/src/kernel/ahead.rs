//! Key stream made before its message.

use core::hint::black_box;

use zeroize::Zeroize;

use super::frames::Frames;
use super::scalar::{Number, lengths, padded_tail};
use super::wide::{Block, settle};
use super::{Direction, Kernel};
use crate::{Key, Message, Nonce};

/// The key stream of one message to come, made in an idle moment.
///
/// Between two samples a CPU sleeps, and what seals the next one leaves its caches. With the key stream at hand
/// before the sample, an exclusive or and a sum are left to do. That touches a third of the lines and pages, with
/// every kernel.
///
/// It serves the message with its own key and nonce, once. Any other message is sealed or opened as without it.
/// Where there is no kernel but [`Kernel::Portable`] it is empty and serves none.
// What a short message reads lies in the first lines.
#[repr(C, align(64))]
pub struct Ahead {
    key: [u32; 8],
    r: Number,
    s: u128,
    halves: Halves,
    nonce: Nonce,
    /// Bytes of text that the stream suffices for, if there is one that was not used.
    ready: Option<u16>,
    stream: [u8; Self::LONGEST],
}

impl Ahead {
    /// Longest message that it serves, in bytes: 256 channels of float32 have 1,033 with their stamp.
    pub const LONGEST: usize = 64 * (BLOCKS - 1);

    /// Serves no message yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            key: [0; 8],
            r: Number::ZERO,
            s: 0,
            halves: Halves::NONE,
            nonce: Nonce([0; Nonce::LEN]),
            ready: None,
            stream: [0; Self::LONGEST],
        }
    }

    /// Makes the key stream of a message of up to `length` bytes, if it is not there. Makes none if that is more
    /// than [`LONGEST`](Self::LONGEST).
    pub fn prepare(&mut self, kernel: Kernel, key: &Key, nonce: Nonce, length: usize) {
        if self.suffices(length) && self.is_for(key, nonce) {
            return;
        }
        self.ready = None;
        if length <= Self::LONGEST {
            let frames = Frames::new();
            self.make(kernel, key, nonce, length, &frames);
            kernel.wipe(&frames);
        }
    }

    #[inline(never)]
    fn make(&mut self, kernel: Kernel, key: &Key, nonce: Nonce, length: usize, frames: &Frames) {
        frames.note();
        let count = length.div_ceil(64) + 1;
        let mut blocks = [Block::ZERO; BLOCKS.next_multiple_of(4)];
        if !kernel.first_blocks(key, &nonce, count, &mut blocks, frames) {
            return;
        }
        let [one_time, text @ ..] = &blocks[..count] else { return };
        for (kept, block) in self.stream.as_chunks_mut().0.iter_mut().zip(text) {
            *kept = block.0;
        }
        self.key = *key.words();
        (self.r, self.s) = (Number::r(one_time), super::scalar::last(one_time));
        self.halves = Halves::of(length, self.r);
        self.nonce = nonce;
        self.ready = u16::try_from(64 * text.len()).ok();
    }

    /// Seals the message if this was made for it, and says whether it was.
    #[inline]
    pub fn seal(&mut self, message: &mut Message<'_>) -> bool {
        self.serve(message, Direction::Seal)
    }

    /// Opens the message if this was made for it, and says whether it was; the message has the outcome.
    #[inline]
    pub fn open(&mut self, message: &mut Message<'_>) -> bool {
        self.serve(message, Direction::Open)
    }

    #[inline(always)]
    fn serve(&mut self, message: &mut Message<'_>, direction: Direction) -> bool {
        let serves = self.suffices(message.buffer.len()) && self.is_for(message.key, message.nonce);
        self.ready = None;
        if serves {
            self.run(message, direction);
        }
        serves
    }

    #[inline(always)]
    fn suffices(&self, length: usize) -> bool {
        self.ready.is_some_and(|ready| length <= usize::from(ready))
    }

    /// Compares the keys in constant time. They differ if a caller uses one of these for several keys.
    #[inline(always)]
    fn is_for(&self, key: &Key, nonce: Nonce) -> bool {
        let pairs = self.key.iter().zip(key.words());
        self.nonce == nonce
            && super::public(black_box(pairs.fold(0, |difference, (a, b)| difference | (a ^ b))) == 0)
    }

    #[inline(never)]
    fn run(&self, message: &mut Message<'_>, direction: Direction) {
        if direction == Direction::Seal {
            apply(message.buffer, &self.stream);
        }
        let sum = self.halves.absorb(Number::ZERO.absorb(message.aad, self.r), message.buffer, self.r);
        let sum = sum.step(&lengths(message.aad.len(), message.buffer.len()), self.r);
        settle(message, sum.tag(self.s), direction);
        if direction == Direction::Open {
            if message.outcome.is_ok() {
                apply(message.buffer, &self.stream);
            } else {
                message.buffer.fill(0);
            }
        }
    }
}

/// A text cut into halves that are summed side by side: one sum alone waits for each of its multiplications.
struct Halves {
    /// Blocks of 16 bytes that the second half has; none if the text is too short to be cut.
    blocks: usize,
    /// What the first half's sum is multiplied by: r to so many.
    power: Number,
}

impl Halves {
    const NONE: Self = Self { blocks: 0, power: Number::ZERO };

    /// Makes them for a text of so many bytes. A text of another length is summed in one
    /// piece.
    fn of(length: usize, r: Number) -> Self {
        if length < Self::WORTHWHILE {
            return Self::NONE;
        }
        let blocks = length / 32;
        let mut power = r;
        for bit in (0..blocks.ilog2()).rev() {
            power = power.times(power);
            if blocks >> bit & 1 == 1 {
                power = power.times(r);
            }
        }
        Self { blocks, power }
    }

    /// Adds a text to a sum, as [`Number::absorb`] does.
    #[inline(always)]
    fn absorb(&self, mut sum: Number, text: &[u8], r: Number) -> Number {
        let (whole, _) = text.as_chunks();
        if self.blocks == 0 || whole.len() / 2 != self.blocks {
            return sum.absorb(text, r);
        }
        let (first, second) = whole.split_at(whole.len() - self.blocks);
        let mut beside = Number::ZERO;
        for (block, other) in first.iter().zip(second) {
            sum = sum.step(block, r);
            beside = beside.step(other, r);
        }
        if let Some(odd) = first.get(self.blocks) {
            sum = sum.step(odd, r);
        }
        sum = sum.times(self.power).plus(beside);
        match padded_tail(text) {
            Some(block) => sum.step(&block, r),
            None => sum,
        }
    }

    /// Shorter texts, in bytes, are summed in one piece.
    const WORTHWHILE: usize = 384;
}

/// Encrypts or decrypts `text`; `stream` is at least as long.
#[inline(always)]
fn apply(text: &mut [u8], stream: &[u8]) {
    let stream = &stream[..text.len()];
    let sum = |a: &[u8; 16], b: &[u8; 16]| (u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b)).to_le_bytes();
    // The last sixteen bytes overlap the last whole chunk: read before that changes, and written after it.
    let last = text.last_chunk().zip(stream.last_chunk()).map(|(text, stream)| sum(text, stream));
    for (chunk, stream) in text.as_chunks_mut().0.iter_mut().zip(stream.as_chunks().0) {
        *chunk = sum(chunk, stream);
    }
    match (text.last_chunk_mut(), last) {
        (Some(end), Some(last)) => *end = last,
        _ => text.iter_mut().zip(stream).for_each(|(byte, stream)| *byte ^= stream),
    }
}

impl Default for Ahead {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.key.zeroize();
        self.r.0.zeroize();
        self.s.zeroize();
        self.halves.power.0.zeroize();
        self.stream.zeroize();
    }
}

/// Blocks of key stream: the one-time key's, and the text's.
const BLOCKS: usize = 18;
