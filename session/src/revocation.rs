//! Which devices are out: serials and keys, numbered and signed by the authority.
//!
//! ```text
//!   0  magic "SCR" | version 1      36  discovery key's commitment (32)
//!   4  lab id (16)                  68  count n (LE 32)
//!  20  number (LE 64)               72  n entries (LE 64 each), strictly rising
//!  28  issued (LE 64, seconds)      72 + 8n  signature (64)
//! ```
//!
//! An entry is the serial of a certificate, or stands for a key ([`PublicKey::revocation_entry`]).
//!
//! A member takes a list only if its number is higher than that of its present list. So an old list
//! cannot come back. The list also commits to its discovery key. That key changes with each revocation,
//! and members hand it on inside sessions.
//!
//! - Source: secure-session §2.4.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::{Lab, LabId, PublicKey, Statement, UnixSeconds, bytes::Reader};

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

    /// Tells whether a certificate is out: it is listed itself, or its key is.
    #[must_use]
    pub fn puts_out(&self, statement: &Statement) -> bool {
        let by_key = || !statement.flags.come_back() && self.contains(statement.device.revocation_entry());
        self.contains(statement.serial) || by_key()
    }

    /// Tells whether this serial, or this entry of a key, is listed.
    #[must_use]
    pub fn contains(&self, entry: u64) -> bool {
        let (entries, _) = entries(self.bytes.as_ref()).unwrap_or_default();
        entries.binary_search_by_key(&entry, |bytes| u64::from_le_bytes(*bytes)).is_ok()
    }

    /// What is listed, rising: first the serials, then the keys.
    pub fn entries(&self) -> impl Iterator<Item = u64> {
        let (entries, _) = entries(self.bytes.as_ref()).unwrap_or_default();
        entries.iter().map(|bytes| u64::from_le_bytes(*bytes))
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
    /// - Errors: [`RevocationError::TooLong`] above [`MAX_ENTRIES`].
    pub fn sign(
        authority: &crate::AuthorityKey,
        number: u64,
        issued: UnixSeconds,
        discovery_key: &[u8; 32],
        entries: &[u64],
    ) -> Result<Self, RevocationError> {
        let lab = authority.lab();
        let mut entries = entries.to_vec();
        entries.sort_unstable();
        entries.dedup();
        let count = u32::try_from(entries.len()).ok().filter(|count| *count <= MAX_ENTRIES);
        let count = count.ok_or(RevocationError::TooLong)?;

        let mut bytes = alloc::vec::Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&lab.id().0);
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&issued.0.to_le_bytes());
        bytes.extend_from_slice(&commitment(discovery_key));
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
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
    /// More than [`MAX_ENTRIES`] entries.
    TooLong,
    /// It is another lab's.
    WrongLab,
}

impl fmt::Display for RevocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forged => "the authority did not sign this revocation list",
            Self::Malformed => "not a revocation list of version 1",
            Self::TooLong => "a revocation list holds at most 65,536 entries",
            Self::WrongLab => "the revocation list is another lab's",
        })
    }
}

impl core::error::Error for RevocationError {}

impl PublicKey {
    /// What stands for this key on a list: it puts out every certificate of the key, also one that its reader never saw.
    ///
    /// - Source: secure-session §2.4. No serial has the highest bit, so none is mistaken for it.
    #[must_use]
    pub fn revocation_entry(&self) -> u64 {
        let digest: [u8; 32] =
            Sha256::new().chain_update(b"schwann/1 revoked key").chain_update(self.0).finalize().into();
        let first = digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        first | KEY_ENTRY
    }
}

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
    let (entries, rest) = entries(bytes).ok_or(RevocationError::Malformed)?;
    let rising = entries.windows(2).all(|pair| match pair {
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

/// The entries of a list, and what follows the signature (nothing, in a proper one).
fn entries(bytes: &[u8]) -> Option<(&[[u8; 8]], &[u8])> {
    let mut reader = Reader::new(bytes);
    reader.slice(68)?;
    let count = reader.word().filter(|count| *count <= MAX_ENTRIES)?;
    let length = usize::try_from(count).ok()?.checked_mul(8)?;
    let (entries, _) = reader.slice(length)?.as_chunks();
    reader.slice(64)?;
    Some((entries, reader.rest()))
}

/// Most entries on one list; a lab that revokes more starts anew.
pub const MAX_ENTRIES: u32 = 65_536;

/// The bit that tells the entry of a key from a serial.
pub(crate) const KEY_ENTRY: u64 = 1 << 63;

const MAGIC: &[u8; 4] = b"SCR\x01";
