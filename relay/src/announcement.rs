//! What a member learns of a run before its blocks: device, beginning, description, and the run before (relay §5).

use schwann_aead::Tag;
use schwann_session::{
    Calendar, Certificate, Credentials, Lab, LabId, RevocationList, Roles, UnixSeconds, bytes::Reader,
};

use crate::{
    block::Hash,
    key::{EpochKey, FreshKey, Scope},
    names::{RunId, StreamId},
    signed::{self, Magic, Refused},
};

/// What the journal holds of the run before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Before {
    /// The run; [`RunId::NONE`] if there was none.
    pub run: RunId,
    /// How many of its blocks the journal has kept track of, from 0.
    pub blocks: u64,
    /// Hash of the last of them; zero if there are none.
    pub hash: Hash,
}

impl Before {
    /// There was no run before.
    pub const NONE: Self = Self { run: RunId::NONE, blocks: 0, hash: [0; 32] };
}

/// An announcement whose signature was checked.
#[derive(Clone, Copy, Debug)]
pub struct Announcement<'a> {
    /// The device's certificate.
    pub certificate: Certificate,
    /// When the run began, on the edge's clock.
    pub began: UnixSeconds,
    /// The run before.
    pub before: Before,
    pub(crate) scope: Scope,
    pub(crate) epoch: u32,
    head: &'a [u8],
    sealed: &'a [u8],
}

impl<'a> Announcement<'a> {
    /// Reads an announcement of the lab, and checks that its device may publish.
    ///
    /// - Errors: [`Refused`]; the announcement counts for nothing.
    pub fn parse<B: AsRef<[u8]>>(
        message: &'a [u8],
        lab: &Lab,
        revoked: &RevocationList<B>,
    ) -> Result<Self, Refused> {
        let (body, signature) = signed::split(message, MAGIC)?;
        let fixed = Fixed::parse(body).ok_or(Refused::Malformed)?;
        if fixed.scope.lab != lab.id() {
            return Err(Refused::Foreign);
        }
        let calendar = Calendar::Known(fixed.began);
        let certificate = signed::admit(&fixed.certificate, Roles::PUBLISH, lab, calendar, revoked)?;
        signed::verify(body, signature, &certificate.statement.device)?;
        if !fixed.scope.run.is_of(fixed.scope.stream, &certificate.statement.device) {
            return Err(Refused::Foreign);
        }
        let (head, sealed) = body.split_at_checked(HEAD).ok_or(Refused::Malformed)?;
        let Fixed { scope, epoch, began, before, .. } = fixed;
        Ok(Self { certificate, began, before, scope, epoch, head, sealed })
    }

    /// The stream that is announced.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.scope.stream
    }

    /// The run that is announced.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.scope.run
    }

    /// Opens the stream's description.
    ///
    /// - Errors: [`Refused::Forged`].
    pub(crate) fn description(&self, key: &EpochKey) -> Result<Vec<u8>, Refused> {
        let (ciphertext, tag) = self.sealed.split_last_chunk().ok_or(Refused::Malformed)?;
        let mut description = ciphertext.to_vec();
        key.open_description(&self.scope, self.epoch, self.head, &mut description, &Tag(*tag))
            .then_some(description)
            .ok_or(Refused::Forged)
    }
}

/// The part of fixed length, of which nothing is checked.
struct Fixed {
    scope: Scope,
    epoch: u32,
    began: UnixSeconds,
    certificate: [u8; Certificate::LEN],
    before: Before,
}

impl Fixed {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        reader.array::<4>()?;
        let fixed = Self {
            scope: Scope {
                lab: LabId(reader.array()?),
                stream: StreamId(reader.array()?),
                run: RunId(reader.array()?),
            },
            epoch: reader.word()?,
            began: UnixSeconds(reader.long()?),
            certificate: reader.array()?,
            before: Before { run: RunId(reader.array()?), blocks: reader.long()?, hash: reader.array()? },
        };
        let length = usize::try_from(reader.word()?).ok().filter(|length| *length <= MAX_DESCRIPTION)?;
        (reader.rest().len() == length.checked_add(Tag::LEN)?).then_some(fixed)
    }
}

