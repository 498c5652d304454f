//! Writes every whole sample of a damaged recording into a new one.
//!
//! The new file holds what the [reader](crate::Reader) finds, in whole chunks, with footers that agree with
//! it. Samples, stamps, clock offsets and headers are copied bit by bit. An unreadable part is left out
//! and leaves a gap in the stamps. Where damage took what tells a stamp, the stamp is a guess. Its stream's footer counts
//! these. The new file has checksums, as one of a recorder.

use core::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::time::SystemTime;

use crate::checksum::{Checksum, Ledger};
use crate::header::{StreamFooter, StreamHeader, file_header_xml, put_footer_xml};
use crate::reader::{Damage, Event, ReadError, Reader};
use crate::sealing::Recipients;
use crate::source::Location;
use crate::survey::Survey;
use crate::sys;
use crate::values::Values;
use crate::wire::{BOUNDARY, MAGIC, Tag, put_chunk, put_clock_offset};
use crate::writer::datetime;
use crate::writer::slot::{Pending, Slot, put_samples_head};

/// What a repair has done.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Repair {
    /// Samples salvaged, of all streams.
    pub sample_count: u64,
    /// Streams salvaged.
    pub stream_count: usize,
    /// Footers that were missing or did not agree, and were written anew.
    pub footer_count: usize,
    /// Texts with the sign for what is no UTF-8: a reader puts it there, so the new file lacks those bytes.
    pub replaced_text_count: u64,
    /// Samples whose stamps are guesses, because damage took what tells them.
    pub guessed_stamp_count: u64,
    /// Whole chunks of kinds that are not known here; the new file lacks them.
    pub unknown_chunk_count: u64,
    /// Damaged places.
    pub damage_count: u64,
    /// Bytes that could not be read.
    pub damaged_bytes: u64,
    /// The first [`Survey::LISTED_MAX`] of those places.
    pub damage: Vec<Damage>,
}

/// Writes the readable part of the recording `from` into the new file `to`. Seals it if there is a key to seal it
/// to.
///
/// `progress` is told bytes read and bytes in all, now and then.
///
/// - Errors: [`RepairError`]; `to` does not exist then, unless it did before.
pub fn repair(
    from: impl Into<Location>,
    to: impl AsRef<Path>,
    sealed_to: &Recipients,
    progress: impl FnMut(u64, u64),
) -> Result<Repair, RepairError> {
    let mut how = OpenOptions::new();
    how.write(true).create_new(true);
    let from = from.into();
    sys::be_as_private_as(from.path(), &mut how);
    let reader = from.reader()?;
    let file = how.open(&to).map_err(RepairError::Write)?;
    let out = BufWriter::new(&file);
    let done = match sealed_to.is_empty() {
        true => repair_into(reader, out, progress),
        false => repair_sealed(reader, out, sealed_to, progress),
    };
    let done = done.and_then(|done| file.sync_all().map(|()| done).map_err(RepairError::Write));
    if done.is_err() {
        // Half a repair would pass for a whole one. If it cannot be removed, the error says enough.
        let _ = fs::remove_file(to);
    }
    done
}

/// Writes what `reader` can read of a recording to `out`.
///
/// - Errors: [`RepairError`]; what is in `out` then is not to be trusted.
pub fn repair_into<R: Read + Seek, W: Write>(
    mut reader: Reader<R>,
    out: W,
    mut progress: impl FnMut(u64, u64),
) -> Result<Repair, RepairError> {
    let out = Checked { out, ledger: Ledger::default() };
    let mut copy = Copy { out, streams: Vec::new(), header: Header::Due, done: Repair::default() };
    copy.write(&MAGIC)?;
    loop {
        let (at, all) = reader.progress();
        progress(at, all);
        let Some(event) = reader.next_event().map_err(ReadError::Io)? else { break };
        copy.take_in(event)?;
        if copy.out.ledger.is_due() {
            copy.out.write_checksum().map_err(RepairError::Write)?;
        }
    }
    copy.finish(&reader)
}

