//! Which devices are out: serials, numbered and signed by the authority.
//!
//! ```text
//!   0  magic "SCR" | version 1      36  discovery key's commitment (32)
//!   4  lab id (16)                  68  count n (LE 32)
//!  20  number (LE 64)               72  n serials (LE 64 each), strictly rising
//!  28  issued (LE 64, seconds)      72 + 8n  signature (64)
//! ```
//!
//! A member takes a list only if its number is higher than that of its present list. So an old list
//! cannot come back. The list also commits to its discovery key. That key changes with each revocation,
//! and members hand it on inside sessions.
//!
//! - Source: secure-session §2.4.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::{Lab, LabId, UnixSeconds, bytes::Reader};

/// A list whose signature has been checked, in memory of the kind `B`.
///
/// On a computer `B` is `Vec<u8>`; a microcontroller keeps a `&'static [u8]`.
#[derive(Clone, Copy, Debug)]
pub struct RevocationList<B> {
    bytes: B,
    number: u64,
    issued: UnixSeconds,
    commitment: [u8; 32],
}

impl<B: AsRef<[u8]>> RevocationList<B> {
    /// Reads a list and checks the authority's signature.
    ///
    /// - Errors: [`RevocationError`]; keep the list that you have.
    pub fn parse(bytes: B, lab: &Lab) -> Result<Self, RevocationError> {
        let (number, issued, commitment) = verify(bytes.as_ref(), lab)?;
        Ok(Self { bytes, number, issued, commitment })
    }

    /// Tells whether the device with `serial` is out.
    #[must_use]
    pub fn contains(&self, serial: u64) -> bool {
        let (serials, _) = serials(self.bytes.as_ref()).unwrap_or_default();
        serials.binary_search_by_key(&serial, |bytes| u64::from_le_bytes(*bytes)).is_ok()
    }

    /// The serials of the devices that are out, rising.
    pub fn serials(&self) -> impl Iterator<Item = u64> {
        let (serials, _) = serials(self.bytes.as_ref()).unwrap_or_default();
        serials.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The list's number; higher is newer.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When the authority made the list.
    #[must_use]
    pub fn issued(&self) -> UnixSeconds {
        self.issued
    }

    /// The list as it is stored and sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Tells whether `key` is the discovery key that goes with this list.
    #[must_use]
    pub fn commits_to(&self, key: &[u8; 32]) -> bool {
        schwann_aead::ct::eq(&self.commitment, &commitment(key))
    }

    /// The same list, borrowed.
    #[must_use]
    pub fn view(&self) -> RevocationList<&[u8]> {
        RevocationList {
            bytes: self.bytes.as_ref(),
            number: self.number,
            issued: self.issued,
            commitment: self.commitment,
        }
    }
}

#[cfg(feature = "alloc")]
impl RevocationList<alloc::vec::Vec<u8>> {
    /// Makes and signs a list: `number` must exceed that of every earlier one, `discovery_key` is the lab's
    /// new discovery key.
    ///
    /// - Errors: [`RevocationError::TooLong`] above [`MAX_SERIALS`].
    pub fn sign(
        authority: &crate::AuthorityKey,
        number: u64,
        issued: UnixSeconds,
        discovery_key: &[u8; 32],
        serials: &[u64],
    ) -> Result<Self, RevocationError> {
        let lab = authority.lab();
        let mut serials = serials.to_vec();
        serials.sort_unstable();
        serials.dedup();
        let count = u32::try_from(serials.len()).ok().filter(|count| *count <= MAX_SERIALS);
        let count = count.ok_or(RevocationError::TooLong)?;

        let mut bytes = alloc::vec::Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&lab.id().0);
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&issued.0.to_le_bytes());
        bytes.extend_from_slice(&commitment(discovery_key));
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend(serials.iter().flat_map(|serial| serial.to_le_bytes()));
        bytes.extend_from_slice(&[0; 64]);
        authority.sign_list(&mut bytes).ok_or(RevocationError::Malformed)?;
        Self::parse(bytes, &lab)
    }
}

/// Why bytes are not a revocation list of this lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RevocationError {
    /// The authority did not sign this.
    Forged,
    /// The bytes are no revocation list of this version.
    Malformed,
    /// More than [`MAX_SERIALS`] serials.
    TooLong,
    /// It is another lab's.
    WrongLab,
}

impl fmt::Display for RevocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forged => "the authority did not sign this revocation list",
            Self::Malformed => "not a revocation list of version 1",
            Self::TooLong => "a revocation list holds at most 65,536 serials",
            Self::WrongLab => "the revocation list is another lab's",
        })
    }
}

impl core::error::Error for RevocationError {}

/// Most serials on one list; a lab that revokes more starts anew.
pub const MAX_SERIALS: u32 = 65_536;

/// What the authority signs in place of the list itself: its hash under a domain.
pub(crate) fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(b"schwann/1 revocation").chain_update(body).finalize().into()
}

/// What stands for a discovery key on the list.
fn commitment(key: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(b"schwann/1 discovery").chain_update(key).finalize().into()
}

/// Checks everything about a list and returns its number, date and commitment.
fn verify(bytes: &[u8], lab: &Lab) -> Result<(u64, UnixSeconds, [u8; 32]), RevocationError> {
    let header = header(bytes).ok_or(RevocationError::Malformed)?;
    if header.lab != lab.id() {
        return Err(RevocationError::WrongLab);
    }
    let (serials, rest) = serials(bytes).ok_or(RevocationError::Malformed)?;
    let rising = serials.windows(2).all(|pair| match pair {
        [first, second] => u64::from_le_bytes(*first) < u64::from_le_bytes(*second),
        _ => true,
    });
    if !rest.is_empty() || !rising {
        return Err(RevocationError::Malformed);
    }
    let (body, signature) = bytes.split_last_chunk().ok_or(RevocationError::Malformed)?;
    if !lab.verifies(&digest(body), signature) {
        return Err(RevocationError::Forged);
    }
    Ok((header.number, header.issued, header.commitment))
}

struct Header {
    lab: LabId,
    number: u64,
    issued: UnixSeconds,
    commitment: [u8; 32],
}

fn header(bytes: &[u8]) -> Option<Header> {
    let mut reader = Reader::new(bytes);
    if reader.array() != Some(*MAGIC) {
        return None;
    }
    Some(Header {
        lab: LabId(reader.array()?),
        number: reader.long()?,
        issued: UnixSeconds(reader.long()?),
        commitment: reader.array()?,
    })
}

/// The serials of a list, and what follows the signature (nothing, in a proper one).
fn serials(bytes: &[u8]) -> Option<(&[[u8; 8]], &[u8])> {
    let mut reader = Reader::new(bytes);
    reader.slice(68)?;
    let count = reader.word().filter(|count| *count <= MAX_SERIALS)?;
    let length = usize::try_from(count).ok()?.checked_mul(8)?;
    let (serials, _) = reader.slice(length)?.as_chunks();
    reader.slice(64)?;
    Some((serials, reader.rest()))
}

const MAGIC: &[u8; 4] = b"SCR\x01";
