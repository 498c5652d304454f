//! The places of a recording's contents: opens, seeks and draws a recording of any size
//! at once.
//!
//! The recorder writes the index as a chunk at the end. A recording without one, of another recorder or of one that was
//! killed, is read through once.
//!
//! Source: xdf §7.

mod course;
mod overview;
mod passage;
mod peaks;
mod placed;
mod seek;

use std::io::{Read, Seek, SeekFrom};

pub use overview::Overview;
pub use passage::{Block, Passage};
pub use peaks::Peaks;
pub use seek::IndexedRecording;

use crate::checksum::{Checksum, piece_hash};
use crate::header::StreamHeader;
use crate::reader::{Event, ReadError, Reader};
use crate::values::{Values, on_values};
use crate::wire::{BOUNDARY, Tag, put_chunk};

/// What is where in a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// One entry per stream, in the order of their headers.
    pub streams: Vec<StreamIndex>,
}

/// Where one stream's samples are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamIndex {
    /// The stream's id.
    pub id: u32,
    /// Where its header is, in bytes from the file's beginning.
    pub header_at: u64,
    /// Samples in the file.
    pub sample_count: u64,
    /// Stamp of the first, in seconds on the stream's clock.
    pub first_stamp: f64,
    /// Stamp of the last, in seconds on the stream's clock.
    pub last_stamp: f64,
    /// Chunks with samples, in the order of the file; of a long recording one of so many.
    pub entries: Vec<Entry>,
    /// The least and the greatest values over time; empty for texts.
    pub overview: Overview,
    /// Every so many chunks have an entry, and how many came since.
    stride: u32,
    since: u32,
}

/// A chunk with samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entry {
    /// Where it begins, in bytes from the file's beginning.
    pub at: u64,
    /// The stamp of its first sample, in seconds on the stream's clock.
    pub stamp: f64,
    /// Samples of the stream before it.
    pub before: u64,
}

impl StreamIndex {
    pub(crate) fn new(id: u32, header_at: u64) -> Self {
        Self { id, header_at, stride: 1, ..Self::default() }
    }

    /// Takes in a chunk of samples.
    pub(crate) fn add_chunk(&mut self, at: u64, first_stamp: f64, last_stamp: f64, count: u64) {
        if self.sample_count == 0 {
            self.first_stamp = first_stamp;
        }
        if self.since == 0 {
            self.entries.push(Entry { at, stamp: first_stamp, before: self.sample_count });
            if self.entries.len() >= ENTRIES_MAX {
                let mut place = 0;
                self.entries.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride = self.stride.saturating_mul(2);
            }
        }
        self.since = (self.since + 1) % self.stride.max(1);
        self.last_stamp = last_stamp;
        self.sample_count += count;
    }

    /// Where to begin to read for samples from `stamp` on: the last entry before it.
    #[must_use]
    pub fn before(&self, stamp: f64) -> Option<Entry> {
        let later = self.entries.iter().position(|entry| entry.stamp > stamp).unwrap_or(self.entries.len());
        self.entries.get(later.saturating_sub(1)).copied()
    }
}

impl Index {
    pub(crate) const NAME: [u8; 8] = *b"schwann\x02";

