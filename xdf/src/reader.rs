//! Reads a recording chunk by chunk, in bounded memory, past any damage.
//!
//! Nothing in a file is believed without a check: lengths and counts are bounded by what is there, a
//! chunk that does not fit its content is read as far as its samples are whole, and reading goes on at the
//! next place that makes sense. Each such place is reported as [`Event::Damage`].

mod event;
mod frame;
mod layout;
mod window;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

pub use event::{Damage, DamageKind, Event, ReadError};
use frame::{Found, Frame, Framer, Head, PIECE, XML_BYTES_MAX};
use layout::{Layout, Measure, append_row};
use window::Window;

use crate::checksum::Checksum;
use crate::header::{StreamFooter, StreamHeader, is_xml};
use crate::values::Values;
use crate::wire::{BOUNDARY, CLOCK_OFFSET_CONTENT, MAGIC, Tag};

/// Reads a recording.
#[derive(Debug)]
pub struct Reader<R> {
    framer: Framer<R>,
    at: u64,
    streams: HashMap<u32, Stream>,
    decoding: Option<Decoding>,
    pending: Option<Damage>,
    checksums: Vec<Checksum>,
    /// The XML, footer, stamps and values handed out last.
    text: String,
    footer: StreamFooter,
    stamps: Vec<f64>,
    values: Values,
}

