//! The wide kernels, written once for every vector unit.
//!
//! ChaCha20 and Poly1305 go over the messages one after the other. First, all blocks of all messages,
//! in any mixture, fill the registers of ChaCha20. Then the messages lie side by side in the lanes of
//! Poly1305. Opening does the latter first, so that nothing is decrypted before its tag has verified.

mod alone;
pub(super) mod chacha20;
mod cursor;
mod field;
pub(super) mod limbs26;
#[cfg(target_arch = "x86_64")]
pub(super) mod limbs44;
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) mod model;
pub(super) mod pass;
pub(super) mod poly1305;
pub(super) mod shape;
pub(super) mod short;
pub(super) mod simd;
pub(super) mod small;
pub(super) mod stitched;
pub(super) mod tiny;
pub(super) mod under_way;
mod unit;

pub(super) use unit::{entries, unit};

pub(super) use alone::one;
use cursor::Cursor;
use pass::{QUAD, Quad, SLOTS, States, Sums};
use shape::{Row, Shape};
use short::Plan;
use simd::Simd;

use super::Direction;
use super::frames::Frames;
use super::portable::chacha20::CONSTANTS;
use super::scalar::Number;
use crate::{Key, Message, Nonce, OpenError, Tag};

/// 64 bytes of key stream, or the state it is made from.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [u8; 64]);

impl Block {
    pub(super) const ZERO: Self = Self([0; 64]);

    /// The initial state of a message's block `counter` (RFC 8439 §2.3).
    #[inline]
    fn initial(key: &Key, nonce: &Nonce, counter: u32) -> Self {
        Self::from_words(key, counter, nonce.words())
    }

    #[inline]
    fn from_words(key: &Key, counter: u32, nonce: [u32; 3]) -> Self {
        let mut words = [0; 16];
        words[..4].copy_from_slice(&CONSTANTS);
        words[4..12].copy_from_slice(key.words());
        words[12] = counter;
        words[13..].copy_from_slice(&nonce);
        let mut block = Self::ZERO;
        for (bytes, word) in block.0.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        block
    }

    /// The same state with another counter.
    #[inline]
    fn with_counter(mut self, counter: u32) -> Self {
        self.0[48..52].copy_from_slice(&counter.to_le_bytes());
        self
    }

    /// The first half as words.
    #[inline(always)]
    pub(super) fn words64(&self) -> [u64; 4] {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }
}

/// A vector unit's token, and where its functions note how deep their frames reach.
#[derive(Clone, Copy)]
pub(super) struct Noted<'f, T> {
    pub(super) token: T,
    pub(super) frames: &'f Frames,
}

/// What a vector unit does, each in a function compiled for it, which notes its frame.
pub(super) trait Unit: Copy {
    /// Messages whose tags are computed side by side.
    const LANES: usize;
    /// Key-stream blocks are made in multiples of this.
    const PARTS: usize;
    /// Which code works on which messages.
    const SHAPES: &'static [Row];

