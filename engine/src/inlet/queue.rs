//! Samples that have arrived and were not pulled yet, in their wire form.
//!
//! The bytes stay as they came from the socket until a pull decodes them into the caller's memory. This
//! takes one copy, and no work for samples that are dropped. Memory is taken in blocks as it fills and
//! given back as it empties. A block begins at a sample's first byte, so that a sample is always
//! contiguous.
//!
//! A reader takes the last block away, fills it without a lock, and brings it back.

use alloc::collections::VecDeque;
use core::ops::Range;

use schwann_proto::wire::sample::{Extent, Malformed, StampTracker, Value};

use crate::codec::QueueCodec;

/// A buffer of whole samples, and perhaps the beginning of one more.
pub(crate) struct Block {
    bytes: Box<[u8]>,
    /// Samples before this offset were pulled or dropped.
    read: usize,
    /// Samples before this offset are whole.
    whole: usize,
    /// Bytes before this offset have arrived.
    filled: usize,
    samples: usize,
}

impl Block {
    fn with_len(len: usize) -> Self {
        Self { bytes: vec![0; len].into_boxed_slice(), read: 0, whole: 0, filled: 0, samples: 0 }
    }

    /// Where the next bytes from the socket go.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.filled..).unwrap_or_default()
    }

    /// Notes that `count` bytes were put into the front of [`Self::room`].
    pub(crate) fn add(&mut self, count: usize) {
        self.filled = self.bytes.len().min(self.filled + count);
    }

    /// Notes that bytes lie in the [`room`](Self::room) at `place`, and no valid ones before them there. Returns
    /// their count.
    pub(crate) fn add_placed(&mut self, place: Range<usize>) -> usize {
        let count = place.len();
        if self.filled == 0 {
            // Nothing is kept before them: what does not count is passed over.
            self.filled = self.bytes.len().min(place.end);
            self.whole = self.filled.min(place.start);
            self.read = self.whole;
            return count;
        }
        if place.start > 0 {
            self.room().copy_within(place, 0);
        }
        self.add(count);
        count
    }

    /// Copies as much of `bytes` as there is room for, and returns how much that is.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room().len());
        for (room, bytes) in self.room().get_mut(..count).into_iter().zip(bytes.get(..count)) {
            room.copy_from_slice(bytes);
        }
        self.add(count);
        count
    }

    fn unread(&self) -> &[u8] {
        self.bytes.get(self.read..self.whole).unwrap_or_default()
    }

    /// Bytes of a sample that has not arrived completely.
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.whole..self.filled).unwrap_or_default()
    }

    /// Moves the beginning of the incomplete sample to the front, once nothing else is left.
    fn rewind(&mut self) {
        self.bytes.copy_within(self.whole..self.filled, 0);
        self.filled -= self.whole;
        self.whole = 0;
        self.read = 0;
    }
}

/// One stream's arrived samples.
pub(crate) struct SampleQueue {
    codec: QueueCodec,
    blocks: VecDeque<Block>,
    spare: Option<Block>,
    samples: usize,
    /// Most samples kept; older ones are dropped.
    capacity: usize,
    /// Most bytes kept.
    byte_limit: usize,
    bytes: usize,
    /// Reads since a large sample was under way.
    small_reads: u32,
    stamps: StampTracker,
    dropped: u64,
}

impl SampleQueue {
    /// A queue for the samples of one connection.
    pub(crate) fn new(codec: QueueCodec, capacity: usize, byte_limit: usize) -> Self {
        Self {
            stamps: codec.stamp_tracker(),
            codec,
            blocks: VecDeque::new(),
            spare: None,
            samples: 0,
            capacity,
            byte_limit,
            bytes: 0,
            small_reads: 0,
            dropped: 0,
        }
    }

    /// Samples that can be pulled.
    pub(crate) fn len(&self) -> usize {
        self.samples
    }

    /// Samples that were dropped because they were not pulled in time.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Bytes of the samples that can be pulled.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Takes the block that the next bytes belong into; bring it back with [`Self::put_back`].
    pub(crate) fn take_tail(&mut self) -> Block {
        match self.blocks.pop_back() {
            Some(mut tail) if tail.samples == 0 => {
                tail.rewind();
                let tail = self.shrink(tail);
                self.grow(tail)
            }
            Some(tail) if tail.bytes.len() - tail.filled < READ_ROOM => {
                let mut next = self.fresh(tail.rest().len() + READ_ROOM);
                next.fill(tail.rest());
                self.blocks.push_back(Block { filled: tail.whole, ..tail });
                next
            }
            Some(tail) => tail,
            None => self.fresh(BLOCK_LEN),
        }
    }

    /// Gives a large block back once no large sample has come for a while.
    fn shrink(&mut self, tail: Block) -> Block {
        self.small_reads = if tail.filled < BLOCK_LEN / 2 { self.small_reads.saturating_add(1) } else { 0 };
        if tail.bytes.len() <= BLOCK_LEN || self.small_reads < SMALL_READS {
            return tail;
        }
        self.small_reads = 0;
        let mut smaller = self.fresh(BLOCK_LEN);
        smaller.fill(tail.rest());
        smaller
    }

