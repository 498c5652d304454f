//! Messages whose key stream is made while what lies before is summed.
//!
//! For units on which Poly1305 in vector lanes is dear: registers of 256 bits, 32-bit multiplications. Each
//! pass makes 512 bytes of key stream, and adds to the sum the ciphertext that belongs to the pass before. So
//! opening decrypts a part as soon as it is summed, and before the tag is compared; a message that then does
//! not verify is wiped before anybody sees it.

use super::{Block, Cursor, Direction, GROUP, Message, Number, Tag, Unit, verdict, wipe};

/// Seals or opens one message; opening sets its outcome.
#[inline(never)]
pub(super) fn message<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    let mut streams = [[Block::ZERO; 8]; 2];
    pass_by_pass(unit, message, direction, &mut streams);
    for stream in &mut streams {
        wipe(stream);
    }
}

#[inline(never)]
fn pass_by_pass<U: Unit>(
    unit: U,
    message: &mut Message<'_>,
    direction: Direction,
    streams: &mut [[Block; 8]; 2],
) {
    let Message { key, nonce, aad, buffer, tag, outcome } = message;
    let [mut now, mut next] = streams.each_mut();
    unit.first_blocks(key, nonce, now);
    let one_time = now[0];
    let r = Number::r(&one_time);
    let mut h = Number::ZERO.absorb(aad, r);
    // The part from `start` to `end` has its key stream in `now`, from block `first` on.
    let (mut start, mut end, mut first) = (0, buffer.len().min(448), 1);
    if direction == Direction::Seal {
        unit.apply(&mut buffer[..end], &now[first..]);
    }
    let mut counter = 8;
    while end < buffer.len() {
        let after = buffer.len().min(end + 512);
        let text = buffer[start..end].as_chunks().0;
        // A short end is done sooner with the blocks of one register set than with eight.
        let blocks = if after - end <= 64 * U::PARTS { &mut next[..U::PARTS] } else { &mut next[..] };
        h = unit.blocks_and_sum(key, nonce, counter, blocks, (h, r), text);
        match direction {
            Direction::Seal => unit.apply(&mut buffer[end..after], next),
            Direction::Open => unit.apply(&mut buffer[start..end], &now[first..]),
        }
        core::mem::swap(&mut now, &mut next);
        (start, end, first) = (end, after, 0);
        counter = counter.wrapping_add(8);
    }
    h = h.absorb(&buffer[start..], r);
    let computed = h.finish(aad.len(), buffer.len(), r, &one_time);
    match direction {
        Direction::Seal => *tag = Tag(computed.to_le_bytes()),
        Direction::Open => {
            *outcome = verdict(computed, tag);
            if outcome.is_ok() {
                unit.apply(&mut buffer[start..], &now[first..]);
            } else {
                buffer.fill(0);
            }
        }
    }
}

/// As [`message`], for many: the key stream runs through all of them, and the sum follows.
#[inline(never)]
pub(super) fn batch<U: Unit>(unit: U, messages: &mut [Message<'_>], direction: Direction) {
    let mut keys = [Block::ZERO; GROUP];
    let mut streams = [[Block::ZERO; 8]; 2];
    for messages in messages.chunks_mut(GROUP) {
        for (key, message) in keys.iter_mut().zip(&*messages) {
            *key = Block::initial(message.key, &message.nonce, 0);
        }
        unit.key_stream(&mut keys[..messages.len().next_multiple_of(U::PARTS)]);
        group(unit, messages, direction, &keys, &mut streams);
    }
    for stream in &mut streams {
        wipe(stream);
    }
    wipe(&mut keys);
}

#[inline(never)]
fn group<U: Unit>(
    unit: U,
    messages: &mut [Message<'_>],
    direction: Direction,
    keys: &[Block; GROUP],
    streams: &mut [[Block; 8]; 2],
) {
    let [mut now, mut before] = streams.each_mut();
    let mut ahead = Cursor::START;
    let mut waiting = (Cursor::START, 0);
    let mut sum = Follower::new(messages, keys);
    loop {
        let ready = ahead;
        let filled = ahead.fill(messages, now, 0);
        if filled == 0 && sum.index == messages.len() {
            break;
        }
        let text = sum.text(messages, ready);
        sum.at += 16 * text.len();
        sum.h = unit.key_stream_and_sum(now, (sum.h, sum.r), text);
        sum.settle(messages, keys, ready, direction);
        let mut fresh = (ready, filled);
        let (run, stream) = match direction {
            Direction::Seal => (&mut fresh, &now),
            Direction::Open => (&mut waiting, &before),
        };
        run.0.apply(unit, messages, &stream[..run.1]);
        waiting = (ready, filled);
        core::mem::swap(&mut now, &mut before);
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
            match direction {
                Direction::Seal => message.tag = Tag(tag.to_le_bytes()),
                Direction::Open => message.outcome = verdict(tag, &message.tag),
            }
            self.index += 1;
            self.start(messages, keys);
        }
    }
}

/// A rest of at most this many bytes is not worth waiting for the next pass.
const LITTLE: usize = 64;