impl Reader<File> {
    /// Opens the file at `path`.
    ///
    /// - Errors: as [`Reader::new`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Begins to read `source` at its beginning.
    ///
    /// - Errors: [`ReadError::Compressed`] if it is compressed; [`ReadError::NotXdf`] if it does not begin with [`MAGIC`] and no chunk can be found near its
    ///   beginning; [`ReadError::Io`] from the source.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let window = Window::new(source)?;
        let suspicion = window.len().saturating_mul(16).saturating_add(16 * XML_BYTES_MAX);
        let mut framer = Framer { window, layouts: HashMap::new(), suspicion };
        let mut at = MAGIC.len() as u64;
        let mut pending = None;
        if framer.window.view(0, MAGIC.len())? != MAGIC {
            if framer.window.view(0, GZIP.len())? == GZIP {
                return Err(ReadError::Compressed);
            }
            // A damaged beginning must not cost the file.
            if framer.window.len() <= at || !framer.is_plausible(at)? {
                at = framer.resync(0, BEGINNING_BYTES)?;
            }
            if at >= framer.window.len() {
                return Err(ReadError::NotXdf);
            }
            pending = Some(Damage { at: 0, bytes: at, kind: DamageKind::Magic });
        }
        Ok(Self {
            framer,
            at,
            streams: HashMap::new(),
            decoding: None,
            pending,
            checksums: Vec::new(),
            text: String::new(),
            footer: StreamFooter::default(),
            stamps: Vec::new(),
            values: Values::String(Vec::new()),
        })
    }

    /// Returns what comes next; none at the end of the file.
    ///
    /// - Errors: from the source only. Damage is not an error but [`Event::Damage`].
    pub fn next_event(&mut self) -> io::Result<Option<Event<'_>>> {
        let step = loop {
            match self.step()? {
                Step::Done => return Ok(None),
                Step::Again => {}
                step => break step,
            }
        };
        Ok(self.event(step))
    }

    /// Returns how far reading has come, and how far it goes, in bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.at.min(self.framer.window.len()), self.framer.window.len())
    }

    /// Returns the checksums that were found so far.
    #[must_use]
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// Whether what comes next is another piece of the chunk before.
    pub(crate) const fn is_inside_chunk(&self) -> bool {
        self.decoding.is_some()
    }

    /// Returns the header of a stream that has been met.
    pub(crate) fn header(&self, id: u32) -> Option<&StreamHeader> {
        self.streams.get(&id).map(|stream| &stream.header)
    }

    /// Goes on at the chunk that begins at `at`; streams that have been met stay known.
    pub(crate) fn seek_to(&mut self, at: u64) {
        (self.at, self.decoding, self.pending) = (at, None, None);
    }

    /// Begins anew.
    pub(crate) fn rewind(&mut self) {
        self.seek_to(MAGIC.len() as u64);
        self.streams.clear();
        self.framer.layouts.clear();
        self.checksums.clear();
    }

    fn event(&self, step: Step) -> Option<Event<'_>> {
        Some(match step {
            Step::Again | Step::Done => return None,
            Step::Boundary => Event::Boundary,
            Step::ClockOffset { stream, collected, offset } => {
                Event::ClockOffset { stream, collected, offset }
            }
            Step::Damage(damage) => Event::Damage(damage),
            Step::FileHeader => Event::FileHeader { xml: &self.text },
            Step::Samples(stream) => Event::Samples { stream, stamps: &self.stamps, values: &self.values },
            Step::StreamFooter(stream) => Event::StreamFooter { stream, footer: &self.footer },
            Step::StreamHeader(stream) => Event::StreamHeader(&self.streams.get(&stream)?.header),
        })
    }

    /// Goes on by one chunk, or one piece of one.
    fn step(&mut self) -> io::Result<Step> {
        if let Some(decoding) = self.decoding.take() {
            return self.decode(decoding);
        }
        if let Some(damage) = self.pending.take() {
            return Ok(Step::Damage(damage));
        }
        match self.framer.frame(self.at)? {
            Frame::End => Ok(Step::Done),
            Frame::Invalid => match self.chunk_by_content(u64::MAX)? {
                Some(step) => Ok(step),
                None => self.step_lost(),
            },
            Frame::Torn(head, _) => self.step_torn(head),
            Frame::Whole(head) if self.swallows(head)? => self.step_lost(),
            Frame::Whole(head) => match self.chunk(head)? {
                Some(step) => Ok(step),
                None => self.step_misfit(head),
            },
        }
    }

    /// Says whether a chunk whose end leads nowhere has another chunk's beginning within: bytes are missing.
    fn swallows(&mut self, head: Head) -> io::Result<bool> {
        Ok(!self.framer.is_plausible(head.end)? && self.hides_chunk(head)?)
    }

    /// Says whether another chunk begins within a chunk.
    fn hides_chunk(&mut self, head: Head) -> io::Result<bool> {
        Ok(self.framer.resync(head.at, head.end)? < head.end)
    }

    /// Takes in a chunk whose content fits; none if it does not, and then nothing has changed.
    fn chunk(&mut self, head: Head) -> io::Result<Option<Step>> {
        let step = match Tag::parse(head.tag) {
            Some(Tag::Samples) => return self.samples(head),
            Some(Tag::Boundary)
                if head.content_len() == 16 && self.framer.window.view(head.content, 16)? == BOUNDARY =>
            {
                Step::Boundary
            }
            Some(Tag::Boundary) if head.content_len() > 16 => return self.long_boundary(head),
            Some(Tag::ClockOffset) => return self.clock_offset(head),
            Some(tag @ (Tag::FileHeader | Tag::StreamHeader | Tag::StreamFooter)) => {
                return self.xml(tag, head);
            }
            // The specification lets readers skip chunks that it does not name.
            None if self.framer.is_plausible(head.end)? && !self.hides_chunk(head)? => Step::Again,
            Some(Tag::Boundary) | None => return Ok(None),
        };
        self.at = head.end;
        Ok(Some(step))
    }

    /// Takes in a boundary with more than its mark: a checksum, an index, or what is not known.
    fn long_boundary(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some(mark_at) = head.end.checked_sub(BOUNDARY.len() as u64) else { return Ok(None) };
        if self.framer.window.view(mark_at, BOUNDARY.len())? != BOUNDARY {
            return Ok(None);
        }
        if head.content_len() < 256 {
            let content = self.framer.window.view(head.content, 255)?;
            let content = usize::try_from(head.content_len()).ok().and_then(|len| content.get(..len));
            self.checksums.extend(content.and_then(|content| Checksum::parse(head.at, content)));
        }
        self.at = head.end;
        Ok(Some(Step::Again))
    }

    fn samples(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some(found) = self.framer.find_samples(head.content, head.end)? else { return Ok(None) };
        if !found.walk.complete || found.walk.end != head.end {
            return Ok(None);
        }
        self.begin_samples(found);
        self.at = head.end;
        Ok(Some(Step::Again))
    }

    fn clock_offset(&mut self, head: Head) -> io::Result<Option<Step>> {
        if head.content_len() != CLOCK_OFFSET_CONTENT as u64 {
            return Ok(None);
        }
        let bytes = self.framer.window.view(head.content, CLOCK_OFFSET_CONTENT)?;
        let Some((id, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let Some((collected, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let Some(offset) = rest.first_chunk() else { return Ok(None) };
        let stream = u32::from_le_bytes(*id);
        if !self.streams.contains_key(&stream) {
            return Ok(None);
        }
        let (collected, offset) = (f64::from_le_bytes(*collected), f64::from_le_bytes(*offset));
        self.at = head.end;
        Ok(Some(Step::ClockOffset { stream, collected, offset }))
    }

    fn xml(&mut self, tag: Tag, head: Head) -> io::Result<Option<Step>> {
        if head.content_len() > XML_BYTES_MAX {
            return Ok(None);
        }
        let content = self
            .framer
            .window
            .view(head.content, usize::try_from(head.content_len()).unwrap_or(usize::MAX))?;
        let step = if tag == Tag::FileHeader {
            if !is_xml(content) {
                return Ok(None);
            }
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(content));
            Step::FileHeader
        } else {
            let Some((id, xml)) = content.split_first_chunk() else { return Ok(None) };
            let stream = u32::from_le_bytes(*id);
            if tag == Tag::StreamHeader {
                // A second header of the same stream can only be a damaged one: the first holds.
                let Ok(header) = StreamHeader::parse(stream, xml) else { return Ok(None) };
                if self.streams.contains_key(&stream) {
                    return Ok(None);
                }
                self.add_stream(header);
                Step::StreamHeader(stream)
            } else {
                let Some(footer) = StreamFooter::parse(xml) else { return Ok(None) };
                if !self.streams.contains_key(&stream) {
                    return Ok(None);
                }
                self.footer = footer;
                Step::StreamFooter(stream)
            }
        };
        self.at = head.end;
        Ok(Some(step))
    }

    fn add_stream(&mut self, header: StreamHeader) {
        let layout = Layout::new(&header);
        self.framer.layouts.insert(header.id, layout);
        self.streams.insert(header.id, Stream { header, last_stamp: 0.0 });
    }

    /// Goes on past a chunk whose content does not fit its length.
    fn step_misfit(&mut self, head: Head) -> io::Result<Step> {
        // A length that leads to another chunk is right, unless one comes earlier.
        let (limit, trusted) =
            if self.framer.is_plausible(head.end)? { (head.end, true) } else { (u64::MAX, false) };
        if let Some(step) = self.chunk_by_content(limit)? {
            return Ok(step);
        }
        if !trusted || self.hides_chunk(head)? {
            return self.step_lost();
        }
        // Another chunk follows where this one says that it ends: its content is what is damaged.
        let mut from = head.at;
        if head.tag == Tag::StreamHeader.number() {
            return self.damaged_header(head);
        }
        if let Some(found) = self.framer.find_samples(head.content, head.end)? {
            let exact = found.walk.complete && found.walk.end == head.end;
            if head.tag == Tag::Samples.number() || exact {
                self.begin_samples(found);
                from = found.walk.end;
            }
        }
        Ok(self.damage(from, head.end, DamageKind::Content))
    }

    /// Takes from a stream header that is no XML what can be made out.
    fn damaged_header(&mut self, head: Head) -> io::Result<Step> {
        let len = usize::try_from(head.content_len().min(XML_BYTES_MAX)).unwrap_or(usize::MAX);
        let content = self.framer.window.view(head.content, len)?;
        let header = content
            .split_first_chunk()
            .and_then(|(id, xml)| StreamHeader::parse_damaged(u32::from_le_bytes(*id), xml))
            .filter(|header| !self.streams.contains_key(&header.id));
        let again = self.damage(head.at, head.end, DamageKind::Content);
        let Some(header) = header else { return Ok(again) };
        let id = header.id;
        self.add_stream(header);
        Ok(Step::StreamHeader(id))
    }

    /// Goes on past a chunk that would end after the file does.
    fn step_torn(&mut self, head: Head) -> io::Result<Step> {
        if let Some(step) = self.chunk_by_content(u64::MAX)? {
            return Ok(step);
        }
        if head.tag == Tag::Samples.number()
            && let Some(found) = self.framer.find_samples(head.content, head.end)?
            && !found.walk.complete
            && found.walk.end + TORN_SAMPLE_MAX > head.end
        {
            self.begin_samples(found);
            return Ok(self.damage(found.walk.end, head.end, DamageKind::Torn));
        }
        self.step_lost()
    }

    /// Takes in a chunk whose length is damaged, if its content tells where it ends, before `limit`.
    fn chunk_by_content(&mut self, limit: u64) -> io::Result<Option<Step>> {
        let at = self.at;
        let Some(head) = self.framer.frame_by_content(at)?.filter(|head| head.end < limit) else {
            return Ok(None);
        };
        let step = self.chunk(head)?;
        if step.is_some() {
            self.pending = Some(Damage { at, bytes: 0, kind: DamageKind::Framing });
        }
        Ok(step)
    }

    /// Goes on where the next chunk can be found.
    fn step_lost(&mut self) -> io::Result<Step> {
        let at = self.at;
        let to = self.framer.resync(at, u64::MAX)?;
        // What can be read before that is still worth reading.
        let mut from = at;
        if let Frame::Whole(head) | Frame::Torn(head, _) = self.framer.frame(at)?
            && head.tag == Tag::Samples.number()
            && let Some(found) = self.framer.find_samples(head.content, head.end.min(to))?
            && found.walk.count > 0
        {
            from = found.walk.end;
            self.begin_samples(found);
        }
        let kind = if to == self.framer.window.len() { DamageKind::Torn } else { DamageKind::Framing };
        Ok(self.damage(from, to, kind))
    }

    fn damage(&mut self, at: u64, to: u64, kind: DamageKind) -> Step {
        self.at = to;
        self.pending = Some(Damage { at, bytes: to - at, kind });
        Step::Again
    }

    fn begin_samples(&mut self, found: Found) {
        if found.walk.count > 0 {
            self.decoding = Some(Decoding {
                stream: found.stream,
                at: found.first,
                end: found.walk.end,
                left: found.walk.count,
            });
        }
    }

    /// Decodes one piece of a chunk's samples, which have been walked over before.
    fn decode(&mut self, mut decoding: Decoding) -> io::Result<Step> {
        let (Some(stream), Some(layout)) =
            (self.streams.get_mut(&decoding.stream), self.framer.layouts.get(&decoding.stream).copied())
        else {
            return Ok(Step::Again);
        };
        self.stamps.clear();
        if self.values.format() == stream.header.format {
            self.values.clear();
        } else {
            self.values = Values::new(stream.header.format);
        }
        let interval = stream.header.interval();
        let mut want = PIECE;
        while self.stamps.is_empty() && decoding.left > 0 {
            // Not beyond the chunk: what the window holds lasts for many short ones.
            let room = usize::try_from(decoding.end.saturating_sub(decoding.at)).unwrap_or(usize::MAX);
            let bytes = self.framer.window.view(decoding.at, want.min(room))?;
            let available = bytes.len();
            let mut from = 0;
            while decoding.left > 0
                && let Some(rest) = bytes.get(from..)
                && let Measure::Sample { stamp, values, end } = layout.measure(rest)
            {
                stream.last_stamp = stamp.unwrap_or(stream.last_stamp + interval);
                self.stamps.push(stream.last_stamp);
                append_row(&mut self.values, rest.get(values..end).unwrap_or_default());
                decoding.left -= 1;
                from += end;
            }
            decoding.at += from as u64;
            if from == 0 && available < want {
                // The file became shorter since we walked over it.
                return Ok(Step::Again);
            }
            want = want.saturating_mul(2);
        }
        let stream = decoding.stream;
        self.decoding = Some(decoding).filter(|decoding| decoding.left > 0);
        Ok(Step::Samples(stream))
    }
}

/// How a file begins that gzip has written. Source: RFC 1952 §2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What reading came upon.
#[derive(Clone, Copy, Debug)]
enum Step {
    Again,
    Boundary,
    ClockOffset { stream: u32, collected: f64, offset: f64 },
    Damage(Damage),
    Done,
    FileHeader,
    Samples(u32),
    StreamFooter(u32),
    StreamHeader(u32),
}

/// A stream that has been met.
#[derive(Debug)]
struct Stream {
    header: StreamHeader,
    last_stamp: f64,
}

/// Samples that have been found and not yet handed out.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    stream: u32,
    at: u64,
    /// Where the last of them ends.
    end: u64,
    left: u64,
}

/// Where a recording that lost its beginning must go on at the latest.
const BEGINNING_BYTES: u64 = 1 << 20;
/// The most bytes of a sample that a torn chunk may end with.
const TORN_SAMPLE_MAX: u64 = 1 << 28;

#[cfg(test)]
mod tests;
