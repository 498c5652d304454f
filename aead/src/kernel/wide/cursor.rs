//! Where key stream is made and applied, block by block through all messages of a batch.

use super::{Block, Message, Unit};

/// A place in the sequence of all data blocks of all messages.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub(super) index: usize,
    /// The byte of that message.
    pub(super) at: usize,
}

impl Cursor {
    pub(super) const START: Self = Self { index: 0, at: 0 };

    /// Writes the initial states of the next blocks after the first `filled`; returns how many there are.
    pub(super) fn fill(&mut self, messages: &[Message<'_>], pass: &mut [Block], mut filled: usize) -> usize {
        while let Some(message) = messages.get(self.index) {
            let wanted = (message.buffer.len() - self.at).div_ceil(64);
            let now = wanted.min(pass.len() - filled);
            let initial = Block::initial(message.key, &message.nonce, 0);
            let mut counter = (self.at / 64) as u32;
            for block in &mut pass[filled..filled + now] {
                counter += 1;
                *block = initial.with_counter(counter);
            }
            filled += now;
            if now < wanted {
                self.at += 64 * now;
                break;
            }
            *self = Self { index: self.index + 1, at: 0 };
        }
        filled
    }

    /// Applies the next blocks of key stream, but not to messages that did not verify.
    pub(super) fn apply<U: Unit>(&mut self, unit: U, messages: &mut [Message<'_>], mut stream: &[Block]) {
        while let Some(message) = messages.get_mut(self.index) {
            let data = &mut message.buffer[self.at..];
            let wanted = data.len().div_ceil(64);
            let now = wanted.min(stream.len());
            let (blocks, later) = stream.split_at(now);
            let length = data.len().min(64 * now);
            if message.outcome.is_ok() {
                unit.apply(&mut data[..length], blocks);
            }
            stream = later;
            if now < wanted {
                self.at += 64 * now;
                break;
            }
            *self = Self { index: self.index + 1, at: 0 };
        }
    }
}
