//! One message, by its length.

use super::{Block, Direction, Message, Tag, Unit, groups, small, tag_alone, verdict};

/// Seals or opens one message; opening sets its outcome.
#[inline]
pub(in crate::kernel) fn one<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    if message.buffer.len() <= 64 * (small::SETS * U::PARTS - 1) {
        unit.small(message, direction);
    } else {
        long(unit, message, direction);
    }
    unit.wipe();
}

/// As [`one`], for a message that is not short.
#[inline(never)]
fn long<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    let blocks = message.buffer.len().div_ceil(64) + 1;
    if message.buffer.len() >= U::STITCHED {
        unit.stitched(message, direction);
    } else if blocks <= 8 {
        alone::<U, 8>(unit, message, direction);
    } else if blocks <= 20 {
        alone::<U, 20>(unit, message, direction);
    } else {
        groups(unit, core::slice::from_mut(message), direction);
    }
}

/// As [`one`], for a message of less than `BLOCKS` blocks.
#[inline(never)]
fn alone<U: Unit, const BLOCKS: usize>(unit: U, message: &mut Message<'_>, direction: Direction) {
    unit.note();
    let Message { key, nonce, aad, buffer, tag, outcome } = message;
    let mut stream = [Block::ZERO; BLOCKS];
    let count = (buffer.len().div_ceil(64) + 1).next_multiple_of(U::PARTS);
    unit.first_blocks(key, nonce, &mut stream[..count]);
    match direction {
        Direction::Seal => {
            unit.apply(buffer, &stream[1..]);
            *tag = Tag(tag_alone(unit, &stream[0], aad, buffer).to_le_bytes());
        }
        Direction::Open => {
            *outcome = verdict(tag_alone(unit, &stream[0], aad, buffer), tag);
            if outcome.is_ok() {
                unit.apply(buffer, &stream[1..]);
            } else {
                buffer.fill(0);
            }
        }
    }
}
