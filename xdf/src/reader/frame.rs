//! Where chunks begin and end, even if a file's own word on it is damaged.
//!
//! A file has no checksums. Two checks are possible: a chunk's content fits its length, and something
//! that looks like a chunk follows. Either check finds one damaged length. The chunk's true end then
//! follows from its content: from its samples' count and layout, or from `</info>`.

use std::collections::HashMap;
use std::io::{self, Read, Seek};

use super::chunks::OUR_NAME;
use super::layout::{Layout, Measure};
use super::window::Window;
use crate::source::Flaws;
use crate::wire::{BOUNDARY, CLOCK_OFFSET_CONTENT, MAGIC, Tag, VAR_LEN_MAX, VarLen, read_var_len};

/// A chunk's place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Where its length begins.
    pub(super) at: u64,
    pub(super) tag: u16,
    /// Where its content after the tag begins.
    pub(super) content: u64,
    /// Where it ends.
    pub(super) end: u64,
}

impl Head {
    pub(super) const fn content_len(&self) -> u64 {
        self.end - self.content
    }
}

/// What stands at a place of the file where a chunk should.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// The file ends here.
    End,
    /// No chunk.
    Invalid,
    /// A chunk that would end after the file does; `end` is the file's. With it, the end that it claims.
    Torn(Head, u64),
    /// A chunk.
    Whole(Head),
}

/// Where the samples of a chunk end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Whole samples.
    pub(super) count: u64,
    /// Where the last of them ends.
    pub(super) end: u64,
    /// Whether there are as many as the chunk says.
    pub(super) complete: bool,
    /// The first stamp that is written, and how many samples stand before it.
    pub(super) stamp: Option<(u64, f64)>,
}

/// The samples of a chunk, found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) stream: u32,
    /// Where the first sample begins.
    pub(super) first: u64,
    /// How many there are, as the chunk says.
    pub(super) count: u64,
    pub(super) walk: Walk,
}

/// Finds chunks.
#[derive(Debug)]
pub(super) struct Framer<R> {
    pub(super) window: Window<R>,
    pub(super) layouts: HashMap<u32, Layout>,
    /// Bytes that we may still look at on suspicion. Keeps a malicious file from costing more than
    /// a few times its length.
    pub(super) suspicion: u64,
    /// Places that stand for nothing, because they did not open.
    pub(super) flaws: Flaws,
}

impl<R: Read + Seek> Framer<R> {
    /// The content of a chunk, which fits into memory.
    pub(super) fn content(&mut self, head: Head) -> io::Result<&[u8]> {
        self.window.view(head.content, usize::try_from(head.content_len()).unwrap_or(usize::MAX))
    }

    /// Says what stands at `at`, going by the length there alone.
    pub(super) fn frame(&mut self, at: u64) -> io::Result<Frame> {
        let file_len = self.window.len();
        let bytes = self.window.view(at, VAR_LEN_MAX + 2)?;
        if bytes.is_empty() {
            return Ok(Frame::End);
        }
        let (len, taken) = match read_var_len(bytes) {
            VarLen::Number { value, taken } => (value, taken),
            VarLen::Incomplete | VarLen::Invalid => return Ok(Frame::Invalid),
        };
        let Some(tag) = bytes.get(taken..).and_then(<[u8]>::first_chunk) else { return Ok(Frame::Invalid) };
        let Some(end) = (at + taken as u64).checked_add(len).filter(|_| len >= 2) else {
            return Ok(Frame::Invalid);
        };
        let content = at + taken as u64 + 2;
        let head = Head { at, tag: u16::from_le_bytes(*tag), content, end: end.min(file_len) };
        Ok(if end > file_len { Frame::Torn(head, end) } else { Frame::Whole(head) })
    }

    /// Says whether a file's header begins at `at`, after the mark with which every recording begins.
    pub(super) fn is_marked_header(&mut self, at: u64) -> io::Result<bool> {
        let Some(mark) = at.checked_sub(MAGIC.len() as u64) else { return Ok(false) };
        let is_header = matches!(self.frame(at)?, Frame::Whole(head) if head.tag == Tag::FileHeader.number());
        Ok(is_header && self.is_plausible(at)? && self.window.view(mark, MAGIC.len())? == MAGIC)
    }

