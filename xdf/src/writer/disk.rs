//! The two threads between memory and disk: one writes whole chunks, one syncs.

use core::mem;
use core::sync::atomic::Ordering;
use std::io;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::slot::{Pending, Slot, put_samples_head};
use super::store::Store;
use super::syncer::Syncer;
use super::{Failure, SharedWriter, StreamProgress, Summary, lock};
use crate::checksum::Checksum;
use crate::header::{FOOTER_BYTES_MAX, FOOTER_OFFSET_BYTES_MAX, put_footer_xml};
use crate::index::{Index, StreamIndex};
use crate::wire::{BOUNDARY, Tag, put_chunk, put_clock_offset};

/// Starts the threads.
pub(super) fn spawn(shared: Arc<SharedWriter>, store: Store) -> io::Result<JoinHandle<Summary>> {
    let syncer = Syncer::spawn(Arc::clone(&shared), store.file())?;
    let disk = Disk {
        boundary_due: Instant::now() + shared.options.boundary_every,
        shared,
        store,
        syncer,
        streams: Vec::new(),
        control: Vec::new(),
        heads: Vec::new(),
        head_ends: Vec::new(),
        header_places: Vec::new(),
        has_boundary: false,
    };
    thread::Builder::new().name("xdf-write".into()).spawn(move || disk.run())
}

/// The thread that writes.
struct Disk {
    shared: Arc<SharedWriter>,
    store: Store,
    syncer: Syncer,
    streams: Vec<Stream>,
    boundary_due: Instant,
    /// The batch's stream headers, clock offsets and boundary.
    control: Vec<u8>,
    /// The heads of the batch's sample chunks, and where each ends.
    heads: Vec<u8>,
    head_ends: Vec<usize>,
    /// Where in `control` each stream's header begins.
    header_places: Vec<(u32, usize)>,
    /// Whether `control` has a boundary, which ends a piece.
    has_boundary: bool,
}

/// One stream as the disk sees it.
struct Stream {
    slot: Arc<Slot>,
    taken: Pending,
    written: StreamProgress,
    /// For the footer: collection time and offset, in seconds.
    offsets: Vec<(f64, f64)>,
    /// Whether the stream's header is in the file.
    announced: bool,
    index: StreamIndex,
}

impl Disk {
    fn run(mut self) -> Summary {
        let mut failure = None;
        while failure.is_none() && !self.wait() {
            // A failed sync counts too: what was written since may never arrive.
            failure = self.flush().err().or(self.shared.failure.get().copied());
            self.report(failure);
        }
        // The recorder has stopped. What was taken before this line is all in memory; later pushes are refused.
        lock(&self.shared.registry).slots.iter().for_each(|slot| slot.close());
        if failure.is_none() {
            failure = self.flush().err();
        }
        let finished = self.finish();
        failure = failure.or(finished.err()).or(self.shared.failure.get().copied());
        self.report(failure);
        Summary {
            file_bytes: self.store.file_bytes(),
            streams: self.streams.iter().map(|stream| stream.written).collect(),
            failure,
            proof: self.store.proof(),
        }
    }

