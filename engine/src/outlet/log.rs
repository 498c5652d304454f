//! The samples that some consumer has not taken yet, encoded once for all consumers of one encoding.
//!
//! A log is a row of blocks. The last one grows. All others are frozen and shared, and a thread can
//! send from them without a lock. A block begins at the first byte of a sample and ends with the last
//! byte of one. Positions count bytes since the log was made and never repeat.
//!
//! ```text
//!   `release` takes away here                   `append` adds here
//!   │                                           │
//!   ▼                                           ▼
//!   ├── frozen block ──┼── frozen ──┼── growing ┤
//!          ▲                 ▲                  ▲
//!          a slow consumer   another            `end`
//! ```
//!
//! While every consumer keeps up, nothing is stored here at all. Samples go from the pushing thread
//! to the sockets, and the log stays empty.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use schwann_proto::wire::sample::StampTracker;

use crate::codec::SampleCodec;

/// Whole samples, one after the other, in their wire form.
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// Position of the first byte.
    start: u64,
    /// Index of the first sample, counted since the log was made.
    first_sample: u64,
    /// How many samples there are.
    samples: u64,
    /// The stamps before the first sample, so that a deduced stamp can be made explicit.
    stamps: StampTracker,
}

impl Block {
    fn empty(stamps: StampTracker) -> Self {
        Self { bytes: Vec::new(), start: 0, first_sample: 0, samples: 0, stamps }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes from `position` on.
    pub(crate) fn from(&self, position: u64) -> &[u8] {
        let offset = position.saturating_sub(self.start) as usize;
        self.bytes.get(offset..).unwrap_or_default()
    }

    /// Begins anew, without samples.
    fn restart(&mut self, start: u64, first_sample: u64) {
        self.start = start;
        self.first_sample = first_sample;
        self.samples = 0;
        self.bytes.clear();
        if self.bytes.capacity() > SPARE_LEN {
            self.bytes = Vec::new();
        }
    }

    /// Takes all the memory of a block that small pushes fill. The system hands out its pages when they are
    /// first written. So this costs little, and no later push has to wait for the heap.
    fn reserve(&mut self) {
        self.bytes.reserve_exact(BLOCK_LEN.saturating_sub(self.bytes.len()));
    }

    /// Returns where the sample that holds the byte at `position` ends, and the index of the sample
    /// after it. At a boundary that is `position` itself.
    fn boundary_from(&self, codec: &SampleCodec, position: u64) -> (u64, u64) {
        let (mut at, mut sample) = (self.start, self.first_sample);
        while at < position {
            at += codec.sample_len(self.from(at)) as u64;
            sample += 1;
        }
        (at, sample)
    }
}

/// One encoding's blocks.
pub(crate) struct Log {
    codec: SampleCodec,
    /// The older blocks, the oldest first. Threads that send from them have references of their own.
    frozen: VecDeque<Arc<Block>>,
    /// The block that grows; this is the only reference to it.
    tail: Arc<Block>,
    /// Emptied blocks, for reuse; these are the only references to them.
    spare: Vec<Arc<Block>>,
    /// Bytes in all blocks, the growing one included.
    stored_bytes: usize,
}

/// Where a consumer goes on after samples were dropped.
pub(crate) struct Skip {
    /// The rest of a sample that was begun.
    pub(crate) begun: Vec<u8>,
    /// The first sample behind the gap, with an explicit stamp.
    pub(crate) first: Vec<u8>,
    /// Position of the byte to send after these two.
    pub(crate) position: u64,
    /// How many samples the consumer will never see.
    pub(crate) dropped: u64,
}

impl Log {
    pub(crate) fn new(codec: SampleCodec) -> Self {
        let tail = Arc::new(Block::empty(codec.stamp_tracker()));
        Self { codec, frozen: VecDeque::new(), tail, spare: Vec::new(), stored_bytes: 0 }
    }

    /// Stores `pending`, which holds `samples` whole samples, and returns the position of its first byte.
    ///
    /// `pending` comes back empty, with capacity to be filled again.
    pub(crate) fn append(&mut self, pending: &mut Vec<u8>, samples: u64, stamps: StampTracker) -> u64 {
        self.stored_bytes += pending.len();
        let own_block = pending.len() >= OWN_BLOCK_LEN;
        if own_block || self.tail.bytes.len() + pending.len() > BLOCK_LEN {
            self.freeze();
        }
        let start = self.tail.end();
        let tail = self.tail_mut();
        if tail.bytes.is_empty() {
            tail.stamps = stamps;
        }
        tail.samples += samples;
        if own_block {
            core::mem::swap(&mut tail.bytes, pending);
            self.freeze();
        } else {
            tail.reserve();
            tail.bytes.extend_from_slice(pending);
        }
        pending.clear();
        start
    }

    fn tail_mut(&mut self) -> &mut Block {
        Arc::get_mut(&mut self.tail).expect("the growing block is shared only once it is frozen")
    }

