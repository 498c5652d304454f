//! Batches of messages of at most one block. A pass takes four of them and makes their key blocks and their data
//! blocks.
//!
//! As in [`short`](super::short), but nothing needs a plan: a message's place follows from its number. The next
//! pass works on the sums of four messages. The last four have no next pass, and their sums go side by side.
//! A copy is summed, so opening decrypts at once. A message that then does not verify is wiped before the
//! caller sees it.

use super::pass::{QUAD, Quad, Run, Sums};
use super::under_way::UnderWay;
use super::{Block, Direction, Message, Unit, settle};
use crate::kernel::scalar;

/// Seals or opens every message; opening sets its outcome. The texts have no secrets, so they lie where nothing is wiped.
#[inline(always)]
pub(in crate::kernel) fn batch<U: Unit>(
    unit: U,
    messages: &mut [Message<'_>],
    direction: Direction,
    texts: &mut [Text; QUAD],
) {
    let mut stream = [Block::ZERO; 8];
    let mut under_way = UnderWay::NOTHING;
    let mut behind: &mut [Message<'_>] = &mut [];
    for quad in messages.chunks_mut(QUAD) {
        let states = Quad::of(quad);
        add(&mut under_way, &texts[..behind.len()], |sums| unit.quad(&states, &mut stream, sums));
        finish(&under_way, behind, direction);
        let (keys, data) = stream.split_at(QUAD);
        for (place, message) in quad.iter_mut().enumerate() {
            under_way.begin(place, &keys[place], message.aad);
            texts[place].apply(unit, message, direction, &data[place]);
        }
        behind = quad;
    }
    add(&mut under_way, &texts[..behind.len()], |sums| unit.sum_quad(sums));
    finish(&under_way, behind, direction);
}

/// What is summed of a message: its ciphertext, filled up with zeros, and the lengths.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Text {
    blocks: [[u8; 16]; MOST / 16 + 1],
    count: usize,
}

impl Text {
    pub(super) const EMPTY: Self = Self { blocks: [[0; 16]; MOST / 16 + 1], count: 0 };

    /// Encrypts or decrypts a message, and keeps its ciphertext.
    #[inline(always)]
    fn apply<U: Unit>(&mut self, unit: U, message: &mut Message<'_>, direction: Direction, stream: &Block) {
        let Message { aad, buffer, .. } = message;
        let blocks = buffer.len().div_ceil(16);
        self.blocks[blocks] = scalar::lengths(aad.len(), buffer.len());
        self.count = blocks + 1;
        // Where the compiler knows the length, nothing is left of the loops.
        match <&mut [u8; MOST]>::try_from(&mut **buffer) {
            Ok(whole) => self.exchange(unit, whole, direction, stream),
            Err(_) => self.exchange(unit, buffer, direction, stream),
        }
    }

    #[inline(always)]
    fn exchange<U: Unit>(&mut self, unit: U, buffer: &mut [u8], direction: Direction, stream: &Block) {
        if direction == Direction::Open {
            self.keep(buffer);
        }
        unit.apply(buffer, core::slice::from_ref(stream));
        if direction == Direction::Seal {
            self.keep(buffer);
        }
    }

    #[inline(always)]
    fn keep(&mut self, text: &[u8]) {
        let whole = text.as_chunks().0;
        self.blocks[..whole.len()].copy_from_slice(whole);
        if let Some(tail) = scalar::padded_tail(text) {
            self.blocks[whole.len()] = tail;
        }
    }
}

/// Has the texts of a quad added to its sums.
#[inline(always)]
fn add(under_way: &mut UnderWay<QUAD>, texts: &[Text], work: impl FnOnce(&mut Sums<'_, QUAD>)) {
    let mut runs = [Run::NOTHING; QUAD];
    let mut steps = 0;
    for (slot, (run, text)) in runs.iter_mut().zip(texts).enumerate() {
        *run = Run { slot, text: &text.blocks[..text.count] };
        steps += text.count;
    }
    work(&mut under_way.sums(&runs[..texts.len()], steps));
}

/// Finishes the sums of a quad.
#[inline(always)]
fn finish(under_way: &UnderWay<QUAD>, quad: &mut [Message<'_>], direction: Direction) {
    for (slot, message) in (0..QUAD).zip(quad) {
        settle(message, under_way.tag(slot), direction);
        if direction == Direction::Open && message.outcome.is_err() {
            message.buffer.fill(0);
        }
    }
}

/// Messages of more bytes are not tiny.
pub(super) const MOST: usize = size_of::<Block>();