    /// Says whether a chunk may plausibly begin at `at`, or the file end there. Looks at a few bytes
    /// only.
    pub(super) fn is_plausible(&mut self, at: u64) -> io::Result<bool> {
        let (head, end) = match self.frame(at)? {
            Frame::End => return Ok(true),
            Frame::Invalid => return Ok(false),
            Frame::Torn(head, end) => (head, end),
            Frame::Whole(head) => (head, head.end),
        };
        let torn = end > head.end;
        let content_len = end - head.content;
        if torn && content_len > TORN_BYTES_MAX {
            return Ok(false);
        }
        let Some(tag) = Tag::parse(head.tag) else { return Ok(false) };
        let bytes = self.window.view(head.content, 16)?;
        let xml = |skipped: usize| bytes.get(skipped) == Some(&b'<');
        Ok(match tag {
            Tag::FileHeader => xml(0),
            Tag::StreamHeader | Tag::StreamFooter => xml(4),
            Tag::Boundary if content_len > 16 => bytes.starts_with(OUR_NAME),
            Tag::Boundary => {
                (torn && BOUNDARY.starts_with(bytes)) || (content_len == 16 && bytes == BOUNDARY)
            }
            Tag::ClockOffset => content_len == CLOCK_OFFSET_CONTENT as u64,
            Tag::Samples => {
                let Some((id, rest)) = bytes.split_first_chunk() else { return Ok(torn) };
                let VarLen::Number { value: count, taken } = read_var_len(rest) else { return Ok(torn) };
                let room = content_len.saturating_sub(4 + taken as u64);
                // A stream whose header is lost still has chunks.
                let layout = self.layouts.get(&u32::from_le_bytes(*id));
                layout.map_or(count <= room, |layout| layout.permits(count, room))
            }
        })
    }