    /// Puts the blocks from `position` on into `into`, at most `most` of them, and returns whether
    /// anything lies there.
    pub(crate) fn blocks_from(&mut self, position: u64, most: usize, into: &mut Vec<Arc<Block>>) -> bool {
        into.clear();
        if position >= self.end() {
            return false;
        }
        if position >= self.tail.start {
            self.freeze();
        }
        let first = self.frozen.partition_point(|block| block.end() <= position);
        into.extend(self.frozen.iter().skip(first).take(most).map(Arc::clone));
        !into.is_empty()
    }

    /// Says how a consumer at `position` that may lag `capacity` samples goes on, if it lags more.
    pub(crate) fn skip(&self, position: u64, capacity: u64) -> Option<Skip> {
        let target = self.next_sample().checked_sub(capacity)?;
        let block = self.block_at(position)?;
        if block.first_sample >= target {
            return None;
        }
        let (boundary, sample) = block.boundary_from(&self.codec, position);
        if sample >= target {
            return None;
        }
        let rest = (boundary - position) as usize;
        let begun = block.from(position).get(..rest).unwrap_or_default().to_vec();
        let mut first = Vec::new();
        let position = self.explicit_sample(target, &mut first);
        Some(Skip { begun, first, position, dropped: target - sample })
    }

    /// Writes the sample with index `target`, its stamp made explicit, and returns the position behind it.
    fn explicit_sample(&self, target: u64, out: &mut Vec<u8>) -> u64 {
        let block = self.blocks().find(|block| target < block.first_sample + block.samples);
        let Some(block) = block else { return self.end() };
        let mut stamps = block.stamps;
        let before = (target - block.first_sample) as usize;
        let at = block.start + self.codec.skip(&block.bytes, before, &mut stamps).bytes as u64;
        let sample = block.from(at);
        let len = self.codec.skip(sample, 1, &mut stamps).bytes;
        self.codec.with_explicit_stamp(sample, stamps.previous(), out);
        at + len as u64
    }

    /// Whether a block could be let go of if no consumer lagged more than `capacity` samples and
    /// `bytes` bytes.
    pub(crate) fn is_over(&self, capacity: u64, bytes: usize) -> bool {
        let Some(first) = self.frozen.front() else { return false };
        self.stored_bytes > bytes
            || first.first_sample + first.samples <= self.next_sample().saturating_sub(capacity)
    }

    /// How many samples the newest `bytes` bytes hold, estimated from the blocks' mean.
    pub(crate) fn samples_in(&self, bytes: usize) -> u64 {
        let first = self.frozen.front().map_or(self.tail.first_sample, |block| block.first_sample);
        let samples = self.next_sample() - first;
        (samples as u128 * bytes as u128 / (self.stored_bytes.max(1) as u128)) as u64
    }

    /// Lets go of every block that ends at or before `position`, the place of the slowest consumer.
    pub(crate) fn release(&mut self, position: u64) {
        while self.frozen.front().is_some_and(|block| block.end() <= position) {
            if let Some(block) = self.frozen.pop_front() {
                self.stored_bytes -= block.bytes.len();
                self.recycle(block);
            }
        }
        if self.frozen.is_empty() && self.tail.end() <= position {
            self.stored_bytes = 0;
            self.restart_tail();
        }
    }

    /// Empties the growing block in place once all consumers are past it.
    fn restart_tail(&mut self) {
        let (start, first_sample) = (self.tail.end(), self.next_sample());
        self.tail_mut().restart(start, first_sample);
    }

    fn recycle(&mut self, mut block: Arc<Block>) {
        let Some(emptied) = Arc::get_mut(&mut block) else { return };
        if self.spare.len() < SPARE_BLOCKS && emptied.bytes.capacity() <= SPARE_LEN {
            emptied.bytes.clear();
            self.spare.push(block);
        }
    }

    /// Turns the growing block into a frozen one.
    fn freeze(&mut self) {
        if self.tail.bytes.is_empty() {
            return;
        }
        let (start, first_sample) = (self.tail.end(), self.next_sample());
        let next = self.spare.pop().unwrap_or_else(|| Arc::new(Block::empty(self.codec.stamp_tracker())));
        self.frozen.push_back(core::mem::replace(&mut self.tail, next));
        let tail = self.tail_mut();
        tail.restart(start, first_sample);
        // Mostly the server thread freezes: then it pays for the memory, and not the next push.
        tail.reserve();
    }

    fn block_at(&self, position: u64) -> Option<&Block> {
        self.blocks().find(|block| position < block.end())
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.frozen.iter().map(Arc::as_ref).chain(core::iter::once(self.tail.as_ref()))
    }

    /// Position behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.tail.end()
    }

    /// Bytes kept for consumers that lag.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }

    fn next_sample(&self) -> u64 {
        self.tail.first_sample + self.tail.samples
    }
}

/// Blocks filled with small pushes are frozen at this size, in bytes.
const BLOCK_LEN: usize = 64 * 1024;
/// A push of at least this many bytes becomes a block of its own instead of being copied.
const OWN_BLOCK_LEN: usize = 16 * 1024;
/// How many emptied blocks are kept for reuse.
const SPARE_BLOCKS: usize = 4;
/// The memory of larger emptied blocks is given back to the system, in bytes.
const SPARE_LEN: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
