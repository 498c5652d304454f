//! An epoch's key, wrapped for each member that may subscribe (relay §6).

use core::convert::Infallible;

use hpke::{
    Deserializable, Kem, OpModeR, OpModeS, Serializable,
    aead::ChaCha20Poly1305,
    kdf::HkdfSha256,
    kem::XWing,
    rand_core::{TryCryptoRng, TryRng},
    single_shot_open, single_shot_seal_with_rng,
};
use schwann_session::{Credentials, Entropy, LabId, NoEntropy, PublicKey, bytes::Reader};
use zeroize::Zeroizing;

use crate::{
    key::{EpochKey, Scope},
    member::{MemberKeyId, WrappingKey, WrappingPublic},
    names::{RunId, StreamId},
    signed::{self, Magic, Refused},
};

/// Wraps the key of `epoch` for `members`, of whom at most [`MAX_MEMBERS`] are served.
///
/// - Errors: [`NoEntropy`].
pub(crate) fn wrap(
    scope: &Scope,
    (epoch, key): (u32, &EpochKey),
    list_number: u64,
    members: &[&WrappingPublic],
    credentials: &Credentials,
    entropy: &mut dyn Entropy,
) -> Result<Vec<u8>, NoEntropy> {
    let members = members.get(..MAX_MEMBERS).unwrap_or(members);
    let mut message = head(scope, epoch);
    let aad = message.clone();
    message.extend_from_slice(&list_number.to_le_bytes());
    message.extend_from_slice(&u16::try_from(members.len()).unwrap_or(u16::MAX).to_le_bytes());
    message.extend_from_slice(&[0; 2]);
    for member in members {
        message.extend_from_slice(&member.id.0);
        seal_for(member, &aad, key, entropy, &mut message)?;
    }
    signed::sign(&mut message, credentials);
    Ok(message)
}

fn head(scope: &Scope, epoch: u32) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&scope.lab.0);
    head.extend_from_slice(&scope.stream.0);
    head.extend_from_slice(&scope.run.0);
    head.extend_from_slice(&epoch.to_le_bytes());
    head
}

fn seal_for(
    member: &WrappingPublic,
    head: &[u8],
    key: &EpochKey,
    entropy: &mut dyn Entropy,
    out: &mut Vec<u8>,
) -> Result<(), NoEntropy> {
    let aad = [head, &member.id.0].concat();
    let mut random = Random { entropy, failed: false };
    let sealed = single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, XWing>(
        &OpModeS::Base,
        &member.public,
        INFO,
        key.as_bytes(),
        &aad,
        &mut random,
    );
    // The key was parsed and 32 bytes are sealed: only the randomness can have failed.
    let (encapsulated, sealed) = sealed.ok().filter(|_| !random.failed).ok_or(NoEntropy)?;
    let mut bytes = [0; ENCAPSULATED];
    encapsulated.write_exact(&mut bytes);
    out.extend_from_slice(&bytes);
    out.extend_from_slice(&sealed);
    Ok(())
}

/// A message of wrapped keys whose bytes are in order; its signature counts once the run's device is known.
pub(crate) struct Wrapped<'a> {
    pub(crate) scope: Scope,
    pub(crate) epoch: u32,
    message: &'a [u8],
    members: &'a [[u8; ENTRY]],
}

impl<'a> Wrapped<'a> {
    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, Refused> {
        let (body, _) = signed::split(message, MAGIC)?;
        Self::parse_body(message, body).ok_or(Refused::Malformed)
    }

    fn parse_body(message: &'a [u8], body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        reader.array::<4>()?;
        let scope = Scope {
            lab: LabId(reader.array()?),
            stream: StreamId(reader.array()?),
            run: RunId(reader.array()?),
        };
        let epoch = reader.word()?;
        reader.long()?;
        let count = usize::from(u16::from_le_bytes(reader.array()?));
        (reader.array()? == [0; 2] && count <= MAX_MEMBERS).then_some(())?;
        let (members, rest) = reader.rest().as_chunks();
        (rest.is_empty() && members.len() == count).then_some(Self { scope, epoch, message, members })
    }

    /// Unwraps the key if it was wrapped for `member`.
    ///
    /// - Errors: [`Refused::Forged`]. Nothing if the edge did not wrap for this member.
    pub(crate) fn open(&self, device: &PublicKey, member: &WrappingKey) -> Result<Option<EpochKey>, Refused> {
        let (body, signature) = signed::split(self.message, MAGIC)?;
        signed::verify(body, signature, device)?;
        let id = member.id();
        let Some(entry) = self.members.iter().find(|entry| entry.starts_with(&id.0)) else { return Ok(None) };
        self.open_entry(entry, id, member).map(Some).ok_or(Refused::Forged)
    }

    fn open_entry(&self, entry: &[u8; ENTRY], id: MemberKeyId, member: &WrappingKey) -> Option<EpochKey> {
        let mut reader = Reader::new(entry);
        reader.array::<16>()?;
        let encapsulated = <XWing as Kem>::EncappedKey::from_bytes(reader.slice(ENCAPSULATED)?).ok()?;
        let aad = [head(&self.scope, self.epoch).as_slice(), &id.0].concat();
        let key = single_shot_open::<ChaCha20Poly1305, HkdfSha256, XWing>(
            &OpModeR::Base,
            &member.secret,
            &encapsulated,
            INFO,
            reader.rest(),
            &aad,
        );
        let key = Zeroizing::new(key.ok()?);
        Some(EpochKey::from_bytes(Zeroizing::new(key.as_slice().try_into().ok()?)))
    }
}

/// The caller's randomness as HPKE asks for it. It cannot tell of a failure; its users look at `failed`.
struct Random<'a> {
    entropy: &'a mut dyn Entropy,
    failed: bool,
}

impl TryRng for Random<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.failed |= self.entropy.fill(out).is_err();
        Ok(())
    }
}

impl TryCryptoRng for Random<'_> {}

/// Most members that one message of wrapped keys serves.
pub const MAX_MEMBERS: usize = 512;
/// Length of an X-Wing ciphertext, in bytes.
const ENCAPSULATED: usize = 1120;
/// Length of what one member finds: key id, encapsulated key, sealed epoch key, tag.
const ENTRY: usize = 16 + ENCAPSULATED + 32 + 16;
const INFO: &[u8] = b"schwann/1 relay key";
const MAGIC: Magic = *b"SRK\x01";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{cut, message};

    #[test]
    fn wrapped_keys_are_read_whole_or_not_at_all() {
        let bytes = message("wrapped keys");
        let wrapped = Wrapped::parse(&bytes).unwrap();
        assert_eq!((wrapped.epoch, wrapped.members.len()), (0, 1));
        assert!(cut(&bytes).all(|part| Wrapped::parse(part).is_err()));
    }
}