    /// Waits for the next batch's time; says whether the recorder has stopped.
    fn wait(&self) -> bool {
        let until = Instant::now() + self.shared.options.flush_every;
        let mut stop = lock(&self.shared.stop);
        while !*stop && !self.shared.is_urgent() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            stop = self.shared.woken.wait_timeout(stop, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *stop
    }

    /// Writes everything that waits, as whole chunks, in one call of the operating system.
    fn flush(&mut self) -> Result<(), Failure> {
        let taken_bytes = self.take_batch();
        let written = self.write_batch().and_then(|()| self.push_out());
        for stream in &mut self.streams {
            stream.taken.clear();
        }
        self.shared.backlog.fetch_sub(taken_bytes, Ordering::Relaxed);
        written
    }

    /// Takes what waits out of the recorder's reach; returns the bytes of samples.
    fn take_batch(&mut self) -> usize {
        self.control.clear();
        self.heads.clear();
        self.head_ends.clear();
        {
            let mut registry = lock(&self.shared.registry);
            self.header_places.clear();
            for (id, header) in registry.headers.drain(..) {
                self.header_places.push((id, self.control.len()));
                self.control.extend(header);
            }
            for slot in registry.slots.iter().skip(self.streams.len()) {
                self.streams.push(Stream::new(Arc::clone(slot)));
            }
        }
        let mut bytes = 0;
        for stream in &mut self.streams {
            stream.slot.take(&mut stream.taken);
            bytes += stream.taken.bytes.len();
            stream.put_heads(&mut self.control, &mut self.heads, &mut self.head_ends);
        }
        let now = Instant::now();
        self.has_boundary = now >= self.boundary_due;
        if self.has_boundary {
            put_chunk(&mut self.control, Tag::Boundary, None, &BOUNDARY);
            self.boundary_due = now + self.shared.options.boundary_every;
        }
        bytes
    }

    fn write_batch(&mut self) -> Result<(), Failure> {
        if self.control.is_empty() && self.heads.is_empty() {
            return Ok(());
        }
        let reserve = self.reserve();
        let base = self.store.len();
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(2 * self.head_ends.len() + 1);
        pieces.push(&self.control);
        for (_, head, bytes) in batch_chunks(&self.streams, &self.heads, &self.head_ends) {
            pieces.extend([head, bytes]);
        }
        let written = self.store.append(&pieces, reserve);
        match written {
            Ok(()) => {
                self.note_places(base);
                for stream in &mut self.streams {
                    stream.count_control();
                    stream.count_chunks(stream.taken.chunks.len());
                }
            }
            Err(_) => self.write_what_fits(reserve),
        }
        let written = match self.has_boundary || self.store.is_checksum_due() {
            true => written.and_then(|()| self.store.append_checksum()),
            false => written,
        };
        self.syncer.written(self.store.file_bytes());
        written
    }

    /// Bytes that the footers and what comes after them take.
    fn reserve(&self) -> u64 {
        let footers: usize = self.streams.iter().map(Stream::footer_bytes_max).sum();
        (footers + LAST_BOUNDARY_BYTES + 2 * Checksum::CHUNK_BYTES) as u64
    }

    /// Keeps samples from waiting in memory until a sealed chunk is full.
    fn push_out(&mut self) -> Result<(), Failure> {
        let reserve = self.reserve();
        let pushed = self.store.push_out(reserve);
        self.syncer.written(self.store.file_bytes());
        pushed
    }

    /// Notes for the index where the headers and chunks of the batch are, which begins at `base`.
    fn note_places(&mut self, base: u64) {
        for (id, place) in &self.header_places {
            if let Some(stream) = self.streams.iter_mut().find(|stream| stream.written.id == *id) {
                stream.index.header_at = base + *place as u64;
            }
        }
        let mut at = base + self.control.len() as u64;
        let mut heads = self.head_ends.iter().scan(0, |from, end| Some(end - mem::replace(from, *end)));
        for stream in &mut self.streams {
            for (chunk, bytes) in stream.taken.chunk_bytes() {
                stream.index.add_chunk(
                    at,
                    chunk.first_stamp,
                    chunk.last_stamp,
                    u64::from(chunk.sample_count),
                );
                at += (heads.next().unwrap_or_default() + bytes.len()) as u64;
            }
        }
    }

    /// Writes as many chunks of the batch as there is room for.
    fn write_what_fits(&mut self, reserve: u64) {
        if self.store.append(&[&self.control], reserve).is_err() {
            return;
        }
        self.streams.iter_mut().for_each(Stream::count_control);
        let mut written = vec![0; self.streams.len()];
        for (stream, head, bytes) in batch_chunks(&self.streams, &self.heads, &self.head_ends) {
            if self.store.append(&[head, bytes], reserve).is_err() {
                break;
            }
            written[stream] += 1;
        }
        for (stream, written) in self.streams.iter_mut().zip(written) {
            stream.count_chunks(written);
        }
    }

    /// Writes the footers into the room kept for them, a last boundary, and waits for the disk.
    fn finish(&mut self) -> Result<(), Failure> {
        self.syncer.stop();
        let mut tail = Vec::new();
        let mut xml = String::new();
        for stream in self.streams.iter().filter(|stream| stream.announced) {
            xml.clear();
            let written = &stream.written;
            put_footer_xml(
                &mut xml,
                written.first_stamp,
                written.last_stamp,
                written.sample_count,
                &stream.offsets,
            );
            put_chunk(&mut tail, Tag::StreamFooter, Some(written.id), xml.as_bytes());
        }
        put_chunk(&mut tail, Tag::Boundary, None, &BOUNDARY);
        let footers = self.store.append_reserved(&tail);
        // A disk without room for it has a recording without an index, which is read through where one is needed.
        let _ = self.append_index();
        let checksum = self.store.append_checksum();
        let closed = self.store.close();
        self.store.trim();
        footers.and(checksum).and(closed).and(self.store.sync())
    }

    fn append_index(&mut self) -> Result<(), Failure> {
        let announced = self.streams.iter_mut().filter(|stream| stream.announced);
        let streams = announced.map(|stream| {
            stream.index.overview = stream.slot.take_overview();
            mem::take(&mut stream.index)
        });
        let mut chunk = Vec::new();
        Index { streams: streams.collect() }.put(&mut chunk);
        self.store.append(&[&chunk], Checksum::CHUNK_BYTES as u64)
    }

    fn report(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            // The first failure is the cause of any other.
            let _ = self.shared.failure.set(failure);
        }
        let mut health = lock(&self.shared.health);
        health.file_bytes = self.store.file_bytes();
        health.synced_bytes = self.syncer.synced();
        health.streams.clear();
        health.streams.extend(self.streams.iter().map(|stream| stream.written));
    }
}

