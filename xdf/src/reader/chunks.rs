//! Takes in chunks whose content fits their length.

use std::io::{self, Read, Seek};

use super::damaged::MAGIC_BYTES;
use super::frame::{Head, XML_BYTES_MAX};
use super::layout::Layout;
use super::reckoning::Place;
use super::{Reader, Step, Stream};
use crate::checksum::Checksum;
use crate::header::{StreamFooter, StreamHeader, is_xml};
use crate::wire::{BOUNDARY, CLOCK_OFFSET_CONTENT, Tag};

impl<R: Read + Seek> Reader<R> {
    /// Says whether a chunk has the beginning of another within, or of another recording: bytes are missing. A chunk that another
    /// one follows is taken at its word.
    pub(super) fn swallows(&mut self, head: Head) -> io::Result<bool> {
        let next = match self.framer.is_plausible(head.end)? {
            true => head.end,
            false => self.framer.resync(head.at, head.end + MAGIC_BYTES)?,
        };
        Ok(next < head.end || next < head.end + MAGIC_BYTES && self.framer.is_marked_header(next)?)
    }

    /// Says whether another chunk begins within a chunk.
    pub(super) fn hides_chunk(&mut self, head: Head) -> io::Result<bool> {
        Ok(self.framer.resync(head.at, head.end)? < head.end)
    }

    /// Takes in a chunk whose content fits; none if it does not, and then nothing has changed.
    pub(super) fn chunk(&mut self, head: Head) -> io::Result<Option<Step>> {
        let step = match Tag::parse(head.tag) {
            Some(Tag::Samples) => return self.samples(head),
            _ if self.framer.has_hole(head)? => return Ok(None),
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
            None if self.is_unknown_chunk(head)? => {
                self.unknown_chunk_count += 1;
                Step::Again
            }
            Some(Tag::Boundary) | None => return Ok(None),
        };
        self.at = head.end;
        Ok(Some(step))
    }

    /// Says whether a chunk whose tag is not known is whole, and not one of samples with a damaged tag.
    fn is_unknown_chunk(&mut self, head: Head) -> io::Result<bool> {
        let found = self.framer.find_samples(head.content, head.end)?;
        let are_samples = found.is_some_and(|found| found.walk.complete && found.walk.end == head.end);
        Ok(!are_samples && self.framer.is_plausible(head.end)? && !self.hides_chunk(head)?)
    }

    /// Takes in a boundary with more than its mark: a checksum, an index, or what is not known.
    pub(super) fn long_boundary(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some(mark_at) = head.end.checked_sub(BOUNDARY.len() as u64) else { return Ok(None) };
        if self.framer.window.view(mark_at, BOUNDARY.len())? != BOUNDARY {
            return Ok(None);
        }
        if head.content_len() < 256 {
            let content = self.framer.window.view(head.content, 255)?;
            let content = usize::try_from(head.content_len()).ok().and_then(|len| content.get(..len));
            match content.and_then(|content| Checksum::parse(head.at, content)) {
                Some(checksum) => self.checksums.push(checksum),
                None if content.is_some_and(|content| content.starts_with(&Checksum::NAME)) => {
                    self.displaced_checksum.get_or_insert(head.at);
                }
                None => {}
            }
        }
        if self.framer.window.view(head.content, OUR_NAME.len())? != OUR_NAME {
            self.unknown_chunk_count += 1;
        }
        self.at = head.end;
        Ok(Some(Step::Again))
    }

    pub(super) fn samples(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some(found) = self.framer.find_samples(head.content, head.end)? else { return Ok(None) };
        if !found.walk.complete || found.walk.end != head.end {
            return Ok(None);
        }
        self.begin_samples(found)?;
        self.at = head.end;
        Ok(Some(Step::Again))
    }

    pub(super) fn clock_offset(&mut self, head: Head) -> io::Result<Option<Step>> {
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

    pub(super) fn xml(&mut self, tag: Tag, head: Head) -> io::Result<Option<Step>> {
        if head.content_len() > XML_BYTES_MAX {
            return Ok(None);
        }
        let step = match tag {
            Tag::FileHeader => self.file_header(head)?,
            Tag::StreamHeader => self.stream_header(head)?,
            _ => self.stream_footer(head)?,
        };
        if step.is_some() {
            self.at = head.end;
        }
        Ok(step)
    }

    fn file_header(&mut self, head: Head) -> io::Result<Option<Step>> {
        let content = self.framer.content(head)?;
        if !is_xml(content) {
            return Ok(None);
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(content));
        Ok(Some(Step::FileHeader))
    }

    fn stream_header(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some((id, xml)) = self.framer.content(head)?.split_first_chunk() else { return Ok(None) };
        let stream = u32::from_le_bytes(*id);
        // Read again after a leap back.
        if self.streams.get(&stream).is_some_and(|known| known.header_at == head.at) {
            return Ok(Some(Step::Again));
        }
        // A second header of the same stream can only be a damaged one: the first holds.
        let Ok(header) = StreamHeader::parse(stream, xml) else { return Ok(None) };
        if self.streams.contains_key(&stream) {
            return Ok(None);
        }
        self.add_stream(header, head.at);
        Ok(Some(Step::StreamHeader(stream)))
    }

    fn stream_footer(&mut self, head: Head) -> io::Result<Option<Step>> {
        let Some((id, xml)) = self.framer.content(head)?.split_first_chunk() else { return Ok(None) };
        let stream = u32::from_le_bytes(*id);
        let Some(footer) = StreamFooter::parse(xml) else { return Ok(None) };
        let Some(known) = self.streams.get_mut(&stream) else { return Ok(None) };
        known.guessed_stamp_count = known.guessed_stamp_count.saturating_add(footer.guessed_stamp_count);
        self.footer = footer;
        Ok(Some(Step::StreamFooter(stream)))
    }

    /// Takes in the header of a stream, which begins at `header_at`.
    pub(crate) fn add_stream(&mut self, header: StreamHeader, header_at: u64) {
        let layout = Layout::new(&header);
        self.framer.layouts.insert(header.id, layout);
        let stream = Stream {
            interval: header.interval(),
            header,
            header_at,
            last_stamp: None,
            resume: None,
            place: Place::Known,
            guessed_stamp_count: 0,
        };
        self.streams.insert(stream.header.id, stream);
    }
}

/// With it our checksums and indexes begin, of which a repair writes its own.
pub(super) const OUR_NAME: &[u8] = b"schwann";