    /// Makes room for a sample that is larger than its block.
    fn grow(&mut self, tail: Block) -> Block {
        if tail.bytes.len() - tail.filled >= READ_ROOM.min(tail.bytes.len() / 2) {
            return tail;
        }
        let mut larger = self.fresh(tail.bytes.len() * 2);
        larger.fill(tail.rest());
        larger
    }

    fn fresh(&mut self, len: usize) -> Block {
        match self.spare.take() {
            Some(spare) if spare.bytes.len() >= len => spare,
            _ => Block::with_len(len.max(BLOCK_LEN)),
        }
    }

    /// Takes a block back from its reader and counts what arrived in it.
    ///
    /// - Errors: [`Malformed`] if the bytes cannot be samples; those before remain to be pulled.
    pub(crate) fn put_back(&mut self, mut block: Block) -> Result<(), Malformed> {
        let counted = match self.codec.count(block.rest()) {
            Ok(counted) => counted,
            Err(malformed) => {
                self.blocks.push_back(block);
                return Err(malformed);
            }
        };
        block.whole += counted.bytes;
        block.samples += counted.samples;
        self.samples += counted.samples;
        self.bytes += counted.bytes;
        self.blocks.push_back(block);
        let over = self.samples.saturating_sub(self.capacity);
        self.drop_oldest(over);
        while self.bytes > self.byte_limit && self.samples > 1 {
            self.drop_oldest(1);
        }
        Ok(())
    }

    /// Drops the oldest samples until there is room for as many newer ones in other queues.
    pub(crate) fn make_room(&mut self, samples: usize, bytes: usize) {
        let over = (self.samples + samples).saturating_sub(self.capacity);
        self.drop_oldest(over.min(self.samples));
        while self.samples > 0 && self.bytes + bytes > self.byte_limit {
            self.drop_oldest(1);
        }
    }

    /// Drops the samples before the first one with a stamp of at least `oldest`, and returns their count.
    pub(crate) fn drop_before(&mut self, oldest: f64) -> usize {
        let mut count = 0;
        while self.samples > 0 && self.next_stamp().is_some_and(|stamp| stamp < oldest) {
            self.drop_oldest(1);
            count += 1;
        }
        count
    }

    /// The stamp of the oldest sample.
    pub(crate) fn next_stamp(&self) -> Option<f64> {
        let (stamp, ..) = self.codec.split(self.blocks.front()?.unread())?;
        let mut stamps = self.stamps;
        Some(stamps.resolve(stamp))
    }

    /// Drops everything, and returns how many samples that were.
    pub(crate) fn flush(&mut self) -> usize {
        let samples = self.samples;
        self.pass(samples);
        samples
    }

    fn drop_oldest(&mut self, count: usize) {
        self.pass(count);
        self.dropped += count as u64;
    }

    /// Passes over the oldest `count` samples; at least so many exist.
    fn pass(&mut self, count: usize) {
        let mut left = count;
        while left > 0
            && let Some(block) = self.blocks.front()
        {
            let extent = self.codec.skip(block.unread(), left, &mut self.stamps);
            left -= extent.samples;
            self.consume(extent);
        }
    }

    /// Takes the oldest sample: its stamp, and what `read` made of its values.
    pub(crate) fn pop<R>(&mut self, read: impl FnOnce(&QueueCodec, &[u8]) -> R) -> Option<(f64, R)> {
        let (stamp, values, len) = {
            let bytes = self.blocks.front()?.unread();
            let (stamp, values, rest) = self.codec.split(bytes)?;
            (self.stamps.resolve(stamp), values, bytes.len() - rest.len())
        };
        let outcome = read(&self.codec, values);
        self.consume(Extent { samples: 1, bytes: len });
        Some((stamp, outcome))
    }

    /// Takes as many samples of the first block as `out` (samples × channels) and `stamps` have room for;
    /// returns how many.
    pub(crate) fn pop_chunk<T: Value>(&mut self, out: &mut [T], stamps: &mut [f64]) -> usize {
        let Some(block) = self.blocks.front() else { return 0 };
        let extent = self.codec.decode_chunk(block.unread(), out, stamps, &mut self.stamps);
        self.consume(extent);
        extent.samples
    }

    fn consume(&mut self, Extent { samples, bytes }: Extent) {
        self.samples -= samples;
        self.bytes -= bytes;
        let Some(block) = self.blocks.front_mut() else { return };
        block.samples -= samples;
        block.read += bytes;
        if block.samples == 0 && self.blocks.len() > 1 {
            // A block in front of another one holds whole samples only.
            self.recycle();
        }
    }

    fn recycle(&mut self) {
        let Some(mut block) = self.blocks.pop_front() else { return };
        if block.bytes.len() == BLOCK_LEN {
            block.whole = block.filled;
            block.rewind();
            self.spare = Some(block);
        }
    }
}

/// Bytes of a block. The system hands out its pages when they are first written. So an inlet whose samples
/// are pulled as they come touches the first page or two.
const BLOCK_LEN: usize = 256 * 1024;
/// A read is worth its system call only if the block has this much room.
const READ_ROOM: usize = 16 * 1024;
/// A block made for a large sample is given back after this many reads without such a sample.
const SMALL_READS: u32 = 64;

#[cfg(test)]
mod tests;