    /// Appends the chunk.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut content = Self::NAME.to_vec();
        content.extend((self.streams.len() as u32).to_le_bytes());
        for stream in &self.streams {
            content.extend(stream.id.to_le_bytes());
            content.extend(stream.header_at.to_le_bytes());
            content.extend(stream.sample_count.to_le_bytes());
            content.extend(stream.first_stamp.to_le_bytes());
            content.extend(stream.last_stamp.to_le_bytes());
            content.extend((stream.entries.len() as u32).to_le_bytes());
            for entry in &stream.entries {
                content.extend(entry.at.to_le_bytes());
                content.extend(entry.stamp.to_le_bytes());
                content.extend(entry.before.to_le_bytes());
            }
            stream.overview.put(&mut content);
        }
        let bytes = content.len() as u64;
        content.extend(bytes.to_le_bytes());
        content.extend(BOUNDARY);
        put_chunk(out, Tag::Boundary, None, &content);
    }

    /// Finds the index at the end of a recording; none if it has none, or one that its checksum contradicts.
    ///
    /// - Errors: from the source.
    pub fn at_end_of<R: Read + Seek>(source: &mut R) -> Result<Option<Self>, ReadError> {
        let len = source.seek(SeekFrom::End(0))?;
        let Some(piece) = last_piece(source, len)? else { return Ok(None) };
        let tail_at = piece.len().checked_sub(TAIL_BYTES);
        let Some((before, tail)) = tail_at.and_then(|at| piece.split_at_checked(at)) else { return Ok(None) };
        let Some((bytes, mark)) = tail.split_first_chunk() else { return Ok(None) };
        let from = usize::try_from(u64::from_le_bytes(*bytes))
            .ok()
            .and_then(|bytes| before.len().checked_sub(bytes));
        let Some(from) = from.filter(|_| mark == BOUNDARY) else { return Ok(None) };
        Ok(Self::parse(before.get(from..).unwrap_or_default(), len))
    }

    /// Reads what [`Index::put`] wrote of a file of `file_bytes`, without its end.
    pub(crate) fn parse(content: &[u8], file_bytes: u64) -> Option<Self> {
        let mut rest = content.strip_prefix(&Self::NAME)?;
        let count = u32::from_le_bytes(take(&mut rest)?);
        let mut index = Self::default();
        for _ in 0..count {
            let mut stream =
                StreamIndex::new(u32::from_le_bytes(take(&mut rest)?), u64::from_le_bytes(take(&mut rest)?));
            stream.sample_count = u64::from_le_bytes(take(&mut rest)?);
            stream.first_stamp = f64::from_le_bytes(take(&mut rest)?);
            stream.last_stamp = f64::from_le_bytes(take(&mut rest)?);
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let (at, stamp) =
                    (u64::from_le_bytes(take(&mut rest)?), f64::from_le_bytes(take(&mut rest)?));
                let entry = Entry { at, stamp, before: u64::from_le_bytes(take(&mut rest)?) };
                stream.entries.push(entry);
            }
            stream.overview = Overview::parse(&mut rest)?;
            index.streams.push(stream.fits(file_bytes).then_some(stream)?);
        }
        rest.is_empty().then_some(index)
    }

    /// Reads a recording through. `progress` is told bytes read and bytes in all, now and then.
    ///
    /// - Errors: [`ReadError`]. What is damaged is left out.
    pub fn scan<R: Read + Seek>(
        reader: &mut Reader<R>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self, ReadError> {
        Self::scan_all(reader, progress, |_| {})
    }

    /// The same; what is neither a header nor samples is handed on.
    fn scan_all<R: Read + Seek>(
        reader: &mut Reader<R>,
        mut progress: impl FnMut(u64, u64),
        mut other: impl FnMut(Event<'_>),
    ) -> Result<Self, ReadError> {
        let mut index = Self::default();
        let mut told = 0;
        loop {
            let (at, all) = reader.progress();
            if at - told >= PROGRESS_BYTES {
                progress(at, all);
                told = at;
            }
            let is_inside = reader.is_inside_chunk();
            match reader.next_event()? {
                None => return Ok(index),
                Some(Event::StreamHeader(header)) => {
                    let mut stream = StreamIndex::new(header.id, at);
                    stream.overview = overview_for(header);
                    index.streams.push(stream);
                }
                Some(Event::Samples { stream, stamps, values }) => {
                    let known = index.streams.iter_mut().find(|known| known.id == stream);
                    if let (Some(known), Some(first), Some(last)) = (known, stamps.first(), stamps.last()) {
                        known.overview.add_values(stamps, values);
                        match is_inside {
                            true => known.extend(*last, stamps.len() as u64),
                            false => known.add_chunk(at, *first, *last, stamps.len() as u64),
                        }
                    }
                }
                Some(event) => other(event),
            }
        }
    }
}

/// The bytes before the last checksum of a file of `len` bytes, if they are what it says.
fn last_piece<R: Read + Seek>(source: &mut R, len: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let Some(end) = len.checked_sub(Checksum::CHUNK_BYTES as u64) else { return Ok(None) };
    source.seek(SeekFrom::Start(end))?;
    let mut chunk = Vec::new();
    source.take(Checksum::CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
    let Some(checksum) = Checksum::parse_chunk(end, &chunk) else { return Ok(None) };
    let bytes = end - checksum.from;
    if bytes > LAST_PIECE_BYTES_MAX {
        return Ok(None);
    }
    source.seek(SeekFrom::Start(checksum.from))?;
    let mut piece = Vec::new();
    source.take(bytes).read_to_end(&mut piece)?;
    Ok((piece_hash(&piece) == checksum.hash).then_some(piece))
}

impl StreamIndex {
    /// Whether a file of so many bytes can have these places, in their order.
    fn fits(&self, file_bytes: u64) -> bool {
        let is_ascending =
            self.entries.is_sorted_by(|one, next| one.at < next.at && one.before < next.before);
        let begins = self.entries.first().map(|first| (first.before, first.stamp.to_bits()));
        let is_begun = match self.sample_count {
            0 => begins.is_none(),
            _ => begins == Some((0, self.first_stamp.to_bits())),
        };
        let ends =
            self.entries.last().is_none_or(|last| last.at < file_bytes && last.before < self.sample_count);
        is_ascending && is_begun && ends && self.header_at < file_bytes
    }

    /// Takes in more of the chunk that was added last.
    fn extend(&mut self, last_stamp: f64, count: u64) {
        self.last_stamp = last_stamp;
        self.sample_count += count;
    }
}

/// An overview for a stream of numbers; one without channels for texts.
pub(crate) fn overview_for(header: &StreamHeader) -> Overview {
    let is_text = header.format == crate::wire::Format::String;
    Overview::new(if is_text { 0 } else { header.channel_count })
}

impl Overview {
    fn add_values(&mut self, stamps: &[f64], values: &Values) {
        on_values!(values, numbers values => self.add(stamps, values));
    }
}

/// Takes so many bytes off the front.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*bytes)
}

/// Entries of one stream, so that an index stays small beside its recording.
const ENTRIES_MAX: usize = 16_384;
/// The end of an index: its length, and the mark of a boundary.
const TAIL_BYTES: usize = 8 + BOUNDARY.len();
/// No index is longer, with the footers before it.
const LAST_PIECE_BYTES_MAX: u64 = 1 << 30;
const PROGRESS_BYTES: u64 = 8 << 20;

#[cfg(test)]
mod tests;
