//! One message, whose key stream is made while what lies before is summed.
//!
//! For units on which Poly1305 in vector lanes is dear: registers of 256 bits, 32-bit multiplications. Each
//! pass makes 512 bytes of key stream, and adds to the sum the ciphertext that belongs to the pass before. So
//! opening decrypts a part as soon as it is summed, and before the tag is compared; a message that then does
//! not verify is wiped before anybody sees it.

use super::{Block, Direction, Message, Number, Tag, Unit, verdict, wipe};

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
        h = unit.blocks_and_sum(key, nonce, counter, next, (h, r), buffer[start..end].as_chunks().0);
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
