//! How a device gets its keys: pasted over a serial line, or flashed as an image; never in the firmware.
//!
//! A new device makes its own key ([`DeviceKey::generate`]) and prints a [`Request`]. `schwann keys issue --device
//! REQUEST` prints the [`Lines`], and the device reads them into a [`Paste`]. [`join`] checks them and lays out
//! the content of the key store ([`crate::key_slots`]). [`Keys::parse`] reads it there at each start.
//!
//! ```text
//! key store                          paste, all lines together
//!   0  authority's public key (32)     0  authority's public key (32)
//!  32  discovery key (32)             32  certificate (192)
//!  64  device's seed (32)            224  discovery key (32)
//!  96  certificate (192)             256  revocation list, to the end
//! 288  revocation list, to the end
//! ```

use core::fmt;

mod lines;

pub use lines::{Lines, Paste, Pasted};

use lines::put_hex;

use crate::{
    Certificate, Credentials, CredentialsError, DeviceKey, Entropy, Lab, PublicKey, RevocationList,
    discovery::DiscoveryKey,
};

/// Everything that a device proves itself with.
pub struct Keys<'a> {
    /// The lab.
    pub lab: Lab,
    /// This device, with a Noise key of this start.
    pub credentials: Credentials,
    /// The revoked devices.
    pub revoked: RevocationList<&'a [u8]>,
    /// The lab's discovery key.
    pub discovery: DiscoveryKey,
}

/// Why keys cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProvisionError {
    /// The parts do not belong together, or to this device: issue a certificate for the request that it printed.
    Mismatch,
    /// The bytes are no membership.
    Malformed,
    /// The random generator failed.
    NoEntropy,
    /// They exceed the memory for them.
    TooLong,
}

impl fmt::Display for ProvisionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Mismatch => "the keys are not this device's; issue a certificate for the request it prints",
            Self::Malformed => {
                "these are no keys; paste all lines that `schwann keys issue --device` printed"
            }
            Self::NoEntropy => "the random generator failed",
            Self::TooLong => "the keys exceed the memory for them",
        })
    }
}

impl core::error::Error for ProvisionError {}

impl<'a> Keys<'a> {
    /// Reads what the key store holds, and makes the Noise key of this start.
    ///
    /// - Units: `record_limit` in bytes: what the links' memory for received bytes holds, less 20.
    /// - Errors: [`ProvisionError`]: provision the device again.
    pub fn parse(
        content: &'a [u8],
        record_limit: usize,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, ProvisionError> {
        let malformed = ProvisionError::Malformed;
        let (lab, rest) = content.split_first_chunk().ok_or(malformed)?;
        let (discovery, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let (seed, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let (certificate, list) = rest.split_first_chunk().ok_or(malformed)?;
        let lab = Lab::new(lab).ok_or(malformed)?;
        let certificate = Certificate::parse(certificate).map_err(|_| malformed)?;
        let revoked = RevocationList::parse(list, &lab).map_err(|_| malformed)?;
        let mut credentials = Credentials::new(DeviceKey::from_seed(seed), certificate, entropy).map_err(
            |error| match error {
                CredentialsError::NoEntropy => ProvisionError::NoEntropy,
                _ => ProvisionError::Mismatch,
            },
        )?;
        credentials.limit_records(record_limit);
        if !revoked.commits_to(discovery) {
            return Err(ProvisionError::Mismatch);
        }
        Ok(Self { lab, credentials, revoked, discovery: DiscoveryKey::new(discovery) })
    }
}

/// The line that a new device prints, for `schwann keys issue --device`.
///
/// - Shape: `name` has 1 to 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The device's public key.
    pub device: PublicKey,
    /// What people call the device.
    pub name: &'a str,
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        put_hex(&self.device.0, out)?;
        put_hex(self.name.as_bytes(), out)
    }
}

/// Joins a device's seed with the membership that was pasted, as the key store keeps them.
///
/// - Errors: [`ProvisionError`]; `out` then holds nothing of use, and should be wiped all the same.
pub fn join<'a>(seed: &[u8; 32], pasted: &[u8], out: &'a mut [u8]) -> Result<&'a [u8], ProvisionError> {
    let malformed = ProvisionError::Malformed;
    let (lab, rest) = pasted.split_first_chunk::<32>().ok_or(malformed)?;
    let (certificate, rest) = rest.split_first_chunk::<{ Certificate::LEN }>().ok_or(malformed)?;
    let (discovery, list) = rest.split_first_chunk::<32>().ok_or(malformed)?;
    let checked_lab = Lab::new(lab).ok_or(malformed)?;
    let checked = Certificate::parse(certificate).map_err(|_| malformed)?;
    let revoked = RevocationList::parse(list, &checked_lab).map_err(|_| malformed)?;
    let together = checked.verify(&checked_lab).is_ok()
        && checked.statement.device == DeviceKey::from_seed(seed).public()
        && revoked.commits_to(discovery);
    if !together {
        return Err(ProvisionError::Mismatch);
    }
    let parts: [&[u8]; 5] = [lab, discovery, seed, certificate, list];
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    let out = out.get_mut(..len).ok_or(ProvisionError::TooLong)?;
    out.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, from)| *to = *from);
    Ok(out)
}
