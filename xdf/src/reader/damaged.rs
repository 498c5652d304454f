//! Goes on past what does not fit, and loses no more than that.

use std::io::{self, Read, Seek};

use super::frame::{Frame, Head, XML_BYTES_MAX};
use super::reckoning::Lost;
use super::{Damage, DamageKind, Reader, Step};
use crate::header::StreamHeader;
use crate::wire::{MAGIC, Tag};

impl<R: Read + Seek> Reader<R> {
    /// Goes on past a chunk whose content does not fit its length.
    pub(super) fn step_misfit(&mut self, head: Head) -> io::Result<Step> {
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
        let (mut from, mut lost) = (head.at, Lost::Unknown);
        if head.tag == Tag::StreamHeader.number() {
            return self.damaged_header(head);
        }
        if let Some(found) = self.framer.find_samples(head.content, head.end)? {
            let exact = found.walk.complete && found.walk.end == head.end;
            if head.tag == Tag::Samples.number() || exact {
                self.begin_samples(found)?;
                from = found.walk.end;
                lost = self.lost_of(head, found)?;
            }
        }
        Ok(self.damage(from, head.end, DamageKind::Content, lost))
    }

    /// Takes from a stream header that is no XML what can be made out.
    pub(super) fn damaged_header(&mut self, head: Head) -> io::Result<Step> {
        let len = usize::try_from(head.content_len().min(XML_BYTES_MAX)).unwrap_or(usize::MAX);
        let content = self.framer.window.view(head.content, len)?;
        let header = content
            .split_first_chunk()
            .and_then(|(id, xml)| StreamHeader::parse_damaged(u32::from_le_bytes(*id), xml))
            .filter(|header| !self.streams.contains_key(&header.id));
        let again = self.damage(head.at, head.end, DamageKind::Content, Lost::Nothing);
        let Some(header) = header else { return Ok(again) };
        let id = header.id;
        self.add_stream(header, head.at);
        Ok(Step::StreamHeader(id))
    }

    /// Goes on past a chunk that would end after the file does.
    pub(super) fn step_torn(&mut self, head: Head) -> io::Result<Step> {
        if let Some(step) = self.chunk_by_content(u64::MAX)? {
            return Ok(step);
        }
        if head.tag == Tag::Samples.number()
            && let Some(found) = self.framer.find_samples(head.content, head.end)?
            && !found.walk.complete
            && found.walk.end + TORN_SAMPLE_MAX > head.end
        {
            self.begin_samples(found)?;
            return Ok(self.damage(found.walk.end, head.end, DamageKind::Torn, Lost::Unknown));
        }
        self.step_lost()
    }

    /// Takes in a chunk whose length is damaged, if its content tells where it ends, before `limit`.
    pub(super) fn chunk_by_content(&mut self, limit: u64) -> io::Result<Option<Step>> {
        let at = self.at;
        let Some(head) = self.framer.frame_by_content(at)?.filter(|head| head.end < limit) else {
            return Ok(None);
        };
        let step = self.chunk(head)?;
        if step.is_some() {
            self.pending = Some((Damage { at, bytes: 0, kind: DamageKind::Framing }, Lost::Nothing));
        }
        Ok(step)
    }

    /// Goes on where the next chunk can be found.
    pub(super) fn step_lost(&mut self) -> io::Result<Step> {
        let at = self.at;
        let mut to = self.framer.resync(at, u64::MAX)?;
        if to > at + MAGIC_BYTES && self.framer.is_marked_header(to)? {
            to -= MAGIC_BYTES;
        }
        // What can be read before that is still worth reading.
        let mut from = at;
        if let Frame::Whole(head) | Frame::Torn(head, _) = self.framer.frame(at)?
            && head.tag == Tag::Samples.number()
            && let Some(found) = self.framer.find_samples(head.content, head.end.min(to))?
            && found.walk.count > 0
        {
            from = found.walk.end;
            self.begin_samples(found)?;
        }
        let kind = if to == self.framer.window.len() { DamageKind::Torn } else { DamageKind::Framing };
        Ok(self.damage(from, to, kind, Lost::Unknown))
    }

    /// Ends before another recording: its streams may have the ids of this one's, and other clocks.
    pub(super) fn step_another(&mut self, frame: Frame) -> io::Result<Option<Step>> {
        let header = match frame {
            Frame::Invalid => self.at + MAGIC_BYTES,
            Frame::Whole(head) if head.tag == Tag::FileHeader.number() => head.at,
            _ => return Ok(None),
        };
        // A file's own header may be read again, after a leap back.
        let is_another =
            header > MAGIC_BYTES && !self.streams.is_empty() && self.framer.is_marked_header(header)?;
        let end = self.framer.window.len();
        Ok(is_another.then(|| self.damage(header - MAGIC_BYTES, end, DamageKind::Another, Lost::Unknown)))
    }

    fn damage(&mut self, at: u64, to: u64, kind: DamageKind, lost: Lost) -> Step {
        let kind = if self.framer.flaws.hole_in(at, to).is_some() { DamageKind::Seal } else { kind };
        self.at = to;
        self.pending = Some((Damage { at, bytes: to - at, kind }, lost));
        Step::Again
    }
}

/// Length of the mark with which a recording begins.
pub(super) const MAGIC_BYTES: u64 = MAGIC.len() as u64;
/// The most bytes of a sample that a torn chunk may end with.
const TORN_SAMPLE_MAX: u64 = 1 << 28;
