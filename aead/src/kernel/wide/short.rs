//! Batches of short messages, whose key stream is made while what lies before is summed.
//!
//! The blocks of all messages, key blocks included, go through passes of eight. Each pass also adds to the sums
//! what the pass before has made. So a short message costs no more blocks than it has, and its sum hides in the
//! next pass. Opening compares a tag before it decrypts the last part of its message. Parts decrypted before are
//! wiped if the tag does not verify.

use super::pass::{Run, SLOTS, States};
use super::under_way::UnderWay;
use super::{Block, Direction, Message, Unit, settle};
use crate::kernel::scalar;

/// Seals or opens every message; opening sets its outcome. The plans have no secrets, so they lie where nothing is wiped.
#[inline(always)]
pub(in crate::kernel) fn batch<U: Unit>(
    unit: U,
    messages: &mut [Message<'_>],
    direction: Direction,
    plans: &mut [Plan; 3],
) {
    let Some(Message { key, .. }) = messages.first() else { return };
    let mut streams = [[Block::ZERO; 8]; 2];
    let mut under_way = UnderWay::NOTHING;
    let mut states = [States::new(key), States::new(key)];
    let mut staged = [[[0; 16]; 2]; 8];
    let [mut current, mut next] = states.each_mut();
    let [mut behind, mut plan, mut later] = plans.each_mut();
    let [mut before, mut now] = streams.each_mut();
    let mut ahead = Ahead { message: 0, block: 0 };
    ahead.plan(messages, current, plan);
    while plan.count + behind.count > 0 {
        // A pass early: what was written a moment ago, word by word, cannot be read at once as a whole.
        ahead.plan(messages, next, later);
        // Mostly there are few, and what need not be written costs nothing.
        let (mut few, mut many);
        let runs: &mut [Run<'_>] = if behind.count <= 4 {
            few = [Run::NOTHING; 8];
            &mut few
        } else {
            many = [Run::NOTHING; 16];
            &mut many
        };
        let (count, steps) = behind.runs(messages, &mut staged, runs);
        let mut sums = under_way.sums(&runs[..count], steps);
        match plan.blocks {
            0 => unit.sum(&mut sums),
            // A pass with little in it: what makes fewer blocks is done sooner.
            blocks @ 1..=4 if sums.steps <= LITTLE => {
                current.write(now);
                unit.key_stream(&mut now[..blocks.next_multiple_of(U::PARTS)]);
                unit.sum(&mut sums);
            }
            _ => unit.pass(current, now, &mut sums),
        }
        behind.settle(unit, messages, direction, before, &under_way);
        plan.start(unit, messages, direction, now, &mut under_way);
        core::mem::swap(&mut now, &mut before);
        core::mem::swap(&mut current, &mut next);
        (behind, plan, later) = (plan, later, behind);
    }
    if direction == Direction::Open {
        for message in messages.iter_mut().filter(|message| message.outcome.is_err()) {
            message.buffer.fill(0);
        }
    }
}

/// What a pass makes of one message.
#[derive(Clone, Copy)]
struct Portion {
    message: usize,
    /// The first block of the pass that belongs to it.
    first: usize,
    /// Whether that is the message's block 0.
    begins: bool,
    /// Whether the message ends with it.
    ends: bool,
    /// The bytes of the message.
    start: usize,
    end: usize,
}

impl Portion {
    const NOTHING: Self = Self { message: 0, first: 0, begins: false, ends: false, start: 0, end: 0 };

    /// The blocks of the pass that its bytes are encrypted with.
    #[inline(always)]
    fn data<'s>(&self, stream: &'s [Block; 8]) -> &'s [Block] {
        &stream[self.first + usize::from(self.begins)..]
    }
}

/// What a pass makes.
pub(in crate::kernel) struct Plan {
    portions: [Portion; 8],
    count: usize,
    blocks: usize,
}

impl Plan {
    pub(super) const NOTHING: Self = Self { portions: [Portion::NOTHING; 8], count: 0, blocks: 0 };

