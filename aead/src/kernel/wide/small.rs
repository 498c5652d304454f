//! One short message, in one piece of code with few branches.
//!
//! A sample is a short message, and between two samples the CPU sleeps. When the next one is sealed, the code is in
//! no cache, and its pages and branches are unknown. Such a message costs three times what it does in a loop. Its
//! cost depends on the lines, pages and branches touched, less on the instructions.

use super::{Block, Direction, Message, Number, Simd, settle};

/// Seals or opens one message of fewer than `BLOCKS` blocks; opening sets its outcome.
#[inline(always)]
pub(in crate::kernel) fn message<const BLOCKS: usize, S: Simd>(
    unit: S,
    message: &mut Message<'_>,
    direction: Direction,
) {
    let stream = &mut [Block::ZERO; BLOCKS];
    let blocks = message.buffer.len().div_ceil(64) + 1;
    match blocks.div_ceil(S::PARTS) {
        1 => unit.blocks_from::<1>(message.key, &message.nonce, 0, stream),
        2 => unit.blocks_from::<2>(message.key, &message.nonce, 0, stream),
        _ => unit.blocks_from::<SETS>(message.key, &message.nonce, 0, stream),
    }
    let Some((one_time, stream)) = stream.split_first() else { return };
    if direction == Direction::Seal {
        unit.apply(message.buffer, stream);
    }
    let r = Number::r(one_time);
    let sum = Number::ZERO.absorb(message.aad, r).absorb(message.buffer, r);
    settle(message, sum.finish(message.aad.len(), message.buffer.len(), r, one_time), direction);
    if direction == Direction::Open {
        if message.outcome.is_ok() {
            unit.apply(message.buffer, stream);
        } else {
            message.buffer.fill(0);
        }
    }
}

/// Sets of registers whose key stream serves a short message.
pub(in crate::kernel) const SETS: usize = 3;