fn repair_sealed<R: Read + Seek, W: Write>(
    reader: Reader<R>,
    out: W,
    to: &Recipients,
    progress: impl FnMut(u64, u64),
) -> Result<Repair, RepairError> {
    let mut sealed = to.seal(out).map_err(RepairError::Write)?;
    let done = repair_into(reader, &mut sealed, progress)?;
    sealed.finish().and_then(|mut out| out.flush()).map_err(RepairError::Write)?;
    Ok(done)
}

/// Why a repair was given up.
#[derive(Debug)]
#[non_exhaustive]
pub enum RepairError {
    /// The damaged file cannot be read at all.
    Read(ReadError),
    /// The new file cannot be written; [`io::ErrorKind::AlreadyExists`] if there is one.
    Write(io::Error),
}

impl From<ReadError> for RepairError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl fmt::Display for RepairError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(out, "cannot be read: {error}"),
            Self::Write(error) => write!(out, "the repaired file cannot be written: {error}"),
        }
    }
}

impl core::error::Error for RepairError {}

/// The new file.
struct Copy<W> {
    out: Checked<W>,
    streams: Vec<Salvaged>,
    header: Header,
    done: Repair,
}

/// A file whose bytes are hashed as they are written.
struct Checked<W> {
    out: W,
    ledger: Ledger,
}