    #[inline(always)]
    fn portions(&self) -> &[Portion] {
        &self.portions[..self.count.min(8)]
    }

    /// Lists the parts of this plan's texts to add to the sums; returns their number of runs and blocks.
    #[inline(always)]
    fn runs<'t>(
        &self,
        messages: &'t [Message<'_>],
        staged: &'t mut [[[u8; 16]; 2]; 8],
        runs: &mut [Run<'t>],
    ) -> (usize, usize) {
        for (portion, [tail, lengths]) in self.portions().iter().zip(&mut *staged) {
            if portion.ends {
                let Message { aad, buffer, .. } = &messages[portion.message];
                *tail = scalar::padded_tail(&buffer[portion.start..portion.end]).unwrap_or_default();
                *lengths = scalar::lengths(aad.len(), buffer.len());
            }
        }
        let (mut count, mut steps) = (0, 0);
        let mut add = |slot, text: &'t [[u8; 16]]| {
            if !text.is_empty() {
                runs[count] = Run { slot, text };
                count += 1;
                steps += text.len();
            }
        };
        for (portion, staged) in self.portions().iter().zip(&*staged) {
            let slot = portion.message % SLOTS;
            let (whole, tail) = messages[portion.message].buffer[portion.start..portion.end].as_chunks();
            add(slot, whole);
            if portion.ends {
                add(slot, &staged[usize::from(tail.is_empty())..]);
            }
        }
        (count, steps)
    }

    /// After the sums were worked on: finishes the sums that end, and decrypts the summed text when
    /// opening.
    #[inline(always)]
    fn settle<U: Unit>(
        &self,
        unit: U,
        messages: &mut [Message<'_>],
        direction: Direction,
        stream: &[Block; 8],
        under_way: &UnderWay<SLOTS>,
    ) {
        for portion in self.portions() {
            let message = &mut messages[portion.message];
            if portion.ends {
                settle(message, under_way.tag(portion.message % SLOTS), direction);
            }
            if direction == Direction::Open && message.outcome.is_ok() {
                unit.apply(&mut message.buffer[portion.start..portion.end], portion.data(stream));
            }
        }
    }

    /// After the key stream was made: begins sums, and when sealing encrypts.
    #[inline(always)]
    fn start<U: Unit>(
        &self,
        unit: U,
        messages: &mut [Message<'_>],
        direction: Direction,
        stream: &[Block; 8],
        under_way: &mut UnderWay<SLOTS>,
    ) {
        for portion in self.portions() {
            let message = &mut messages[portion.message];
            if portion.begins {
                under_way.begin(portion.message % SLOTS, &stream[portion.first], message.aad);
            }
            if direction == Direction::Seal {
                unit.apply(&mut message.buffer[portion.start..portion.end], portion.data(stream));
            }
        }
    }
}

/// The block that is to be made next.
struct Ahead {
    message: usize,
    block: usize,
}

impl Ahead {
    /// Plans the next pass.
    #[inline(always)]
    fn plan<'k>(&mut self, messages: &[Message<'k>], states: &mut States<'k>, plan: &mut Plan) {
        let mut filled = 0;
        (plan.count, plan.blocks) = (0, 0);
        while filled < 8 {
            let Some(message) = messages.get(self.message) else { break };
            let all = message.buffer.len().div_ceil(64) + 1;
            let now = (all - self.block).min(8 - filled);
            states.set(filled, now, message.key, &message.nonce, self.block as u32);
            plan.portions[plan.count % 8] = Portion {
                message: self.message,
                first: filled,
                begins: self.block == 0,
                ends: self.block + now == all,
                start: 64 * self.block.saturating_sub(1),
                end: message.buffer.len().min(64 * (self.block + now - 1)),
            };
            plan.count += 1;
            filled += now;
            plan.blocks = filled;
            self.block += now;
            if self.block == all {
                (self.message, self.block) = (self.message + 1, 0);
            }
        }
    }
}

/// So few steps of sums are not worth a pass.
const LITTLE: usize = 8;