/// What an announcement says in the open.
pub(crate) struct Head {
    pub(crate) scope: Scope,
    pub(crate) epoch: u32,
    pub(crate) began: UnixSeconds,
    pub(crate) before: Before,
}

impl Head {
    /// Makes the announcement of an epoch. The certificate is part of what the tag binds. So a renewed one needs a new epoch,
    /// and a key that has announced announces no more.
    ///
    /// Returns nothing if the description is longer than [`MAX_DESCRIPTION`].
    pub(crate) fn announce(
        &self,
        key: FreshKey,
        description: &[u8],
        credentials: &Credentials,
    ) -> Option<(EpochKey, Vec<u8>)> {
        let mut message = self.encode(description, credentials)?;
        let (head, body) = message.split_at_mut_checked(HEAD)?;
        let (key, tag) = key.seal_description(&self.scope, self.epoch, head, body)?;
        message.extend_from_slice(&tag.0);
        signed::sign(&mut message, credentials);
        Some((key, message))
    }

    fn encode(&self, description: &[u8], credentials: &Credentials) -> Option<Vec<u8>> {
        let Self { scope, epoch, began, before } = self;
        let length =
            u32::try_from(description.len()).ok().filter(|_| description.len() <= MAX_DESCRIPTION)?;
        let mut message = Vec::with_capacity(HEAD + description.len() + Tag::LEN + signed::SIGNATURE);
        message.extend_from_slice(&MAGIC);
        message.extend_from_slice(&scope.lab.0);
        message.extend_from_slice(&scope.stream.0);
        message.extend_from_slice(&scope.run.0);
        message.extend_from_slice(&epoch.to_le_bytes());
        message.extend_from_slice(&began.0.to_le_bytes());
        message.extend_from_slice(&credentials.certificate().encode());
        message.extend_from_slice(&before.run.0);
        message.extend_from_slice(&before.blocks.to_le_bytes());
        message.extend_from_slice(&before.hash);
        message.extend_from_slice(&length.to_le_bytes());
        message.extend_from_slice(description);
        Some(message)
    }
}

/// Longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 1 << 18;
/// Length of what stands before the description, in bytes.
const HEAD: usize = 316;
const MAGIC: Magic = *b"SRA\x01";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Fixture, NOW, Seeded};
    use crate::vectors::{cut, message};

    /// Who hears the foreign announcement first must not refuse the edge's own.
    #[test]
    #[cfg_attr(miri, ignore = "signatures take minutes there")]
    fn no_device_takes_the_name_of_the_run_of_another() {
        let fixture = Fixture::the();
        let mut entropy = Seeded::new(1);
        let (stream, edge) = (StreamId([3; 16]), fixture.edge.certificate().statement.device);
        let run = RunId::draw(stream, &edge, &mut entropy).unwrap();
        let scope = Scope { lab: fixture.lab_id(), stream, run };
        let head = Head { scope, epoch: 0, began: NOW, before: Before::NONE };
        let mut refused = |credentials| {
            let key = FreshKey::draw(&mut entropy).unwrap();
            let (_, message) = head.announce(key, b"<info/>", credentials).unwrap();
            Announcement::parse(&message, &fixture.lab, &fixture.lists[0]).err()
        };
        assert_eq!(refused(&fixture.edge), None);
        assert_eq!(refused(&fixture.other_edge), Some(Refused::Foreign));
    }

    #[test]
    fn the_head_of_an_announcement_is_read_whole_or_not_at_all() {
        let bytes = message("announcement");
        let (body, _) = signed::split(&bytes, MAGIC).unwrap();
        let fixed = Fixed::parse(body).unwrap();
        assert_eq!((fixed.epoch, fixed.began, fixed.before), (0, UnixSeconds(1_767_225_600), Before::NONE));
        assert_eq!(fixed.scope.stream, StreamId([0x5A; 16]));
        assert!(cut(body).all(|part| Fixed::parse(part).is_none()));
    }
}
