//! Messages of the session itself, inside control records.
//!
//! | First byte | Message | Then |
//! | --- | --- | --- |
//! | 1 | welcome, outlet to inlet, first of all records | session id (8), key outlet → inlet (32), key inlet → outlet (32) |
//! | 2 | refused, outlet to inlet, instead of welcome | reason (1) |
//! | 3 | a piece of a lab update | number (LE 64), total bytes (LE 32), offset (LE 32), bytes |
//!
//! A message that begins with any other byte comes from a later version and is skipped.
//!
//! - Source: secure-session §4.6.

use zeroize::Zeroizing;

use crate::{
    Refusal,
    bytes::{Reader, concat},
};

/// A piece of a lab update: the revocation list with its discovery key, as `LabUpdate` lays it out.
///
/// Neither end trusts the other for its content: the list is signed and commits to the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece<'a> {
    /// Number of the revocation list.
    pub number: u64,
    /// Length of the whole update, in bytes.
    pub total: u32,
    /// Where `bytes` belong in it.
    pub offset: u32,
    /// The piece.
    pub bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    /// Most bytes in one piece.
    pub const MAX: usize = 8_192;
    /// Bytes that a piece needs besides its content.
    pub const OVERHEAD: usize = PIECE_HEAD;

    /// Reads the content of a control record.
    ///
    /// Returns nothing for any other message; skip it.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(message);
        if reader.byte()? != LAB_UPDATE {
            return None;
        }
        let (number, total, offset) = (reader.long()?, reader.word()?, reader.word()?);
        let bytes = reader.rest();
        let end = offset.checked_add(u32::try_from(bytes.len()).ok()?)?;
        (bytes.len() <= Self::MAX && end <= total).then_some(Self { number, total, offset, bytes })
    }

    /// Lays the piece down in `out` and returns how many bytes it took.
    ///
    /// Returns nothing if `out` has no room, or the piece is longer than [`MAX`](Self::MAX).
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let head: [u8; PIECE_HEAD] = concat(&[
            &[LAB_UPDATE],
            &self.number.to_le_bytes(),
            &self.total.to_le_bytes(),
            &self.offset.to_le_bytes(),
        ]);
        let (front, rest) = out.split_first_chunk_mut()?;
        *front = head;
        rest.get_mut(..self.bytes.len())?.copy_from_slice(self.bytes);
        (self.bytes.len() <= Self::MAX).then_some(Self::OVERHEAD.saturating_add(self.bytes.len()))
    }
}

/// The outlet's first record: what sealed datagrams need.
pub(crate) struct Welcome {
    pub(crate) session: [u8; 8],
    pub(crate) outlet_to_inlet: Zeroizing<[u8; 32]>,
    pub(crate) inlet_to_outlet: Zeroizing<[u8; 32]>,
}

impl Welcome {
    pub(crate) const LEN: usize = 73;

    pub(crate) fn encode(&self) -> Zeroizing<[u8; Self::LEN]> {
        let parts: [&[u8]; 4] =
            [&[WELCOME], &self.session, self.outlet_to_inlet.as_slice(), self.inlet_to_outlet.as_slice()];
        Zeroizing::new(concat(&parts))
    }
}

/// What the outlet says first.
pub(crate) enum Greeting {
    Refused(Refusal),
    Welcome(Welcome),
}

impl Greeting {
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(message);
        let greeting = match reader.byte()? {
            WELCOME => Self::Welcome(Welcome {
                session: reader.array()?,
                outlet_to_inlet: Zeroizing::new(reader.array()?),
                inlet_to_outlet: Zeroizing::new(reader.array()?),
            }),
            REFUSED => Self::Refused(Refusal::from_code(reader.byte()?)),
            _ => return None,
        };
        reader.rest().is_empty().then_some(greeting)
    }
}

/// The message that tells a proven peer why it is refused.
pub(crate) fn refused(code: u8) -> [u8; 2] {
    [REFUSED, code]
}

/// Kind, number, total, offset.
const PIECE_HEAD: usize = 17;
const WELCOME: u8 = 1;
const REFUSED: u8 = 2;
const LAB_UPDATE: u8 = 3;
