//! The samples of one stream that wait in memory, already in the file's encoding.

use core::mem;
use std::sync::Mutex;

use super::lock;
use crate::header::StreamHeader;
use crate::index::{Overview, overview_for};
use crate::values::{Number, Values, on_values};
use crate::wire::{Format, Tag, put_chunk_head, put_var_len};

/// One stream: what it is, and what waits to be written.
#[derive(Debug)]
pub(crate) struct Slot {
    id: u32,
    format: Format,
    channel_count: usize,
    /// Seconds between samples, by which a reader deduces stamps; 0 without a regular rate.
    interval: f64,
    waiting: Mutex<Waiting>,
}

impl Slot {
    pub(crate) fn new(header: &StreamHeader) -> Self {
        Self {
            id: header.id,
            format: header.format,
            channel_count: header.channel_count,
            interval: header.interval(),
            waiting: Mutex::new(Waiting { overview: overview_for(header), ..Waiting::default() }),
        }
    }

    /// Appends numbers; returns the bytes that memory grew by; none if the stream is closed.
    pub(crate) fn push_numbers<T: Number>(&self, stamps: &[f64], values: &[T]) -> Option<usize> {
        let row_bytes = self.channel_count * size_of::<T>();
        let added = self.append(stamps, |pending| {
            pending.bytes.reserve(stamps.len() * (9 + row_bytes));
            for (&stamp, row) in stamps.iter().zip(values.chunks_exact(self.channel_count)) {
                pending.begin_sample(stamp, self.interval);
                let at = pending.bytes.len();
                pending.bytes.resize(at + row_bytes, 0);
                T::put(row, &mut pending.bytes[at..]);
                pending.end_sample(stamp);
            }
        });
        if added.is_some() {
            lock(&self.waiting).overview.add(stamps, values);
        }
        added
    }

    /// Appends texts; returns the bytes that memory grew by; none if the stream is closed.
    pub(crate) fn push_text<S: AsRef<[u8]>>(&self, stamps: &[f64], values: &[S]) -> Option<usize> {
        self.append(stamps, |pending| {
            for (&stamp, row) in stamps.iter().zip(values.chunks_exact(self.channel_count)) {
                pending.begin_sample(stamp, self.interval);
                for text in row.iter().map(AsRef::as_ref) {
                    put_var_len(&mut pending.bytes, text.len() as u64);
                    pending.bytes.extend_from_slice(text);
                }
                pending.end_sample(stamp);
            }
        })
    }

    /// Appends values of any format; returns the bytes that memory grew by.
    pub(crate) fn push_values(&self, stamps: &[f64], values: &Values) -> Option<usize> {
        on_values!(values, values => self.push_numbers(stamps, values), text => self.push_text(stamps, values))
    }

    /// Appends a clock offset.
    pub(crate) fn push_offset(&self, collected: f64, offset: f64) {
        lock(&self.waiting).pending.offsets.push((collected, offset));
    }

    /// The least and greatest values so far; none remain here.
    pub(crate) fn take_overview(&self) -> Overview {
        mem::take(&mut lock(&self.waiting).overview)
    }

    /// Takes no more from now on.
    pub(crate) fn close(&self) {
        lock(&self.waiting).closed = true;
    }

    /// Exchanges what waits with `taken`, which must be empty and keeps its memory for the next time.
    pub(crate) fn take(&self, taken: &mut Pending) {
        debug_assert!(taken.bytes.is_empty() && taken.chunks.is_empty() && taken.offsets.is_empty());
        mem::swap(&mut lock(&self.waiting).pending, taken);
    }

    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    pub(crate) const fn channel_count(&self) -> usize {
        self.channel_count
    }

    fn append(&self, stamps: &[f64], fill: impl FnOnce(&mut Pending)) -> Option<usize> {
        let mut waiting = lock(&self.waiting);
        if waiting.closed {
            return None;
        }
        let before = waiting.pending.bytes.len();
        if !stamps.is_empty() {
            fill(&mut waiting.pending);
        }
        Some(waiting.pending.bytes.len() - before)
    }
}

/// What waits, and whether more may come.
#[derive(Debug, Default)]
struct Waiting {
    pending: Pending,
    closed: bool,
    overview: Overview,
}

/// Encoded samples of one stream, cut into chunks.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// All chunks' samples, one after the other, without chunk heads.
    pub(crate) bytes: Vec<u8>,
    pub(crate) chunks: Vec<ChunkSpan>,
    /// Collection time and offset, in seconds.
    pub(crate) offsets: Vec<(f64, f64)>,
}

/// The samples of one chunk within [`Pending::bytes`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSpan {
    pub(crate) end: usize,
    pub(crate) sample_count: u32,
    pub(crate) first_stamp: f64,
    pub(crate) last_stamp: f64,
}

impl Pending {
    /// Forgets everything but the memory, and not even that if it is much more than was used.
    pub(crate) fn clear(&mut self) {
        let used = self.bytes.len();
        self.bytes.clear();
        if self.bytes.capacity() > 2 * used.max(KEPT_BYTES) {
            self.bytes.shrink_to(2 * used);
        }
        self.chunks.clear();
        self.offsets.clear();
    }

    /// Gives out each chunk's samples.
    pub(crate) fn chunk_bytes(&self) -> impl Iterator<Item = (&ChunkSpan, &[u8])> {
        let mut at = 0;
        self.chunks.iter().map(move |chunk| (chunk, &self.bytes[mem::replace(&mut at, chunk.end)..chunk.end]))
    }

    fn begin_sample(&mut self, stamp: f64, interval: f64) {
        let start = self.chunks.iter().nth_back(1).map_or(0, |chunk| chunk.end);
        let end = self.chunks.last().map_or(0, |chunk| chunk.end);
        let full = self
            .chunks
            .last()
            .is_none_or(|chunk| end - start >= CHUNK_BYTES || chunk.sample_count == u32::MAX);
        if full {
            // A chunk's first stamp is always written, so that each chunk can be read without the others.
            self.chunks.push(ChunkSpan {
                end: start,
                sample_count: 0,
                first_stamp: stamp,
                last_stamp: stamp,
            });
        } else if self.chunks.last().is_some_and(|chunk| is_deducible(chunk.last_stamp, interval, stamp)) {
            self.bytes.push(0);
            return;
        }
        self.bytes.push(8);
        self.bytes.extend_from_slice(&stamp.to_le_bytes());
    }

    fn end_sample(&mut self, stamp: f64) {
        let end = self.bytes.len();
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.end = end;
            chunk.sample_count += 1;
            chunk.last_stamp = stamp;
        }
    }
}

/// Appends the head of a chunk of samples, which must follow.
pub(crate) fn put_samples_head(out: &mut Vec<u8>, stream: u32, sample_count: u32, bytes: usize) {
    put_chunk_head(out, Tag::Samples, Some(stream), 5 + bytes);
    // LabRecorder writes the number of samples in four bytes always.
    out.push(4);
    out.extend_from_slice(&sample_count.to_le_bytes());
}

/// Says whether a reader that adds `interval` to `last` arrives at exactly `stamp`.
fn is_deducible(last: f64, interval: f64, stamp: f64) -> bool {
    interval > 0.0 && (last + interval).to_bits() == stamp.to_bits()
}

/// Samples' bytes from which a chunk is closed and the next one begun: damage costs a chunk at most.
const CHUNK_BYTES: usize = 1 << 20;
/// Memory that a quiet stream may keep.
const KEPT_BYTES: usize = 64 << 10;
