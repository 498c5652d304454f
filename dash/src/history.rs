//! The last minutes of a stream as they came. People look back at them, and a newly chosen view begins with them.
//!
//! All streams share one bound of memory. A stream that finds it used up gives away its own oldest samples, and never
//! those of another one.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{collections::VecDeque, sync::Arc};

/// The memory that all histories share.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicUsize);

/// Samples one after another; once complete it does not change.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Number of its first sample since the stream was first seen.
    first: u64,
    stamps: Vec<f64>,
    bytes: Vec<u8>,
    sample_len: usize,
}

/// Raw samples, limited in bytes and in time.
#[derive(Debug)]
pub(super) struct History {
    complete: VecDeque<Arc<Block>>,
    open: Block,
    block_samples: usize,
    room: Arc<Room>,
}

impl Block {
    fn new(first: u64, sample_len: usize) -> Self {
        Self { first, stamps: Vec::new(), bytes: Vec::new(), sample_len }
    }

    /// Number of the sample that follows.
    pub(super) fn end(&self) -> u64 {
        self.first + self.stamps.len() as u64
    }

    /// Stamp of its newest sample.
    pub(super) fn newest(&self) -> Option<f64> {
        self.stamps.last().copied()
    }

    /// The samples from this number on, with their stamps, oldest first.
    pub(super) fn samples_from(&self, number: u64) -> impl Iterator<Item = (f64, &[u8])> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.stamps.iter().copied().zip(self.bytes.chunks_exact(self.sample_len.max(1))).skip(skipped)
    }

    fn size(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.stamps)
    }
}

impl History {
    /// Begins without samples, each of which will have this many bytes.
    pub(super) fn new(sample_len: usize, room: Arc<Room>) -> Self {
        let block_samples = (BLOCK_BYTES / (sample_len + size_of::<f64>())).max(1);
        Self { complete: VecDeque::new(), open: Block::new(0, sample_len), block_samples, room }
    }

    /// Keeps a sample; forgets what is too old, or what there is no room for.
    ///
    /// - Shape: `sample` has the length that the history was made for; another one is not kept.
    pub(super) fn add(&mut self, stamp: f64, sample: &[u8]) {
        if sample.len() != self.open.sample_len || sample.is_empty() {
            return;
        }
        if self.open.stamps.is_empty() {
            // Room for all at once: blocks of one size leave holes that the next ones fill. Not before a sample came: a
            // made-up description may claim samples of gigabytes.
            self.open.stamps.reserve_exact(self.block_samples);
            self.open.bytes.reserve_exact(self.block_samples.saturating_mul(sample.len()));
        }
        self.open.stamps.push(stamp);
        self.open.bytes.extend_from_slice(sample);
        if self.open.stamps.len() >= self.block_samples {
            self.complete_block(stamp);
        }
    }

    fn complete_block(&mut self, now: f64) {
        let next = Block::new(self.open.end(), self.open.sample_len);
        let block = core::mem::replace(&mut self.open, next);
        let taken = self.room.0.fetch_add(block.size(), Ordering::Relaxed) + block.size();
        self.complete.push_back(Arc::new(block));
        let mut over = taken.saturating_sub(ROOM_BYTES);
        while let Some(oldest) = self.complete.front() {
            let is_old = oldest.newest().is_none_or(|newest| newest < now - HISTORY_SECONDS);
            if !is_old && (over == 0 || self.complete.len() <= LEAST_BLOCKS) {
                break;
            }
            over = over.saturating_sub(oldest.size());
            self.room.0.fetch_sub(oldest.size(), Ordering::Relaxed);
            self.complete.pop_front();
        }
    }

    /// All blocks, oldest first; the last one is a copy of what is not complete yet.
    pub(super) fn blocks(&self) -> Vec<Arc<Block>> {
        let open = Arc::new(self.open.clone());
        self.complete.iter().cloned().chain([open]).collect()
    }

    /// The samples from this number on, oldest first.
    pub(super) fn samples_from(&self, number: u64) -> impl Iterator<Item = (f64, &[u8])> {
        let complete = self.complete.iter().map(|block| &**block).filter(move |block| block.end() > number);
        complete.chain([&self.open]).flat_map(move |block| block.samples_from(number))
    }

    /// Number of the sample that follows.
    pub(super) fn end(&self) -> u64 {
        self.open.end()
    }

    /// Stamp of the oldest sample that is kept.
    pub(super) fn oldest(&self) -> Option<f64> {
        self.complete.front().map_or(&self.open, |block| &**block).stamps.first().copied()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        let held: usize = self.complete.iter().map(|block| block.size()).sum();
        self.room.0.fetch_sub(held, Ordering::Relaxed);
    }
}

/// How far back a person can look.
pub(super) const HISTORY_SECONDS: f64 = 600.0;
/// What all streams together keep; ten minutes of 200 channels at 1 kHz.
pub(super) const ROOM_BYTES: usize = 512 << 20;
const BLOCK_BYTES: usize = 256 << 10;
/// What a stream keeps even if others were first.
const LEAST_BLOCKS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_come_back_in_their_order_across_blocks() {
        let mut history = History::new(2, Arc::default());
        for n in 0..60_000_u32 {
            history.add(f64::from(n) / 1e3, &(n as u16).to_ne_bytes());
            history.add(0.0, &[0]);
        }
        assert!(history.complete.len() > 1);
        let from = |number| history.samples_from(number).map(|(stamp, _)| stamp);
        assert!(from(0).eq((0..60_000).map(|n| f64::from(n) / 1e3)));
        assert!(from(59_998).eq([59.998, 59.999]));
        let kept: usize = history.blocks().iter().map(|block| block.stamps.len()).sum();
        assert_eq!(kept, 60_000);
    }

    #[test]
    fn what_is_older_than_ten_minutes_goes() {
        let mut history = History::new(1_000, Arc::default());
        (0..2_000).for_each(|second| history.add(f64::from(second), &[0; 1_000]));
        let oldest = history.oldest().expect("samples are kept");
        assert!((1_000.0..1_400.0).contains(&oldest), "{oldest}");
    }

    #[test]
    fn streams_share_one_bound_and_each_keeps_a_little() {
        let room = Arc::<Room>::default();
        room.0.store(ROOM_BYTES, Ordering::Relaxed);
        let mut history = History::new(1 << 20, Arc::clone(&room));
        (0..50).for_each(|n| history.add(f64::from(n), &vec![0; 1 << 20]));
        assert_eq!(history.complete.len(), LEAST_BLOCKS);
        drop(history);
        assert_eq!(room.0.load(Ordering::Relaxed), ROOM_BYTES);
    }

    #[test]
    fn nothing_is_taken_for_samples_that_never_came() {
        let history = History::new(i32::MAX as usize * 8, Arc::default());
        assert_eq!((history.open.bytes.capacity(), history.open.stamps.capacity()), (0, 0));
    }

    #[test]
    fn texts_are_not_kept() {
        let mut history = History::new(0, Arc::default());
        history.add(1.0, &[]);
        assert_eq!((history.oldest(), history.blocks().len()), (None, 1));
    }
}
