//! The samples a buffer still holds.
//!
//! Bytes live in segments. Only the last one, the tail, is written to, and only by the store's owner. A full
//! tail is closed and never changes again. So readers share it and use it after the lock is gone. Sending a
//! minute of data delays no other thread. Big blocks arrive as segments of their own and are not copied at
//! all. A segment that has left the ring is used again unless a reader still holds it.

use core::ops::{Deref, Range};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of samples that do not change any more, shared with the store.
#[derive(Clone, Debug)]
pub struct SharedBytes {
    segment: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.segment.get(self.range.clone()).unwrap_or_default()
    }
}

/// The ring of one acquisition.
#[derive(Debug)]
pub(super) struct SampleRing {
    stride: usize,
    capacity: u64,
    total: u64,
    closed: VecDeque<Segment>,
    tail: Vec<u8>,
    tail_first: u64,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Segment {
    first: u64,
    bytes: Arc<Vec<u8>>,
}

/// A stretch of consecutive bytes of a read.
enum Run<'a> {
    Closed(&'a Arc<Vec<u8>>, Range<usize>),
    Tail(&'a [u8]),
}

impl SampleRing {
    pub(super) fn new(stride: usize, capacity: u64) -> Self {
        Self {
            stride,
            capacity,
            total: 0,
            closed: VecDeque::new(),
            tail: Vec::new(),
            tail_first: 0,
            spare: Vec::new(),
        }
    }

    /// Appends `count` samples by copying them.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8], count: u64) {
        if self.tail.len() + bytes.len() > self.tail.capacity() {
            self.begin_tail(bytes.len());
        }
        self.tail.extend_from_slice(bytes);
        self.advance(count);
    }

    /// Appends `count` samples by taking the memory they are in; returns shared views of it.
    ///
    /// Each piece must hold whole samples.
    pub(super) fn adopt(&mut self, pieces: Vec<Vec<u8>>, count: u64) -> impl Iterator<Item = SharedBytes> {
        self.close_tail();
        let adopted = self.closed.len();
        let stride = self.stride.max(1);
        for bytes in pieces {
            let samples = (bytes.len() / stride) as u64;
            self.closed.push_back(Segment { first: self.tail_first, bytes: Arc::new(bytes) });
            self.tail_first += samples;
        }
        let before = self.closed.len();
        self.advance(count);
        let evicted = before - self.closed.len();
        self.closed
            .range(adopted.saturating_sub(evicted)..)
            .map(|segment| SharedBytes { segment: Arc::clone(&segment.bytes), range: 0..segment.bytes.len() })
    }

    /// Memory of this length to read samples into; its content has no meaning.
    pub(super) fn take_segment(&mut self, length: usize) -> Vec<u8> {
        match self.take_spare(length) {
            Some(mut bytes) => {
                bytes.resize(length, 0);
                bytes
            }
            // Zeroed by the system where it is first touched, which a resize would do here.
            None => vec![0; length],
        }
    }

    /// Appends samples `first..first + count` to `shared` and, as far as they are not closed yet, to `tail`.
    ///
    /// The caller has checked that they are in the ring.
    pub(super) fn share(&self, first: u64, count: u64, shared: &mut Vec<SharedBytes>, tail: &mut Vec<u8>) {
        self.for_each_run(first, count, |run| match run {
            Run::Closed(segment, range) => shared.push(SharedBytes { segment: Arc::clone(segment), range }),
            Run::Tail(bytes) => tail.extend_from_slice(bytes),
        });
    }

    /// Copies samples `first..first + count`, which are in the ring, to the front of `out`.
    pub(super) fn copy(&self, first: u64, count: u64, mut out: &mut [u8]) {
        self.for_each_run(first, count, |run| {
            let bytes = match &run {
                Run::Closed(segment, range) => segment.get(range.clone()).unwrap_or_default(),
                Run::Tail(bytes) => bytes,
            };
            if let Some((place, rest)) = core::mem::take(&mut out).split_at_mut_checked(bytes.len()) {
                place.copy_from_slice(bytes);
                out = rest;
            }
        });
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    fn for_each_run(&self, first: u64, count: u64, mut each: impl FnMut(Run<'_>)) {
        let end = first + count;
        if self.stride == 0 || count == 0 {
            return;
        }
        let bytes_of =
            |samples: u64| usize::try_from(samples).map_or(usize::MAX, |n| n.saturating_mul(self.stride));
        if first < self.tail_first {
            let start = self.closed.partition_point(|segment| segment.first <= first).saturating_sub(1);
            for segment in self.closed.range(start..) {
                if segment.first >= end {
                    return;
                }
                let from = bytes_of(first.saturating_sub(segment.first));
                let to = bytes_of(end - segment.first).min(segment.bytes.len());
                each(Run::Closed(&segment.bytes, from..to));
            }
        }
        if end > self.tail_first {
            let from = bytes_of(first.saturating_sub(self.tail_first));
            let to = bytes_of(end - self.tail_first);
            each(Run::Tail(self.tail.get(from..to).unwrap_or_default()));
        }
    }

    #[inline]
    fn advance(&mut self, count: u64) {
        self.total += count;
        if self.stride == 0 {
            self.tail_first = self.total;
        }
        let oldest = self.total.saturating_sub(self.capacity);
        loop {
            let next = self.closed.get(1).map_or(self.tail_first, |segment| segment.first);
            if self.closed.is_empty() || next > oldest {
                return;
            }
            if let Some(segment) = self.closed.pop_front() {
                self.recycle(segment);
            }
        }
    }

    fn begin_tail(&mut self, length: usize) {
        self.close_tail();
        let capacity = TAIL_BYTES.max(length);
        self.tail = self.take_spare(capacity).unwrap_or_else(|| Vec::with_capacity(capacity));
        self.tail.clear();
    }

    fn close_tail(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let mut bytes = core::mem::take(&mut self.tail);
        if bytes.len() < bytes.capacity() / 2 {
            bytes.shrink_to_fit();
        }
        let samples = (bytes.len() / self.stride.max(1)) as u64;
        self.closed.push_back(Segment { first: self.tail_first, bytes: Arc::new(bytes) });
        self.tail_first += samples;
    }

    fn recycle(&mut self, segment: Segment) {
        if self.spare.len() < SPARE_SEGMENTS
            && let Ok(bytes) = Arc::try_unwrap(segment.bytes)
        {
            self.spare.push(bytes);
        }
    }

    fn take_spare(&mut self, length: usize) -> Option<Vec<u8>> {
        let fits = |bytes: &Vec<u8>| (length..=length.saturating_mul(2)).contains(&bytes.capacity());
        let index = self.spare.iter().position(fits);
        if index.is_none() {
            // A spare that fits nothing would stay for ever when the size of the blocks changes.
            self.spare.pop();
        }
        index.map(|index| self.spare.swap_remove(index))
    }
}

/// Capacity of the segment that small blocks share: copying out of it takes only microseconds.
const TAIL_BYTES: usize = 64 << 10;

/// Segments kept for use again.
const SPARE_SEGMENTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ring: &SampleRing, first: u64, count: u64) -> Vec<u8> {
        let mut copied = vec![0; usize::try_from(count).unwrap() * ring.stride];
        ring.copy(first, count, &mut copied);
        let (mut shared, mut tail) = (Vec::new(), Vec::new());
        ring.share(first, count, &mut shared, &mut tail);
        let joined: Vec<u8> = shared.iter().flat_map(|bytes| bytes.to_vec()).chain(tail).collect();
        assert_eq!(copied, joined, "copying and sharing disagree");
        copied
    }

    fn pattern(first: u64, count: u64, stride: usize) -> Vec<u8> {
        (first..first + count).flat_map(|n| vec![u8::try_from(n % 251).unwrap(); stride]).collect()
    }

    #[test]
    fn every_window_reads_back_whatever_the_block_sizes() {
        let stride = 700;
        let mut ring = SampleRing::new(stride, 400);
        for (round, count) in [1_u64, 3, 150, 400, 2, 93, 94, 95, 300, 1, 1, 200].into_iter().enumerate() {
            let bytes = pattern(ring.total(), count, stride);
            if round % 2 == 0 {
                ring.append(&bytes, count);
            } else {
                let pieces: Vec<Vec<u8>> = bytes.chunks(64 * stride).map(<[u8]>::to_vec).collect();
                let adopted: usize = ring.adopt(pieces, count).map(|bytes| bytes.len()).sum();
                assert_eq!(adopted, bytes.len());
            }
            let oldest = ring.total().saturating_sub(400);
            for first in (oldest..ring.total()).step_by(17) {
                for count in [1, 5, ring.total() - first] {
                    let count = count.min(ring.total() - first);
                    assert_eq!(read(&ring, first, count), pattern(first, count, stride));
                }
            }
        }
    }

    #[test]
    fn memory_stays_within_the_ring_and_a_segment() {
        let mut ring = SampleRing::new(16, 10_000);
        for _ in 0..5_000 {
            ring.append(&[0; 16 * 37], 37);
        }
        let held: usize = ring.closed.iter().map(|segment| segment.bytes.capacity()).sum();
        assert!(held <= 10_000 * 16 + 2 * TAIL_BYTES, "{held}");
        assert!(ring.spare.len() <= SPARE_SEGMENTS);
    }

    #[test]
    fn a_reader_keeps_what_it_shares_while_the_ring_moves_on() {
        let mut ring = SampleRing::new(1, 100_000);
        let block = pattern(0, 100_000, 1);
        drop(ring.adopt(vec![block.clone()], 100_000));
        let (mut shared, mut tail) = (Vec::new(), Vec::new());
        ring.share(0, 100_000, &mut shared, &mut tail);
        for _ in 0..10 {
            ring.append(&[9; 60_000], 60_000);
        }
        assert_eq!(shared[0][..], block);
    }

    #[test]
    fn samples_without_channels_are_counted() {
        let mut ring = SampleRing::new(0, 10);
        ring.append(&[], 25);
        assert_eq!(ring.total(), 25);
        assert!(read(&ring, 20, 5).is_empty());
    }
}
