//! The lab's authority, its devices, and the proof that a process belongs to one.
//!
//! Keys are Ed25519 (RFC 8032), verified strictly. The private ones are wiped when dropped and cannot be
//! printed, copied or compared.

use core::fmt;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{
    Certificate, Entropy, Fingerprint, NoEntropy, Refusal, RevocationList, Roles, Statement, UnixSeconds,
    bytes::concat,
    certificate,
    noise::NoiseKey,
    record::{MAX_RECORD, MIN_RECORD},
};

/// A device's own key pair; it never leaves the device.
pub struct DeviceKey(SigningKey);

impl DeviceKey {
    /// Makes a new key.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        random(entropy).map(|seed| Self::from_seed(&seed))
    }

    /// Makes the key that `seed` stands for, as the key store keeps it.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// What to keep, encrypted, to make the same key again.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// The X25519 key that this key stands for (RFC 7748 §4.1).
    #[cfg(feature = "alloc")]
    pub(crate) fn agreement_key(&self) -> NoiseKey {
        NoiseKey::new(&Zeroizing::new(self.0.to_scalar_bytes()))
    }
}

/// The lab authority's key pair: it certifies devices and revokes them.
pub struct AuthorityKey(SigningKey);

impl AuthorityKey {
    /// Makes a new key, and with it a new lab.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        random(entropy).map(|seed| Self::from_seed(&seed))
    }

    /// Makes the key that `seed` stands for, as the key store keeps it.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// What to keep, encrypted, to make the same key again.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The lab as its members know it.
    #[must_use]
    pub fn lab(&self) -> Lab {
        Lab::from_verifying(self.0.verifying_key())
    }

    /// Certifies a device. The statement's lab is set to this one.
    #[must_use]
    pub fn certify(&self, mut statement: Statement) -> Certificate {
        statement.lab = self.lab().id();
        let signature = self.0.sign(&certificate::signed_bytes(&statement.encode())).to_bytes();
        Certificate { statement, signature }
    }

    /// The key as one that opens envelopes; it signs nothing as such.
    #[cfg(feature = "alloc")]
    pub(crate) fn as_device(&self) -> DeviceKey {
        DeviceKey::from_seed(&self.0.to_bytes())
    }

    /// Signs a revocation list in place: `list` holds its bytes, whose last 64 become the signature.
    #[cfg(feature = "alloc")]
    pub(crate) fn sign_list(&self, list: &mut [u8]) -> Option<()> {
        let (body, signature) = list.split_last_chunk_mut::<64>()?;
        *signature = self.0.sign(&crate::revocation::digest(body)).to_bytes();
        Some(())
    }
}

/// A device's public key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// The key as people compare it.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }

    /// Tells whether the holder of this key signed `digest` for `purpose`.
    ///
    /// - Source: the counterpart of [`Credentials::sign`].
    #[must_use]
    pub fn signed(&self, purpose: Purpose, digest: &[u8; 32], signature: &[u8; 64]) -> bool {
        self.verifies(&purposeful(purpose, digest), signature)
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let key = self.verifying_key();
        key.as_ref().is_some_and(|key| {
            key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
        })
    }

    /// The X25519 key that this key stands for (RFC 7748 §4.1); nothing if it is invalid or weak.
    #[cfg(feature = "alloc")]
    pub(crate) fn agreement_key(&self) -> Option<[u8; 32]> {
        let key = self.verifying_key().filter(|key| !key.is_weak())?;
        Some(key.to_montgomery().to_bytes())
    }

    /// Not part of its caller: otherwise the key's raw material would lie below the verification on a small
    /// chip's stack.
    #[inline(never)]
    fn verifying_key(&self) -> Option<VerifyingKey> {
        VerifyingKey::from_bytes(&self.0).ok()
    }
}

/// The first 16 bytes of SHA-256 over a lab authority's public key (secure-session §2.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct LabId(pub [u8; 16]);

/// A lab as its members know it: the authority's public key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lab {
    authority: VerifyingKey,
    id: LabId,
}

impl Lab {
    /// Takes the authority's public key.
    ///
    /// Returns nothing if the bytes are no Ed25519 public key, or a weak one.
    #[must_use]
    pub fn new(authority: &[u8; 32]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(authority).ok()?;
        (!key.is_weak()).then(|| Self::from_verifying(key))
    }

    fn from_verifying(authority: VerifyingKey) -> Self {
        let digest: [u8; 32] = Sha256::digest(authority.as_bytes()).into();
        let id = digest.first_chunk().map_or(LabId([0; 16]), |first| LabId(*first));
        Self { authority, id }
    }

    /// The lab's short name inside certificates and lists.
    #[must_use]
    pub fn id(&self) -> LabId {
        self.id
    }

