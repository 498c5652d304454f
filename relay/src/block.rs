//! A block: samples sealed once for any number of members, numbered, chained and signed (relay §4).

use schwann_aead::{Tag, open_in_place, seal_in_place};
use schwann_session::{Credentials, LabId, PublicKey, bytes::Reader};
use sha2::{Digest, Sha256};

use crate::{
    chain::BlockPlace,
    key::{EpochKey, Scope, nonce},
    names::{RunId, StreamId},
    signed::{self, Magic, Refused, SIGNATURE},
};

/// SHA-256 over a whole block, which the next one names.
pub type Hash = [u8; 32];

/// What a block is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlockKind {
    /// The last block of its run; it has no samples.
    End,
    /// Samples.
    Samples,
}

/// A block as it lies on the hub and in journals: sealed, with what everybody may read of it.
///
/// Nothing of it counts before a member has [opened](crate::Follower::take) it.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    pub(crate) header: Header,
    bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: BlockKind,
    pub(crate) lab: LabId,
    pub(crate) stream: StreamId,
    pub(crate) run: RunId,
    pub(crate) epoch: u32,
    pub(crate) count: u32,
    pub(crate) number: u64,
    pub(crate) first_sample: u64,
    pub(crate) before: Hash,
}

impl<'a> Block<'a> {
    /// Reads a block's number, and its length in bytes, from how it begins; nothing if no block begins so. A journal has
    /// gigabytes, and does not read all of each.
    #[must_use]
    pub fn head(begin: &[u8; HEADER]) -> Option<(u64, usize)> {
        begin.starts_with(&MAGIC).then_some(())?;
        let (header, sealed) = Header::parse(begin)?;
        Some((header.number, sealed.checked_add(Self::SHORTEST)?))
    }

    /// Length of a block without content, in bytes.
    pub const SHORTEST: usize = HEADER + Tag::LEN + SIGNATURE;

    /// Reads what a block says of itself.
    ///
    /// - Errors: [`Refused::Malformed`]: these bytes are no block of version 1.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refused> {
        let (body, _) = signed::split(bytes, MAGIC)?;
        let (header, sealed) = Header::parse(body).ok_or(Refused::Malformed)?;
        let proper = Some(sealed) == body.len().checked_sub(HEADER + Tag::LEN)
            && sealed <= MAX_CONTENT
            && (header.kind == BlockKind::Samples || (sealed == 0 && header.count == 0));
        if proper { Ok(Self { header, bytes }) } else { Err(Refused::Malformed) }
    }

    /// Its number in its run, from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.header.run
    }

    /// The stream that it belongs to.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.header.stream
    }

    /// Its place in the chain, as it says itself.
    #[must_use]
    pub fn place(&self) -> BlockPlace {
        BlockPlace::of(&self.header, self.hash())
    }

    /// The block as it was received.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What the next block, and a receipt, name it by.
    #[must_use]
    pub fn hash(&self) -> Hash {
        Sha256::digest(self.bytes).into()
    }

    /// Checks that `device` signed the block.
    ///
    /// - Errors: [`Refused::Forged`].
    pub(crate) fn verify(&self, device: &PublicKey) -> Result<(), Refused> {
        let (body, signature) = signed::split(self.bytes, MAGIC)?;
        signed::verify(body, signature, device)
    }

    /// Opens the seal; returns the content.
    ///
    /// - Errors: [`Refused::Forged`].
    pub(crate) fn open(&self, key: &EpochKey) -> Result<Vec<u8>, Refused> {
        let (body, _) = signed::split(self.bytes, MAGIC)?;
        let (sealed, tag) = body.split_last_chunk().ok_or(Refused::Malformed)?;
        let (header, ciphertext) = sealed.split_at_checked(HEADER).ok_or(Refused::Malformed)?;
        let mut content = ciphertext.to_vec();
        let key = key.block_key(&self.header.scope(), self.header.epoch);
        open_in_place(&key, &nonce(self.header.number), header, &mut content, &Tag(*tag))
            .map_err(|_| Refused::Forged)?;
        Ok(content)
    }
}

impl Header {
    pub(crate) fn scope(&self) -> Scope {
        Scope { lab: self.lab, stream: self.stream, run: self.run }
    }

    /// The header, and the length of the ciphertext that it announces.
    fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(bytes);
        reader.array::<4>()?;
        let kind = match reader.byte()? {
            0 => BlockKind::Samples,
            1 => BlockKind::End,
            _ => return None,
        };
        (reader.array()? == [0; 3]).then_some(())?;
        let header = Self {
            kind,
            lab: LabId(reader.array()?),
            stream: StreamId(reader.array()?),
            run: RunId(reader.array()?),
            epoch: reader.word()?,
            count: reader.word()?,
            number: reader.long()?,
            first_sample: reader.long()?,
            before: reader.array()?,
        };
        Some((header, usize::try_from(reader.word()?).ok()?))
    }

    fn encode(&self, sealed: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[u8::from(self.kind == BlockKind::End), 0, 0, 0]);
        out.extend_from_slice(&self.lab.0);
        out.extend_from_slice(&self.stream.0);
        out.extend_from_slice(&self.run.0);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.first_sample.to_le_bytes());
        out.extend_from_slice(&self.before);
        out.extend_from_slice(&sealed.to_le_bytes());
    }

    /// Seals `content` under this header and signs the whole.
    ///
    /// Returns nothing if the content is longer than [`MAX_CONTENT`].
    pub(crate) fn seal(&self, content: &[u8], key: &EpochKey, credentials: &Credentials) -> Option<Vec<u8>> {
        let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= MAX_CONTENT)?;
        let mut block = Vec::with_capacity(HEADER + content.len() + Tag::LEN + SIGNATURE);
        self.encode(length, &mut block);
        block.extend_from_slice(content);
        let (header, body) = block.split_at_mut_checked(HEADER)?;
        let key = key.block_key(&self.scope(), self.epoch);
        let tag = seal_in_place(&key, &nonce(self.number), header, body).ok()?;
        block.extend_from_slice(&tag.0);
        signed::sign(&mut block, credentials);
        Some(block)
    }
}

/// The hash that block 0 of a run names (relay §4).
pub(crate) fn root(scope: &Scope, device: &PublicKey, description: &[u8]) -> Hash {
    Sha256::new()
        .chain_update(b"schwann/1 relay run")
        .chain_update(scope.lab.0)
        .chain_update(scope.stream.0)
        .chain_update(scope.run.0)
        .chain_update(device.0)
        .chain_update(Sha256::digest(description))
        .finalize()
        .into()
}

/// Most content of a block, in bytes.
pub const MAX_CONTENT: usize = 1 << 20;
/// Length of what stands before the ciphertext, in bytes.
const HEADER: usize = 116;
const MAGIC: Magic = *b"SRB\x01";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{cut, message};

    #[test]
    fn a_block_is_read_whole_or_not_at_all() {
        for (name, kind, number, first_sample, count) in [
            ("block 0", BlockKind::Samples, 0, 0, 1),
            ("block 1", BlockKind::Samples, 1, 1, 2),
            ("end", BlockKind::End, 2, 3, 0),
        ] {
            let bytes = message(name);
            let place = Block::parse(&bytes).unwrap().place();
            let read = (place.kind, place.number, place.first_sample, place.count);
            assert_eq!(read, (kind, number, first_sample, count), "{name}");
            assert!(cut(&bytes).all(|part| Block::parse(part).is_err()), "{name}");
        }
    }
}
