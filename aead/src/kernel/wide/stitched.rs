//! Messages whose key stream is made while what lies before is summed.
//!
//! For units on which Poly1305 in vector lanes is dear: registers of 256 bits, 32-bit multiplications. Each
//! pass makes up to 512 bytes of key stream, and meanwhile adds ciphertext to the sum. So opening decrypts a part
//! as soon as it is summed, before the tag is compared. A message that then does not verify is wiped before the
//! caller sees it.

use super::{Block, Cursor, Direction, GROUP, Message, Number, Tag, Unit, settle, verdict};

/// Seals or opens one message; opening sets its outcome.
#[inline(always)]
pub(in crate::kernel) fn message<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    let mut streams = [[Block::ZERO; 8]; 2];
    match direction {
        Direction::Seal => seal(unit, message, &mut streams[0]),
        Direction::Open => open(unit, message, &mut streams),
    }
}

/// Each pass sums what the pass before has encrypted. The passes are small towards the end, because the output of
/// the last one is summed alone.
#[inline(always)]
fn seal<U: Unit>(unit: U, message: &mut Message<'_>, stream: &mut [Block; 8]) {
    let Message { key, nonce, aad, buffer, tag, .. } = message;
    let count = sealing::<U>(buffer.len().div_ceil(64) + 1);
    unit.first_blocks(key, nonce, &mut stream[..count]);
    let one_time = stream[0];
    let r = Number::r(&one_time);
    let mut h = Number::ZERO.absorb(aad, r);
    let (mut summed, mut encrypted) = (0, buffer.len().min(64 * (count - 1)));
    unit.apply(&mut buffer[..encrypted], &stream[1..]);
    let mut counter = count as u32;
    while encrypted < buffer.len() {
        let count = sealing::<U>((buffer.len() - encrypted).div_ceil(64));
        let text = buffer[summed..encrypted].as_chunks().0;
        h = unit.blocks_and_sum(key, nonce, counter, &mut stream[..count], (h, r), text);
        summed = encrypted;
        encrypted = buffer.len().min(summed + 64 * count);
        unit.apply(&mut buffer[summed..encrypted], stream);
        counter = counter.wrapping_add(count as u32);
    }
    h = h.absorb(&buffer[summed..], r);
    *tag = Tag(h.finish(aad.len(), buffer.len(), r, &one_time).to_le_bytes());
}

/// The first pass makes little more than the one-time key. Every other pass sums the text whose key stream it
/// makes; that text is then decrypted. The first part has no pass to be summed in, so it goes with the second.
#[inline(always)]
fn open<U: Unit>(unit: U, message: &mut Message<'_>, [first, stream]: &mut [[Block; 8]; 2]) {
    let Message { key, nonce, aad, buffer, tag, outcome } = message;
    let count = opening::<U>(buffer.len().div_ceil(64) + 1);
    unit.first_blocks(key, nonce, &mut first[..count]);
    let r = Number::r(&first[0]);
    let mut h = Number::ZERO.absorb(aad, r);
    let first_part = buffer.len().min(64 * (count - 1));
    let (mut summed, mut start) = (0, first_part);
    let mut counter = count as u32;
    while start < buffer.len() {
        let count = (buffer.len() - start).div_ceil(64).min(8).next_multiple_of(U::PARTS);
        let end = buffer.len().min(start + 64 * count);
        let (whole, tail) = buffer[summed..end].as_chunks();
        h = unit.blocks_and_sum(key, nonce, counter, &mut stream[..count], (h, r), whole);
        h = h.absorb(tail, r);
        unit.apply(&mut buffer[start..end], stream);
        (summed, start) = (end, end);
        counter = counter.wrapping_add(count as u32);
    }
    h = h.absorb(&buffer[summed..], r);
    *outcome = verdict(h.finish(aad.len(), buffer.len(), r, &first[0]), tag);
    if outcome.is_ok() {
        unit.apply(&mut buffer[..first_part], &first[1..]);
    } else {
        buffer.fill(0);
    }
}

/// How many blocks the next pass makes when `left` blocks are left to seal with.
#[inline(always)]
fn sealing<U: Unit>(left: usize) -> usize {
    let count = match left {
        0..=4 => left,
        5..=10 => 6,
        _ => 8,
    };
    count.next_multiple_of(U::PARTS)
}