    /// Replaces every block's initial state by its key stream.
    fn key_stream(self, blocks: &mut [Block]);
    /// Writes a message's key stream from block 0 on.
    fn first_blocks(self, key: &Key, nonce: &Nonce, blocks: &mut [Block]);
    /// Encrypts or decrypts `data` with as many blocks as it needs.
    fn apply(self, data: &mut [u8], stream: &[Block]);
    /// Computes the tags of `LANES` messages, or of twice as many; every slice has one entry each.
    fn lane_tags(self, keys: &[Block], aads: &[&[u8]], texts: &[&[u8]], tags: &mut [u128]);
    /// Adds a long text to a sum.
    fn absorb(self, r: Number, h: Number, text: &[u8]) -> Number;
    /// Writes eight blocks of key stream, and works on sums.
    fn pass(self, states: &States<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, SLOTS>);
    /// Writes the eight blocks of key stream of a quad, and works on sums.
    fn quad(self, states: &Quad<'_>, blocks: &mut [Block; 8], sums: &mut Sums<'_, QUAD>);
    /// Works on the sums of a quad.
    fn sum_quad(self, sums: &mut Sums<'_, QUAD>);
    /// Works on sums.
    fn sum(self, sums: &mut Sums<'_, SLOTS>);
    /// Replaces eight initial states by their key stream. Adds blocks of text to the sum h with the
    /// multiplier r.
    fn key_stream_and_sum(self, blocks: &mut [Block; 8], sum: (Number, Number), text: &[[u8; 16]]) -> Number;
    /// Writes a message's key stream from counter `first` on, up to eight blocks in multiples of `PARTS`. Adds
    /// blocks of text to the sum h with the multiplier r.
    fn blocks_and_sum(
        self,
        key: &Key,
        nonce: &Nonce,
        first: u32,
        blocks: &mut [Block],
        sum: (Number, Number),
        text: &[[u8; 16]],
    ) -> Number;
    /// [`small::message`].
    fn small(self, message: &mut Message<'_>, direction: Direction);
    /// [`stitched::message`].
    fn stitched(self, message: &mut Message<'_>, direction: Direction);
    /// [`short::batch`].
    fn short(self, messages: &mut [Message<'_>], direction: Direction, plans: &mut [Plan; 3]);
    /// [`tiny::batch`].
    fn tiny(self, messages: &mut [Message<'_>], direction: Direction, texts: &mut [tiny::Text; QUAD]);
    /// Notes the frame of a function that is not compiled for the unit.
    fn note(self);
    /// Clears the vector registers, and overwrites the frames that were noted.
    fn wipe(self);
}

/// Writes the first `count` blocks of a message's key stream, or a few more, to the front of `blocks`. Wipes
/// nothing.
pub(super) fn first_blocks<U: Unit>(unit: U, key: &Key, nonce: &Nonce, count: usize, blocks: &mut [Block]) {
    unit.first_blocks(key, nonce, &mut blocks[..count.next_multiple_of(U::PARTS)]);
}

/// Seals or opens every message; opening sets each message's outcome.
pub(super) fn batch<U: Unit>(unit: U, messages: &mut [Message<'_>], direction: Direction) {
    if let [message] = messages {
        return one(unit, message, direction);
    }
    let otherwise = const { shape::otherwise(U::SHAPES) };
    in_shape(unit, shape::of(U::SHAPES, messages, otherwise), messages, direction);
    unit.wipe();
}

/// As [`batch`], in a shape that the lengths permit; without wiping.
#[inline(always)]
fn in_shape<U: Unit>(unit: U, shape: Shape, messages: &mut [Message<'_>], direction: Direction) {
    match shape {
        Shape::Tiny => unit.tiny(messages, direction, &mut [tiny::Text::EMPTY; QUAD]),
        Shape::Few => unit.short(messages, direction, &mut [Plan::NOTHING; 3]),
        Shape::Many => stitched::batch(unit, messages, direction),
        Shape::Groups => groups(unit, messages, direction),
        _ => messages.iter_mut().for_each(|message| alone::single(unit, message, direction)),
    }
}

/// As [`batch`], in the shape that the caller asks for; says whether their lengths permit it.
pub(super) fn batch_in_shape<U: Unit>(
    unit: U,
    shape: Shape,
    messages: &mut [Message<'_>],
    direction: Direction,
) -> bool {
    let most = match shape {
        Shape::Short => 64 * (small::SETS * U::PARTS - 1),
        Shape::Single => 64 * (alone::SINGLE - 1),
        Shape::Medium => 64 * (alone::MEDIUM - 1),
        Shape::Tiny => tiny::MOST,
        _ => usize::MAX,
    };
    let fit = messages.iter().all(|message| message.buffer.len() <= most);
    if fit {
        match shape {
            Shape::Short | Shape::Single | Shape::Medium | Shape::Stitched => {
                messages.iter_mut().for_each(|message| alone::in_shape(unit, shape, message, direction));
            }
            _ => in_shape(unit, shape, messages, direction),
        }
        unit.wipe();
    }
    fit
}

/// As [`batch`], group by group.
#[inline(never)]
fn groups<U: Unit>(unit: U, messages: &mut [Message<'_>], direction: Direction) {
    unit.note();
    let mut pass = [Block::ZERO; PASS];
    let mut keys = [Block::ZERO; GROUP];
    for messages in messages.chunks_mut(GROUP) {
        group(unit, messages, direction, &mut pass, &mut keys);
    }
}

/// As [`batch`], for at most `GROUP` messages.
#[inline(never)]
fn group<U: Unit>(
    unit: U,
    messages: &mut [Message<'_>],
    direction: Direction,
    pass: &mut [Block; PASS],
    keys: &mut [Block; GROUP],
) {
    unit.note();
    let count = messages.len();
    for (block, message) in pass.iter_mut().zip(&*messages) {
        *block = Block::initial(message.key, &message.nonce, 0);
    }
    let (mut ahead, mut behind) = (Cursor::START, Cursor::START);
    let filled = ahead.fill(messages, pass, count);
    let used = filled.next_multiple_of(U::PARTS);
    unit.key_stream(&mut pass[..used]);
    keys[..count].copy_from_slice(&pass[..count]);
    if direction == Direction::Open {
        verify(unit, messages, keys);
    }
    behind.apply(unit, messages, &pass[count..filled]);
    while ahead.index < messages.len() {
        let filled = ahead.fill(messages, pass, 0);
        unit.key_stream(&mut pass[..filled.next_multiple_of(U::PARTS)]);
        behind.apply(unit, messages, &pass[..filled]);
    }
    if direction == Direction::Seal {
        let mut tags = [0; GROUP];
        compute_tags(unit, messages, keys, &mut tags);
        for (message, tag) in messages.iter_mut().zip(tags) {
            message.tag = Tag(tag.to_le_bytes());
        }
    }
}

/// Sets every message's outcome and clears the buffers of messages that do not verify.
fn verify<U: Unit>(unit: U, messages: &mut [Message<'_>], keys: &mut [Block; GROUP]) {
    let mut tags = [0; GROUP];
    compute_tags(unit, messages, keys, &mut tags);
    for (message, tag) in messages.iter_mut().zip(tags) {
        message.outcome = verdict(tag, &message.tag);
        if message.outcome.is_err() {
            message.buffer.fill(0);
        }
    }
}

/// Gives a message its tag, or compares it and sets the outcome.
#[inline(always)]
pub(super) fn settle(message: &mut Message<'_>, tag: u128, direction: Direction) {
    match direction {
        Direction::Seal => message.tag = Tag(tag.to_le_bytes()),
        Direction::Open => message.outcome = verdict(tag, &message.tag),
    }
}

/// Compares tags in constant time.
#[inline]
fn verdict(computed: u128, claimed: &Tag) -> Result<(), OpenError> {
    let difference = core::hint::black_box(computed ^ u128::from_le_bytes(claimed.0));
    if super::public(difference == 0) { Ok(()) } else { Err(OpenError::Forged) }
}

/// Computes the tags over the buffers as they are; `keys` has the messages' first blocks.
fn compute_tags<U: Unit>(
    unit: U,
    messages: &[Message<'_>],
    keys: &mut [Block; GROUP],
    tags: &mut [u128; GROUP],
) {
    unit.note();
    let count = messages.len();
    let order = by_length(messages);
    if !order[..count].is_sorted() {
        let unsorted = *keys;
        for (key, &index) in keys.iter_mut().zip(&order[..count]) {
            *key = unsorted[usize::from(index)];
        }
    }
    let message = |place: usize| &messages[usize::from(order[place])];
    let mut done = 0;
    if count >= FEW && message(0).buffer.len() <= LONG {
        let mut aads: [&[u8]; GROUP] = [&[]; GROUP];
        let mut texts: [&[u8]; GROUP] = [&[]; GROUP];
        for place in 0..count {
            (aads[place], texts[place]) = (message(place).aad, &*message(place).buffer);
        }
        let mut sorted = [0; GROUP];
        while count - done >= FEW {
            let group = if count - done > U::LANES { 2 * U::LANES } else { U::LANES };
            // Lanes without a message repeat another one's.
            for place in count..done + group {
                (keys[place], aads[place], texts[place]) = (keys[done], aads[done], texts[done]);
            }
            let range = done..done + group;
            let (keys, aads, texts) = (&keys[range.clone()], &aads[range.clone()], &texts[range.clone()]);
            unit.lane_tags(keys, aads, texts, &mut sorted[range]);
            done = count.min(done + group);
        }
        for place in 0..done {
            tags[usize::from(order[place])] = sorted[place];
        }
    }
    for place in done..count {
        let Message { aad, buffer, .. } = message(place);
        tags[usize::from(order[place])] = tag_alone(unit, &keys[place], aad, buffer);
    }
}

/// The messages' indices, the longest first, so that few lanes wait for others; equally long ones keep their
/// order.
fn by_length(messages: &[Message<'_>]) -> [u8; GROUP] {
    let mut order = core::array::from_fn(|index| index as u8);
    for place in 1..messages.len() {
        let index = order[place];
        let length = messages[usize::from(index)].buffer.len();
        let mut hole = place;
        while hole > 0 && messages[usize::from(order[hole - 1])].buffer.len() < length {
            order[hole] = order[hole - 1];
            hole -= 1;
        }
        order[hole] = index;
    }
    order
}

/// Computes one message's tag.
fn tag_alone<U: Unit>(unit: U, key: &Block, aad: &[u8], text: &[u8]) -> u128 {
    unit.note();
    let r = Number::r(key);
    let mut h = Number::ZERO.absorb(aad, r);
    h = if text.len() < LONG_ALONE { h.absorb(text, r) } else { unit.absorb(r, h, text) };
    h.finish(aad.len(), text.len(), r, key)
}

/// Messages that are worked on side by side.
const GROUP: usize = 16;
/// Blocks that ChaCha20 works on side by side at most.
const PASS: usize = 32;
/// Fewer messages than this have their tags computed one by one.
const FEW: usize = 3;
/// Messages above this many bytes have their tags computed one by one.
const LONG: usize = 2048;
/// A message alone is long from this many bytes on.
const LONG_ALONE: usize = 512;