    /// Finds the samples of a chunk whose content begins at `content`, up to `limit`. Returns none if
    /// its stream is unknown or it has no count.
    pub(super) fn find_samples(&mut self, content: u64, limit: u64) -> io::Result<Option<Found>> {
        let room = usize::try_from(limit.saturating_sub(content)).unwrap_or(usize::MAX);
        let bytes = self.window.view(content, room.min(4 + VAR_LEN_MAX))?;
        let Some((id, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let stream = u32::from_le_bytes(*id);
        let VarLen::Number { value: count, taken } = read_var_len(rest) else { return Ok(None) };
        let Some(layout) = self.layouts.get(&stream).copied() else { return Ok(None) };
        let first = content + 4 + taken as u64;
        let walk = self.walk(layout, first, count, limit)?;
        Ok(Some(Found { stream, first, count, walk }))
    }

    /// Walks over up to `count` samples from `at`, up to `limit`.
    pub(super) fn walk(&mut self, layout: Layout, at: u64, count: u64, limit: u64) -> io::Result<Walk> {
        let mut walk = Walk { count: 0, end: at, complete: count == 0, stamp: None };
        let mut want = PIECE;
        while walk.count < count {
            let room = usize::try_from(limit.saturating_sub(walk.end)).unwrap_or(usize::MAX);
            let bytes = self.window.view(walk.end, want.min(room))?;
            let available = bytes.len();
            let hole = self.flaws.hole_in(walk.end, walk.end + available as u64);
            let bytes = match hole.and_then(|hole| usize::try_from(hole - walk.end).ok()) {
                Some(until) => bytes.get(..until).unwrap_or_default(),
                None => bytes,
            };
            let mut from = 0;
            let stopped = loop {
                if walk.count == count {
                    break Measure::Incomplete;
                }
                match layout.measure(bytes.get(from..).unwrap_or_default()) {
                    Measure::Sample { stamp, end, .. } => {
                        walk.stamp = walk.stamp.or(stamp.map(|stamp| (walk.count, stamp)));
                        from += end;
                        walk.count += 1;
                    }
                    other => break other,
                }
            };
            walk.end += from as u64;
            if hole.is_some() && walk.count < count {
                break;
            }
            if stopped == Measure::Invalid || (from == 0 && (available == room || available < want)) {
                break;
            }
            want = if from == 0 { want.saturating_mul(2) } else { PIECE };
        }
        walk.complete = walk.count == count;
        Ok(walk)
    }

    /// Finds where the chunk at `at` ends from its content, taking its length for damaged.
    ///
    /// None if no length width, with what follows the content, makes sense of it.
    pub(super) fn frame_by_content(&mut self, at: u64) -> io::Result<Option<Head>> {
        for width in [4, 1, 8] {
            let tag_at = at + 1 + width;
            let Some(tag) = self.window.view(tag_at, 2)?.first_chunk().map(|tag| u16::from_le_bytes(*tag))
            else {
                continue;
            };
            let content = tag_at + 2;
            let end = match Tag::parse(tag) {
                Some(Tag::Samples) => self.samples_end(content)?,
                Some(Tag::ClockOffset) => Some(content + CLOCK_OFFSET_CONTENT as u64),
                Some(Tag::Boundary) if self.window.view(content, 16)? == BOUNDARY => Some(content + 16),
                Some(Tag::FileHeader) => self.xml_end(content)?,
                Some(Tag::StreamHeader | Tag::StreamFooter) => self.xml_end(content + 4)?,
                _ => None,
            };
            let Some(end) = end else { continue };
            if end <= self.window.len() && self.is_plausible(end)? {
                return Ok(Some(Head { at, tag, content, end }));
            }
        }
        Ok(None)
    }

    /// Finds the next place after `at` and before `limit` from which the file makes sense again. Returns
    /// the file's end if none.
    pub(super) fn resync(&mut self, at: u64, limit: u64) -> io::Result<u64> {
        let mut from = at + 1;
        loop {
            let bytes = self.window.view(from, PIECE)?;
            if bytes.len() < 4 || from >= limit {
                return Ok(self.window.len());
            }
            let candidate = bytes.windows(4).position(may_begin_chunk);
            let whole = bytes.len() - 3;
            let Some(offset) = candidate else {
                from += whole as u64;
                continue;
            };
            from += offset as u64;
            if self.is_chunk(from)? {
                return Ok(from);
            }
            from += 1;
        }
    }

    /// Says whether there is a chunk at `at` beyond reasonable doubt.
    fn is_chunk(&mut self, at: u64) -> io::Result<bool> {
        let Frame::Whole(head) = self.frame(at)? else { return Ok(false) };
        if !self.is_plausible(at)? || !self.is_plausible(head.end)? {
            return Ok(false);
        }
        if head.tag != Tag::Samples.number() {
            return Ok(true);
        }
        if !self.suspect(head.content_len()) {
            return Ok(false);
        }
        let found = self.find_samples(head.content, head.end)?;
        Ok(found.is_some_and(|found| found.walk.complete && found.walk.end == head.end))
    }

    /// Says whether a part of a chunk did not open.
    pub(super) fn has_hole(&mut self, head: Head) -> io::Result<bool> {
        if !self.flaws.are_possible() {
            return Ok(false);
        }
        // Which places do not open is known once they have been read.
        let len = head.content_len().min(XML_BYTES_MAX);
        self.window.view(head.content, usize::try_from(len).unwrap_or(usize::MAX))?;
        Ok(self.flaws.hole_in(head.at, head.end).is_some())
    }

    fn samples_end(&mut self, content: u64) -> io::Result<Option<u64>> {
        if !self.suspect(self.window.len().saturating_sub(content).min(SUSPECT_BYTES)) {
            return Ok(None);
        }
        let limit = self.window.len().min(content.saturating_add(SUSPECT_BYTES));
        let found = self.find_samples(content, limit)?;
        Ok(found.filter(|found| found.walk.complete).map(|found| found.walk.end))
    }

    fn xml_end(&mut self, from: u64) -> io::Result<Option<u64>> {
        const LAST_TAG: &[u8] = b"</info>";
        let room = self.window.len().saturating_sub(from).min(XML_BYTES_MAX);
        if self.window.view(from, 1)?.first() != Some(&b'<') || !self.suspect(room) {
            return Ok(None);
        }
        let bytes = self.window.view(from, usize::try_from(XML_BYTES_MAX).unwrap_or(usize::MAX))?;
        let last = bytes.windows(LAST_TAG.len()).position(|window| window == LAST_TAG);
        let Some(mut end) = last.map(|last| last + LAST_TAG.len()) else { return Ok(None) };
        // Some writers end the text with a line break or a zero byte.
        while bytes.get(end).is_some_and(|&byte| byte == 0 || byte.is_ascii_whitespace() && byte != 0x04) {
            end += 1;
        }
        Ok(Some(from + end as u64))
    }

    /// Says whether so many bytes more may be looked at on suspicion.
    pub(super) fn suspect(&mut self, bytes: u64) -> bool {
        let left = self.suspicion.checked_sub(bytes);
        self.suspicion = left.unwrap_or(self.suspicion);
        left.is_some()
    }
}

/// Says whether a chunk's length byte and, if in reach, its tag stand at the front of four bytes.
fn may_begin_chunk(bytes: &[u8]) -> bool {
    match bytes {
        [1, len, tag, 0] => *len >= 2 && (1..=6).contains(tag),
        [4 | 8, ..] => true,
        _ => false,
    }
}

/// The longest chunk that we believe to be cut off by the file's end.
const TORN_BYTES_MAX: u64 = 1 << 32;
/// Bytes looked at in one go.
pub(super) const PIECE: usize = 1 << 20;
/// The longest XML of a header or footer that we read.
pub(super) const XML_BYTES_MAX: u64 = 1 << 26;
/// The longest chunk whose true end we look for.
const SUSPECT_BYTES: u64 = 1 << 26;
