//! A member's wrapping key, under which edges wrap the keys of their streams (relay §6.1).

use hpke::{Deserializable, Kem, Serializable, kem::XWing};
use schwann_session::{
    Calendar, Certificate, Credentials, Entropy, Lab, NoEntropy, RevocationList, Roles, UnixSeconds,
    bytes::Reader,
};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::signed::{self, Magic, Refused};

/// Names a wrapping key: the first 16 bytes of SHA-256 over it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MemberKeyId(pub [u8; 16]);

impl MemberKeyId {
    fn of(public: &[u8; PUBLIC]) -> Self {
        let digest: [u8; 32] = Sha256::digest(public).into();
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// A member's own wrapping key. Wiped when dropped; cannot be printed, copied or compared.
pub struct WrappingKey {
    pub(crate) secret: <XWing as Kem>::PrivateKey,
    public: [u8; PUBLIC],
}

impl WrappingKey {
    /// Makes a new key.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut seed = Zeroizing::new([0; 32]);
        entropy.fill(seed.as_mut_slice())?;
        Ok(Self::from_seed(&seed))
    }

    /// Makes the key that `seed` stands for, as the member keeps it.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let (secret, public) = XWing::derive_keypair(seed);
        let mut bytes = [0; PUBLIC];
        public.write_exact(&mut bytes);
        Self { secret, public: bytes }
    }

    /// What edges call the key.
    #[must_use]
    pub fn id(&self) -> MemberKeyId {
        MemberKeyId::of(&self.public)
    }

    /// The message that makes the key known to edges, valid for `lifetime_s` seconds from `now`.
    ///
    /// - Units: seconds, at most [`WRAPPING_LIFETIME`].
    #[must_use]
    pub fn publish(&self, credentials: &Credentials, now: UnixSeconds, lifetime_s: u64) -> Vec<u8> {
        let until = now.0.saturating_add(lifetime_s.min(WRAPPING_LIFETIME));
        let mut message = Vec::with_capacity(MESSAGE);
        message.extend_from_slice(&MAGIC);
        message.extend_from_slice(&credentials.certificate().encode());
        message.extend_from_slice(&now.0.to_le_bytes());
        message.extend_from_slice(&until.to_le_bytes());
        message.extend_from_slice(&self.public);
        signed::sign(&mut message, credentials);
        message
    }
}

/// A member's wrapping key as edges know it, signed by the member's device.
#[derive(Clone, Debug)]
pub struct WrappingPublic {
    /// The member's certificate.
    pub certificate: Certificate,
    /// Last second at which the key is wrapped for.
    pub not_after: UnixSeconds,
    /// What the key is called.
    pub id: MemberKeyId,
    not_before: UnixSeconds,
    pub(crate) public: <XWing as Kem>::PublicKey,
}

impl WrappingPublic {
    /// Reads a member's message.
    ///
    /// - Errors: [`Refused`]; the key counts for nothing.
    pub fn parse<B: AsRef<[u8]>>(
        message: &[u8],
        lab: &Lab,
        now: UnixSeconds,
        revoked: &RevocationList<B>,
    ) -> Result<Self, Refused> {
        let (body, signature) = signed::split(message, MAGIC)?;
        let mut reader = Reader::new(body);
        let mut fixed = || {
            reader.array::<4>()?;
            Some((reader.array()?, reader.long()?, reader.long()?, reader.array::<PUBLIC>()?))
        };
        let (certificate, not_before, not_after, public) = fixed().ok_or(Refused::Malformed)?;
        let lifetime = not_after.checked_sub(not_before).ok_or(Refused::Malformed)?;
        if message.len() != MESSAGE || lifetime > WRAPPING_LIFETIME {
            return Err(Refused::Malformed);
        }
        let certificate = signed::admit(&certificate, Roles::SUBSCRIBE, lab, Calendar::Known(now), revoked)?;
        signed::verify(body, signature, &certificate.statement.device)?;
        let id = MemberKeyId::of(&public);
        let public = Deserializable::from_bytes(&public).map_err(|_| Refused::Malformed)?;
        let (not_before, not_after) = (UnixSeconds(not_before), UnixSeconds(not_after));
        Ok(Self { certificate, not_after, id, not_before, public })
    }

    /// Whether an edge wraps for this key at `now`, given what it knows of revocations.
    #[must_use]
    pub fn admitted<B: AsRef<[u8]>>(&self, now: UnixSeconds, revoked: &RevocationList<B>) -> bool {
        let dated = self.not_before <= now && now <= self.not_after;
        dated && self.certificate.statement.check(Roles::SUBSCRIBE, now.into(), revoked).is_ok()
    }
}

/// Longest life of a wrapping key, in seconds: 31 days.
pub const WRAPPING_LIFETIME: u64 = 31 * 86_400;
/// Length of an X-Wing public key, in bytes.
const PUBLIC: usize = 1216;
const MESSAGE: usize = 212 + PUBLIC + signed::SIGNATURE;
const MAGIC: Magic = *b"SRM\x01";