/// How many of the blocks of a message the first pass makes when opening. The number makes the other passes full,
/// or lets the last be a small one.
#[inline(always)]
fn opening<U: Unit>(all: usize) -> usize {
    let count = match all {
        0..=4 => all,
        _ => match all % 8 {
            5 | 6 => 6,
            7 => 8,
            _ => 4,
        },
    };
    count.next_multiple_of(U::PARTS)
}

/// As [`message`], for many: the key stream runs through all of them, and the sum follows.
#[inline(never)]
pub(super) fn batch<U: Unit>(unit: U, messages: &mut [Message<'_>], direction: Direction) {
    unit.note();
    let mut keys = [Block::ZERO; GROUP];
    let mut stream = [Block::ZERO; 8];
    for messages in messages.chunks_mut(GROUP) {
        for (key, message) in keys.iter_mut().zip(&*messages) {
            *key = Block::initial(message.key, &message.nonce, 0);
        }
        unit.key_stream(&mut keys[..messages.len().next_multiple_of(U::PARTS)]);
        group(unit, messages, direction, &keys, &mut stream);
    }
}

/// Sealing sums what the passes before have encrypted. Opening sums the text whose key stream a pass makes, and
/// then decrypts it.
#[inline(never)]
fn group<U: Unit>(
    unit: U,
    messages: &mut [Message<'_>],
    direction: Direction,
    keys: &[Block; GROUP],
    stream: &mut [Block; 8],
) {
    unit.note();
    let mut ahead = Cursor::START;
    let mut sum = Follower::new(messages, keys);
    while sum.index < messages.len() {
        let mut fresh = ahead;
        let filled = ahead.fill(messages, stream, 0);
        let ready = if direction == Direction::Seal { fresh } else { ahead };
        let text = sum.text(messages, ready);
        sum.at += 16 * text.len();
        sum.h = unit.key_stream_and_sum(stream, (sum.h, sum.r), text);
        sum.settle(messages, keys, ready, direction);
        fresh.apply(unit, messages, &stream[..filled]);
    }
    if direction == Direction::Open {
        for message in messages.iter_mut().filter(|message| message.outcome.is_err()) {
            message.buffer.fill(0);
        }
    }
}

/// The sum that follows the key stream, message by message.
struct Follower {
    index: usize,
    /// The byte of its message that is next.
    at: usize,
    r: Number,
    h: Number,
}

impl Follower {
    fn new(messages: &[Message<'_>], keys: &[Block; GROUP]) -> Self {
        let mut new = Self { index: 0, at: 0, r: Number::ZERO, h: Number::ZERO };
        new.start(messages, keys);
        new
    }

    /// Begins with the message `index`, if there is one.
    fn start(&mut self, messages: &[Message<'_>], keys: &[Block; GROUP]) {
        if let Some(message) = messages.get(self.index) {
            self.at = 0;
            self.r = Number::r(&keys[self.index]);
            self.h = Number::ZERO.absorb(message.aad, self.r);
        }
    }

    /// Up to where the message can be summed: as far as there was key stream before this pass.
    fn limit(&self, messages: &[Message<'_>], ready: Cursor) -> usize {
        if self.index < ready.index { messages[self.index].buffer.len() } else { ready.at }
    }

    /// The whole blocks that can be summed.
    fn text<'m>(&self, messages: &'m [Message<'_>], ready: Cursor) -> &'m [[u8; 16]] {
        match messages.get(self.index) {
            Some(message) => message.buffer[self.at..self.limit(messages, ready)].as_chunks().0,
            None => &[],
        }
    }

    /// Sums tails and lengths, and when opening all that is decrypted next.
    fn settle(
        &mut self,
        messages: &mut [Message<'_>],
        keys: &[Block; GROUP],
        ready: Cursor,
        direction: Direction,
    ) {
        while self.index < messages.len() {
            let limit = self.limit(messages, ready);
            // A long rest is better summed while the next key stream is made.
            if direction == Direction::Seal && limit - self.at > LITTLE {
                return;
            }
            let message = &mut messages[self.index];
            self.h = self.h.absorb(&message.buffer[self.at..limit], self.r);
            self.at = limit;
            if self.index >= ready.index {
                return;
            }
            let tag = self.h.finish(message.aad.len(), limit, self.r, &keys[self.index]);
            settle(message, tag, direction);
            self.index += 1;
            self.start(messages, keys);
        }
    }
}

/// A rest of at most this many bytes is not worth waiting for the next pass.
const LITTLE: usize = 64;