    /// The authority's public key.
    #[must_use]
    pub fn authority(&self) -> PublicKey {
        PublicKey(self.authority.to_bytes())
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.authority.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

/// What one process of a device proves itself with. It has the device's key, its certificate, and a
/// Noise key. The Noise key lives as long as this value and is never stored.
pub struct Credentials {
    key: DeviceKey,
    certificate: Certificate,
    noise: NoiseKey,
    /// Most plaintext bytes that peers may put into one record for this device.
    max_record: usize,
}

impl Credentials {
    /// Puts a key and its certificate together and makes the process's Noise key.
    ///
    /// - Errors: [`CredentialsError::WrongKey`] if the certificate is another device's. Install the
    ///   certificate that was issued for this key. [`CredentialsError::NoEntropy`].
    pub fn new(
        key: DeviceKey,
        certificate: Certificate,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, CredentialsError> {
        if certificate.statement.device != key.public() {
            return Err(CredentialsError::WrongKey);
        }
        let secret = random(entropy).map_err(|NoEntropy| CredentialsError::NoEntropy)?;
        Ok(Self { key, certificate, noise: NoiseKey::new(&secret), max_record: MAX_RECORD })
    }

    /// The same device's credentials under a certificate that was issued since, for `key` if it has a new one.
    ///
    /// The process's Noise key stays, so handshakes that are under way go on.
    ///
    /// - Errors: [`CredentialsError::WrongKey`], as [`new`](Self::new).
    pub fn renewed(
        &self,
        key: Option<DeviceKey>,
        certificate: Certificate,
    ) -> Result<Self, CredentialsError> {
        let key = key.unwrap_or_else(|| DeviceKey::from_seed(&self.key.seed()));
        if certificate.statement.device != key.public() {
            return Err(CredentialsError::WrongKey);
        }
        Ok(Self { key, certificate, noise: self.noise.again(), max_record: self.max_record })
    }

    /// Asks peers for records of at most `bytes`, because this device has no room for longer ones.
    ///
    /// - Units: bytes of plaintext, brought into the range that the specification permits.
    /// - Source: secure-session §3.4, limits.
    pub fn limit_records(&mut self, bytes: usize) {
        self.max_record = bytes.clamp(MIN_RECORD, MAX_RECORD);
    }

    pub(crate) fn max_record(&self) -> usize {
        self.max_record
    }

    /// This device's certificate.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Tells beforehand why members of `lab` would refuse this device in `role`.
    ///
    /// - Errors: what the peer would say: [`Refusal::WrongLab`], [`Refusal::Expired`],
    ///   [`Refusal::NotYetValid`], [`Refusal::Revoked`], [`Refusal::WrongRole`], [`Refusal::Forged`].
    pub fn check<B: AsRef<[u8]>>(
        &self,
        lab: &Lab,
        revoked: &RevocationList<B>,
        role: Roles,
        now: UnixSeconds,
    ) -> Result<(), Refusal> {
        self.certificate.verify(lab)?;
        self.certificate.statement.check(role, now.into(), revoked)
    }

    pub(crate) fn noise(&self) -> &NoiseKey {
        &self.noise
    }

    /// Signs what is no handshake: `digest` stands for the signed bytes, `purpose` for what the signature means.
    ///
    /// - Source: Ed25519 (RFC 8032) over `purpose` and `digest`, one after the other.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, digest: &[u8; 32]) -> [u8; 64] {
        self.key.sign(&purposeful(purpose, digest))
    }

    /// Ties this process's Noise key to the device, for one handshake (secure-session §3.5).
    pub(crate) fn bind(&self, side: u8, hash: &[u8; 32]) -> [u8; 64] {
        self.key.sign(&binding(side, self.noise.public(), hash))
    }
}

/// What the binding signature covers (secure-session §3.5).
pub(crate) fn binding(side: u8, noise_public: &[u8; 32], hash: &[u8; 32]) -> [u8; 80] {
    concat(&[b"schwann/1 bind\0", &[side], noise_public, hash])
}

/// What a signature outside of handshakes is for: no signature passes for one of another purpose.
///
/// It begins with `schwann/1 `, and differs from what handshakes and the authority sign in its length, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Purpose(pub [u8; 24]);

/// What such a signature covers.
fn purposeful(purpose: Purpose, digest: &[u8; 32]) -> [u8; 56] {
    concat(&[&purpose.0, digest])
}

/// Why a key and a certificate do not make credentials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CredentialsError {
    /// This side's random generator failed.
    NoEntropy,
    /// The certificate was issued for another key.
    WrongKey,
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEntropy => "the system gives no random bytes",
            Self::WrongKey => "the certificate was issued for another key",
        })
    }
}

impl core::error::Error for CredentialsError {}

/// Draws secret bytes into memory that is wiped.
pub(crate) fn random<const N: usize>(entropy: &mut dyn Entropy) -> Result<Zeroizing<[u8; N]>, NoEntropy> {
    let mut bytes = Zeroizing::new([0; N]);
    entropy.fill(bytes.as_mut_slice())?;
    Ok(bytes)
}
