//! One short message, in one piece of code with few branches.
//!
//! A sample is a short message, and between two samples the CPU sleeps: the code that seals the next one is then in no
//! cache, nor are its pages and branches known. Such a message costs three times what it does in a loop, and what it costs
//! depends on the lines, pages and branches that are touched, less on the instructions.

use core::mem::MaybeUninit;

use super::{Block, Direction, Message, Number, Simd, Unit, settle};

/// Sets of registers whose key stream serves a short message.
pub(in crate::kernel) const SETS: usize = 3;

/// Seals or opens one message; opening sets its outcome. `stream` has `SETS · PARTS` blocks, and the message fewer than
/// that.
#[inline(always)]
pub(in crate::kernel) fn message<S: Simd + Unit>(
    unit: S,
    message: &mut Message<'_>,
    direction: Direction,
    stream: &mut [Block],
) {
    let blocks = message.buffer.len().div_ceil(64) + 1;
    match blocks.div_ceil(<S as Simd>::PARTS) {
        1 => unit.blocks_from::<1>(message.key, &message.nonce, 0, stream),
        2 => unit.blocks_from::<2>(message.key, &message.nonce, 0, stream),
        _ => unit.blocks_from::<SETS>(message.key, &message.nonce, 0, stream),
    }
    let Some((one_time, stream)) = stream.split_first() else { return };
    if direction == Direction::Seal {
        Simd::apply(unit, message.buffer, stream);
    }
    let r = Number::r(one_time);
    let sum = Number::ZERO.absorb(message.aad, r).absorb(message.buffer, r);
    settle(message, sum.finish(message.aad.len(), message.buffer.len(), r, one_time), direction);
    if direction == Direction::Open {
        if message.outcome.is_ok() {
            Simd::apply(unit, message.buffer, stream);
        } else {
            message.buffer.fill(0);
        }
    }
}

/// Overwrites what [`message`] has left on the stack, in a loop that is not unrolled.
#[inline(always)]
pub(in crate::kernel) fn wipe<const DEPTH: usize>() {
    let mut below = [const { MaybeUninit::<[u64; 16]>::uninit() }; DEPTH];
    let depth = core::hint::black_box(DEPTH);
    for some in below.iter_mut().take(depth) {
        core::hint::black_box(some.write([0; 16]));
    }
}

/// How deep the frames of [`message`] reach with so many blocks of key stream, in pieces of 128 bytes. A test looks for what
/// remains.
pub(in crate::kernel) const fn depth(blocks: usize) -> usize {
    if blocks <= 6 { 8 } else { blocks / 2 + 5 }
}
