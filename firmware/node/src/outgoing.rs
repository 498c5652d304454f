//! What waits for the socket, and messages that are longer than the room for them.

use schwann_proto::wire::{NoRoom, Sink};
use schwann_session::{LayerError, Plain, RECORD_HEAD, Room, Secure};

/// Bytes waiting to be sent, in memory of their own.
pub(crate) struct Outgoing<const N: usize> {
    bytes: [u8; N],
    sent: usize,
    len: usize,
}

impl<const N: usize> Outgoing<N> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; N], sent: 0, len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.sent, self.len) = (0, 0);
    }

    pub(crate) fn waiting(&self) -> &[u8] {
        self.bytes.get(self.sent..self.len).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.len
    }

    /// Notes that the first `count` bytes were sent.
    pub(crate) fn note_sent(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.len);
        if self.sent == self.len {
            self.clear();
        }
    }

    /// Bytes that a message through `layer` may have to fit now.
    pub(crate) fn room(&self, layer: Option<&Secure>) -> usize {
        let free = N - self.len;
        layer.map_or(free, |layer| layer.plain_room(free))
    }

    /// Adds bytes as they are.
    pub(crate) fn put_raw(&mut self, bytes: &[u8]) -> Result<(), LayerError> {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        room.get_mut(..bytes.len()).ok_or(LayerError::NoSpace)?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// Adds what `put` puts into the room that is left.
    pub(crate) fn put_by<R>(&mut self, put: impl FnOnce(Room<'_>) -> R) -> R {
        let mut added = 0;
        let result = put(Room::new(self.bytes.get_mut(self.len..).unwrap_or_default(), &mut added));
        self.len += added;
        result
    }

    /// Adds bytes through the layer, if there is one.
    pub(crate) fn put(&mut self, layer: Option<&mut Secure>, plain: &[u8]) -> Result<(), LayerError> {
        let Some(layer) = layer else { return self.put_raw(plain) };
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        self.len += layer.seal(plain, room)?;
        Ok(())
    }

    /// Adds what `encode` writes and returns the length of, through the layer if there is one. The layer seals it
    /// in place.
    ///
    /// Returns that length; nothing if `encode` or the layer refuses.
    pub(crate) fn encode(
        &mut self,
        layer: Option<&mut Secure>,
        encode: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<usize> {
        let room = self.room(layer.as_deref());
        let head = if layer.is_some() { RECORD_HEAD } else { 0 };
        let free = self.bytes.get_mut(self.len..)?;
        let count = encode(free.get_mut(head..).and_then(|free| free.get_mut(..room)).unwrap_or_default())?;
        self.len += match layer {
            None => count,
            Some(layer) => layer.seal(Plain::Placed(count), free).ok()?,
        };
        Some(count)
    }

    /// Moves what waits to the front, if that makes room.
    pub(crate) fn compact(&mut self) {
        if self.sent > 0 {
            self.bytes.copy_within(self.sent..self.len, 0);
            self.len -= self.sent;
            self.sent = 0;
        }
    }

    /// Adds the authenticated end of the stream.
    pub(crate) fn put_end(&mut self, layer: &mut Secure) -> Result<(), LayerError> {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        self.len += layer.close(room)?;
        Ok(())
    }
}

/// Keeps one part of a message and forgets the rest. So a long message is written in parts by writing it
/// several times.
pub(crate) struct PartSink<'a> {
    room: &'a mut [u8],
    /// Where the part begins in the message.
    start: usize,
    /// Bytes of the message so far.
    position: usize,
}

impl<'a> PartSink<'a> {
    pub(crate) fn new(room: &'a mut [u8], start: usize) -> Self {
        Self { room, start, position: 0 }
    }

    /// Bytes of the part that were kept, and whether the message ends there.
    pub(crate) fn finish(self) -> (usize, bool) {
        let wanted = self.position.saturating_sub(self.start);
        (wanted.min(self.room.len()), wanted <= self.room.len())
    }
}

impl Sink for PartSink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let skipped = self.start.saturating_sub(self.position);
        let offset = self.position.saturating_sub(self.start);
        let to = self.room.get_mut(offset..).unwrap_or_default();
        to.iter_mut().zip(bytes.iter().skip(skipped)).for_each(|(to, from)| *to = *from);
        self.position += bytes.len();
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.position = self.position.min(len);
    }

    fn len(&self) -> usize {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_message_in_parts_is_the_message() {
        let message = b"one, two, three, four, five";
        let write = |sink: &mut PartSink<'_>| {
            message.chunks(4).for_each(|chunk| sink.put(chunk).unwrap());
        };
        for room_len in 1..40 {
            let (mut out, mut ended) = (Vec::new(), false);
            while !ended {
                let mut room = std::vec![0; room_len];
                let mut sink = PartSink::new(&mut room, out.len());
                write(&mut sink);
                let (kept, end) = sink.finish();
                out.extend_from_slice(&room[..kept]);
                ended = end;
            }
            assert_eq!(out, message, "in parts of {room_len}");
        }
    }
}