impl<W: Write> Checked<W> {
    /// Ends a piece, which is one of whole chunks: the last chunk has been written.
    fn write_checksum(&mut self) -> io::Result<()> {
        let Some(checksum) = self.ledger.end_piece() else { return Ok(()) };
        let mut chunk = Vec::with_capacity(Checksum::CHUNK_BYTES);
        checksum.put(&mut chunk);
        self.write_all(&chunk)
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.ledger.take_in(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether the new file has its header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Header {
    Due,
    Written,
}

/// A stream of the new file.
struct Salvaged {
    slot: Slot,
    pending: Pending,
    first_stamp: f64,
    last_stamp: f64,
    sample_count: u64,
    offsets: Vec<(f64, f64)>,
    footer: Option<StreamFooter>,
}

impl<W: Write> Copy<W> {
    fn take_in(&mut self, event: Event<'_>) -> Result<(), RepairError> {
        if let Event::Damage(damage) = event {
            self.note_damage(damage);
            return Ok(());
        }
        if let (Event::FileHeader { xml }, Header::Due) = (event, self.header) {
            self.header = Header::Written;
            return self.write_chunk(Tag::FileHeader, None, xml.as_bytes());
        }
        if self.header == Header::Due {
            self.header = Header::Written;
            let xml = file_header_xml(&datetime(SystemTime::now()));
            self.write_chunk(Tag::FileHeader, None, xml.as_bytes())?;
        }
        match event {
            Event::Boundary => self.write_chunk(Tag::Boundary, None, &BOUNDARY),
            Event::ClockOffset { stream, collected, offset } => self.copy_offset(stream, collected, offset),
            Event::Samples { stream, stamps, values } => self.copy_samples(stream, stamps, values),
            Event::StreamFooter { stream, footer } => {
                if let Some(salvaged) = self.salvaged(stream) {
                    salvaged.footer = Some(footer.clone());
                }
                Ok(())
            }
            Event::StreamHeader(header) => {
                self.streams.push(Salvaged::new(header));
                self.write_chunk(Tag::StreamHeader, Some(header.id), header.xml.as_bytes())
            }
            Event::FileHeader { .. } | Event::Damage(_) => Ok(()),
        }
    }

    fn note_damage(&mut self, damage: Damage) {
        self.done.damage_count += 1;
        self.done.damaged_bytes += damage.bytes;
        if self.done.damage.len() < Survey::LISTED_MAX {
            self.done.damage.push(damage);
        }
    }

    fn copy_offset(&mut self, stream: u32, collected: f64, offset: f64) -> Result<(), RepairError> {
        let Some(salvaged) = self.salvaged(stream) else { return Ok(()) };
        salvaged.offsets.push((collected, offset));
        let mut chunk = Vec::new();
        put_clock_offset(&mut chunk, stream, collected, offset);
        self.write(&chunk)
    }

    fn copy_samples(&mut self, stream: u32, stamps: &[f64], values: &Values) -> Result<(), RepairError> {
        let Some(salvaged) = self.streams.iter_mut().find(|salvaged| salvaged.slot.id() == stream) else {
            return Ok(());
        };
        if let Values::String(texts) = values {
            let is_replaced = |text: &&String| text.contains(char::REPLACEMENT_CHARACTER);
            self.done.replaced_text_count += texts.iter().filter(is_replaced).count() as u64;
        }
        salvaged.copy_samples(stamps, values, &mut self.out).map_err(RepairError::Write)
    }

    fn salvaged(&mut self, id: u32) -> Option<&mut Salvaged> {
        self.streams.iter_mut().find(|salvaged| salvaged.slot.id() == id)
    }

    fn finish<R: Read + Seek>(mut self, reader: &Reader<R>) -> Result<Repair, RepairError> {
        self.done.unknown_chunk_count = reader.unknown_chunk_count();
        let streams = core::mem::take(&mut self.streams);
        self.done.stream_count = streams.len();
        let mut xml = String::new();
        for stream in &streams {
            self.done.sample_count += stream.sample_count;
            let guessed = reader.guessed_stamp_count(stream.slot.id()).min(stream.sample_count);
            self.done.guessed_stamp_count += guessed;
            let counted = (Some(stream.sample_count), guessed);
            let agrees =
                |footer: &&StreamFooter| (footer.sample_count, footer.guessed_stamp_count) == counted;
            let footer = stream.footer.as_ref().filter(agrees);
            xml.clear();
            match footer {
                Some(footer) => xml.push_str(&footer.xml),
                None => {
                    self.done.footer_count += 1;
                    stream.put_footer(&mut xml, guessed);
                }
            }
            self.write_chunk(Tag::StreamFooter, Some(stream.slot.id()), xml.as_bytes())?;
        }
        self.write_chunk(Tag::Boundary, None, &BOUNDARY)?;
        self.out.write_checksum().and_then(|()| self.out.flush()).map_err(RepairError::Write)?;
        Ok(self.done)
    }

    fn write_chunk(&mut self, tag: Tag, stream: Option<u32>, content: &[u8]) -> Result<(), RepairError> {
        let mut chunk = Vec::with_capacity(content.len() + 16);
        put_chunk(&mut chunk, tag, stream, content);
        self.write(&chunk)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RepairError> {
        self.out.write_all(bytes).map_err(RepairError::Write)
    }
}

impl Salvaged {
    fn new(header: &StreamHeader) -> Self {
        Self {
            slot: Slot::new(header),
            pending: Pending::default(),
            first_stamp: 0.0,
            last_stamp: 0.0,
            sample_count: 0,
            offsets: Vec::new(),
            footer: None,
        }
    }

    fn put_footer(&self, xml: &mut String, guessed: u64) {
        put_footer_xml(xml, self.first_stamp, self.last_stamp, self.sample_count, &self.offsets);
        if guessed > 0 {
            let end = xml.rfind("</info>").unwrap_or(xml.len());
            xml.insert_str(end, &format!("<guessed_stamp_count>{guessed}</guessed_stamp_count>"));
        }
    }

    fn copy_samples(&mut self, stamps: &[f64], values: &Values, out: &mut impl Write) -> io::Result<()> {
        let (Some(&first), Some(&last)) = (stamps.first(), stamps.last()) else { return Ok(()) };
        if self.sample_count == 0 {
            self.first_stamp = first;
        }
        self.last_stamp = last;
        self.sample_count += stamps.len() as u64;
        self.slot.push_values(stamps, values);
        self.slot.take(&mut self.pending);
        let mut head = Vec::with_capacity(32);
        for (chunk, bytes) in self.pending.chunk_bytes() {
            head.clear();
            put_samples_head(&mut head, self.slot.id(), chunk.sample_count, bytes.len());
            out.write_all(&head)?;
            out.write_all(bytes)?;
        }
        self.pending.clear();
        Ok(())
    }
}
