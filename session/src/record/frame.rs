//! Where a record's parts lie in the bytes on the wire.

use schwann_aead::Tag;

use super::{MAX_RECORD, RECORD_HEAD, RECORD_OVERHEAD};
use crate::LayerError;

/// What a record is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RecordType {
    Data = 0,
    Control = 1,
    Rekey = 2,
    Close = 3,
}

impl RecordType {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Data,
            1 => Self::Control,
            2 => Self::Rekey,
            3 => Self::Close,
            _ => return None,
        })
    }

    fn byte(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Control => 1,
            Self::Rekey => 2,
            Self::Close => 3,
        }
    }
}

/// What the four bytes before a record say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: RecordType,
    /// Bytes of plaintext.
    pub(crate) length: usize,
}

impl Header {
    /// Reads the header at the front of `wire`, if it is whole.
    #[inline]
    pub(crate) fn parse(wire: &[u8]) -> Result<Option<Self>, LayerError> {
        let Some([kind, low, middle, high]) = wire.first_chunk() else { return Ok(None) };
        let kind = RecordType::from_byte(*kind).ok_or(LayerError::Malformed)?;
        let length = u32::from_le_bytes([*low, *middle, *high, 0]);
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_RECORD);
        Ok(Some(Self { kind, length: length.ok_or(LayerError::Oversized)? }))
    }

    /// Bytes of the whole record.
    pub(crate) fn record_len(self) -> usize {
        self.length.saturating_add(RECORD_OVERHEAD)
    }
}

#[inline]
pub(super) fn header(kind: RecordType, length: usize) -> Result<[u8; RECORD_HEAD], LayerError> {
    let length = u32::try_from(length).ok().filter(|length| *length >> 24 == 0);
    let [low, middle, high, _] = length.ok_or(LayerError::Oversized)?.to_le_bytes();
    Ok([kind.byte(), low, middle, high])
}

/// Spreads a text of `length` bytes behind the first header. Each `max` bytes of it then have room for a header
/// before them and a tag behind.
#[cold]
pub(super) fn spread(length: usize, max: usize, wire: &mut [u8]) -> Result<(), LayerError> {
    let last = length.div_ceil(max.max(1)).saturating_sub(1);
    let end = RECORD_HEAD.saturating_add(length);
    if wire.len() < end.saturating_add(last.saturating_mul(RECORD_OVERHEAD)) {
        return Err(LayerError::NoSpace);
    }
    for record in (1..=last).rev() {
        let from = RECORD_HEAD.saturating_add(record.saturating_mul(max));
        let until = from.saturating_add(max).min(end);
        wire.copy_within(from..until, from.saturating_add(record.saturating_mul(RECORD_OVERHEAD)));
    }
    Ok(())
}

pub(super) type Parts<'a> = (&'a mut [u8; RECORD_HEAD], &'a mut [u8], &'a mut [u8; Tag::LEN]);

/// Splits a record with `length` bytes of text off the front of `wire`.
#[inline]
pub(super) fn split(wire: &mut [u8], length: usize) -> Option<Parts<'_>> {
    let (head, rest) = wire.split_first_chunk_mut()?;
    let (body, rest) = rest.split_at_mut_checked(length)?;
    Some((head, body, rest.first_chunk_mut()?))
}
