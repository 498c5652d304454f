//! Receipts, hole requests and losses: what members and edges tell each other of blocks (relay §7).

use schwann_session::{
    Calendar, Certificate, Credentials, Lab, LabId, RevocationList, Roles, UnixSeconds, bytes::Reader,
};

use crate::{
    block::Hash,
    key::Scope,
    names::{RunId, StreamId},
    ranges::{Range, Ranges},
    signed::{self, Magic, Refused},
};

/// What a note says of its ranges.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoteKind {
    /// A member asks for these blocks.
    HoleRequest,
    /// The edge has dropped these blocks, which no receipt covered.
    Loss,
    /// A recorder has these blocks on disk, and the last has this hash.
    Receipt(Hash),
}

/// A note whose signature was checked.
#[derive(Clone, Debug)]
pub struct Note {
    /// What it says.
    pub kind: NoteKind,
    /// The device that says it.
    pub certificate: Certificate,
    /// The stream.
    pub stream: StreamId,
    /// The run.
    pub run: RunId,
    /// The blocks that it speaks of.
    pub ranges: Ranges,
    /// When it was made: milliseconds since 1970, on that device's clock.
    pub made_ms: u64,
}

impl Note {
    /// Reads a note of the lab, and checks that its device may say this.
    ///
    /// - Errors: [`Refused`]; the note counts for nothing.
    pub fn parse<B: AsRef<[u8]>>(
        message: &[u8],
        lab: &Lab,
        now: UnixSeconds,
        revoked: &RevocationList<B>,
    ) -> Result<Self, Refused> {
        let letters = message.first_chunk().ok_or(Refused::Malformed)?;
        let (body, signature) = signed::split(message, *letters)?;
        let raw = Raw::parse(body).ok_or(Refused::Malformed)?;
        if raw.scope.lab != lab.id() {
            return Err(Refused::Foreign);
        }
        let role = if raw.kind == NoteKind::Loss { Roles::PUBLISH } else { Roles::SUBSCRIBE };
        let certificate = signed::admit(&raw.certificate, role, lab, Calendar::Known(now), revoked)?;
        signed::verify(body, signature, &certificate.statement.device)?;
        let Raw { kind, scope, ranges, made_ms, .. } = raw;
        Ok(Self { kind, certificate, stream: scope.stream, run: scope.run, ranges, made_ms })
    }

    /// Makes a note of `kind` on blocks of one run; of more than [`MAX_RANGES`] ranges it takes the last.
    #[must_use]
    pub fn encode(
        kind: NoteKind,
        (lab, stream, run): (LabId, StreamId, RunId),
        ranges: &[Range],
        made_ms: u64,
        credentials: &Credentials,
    ) -> Vec<u8> {
        let most = if matches!(kind, NoteKind::Receipt(_)) { 1 } else { MAX_RANGES };
        let ranges = ranges.get(ranges.len().saturating_sub(most)..).unwrap_or_default();
        let (magic, hash) = match kind {
            NoteKind::Receipt(hash) => (RECEIPT, hash),
            NoteKind::HoleRequest => (HOLE_REQUEST, [0; 32]),
            NoteKind::Loss => (LOSS, [0; 32]),
        };
        let mut message = magic.to_vec();
        message.extend_from_slice(&lab.0);
        message.extend_from_slice(&stream.0);
        message.extend_from_slice(&run.0);
        message.extend_from_slice(&credentials.certificate().encode());
        message.extend_from_slice(&made_ms.to_le_bytes());
        message.extend_from_slice(&u32::try_from(ranges.len()).unwrap_or(u32::MAX).to_le_bytes());
        for range in ranges {
            message.extend_from_slice(&range.first.to_le_bytes());
            message.extend_from_slice(&range.last.to_le_bytes());
        }
        message.extend_from_slice(&hash);
        signed::sign(&mut message, credentials);
        message
    }
}

/// A note of which nothing is checked but its form.
struct Raw {
    kind: NoteKind,
    scope: Scope,
    certificate: [u8; Certificate::LEN],
    made_ms: u64,
    ranges: Ranges,
}

impl Raw {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let magic: Magic = reader.array()?;
        let scope = Scope {
            lab: LabId(reader.array()?),
            stream: StreamId(reader.array()?),
            run: RunId(reader.array()?),
        };
        let certificate = reader.array()?;
        let made_ms = reader.long()?;
        let count = usize::try_from(reader.word()?).ok().filter(|count| (1..=MAX_RANGES).contains(count))?;
        let ranges = parse_ranges(reader.slice(count.checked_mul(16)?)?)?;
        let hash: Hash = reader.array()?;
        let kind = match magic {
            RECEIPT => NoteKind::Receipt(hash),
            HOLE_REQUEST => NoteKind::HoleRequest,
            LOSS => NoteKind::Loss,
            _ => return None,
        };
        let proper = match kind {
            NoteKind::Receipt(_) => count == 1,
            NoteKind::HoleRequest | NoteKind::Loss => hash == [0; 32],
        };
        (proper && reader.rest().is_empty()).then_some(Self { kind, scope, certificate, made_ms, ranges })
    }
}

/// Ranges that rise and do not touch; anything else is refused.
fn parse_ranges(bytes: &[u8]) -> Option<Ranges> {
    let mut ranges = Ranges::default();
    for pair in bytes.as_chunks::<16>().0 {
        let mut reader = Reader::new(pair);
        let range = Range { first: reader.long()?, last: reader.long()? };
        let apart = ranges
            .highest()
            .is_none_or(|highest| highest.checked_add(1).is_some_and(|next| next < range.first));
        (range.first <= range.last && range.last < u64::MAX && apart).then_some(())?;
        ranges.insert(range);
    }
    Some(ranges)
}

/// Most ranges in one note.
pub const MAX_RANGES: usize = 64;
const RECEIPT: Magic = *b"SRR\x01";
const HOLE_REQUEST: Magic = *b"SRH\x01";
const LOSS: Magic = *b"SRL\x01";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{cut, message};

    #[test]
    fn a_note_is_read_whole_or_not_at_all() {
        for name in ["receipt", "hole request", "loss"] {
            let bytes = message(name);
            let (body, _) = bytes.split_last_chunk::<{ signed::SIGNATURE }>().unwrap();
            let raw = Raw::parse(body).unwrap();
            assert_eq!(raw.ranges.as_slice(), [Range { first: 0, last: 1 }], "{name}");
            assert_eq!(raw.made_ms, 1_767_225_600_000);
            assert!(cut(body).all(|part| Raw::parse(part).is_none()), "{name}");
        }
    }
}
