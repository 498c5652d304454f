//! Memory for the handshake's messages, lent by the caller.

use super::message::{LENGTH_LEN, MAX_MESSAGE};
use crate::{Refusal, noise::Broken};

/// Bytes in the caller's memory, filled from the front.
pub struct Room<'a> {
    bytes: &'a mut [u8],
    len: &'a mut usize,
}

impl<'a> Room<'a> {
    /// Of `bytes`, the first `len` are filled; `len` follows what is put in and taken out.
    #[must_use]
    pub fn new(bytes: &'a mut [u8], len: &'a mut usize) -> Self {
        Self { bytes, len }
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.bytes.get(..*self.len).unwrap_or_default()
    }

    /// How many bytes there is room for, filled or not.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        *self.len = 0;
    }

    /// Forgets the first `count` bytes.
    pub(super) fn drop_front(&mut self, count: usize) {
        let count = count.min(self.filled().len());
        self.bytes.copy_within(count..*self.len, 0);
        *self.len -= count;
    }

    /// Adds bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.grow(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Adds `count` bytes for the caller to write.
    pub(super) fn grow(&mut self, count: usize) -> Result<&mut [u8], Broken> {
        let rest = self.bytes.get_mut(*self.len..).ok_or(Broken)?;
        let added = rest.get_mut(..count).ok_or(Broken)?;
        *self.len += count;
        Ok(added)
    }

    /// Takes from the front of `input` what is missing of `until` bytes; tells whether they are there.
    ///
    /// - Errors: there is no room for so many.
    pub(super) fn fill(&mut self, input: &mut &[u8], until: usize) -> Result<bool, Refusal> {
        let missing = until.saturating_sub(*self.len);
        let Some((front, rest)) = input.split_at_checked(missing.min(input.len())) else { return Ok(false) };
        if self.bytes.len() < until || self.put(front).is_err() {
            return Err(Refusal::Malformed);
        }
        *input = rest;
        Ok(*self.len >= until)
    }

    /// Takes from the front of `input` what is missing of a message of `length` bytes; tells whether it is there. A wrong
    /// length is refused before anything behind it is taken.
    pub(super) fn fill_message(&mut self, input: &mut &[u8], length: usize) -> Result<bool, Refusal> {
        let has_length = self.fill(input, LENGTH_LEN)?;
        self.check_length(length)?;
        Ok(has_length && self.fill(input, LENGTH_LEN.saturating_add(length))?)
    }

    /// The message of `length` bytes at the front, behind its length.
    pub(super) fn message(&self, length: usize) -> Result<&[u8], Refusal> {
        self.filled().get(LENGTH_LEN..).and_then(|rest| rest.get(..length)).ok_or(Refusal::Malformed)
    }

    fn check_length(&self, length: usize) -> Result<(), Refusal> {
        match *self.filled() {
            [super::ALERT, ..] => Err(Refusal::RefusedByPeer),
            [b'L', b'S', ..] => Err(Refusal::PlainPeer),
            [high, low, ..] if usize::from(u16::from_be_bytes([high, low])) != length => {
                Err(Refusal::Malformed)
            }
            _ => Ok(()),
        }
    }
}

/// Room of its own for any message with its length.
pub(super) struct Memory {
    bytes: [u8; LENGTH_LEN + MAX_MESSAGE],
    len: usize,
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; LENGTH_LEN + MAX_MESSAGE], len: 0 }
    }

    pub(super) fn room(&mut self) -> Room<'_> {
        Room::new(&mut self.bytes, &mut self.len)
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
