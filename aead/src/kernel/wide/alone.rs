//! One message, by its length.

use super::shape::{self, Shape};
use super::{Block, Direction, Message, Tag, Unit, groups, tag_alone, verdict};

/// Seals or opens one message; opening sets its outcome.
#[inline]
pub(in crate::kernel) fn one<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    single(unit, message, direction);
    unit.wipe();
}

/// As [`one`], without wiping.
#[inline]
pub(super) fn single<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    // Most messages are short, and asked for nothing else.
    if message.buffer.len() <= const { shape::longest(U::SHAPES, Shape::Short) } {
        unit.small(message, direction);
    } else {
        long(unit, message, direction);
    }
}

/// As [`single`], for a message that is not short.
#[inline(never)]
fn long<U: Unit>(unit: U, message: &mut Message<'_>, direction: Direction) {
    let shape = shape::of(U::SHAPES, core::slice::from_ref(message), Shape::Groups);
    in_shape(unit, shape, message, direction);
}

/// As [`single`], in a shape that its length permits.
#[inline(always)]
pub(super) fn in_shape<U: Unit>(unit: U, shape: Shape, message: &mut Message<'_>, direction: Direction) {
    match shape {
        Shape::Short => unit.small(message, direction),
        Shape::Single => alone::<U, SINGLE>(unit, message, direction),
        Shape::Medium => alone::<U, MEDIUM>(unit, message, direction),
        Shape::Stitched => unit.stitched(message, direction),
        _ => groups(unit, core::slice::from_mut(message), direction),
    }
}

/// As [`single`], for a message of less than `BLOCKS` blocks.
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

/// Blocks of key stream that [`Shape::Single`] makes at most, the one-time key's among them.
pub(super) const SINGLE: usize = 8;
/// The same of [`Shape::Medium`].
pub(super) const MEDIUM: usize = 20;
