//! What all messages share: a magic in front, a device's signature behind, and reasons to refuse them (relay §1.3).

use core::fmt;

use schwann_session::{
    Calendar, Certificate, CertificateError, Credentials, Lab, PublicKey, Purpose, Refusal, RevocationList,
    Roles,
};
use sha2::{Digest, Sha256};

/// Three letters and the version, with which a message begins.
pub(crate) type Magic = [u8; 4];

/// Appends the device's signature to a message.
pub(crate) fn sign(message: &mut Vec<u8>, credentials: &Credentials) {
    let signature = credentials.sign(purpose(message), &digest(message));
    message.extend_from_slice(&signature);
}

/// Splits a message of the kind `magic` into what is signed and the signature.
///
/// - Errors: [`Refused::Malformed`].
pub(crate) fn split(message: &[u8], magic: Magic) -> Result<(&[u8], &[u8; SIGNATURE]), Refused> {
    let (body, signature) = message.split_last_chunk().ok_or(Refused::Malformed)?;
    if body.starts_with(&magic) { Ok((body, signature)) } else { Err(Refused::Malformed) }
}

/// Checks that the holder of `device` signed `body`.
///
/// - Errors: [`Refused::Forged`].
pub(crate) fn verify(body: &[u8], signature: &[u8; SIGNATURE], device: &PublicKey) -> Result<(), Refused> {
    if device.signed(purpose(body), &digest(body), signature) { Ok(()) } else { Err(Refused::Forged) }
}

/// Parses a certificate and checks that the lab issued it for `role`, and that it holds now.
///
/// - Errors: [`Refused::Malformed`], [`Refused::NotAdmitted`].
pub(crate) fn admit<B: AsRef<[u8]>>(
    certificate: &[u8; Certificate::LEN],
    role: Roles,
    lab: &Lab,
    calendar: Calendar,
    revoked: &RevocationList<B>,
) -> Result<Certificate, Refused> {
    let certificate = Certificate::parse(certificate).map_err(|_: CertificateError| Refused::Malformed)?;
    certificate.verify(lab).map_err(Refused::NotAdmitted)?;
    certificate.statement.check(role, calendar, revoked).map_err(Refused::NotAdmitted)?;
    Ok(certificate)
}

fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// The domain of a message: its magic's letters within 24 bytes.
fn purpose(body: &[u8]) -> Purpose {
    let mut domain = *b"schwann/1 relay ........";
    let (_, rest) = domain.split_at_mut(16);
    rest.fill(0);
    for (place, letter) in rest.iter_mut().zip(body.iter().take(3)) {
        *place = *letter;
    }
    Purpose(domain)
}

/// Why a message from the hub counts for nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Refused {
    /// It belongs to another lab, stream or run.
    Foreign,
    /// The device signed two histories; the earlier one stays.
    Fork,
    /// A signature or a tag does not verify.
    Forged,
    /// Its bytes are not what the specification prescribes.
    Malformed,
    /// The device that signed it may not say this: it is revoked, expired, or lacks the role.
    NotAdmitted(Refusal),
    /// More epochs of one run than a member keeps keys of: it opens no later block of the run.
    TooManyEpochs,
    /// More holes than a member keeps: the block is asked for again later.
    TooManyHoles,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "it belongs to another lab, stream or run",
            Self::Fork => "its device signed two different histories of this run",
            Self::Forged => "its signature or its seal does not verify",
            Self::Malformed => "its bytes are no message of version 1",
            Self::NotAdmitted(refusal) => return refusal.fmt(f),
            Self::TooManyEpochs => {
                "it is the key of an epoch beyond the 1200 that are kept of one run; restart its sender"
            }
            Self::TooManyHoles => "too many blocks are missing before it",
        })
    }
}

impl core::error::Error for Refused {}

/// Length of a signature, in bytes.
pub(crate) const SIGNATURE: usize = 64;