impl Stream {
    fn new(slot: Arc<Slot>) -> Self {
        let written = StreamProgress { id: slot.id(), ..StreamProgress::default() };
        let index = StreamIndex::new(slot.id(), 0);
        Self { slot, taken: Pending::default(), written, offsets: Vec::new(), announced: false, index }
    }

    /// Appends the clock offset chunks, and the heads of the sample chunks, noting where each head ends.
    fn put_heads(&self, control: &mut Vec<u8>, heads: &mut Vec<u8>, head_ends: &mut Vec<usize>) {
        let id = self.slot.id();
        for &(collected, offset) in &self.taken.offsets {
            put_clock_offset(control, id, collected, offset);
        }
        for (chunk, bytes) in self.taken.chunk_bytes() {
            put_samples_head(heads, id, chunk.sample_count, bytes.len());
            head_ends.push(heads.len());
        }
    }

    /// Counts what the batch's control chunks hold of this stream as written.
    fn count_control(&mut self) {
        self.announced = true;
        self.offsets.extend_from_slice(&self.taken.offsets);
        self.written.clock_offset_count = self.offsets.len();
    }

    /// Counts the batch's first `count` sample chunks of this stream as written.
    fn count_chunks(&mut self, count: usize) {
        for chunk in self.taken.chunks.iter().take(count) {
            if self.written.sample_count == 0 {
                self.written.first_stamp = chunk.first_stamp;
            }
            self.written.last_stamp = chunk.last_stamp;
            self.written.sample_count += u64::from(chunk.sample_count);
        }
    }

    fn footer_bytes_max(&self) -> usize {
        FOOTER_BYTES_MAX + (self.offsets.len() + self.taken.offsets.len()) * FOOTER_OFFSET_BYTES_MAX
    }
}

/// Gives out each sample chunk of a batch: its stream's place in `streams`, its head and its samples.
fn batch_chunks<'a>(
    streams: &'a [Stream],
    heads: &'a [u8],
    head_ends: &'a [usize],
) -> impl Iterator<Item = (usize, &'a [u8], &'a [u8])> {
    let mut head_at = 0;
    let heads = head_ends.iter().map(move |&end| &heads[mem::replace(&mut head_at, end)..end]);
    let chunks = streams
        .iter()
        .enumerate()
        .flat_map(|(place, stream)| stream.taken.chunk_bytes().map(move |(_, bytes)| (place, bytes)));
    chunks.zip(heads).map(|((place, bytes), head)| (place, head, bytes))
}

/// A boundary chunk with its head.
const LAST_BOUNDARY_BYTES: usize = 20;
