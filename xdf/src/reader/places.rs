//! Goes to the places that an index names, and past what is not wanted.

use std::io::{self, Read, Seek};

use super::Reader;
use super::frame::{Frame, Head};
use crate::index::Entry;
use crate::values::Values;
use crate::wire::{Tag, VAR_LEN_MAX, VarLen, read_var_len};

impl<R: Read + Seek> Reader<R> {
    /// The values that were handed out last.
    pub(crate) const fn values(&self) -> &Values {
        &self.values
    }

    /// Hands out the samples of this stream alone; of all streams if none.
    ///
    /// Chunks of others are passed over by their length, where a chunk follows.
    pub(crate) const fn want_only(&mut self, stream: Option<u32>) {
        self.only = stream;
    }

    /// Whether these are samples of another stream, with a length that can be believed.
    pub(super) fn is_unwanted(&mut self, head: Head) -> io::Result<bool> {
        let Some(only) = self.only.filter(|_| head.tag == Tag::Samples.number()) else { return Ok(false) };
        let id = self.framer.window.view(head.content, 4)?.first_chunk().map(|id| u32::from_le_bytes(*id));
        let is_other = id.is_some_and(|id| id != only && self.streams.contains_key(&id));
        Ok(is_other && self.framer.is_plausible(head.at)? && self.framer.is_plausible(head.end)?)
    }

    /// Goes to a chunk that an index names; says whether it is there, and stays where it is if not.
    ///
    /// The chunk must be one of the stream, and its first stamp that of the entry. An entry that was found by reading may
    /// give a stamp that the chunk leaves out; an index in the file may not, because its writer leaves out none.
    pub(crate) fn seek_to_entry(&mut self, stream: u32, entry: &Entry, was_read: bool) -> io::Result<bool> {
        let Frame::Whole(head) = self.framer.frame(entry.at)? else { return Ok(false) };
        let bytes = self.framer.window.view(head.content, 4 + VAR_LEN_MAX + 9)?;
        let id = bytes.first_chunk().map(|id| u32::from_le_bytes(*id));
        if head.tag != Tag::Samples.number() || id != Some(stream) {
            return Ok(false);
        }
        let count = bytes.get(4..).map_or(VarLen::Invalid, read_var_len);
        let VarLen::Number { value: 1.., taken } = count else { return Ok(false) };
        let is_there = match bytes.get(4 + taken..) {
            Some([8, stamp @ ..]) => stamp.first_chunk() == Some(&entry.stamp.to_le_bytes()),
            Some([0, ..]) => was_read,
            _ => false,
        };
        if is_there {
            self.seek_to(entry.at);
            if let Some(stream) = self.streams.get_mut(&stream) {
                stream.resume = Some(entry.stamp);
            }
        }
        Ok(is_there)
    }
}
