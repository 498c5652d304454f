//! The sending direction of a session.

use arrayvec::ArrayVec;
use schwann_aead::{Ahead, Kernel, Key, Message, Tag};

use super::frame::{RecordType, header, split, spread};
use super::{BATCH, RECORD_OVERHEAD, advance, next_key, nonce};
use crate::LayerError;

/// The sending direction.
pub(crate) struct Sender {
    /// Gone once the direction has ended.
    key: Option<Key>,
    counter: u64,
    /// The counter's value at the last change of key.
    rekeyed_at: u64,
    kernel: Kernel,
    /// Length of the last data that made a record alone, by which the next is guessed.
    last: Option<usize>,
}

impl Sender {
    pub(crate) fn new(key: Key) -> Self {
        Self { key: Some(key), counter: 0, rekeyed_at: 0, kernel: Kernel::best(), last: None }
    }

    /// Makes the key stream of the next data record, if it will be like the last.
    pub(crate) fn prepare(&self, ahead: &mut Ahead) {
        if let (Some(key), Some(length)) = (&self.key, self.last) {
            ahead.prepare(self.kernel, key, nonce(self.counter), length);
        }
    }

    /// Seals `plain` as one record into the front of `wire`.
    pub(crate) fn seal(
        &mut self,
        kind: RecordType,
        plain: &[u8],
        wire: &mut [u8],
    ) -> Result<usize, LayerError> {
        self.seal_body(kind, plain.len(), wire, None, |body| body.copy_from_slice(plain))
    }

    /// Seals `plain` as one data record into the front of `wire`, if the key stream for that length was made ahead.
    /// Otherwise seals nothing.
    #[inline]
    pub(crate) fn seal_ready(&mut self, plain: &[u8], wire: &mut [u8], ahead: &mut Ahead) -> Option<usize> {
        let key = self.key.as_ref().filter(|_| self.last == Some(plain.len()))?;
        let after = advance(self.counter, 1).ok()?;
        let (head, body, tag) = split(wire, plain.len())?;
        *head = header(RecordType::Data, plain.len()).ok()?;
        body.copy_from_slice(plain);
        let mut message = Message::plain(key, nonce(self.counter), head, body);
        if !ahead.seal(&mut message) {
            return None;
        }
        *tag = message.tag.0;
        self.counter = after;
        Some(plain.len().saturating_add(RECORD_OVERHEAD))
    }

    /// Seals a record of `length` bytes of text, which `fill` puts in place. Uses the key stream made for it, if
    /// any.
    #[inline]
    fn seal_body(
        &mut self,
        kind: RecordType,
        length: usize,
        wire: &mut [u8],
        ahead: Option<&mut Ahead>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<usize, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let after = advance(self.counter, 1)?;
        let (head, body, tag) = split(wire, length).ok_or(LayerError::NoSpace)?;
        *head = header(kind, length)?;
        fill(body);
        let nonce = nonce(self.counter);
        let mut message = Message::plain(key, nonce, head, body);
        *tag = if ahead.is_some_and(|ahead| ahead.seal(&mut message)) {
            message.tag.0
        } else {
            self.kernel.seal_in_place(key, &nonce, head, body).map_err(|_| LayerError::Oversized)?.0
        };
        self.counter = after;
        Ok(length.saturating_add(RECORD_OVERHEAD))
    }

    /// Seals the `length` bytes behind the first [`RECORD_HEAD`] of `wire`, in place, as data records of at most
    /// `max` bytes.
    pub(crate) fn seal_placed(
        &mut self,
        length: usize,
        max: usize,
        wire: &mut [u8],
    ) -> Result<usize, LayerError> {
        if length > max {
            spread(length, max, wire)?;
        }
        let (mut written, mut left) = (0, length);
        while left > 0 {
            let rest = wire.get_mut(written..).ok_or(LayerError::NoSpace)?;
            let piece = left.min(max);
            written += self.seal_body(RecordType::Data, piece, rest, None, |_| ())?;
            left -= piece;
        }
        Ok(written)
    }

    /// Seals `plain` as data records of at most `max` bytes into the front of `wire`.
    #[inline]
    pub(crate) fn seal_data(
        &mut self,
        plain: &[u8],
        max: usize,
        wire: &mut [u8],
        ahead: &mut Ahead,
    ) -> Result<usize, LayerError> {
        if plain.len() > max {
            self.last = None;
            return self.seal_groups(plain, max, wire);
        }
        self.last = Some(plain.len());
        self.seal_body(RecordType::Data, plain.len(), wire, Some(ahead), |body| body.copy_from_slice(plain))
    }

    #[inline(never)]
    fn seal_groups(&mut self, plain: &[u8], max: usize, wire: &mut [u8]) -> Result<usize, LayerError> {
        let mut written = 0;
        let mut rest = wire;
        for group in plain.chunks(max.saturating_mul(BATCH)) {
            let length = self.seal_group(group, max, rest)?;
            rest = rest.get_mut(length..).ok_or(LayerError::NoSpace)?;
            written += length;
        }
        Ok(written)
    }

    /// Seals up to [`BATCH`] records in one call.
    #[inline(never)]
    fn seal_group(&mut self, plain: &[u8], max: usize, wire: &mut [u8]) -> Result<usize, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let mut messages = ArrayVec::<Message<'_>, BATCH>::new();
        let mut tags = ArrayVec::<&mut [u8; Tag::LEN], BATCH>::new();
        let (mut rest, mut counter, mut written) = (wire, self.counter, 0_usize);
        for piece in plain.chunks(max) {
            let length = piece.len().saturating_add(RECORD_OVERHEAD);
            let (record, after) = rest.split_at_mut_checked(length).ok_or(LayerError::NoSpace)?;
            let (head, body, tag) = split(record, piece.len()).ok_or(LayerError::NoSpace)?;
            *head = header(RecordType::Data, piece.len())?;
            body.copy_from_slice(piece);
            let message = Message::plain(key, nonce(counter), head, body);
            messages.try_push(message).map_err(|_| LayerError::Oversized)?;
            tags.try_push(tag).map_err(|_| LayerError::Oversized)?;
            counter = advance(counter, 1)?;
            written = written.saturating_add(length);
            rest = after;
        }
        self.kernel.seal_batch(&mut messages).map_err(|_| LayerError::Oversized)?;
        for (message, tag) in messages.iter().zip(tags) {
            *tag = message.tag.0;
        }
        self.counter = counter;
        Ok(written)
    }

    /// Seals the record that announces a new key, and moves to it.
    pub(crate) fn rekey(&mut self, wire: &mut [u8]) -> Result<usize, LayerError> {
        let length = self.seal(RecordType::Rekey, &[], wire)?;
        self.key = Some(next_key(self.key.as_ref().ok_or(LayerError::Closed)?)?);
        self.rekeyed_at = self.counter;
        Ok(length)
    }

    /// Seals the end of the direction, with the count of records before it, and wipes the key.
    pub(crate) fn close(&mut self, wire: &mut [u8]) -> Result<usize, LayerError> {
        let length = self.seal(RecordType::Close, &self.counter.to_le_bytes(), wire)?;
        self.wipe();
        Ok(length)
    }

    /// Forgets the key; nothing can be sealed any more.
    pub(crate) fn wipe(&mut self) {
        self.key = None;
    }

    /// How many records have been sealed under the present key.
    pub(crate) fn since_rekey(&self) -> u64 {
        self.counter.saturating_sub(self.rekeyed_at)
    }
}
