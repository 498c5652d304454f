//! How keys lie in files and travel between machines: as bytes; the files are someone else's.
//!
//! ```text
//!    0  magic "SCK" | version 1         8  memory (LE 32, KiB)
//!    4  kind                           12  passes (LE 32)
//!    5  zero (3)                       16  lanes  (LE 32)
//!                                      20  salt (16)
//!                                      36  nonce (24)
//!                                      60  content: sealed | tag (16)
//! ```
//!
//! The content is sealed by XChaCha20-Poly1305 under Argon2id of a passphrase; the bytes before it are
//! the associated data. Content without a passphrase has no form here, on purpose. Such a key needs a
//! format of its own that says so.
//!
//! - Source: secure-session §2.5; RFC 9106.

use alloc::{vec, vec::Vec};
use core::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use schwann_aead::{Tag, open_in_place, seal_in_place};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    Certificate, DeviceKey, Entropy, Lab, RevocationList,
    bytes::{Reader, concat},
    discovery::{NONCE_LEN, extended},
};

/// What a sealed file holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// The secret half of a lab's archive key, as the text of an age identity.
    Archive,
    /// An authority's seed.
    Authority,
    /// An authority with all that it has issued.
    Backup,
    /// A [`Bundle`].
    Bundle,
    /// A device's seed.
    Device,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Device => 1,
            Self::Authority => 2,
            Self::Bundle => 3,
            Self::Backup => 4,
            Self::Archive => 5,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Device, Self::Authority, Self::Bundle, Self::Backup, Self::Archive]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// How much work it is to try one passphrase.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes, which an attacker may compute at the same time.
    pub lanes: u32,
}

impl Default for Cost {
    /// 64 MiB, 3 passes, 4 lanes: RFC 9106 §4, the second recommended option.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 4 }
    }
}

/// Seals `content` under `passphrase`.
///
/// - Errors: [`KeyStoreError::EmptyPassphrase`], [`KeyStoreError::Cost`], [`KeyStoreError::NoEntropy`].
pub fn seal(
    kind: Kind,
    content: &[u8],
    passphrase: &[u8],
    cost: Cost,
    entropy: &mut dyn Entropy,
) -> Result<Vec<u8>, KeyStoreError> {
    if passphrase.is_empty() {
        return Err(KeyStoreError::EmptyPassphrase);
    }
    let mut random = [0; SALT_LEN + NONCE_LEN];
    entropy.fill(&mut random).map_err(|_| KeyStoreError::NoEntropy)?;
    let head: [u8; HEAD_LEN] = concat(&[
        MAGIC,
        &[kind.byte(), 0, 0, 0],
        &cost.memory_kib.to_le_bytes(),
        &cost.passes.to_le_bytes(),
        &cost.lanes.to_le_bytes(),
        &random,
    ]);
    let (salt, nonce) = random.split_first_chunk().ok_or(KeyStoreError::Malformed)?;
    let nonce = nonce.first_chunk().ok_or(KeyStoreError::Malformed)?;
    let stretched = stretch(passphrase, salt, cost)?;
    let (key, nonce) = extended(&stretched, nonce);
    let mut body = Zeroizing::new(content.to_vec());
    let tag = seal_in_place(&key, &nonce, &head, &mut body).map_err(|_| KeyStoreError::Malformed)?;
    Ok([head.as_slice(), &body, &tag.0].concat())
}

/// Opens what [`seal`] made.
///
/// - Errors: [`KeyStoreError::WrongPassphrase`] also if the file is damaged, because the two look
///   alike. [`KeyStoreError::Malformed`]. [`KeyStoreError::Cost`] if it asks for more than 1 GiB or 64
///   passes.
pub fn open(file: &[u8], passphrase: &[u8]) -> Result<(Kind, Zeroizing<Vec<u8>>), KeyStoreError> {
    let head = Head::parse(file).ok_or(KeyStoreError::Malformed)?;
    let (bytes, sealed) = file.split_first_chunk::<HEAD_LEN>().ok_or(KeyStoreError::Malformed)?;
    let (body, tag) = sealed.split_last_chunk().ok_or(KeyStoreError::Malformed)?;
    let stretched = stretch(passphrase, &head.salt, head.cost)?;
    let (key, nonce) = extended(&stretched, &head.nonce);
    let mut content = Zeroizing::new(body.to_vec());
    open_in_place(&key, &nonce, bytes, &mut content, &Tag(*tag))
        .map_err(|_| KeyStoreError::WrongPassphrase)?;
    Ok((head.kind, content))
}

/// Tells whether a file is one that [`open`] may open with the right passphrase, and what it holds.
#[must_use]
pub fn kind_of(file: &[u8]) -> Option<Kind> {
    Head::parse(file).map(|head| head.kind)
}

/// A whole membership: what `keys export` writes and `keys import` reads.
///
/// ```text
///   0  authority's public key (32)
///  32  discovery key (32)
///  64  device's seed (32)
///  96  certificate (192)
/// 288  revocation list, to the end
/// ```
pub struct Bundle {
    /// The device's certificate.
    pub certificate: Certificate,
    /// The device's key.
    pub device: DeviceKey,
    /// The lab's discovery key.
    pub discovery: Zeroizing<[u8; 32]>,
    /// The lab.
    pub lab: Lab,
    /// The revoked devices.
    pub revoked: RevocationList<Vec<u8>>,
}

impl Bundle {
    /// Lays the bundle down, to be given to [`seal`].
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let seed = self.device.seed();
        let parts: [&[u8]; 5] = [
            &self.lab.authority().0,
            self.discovery.as_slice(),
            seed.as_slice(),
            &self.certificate.encode(),
            self.revoked.as_bytes(),
        ];
        Zeroizing::new(parts.concat())
    }

    /// Reads what [`open`] returned for [`Kind::Bundle`], and checks that its parts belong together.
    ///
    /// - Errors: [`KeyStoreError::Malformed`].
    pub fn parse(content: &[u8]) -> Result<Self, KeyStoreError> {
        Self::parse_parts(content)
            .filter(|bundle| {
                bundle.certificate.statement.device == bundle.device.public()
                    && bundle.certificate.verify(&bundle.lab).is_ok()
                    && bundle.revoked.commits_to(&bundle.discovery)
            })
            .ok_or(KeyStoreError::Malformed)
    }

    fn parse_parts(content: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(content);
        let lab = Lab::new(&reader.array()?)?;
        let discovery = Zeroizing::new(reader.array()?);
        let device = DeviceKey::from_seed(&Zeroizing::new(reader.array()?));
        let certificate = Certificate::parse(&reader.array()?).ok()?;
        let revoked = RevocationList::parse(reader.rest().to_vec(), &lab).ok()?;
        Some(Self { certificate, device, discovery, lab, revoked })
    }
}

struct Head {
    kind: Kind,
    cost: Cost,
    salt: [u8; SALT_LEN],
    nonce: [u8; NONCE_LEN],
}

impl Head {
    fn parse(file: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(file);
        let magic: [u8; 4] = reader.array()?;
        let kind = Kind::from_byte(reader.byte()?)?;
        let zero: [u8; 3] = reader.array()?;
        if magic != *MAGIC || zero != [0; 3] {
            return None;
        }
        let cost = Cost { memory_kib: reader.word()?, passes: reader.word()?, lanes: reader.word()? };
        Some(Self { kind, cost, salt: reader.array()?, nonce: reader.array()? })
    }
}

/// Makes a key of a passphrase.
fn stretch(
    passphrase: &[u8],
    salt: &[u8; SALT_LEN],
    cost: Cost,
) -> Result<Zeroizing<[u8; 32]>, KeyStoreError> {
    // A file from elsewhere must not choose how much memory this machine spends on it.
    if cost.memory_kib > MAX_MEMORY_KIB || cost.passes > MAX_PASSES || cost.lanes > MAX_LANES {
        return Err(KeyStoreError::Cost);
    }
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(32));
    let params = params.map_err(|_| KeyStoreError::Cost)?;
    let mut memory = vec![Block::default(); params.block_count()];
    let mut key = Zeroizing::new([0; 32]);
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let outcome = argon.hash_password_into_with_memory(passphrase, salt, key.as_mut_slice(), &mut memory);
    memory.iter_mut().for_each(Zeroize::zeroize);
    outcome.map_err(|_| KeyStoreError::Cost)?;
    Ok(key)
}

/// Why a file was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeyStoreError {
    /// The cost is out of bounds.
    Cost,
    /// An empty passphrase protects nothing.
    EmptyPassphrase,
    /// The bytes are no file of this kind and version, or its parts do not belong together.
    Malformed,
    /// This side's random generator failed.
    NoEntropy,
    /// The passphrase is wrong, or the file is damaged.
    WrongPassphrase,
}

impl fmt::Display for KeyStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cost => "the cost of the passphrase is out of bounds",
            Self::EmptyPassphrase => "the passphrase is empty",
            Self::Malformed => "not a key file of version 1",
            Self::NoEntropy => "the system gives no random bytes",
            Self::WrongPassphrase => "the passphrase is wrong, or the file is damaged",
        })
    }
}

impl core::error::Error for KeyStoreError {}

const MAGIC: &[u8; 4] = b"SCK\x01";
const SALT_LEN: usize = 16;
const HEAD_LEN: usize = 20 + SALT_LEN + NONCE_LEN;
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 64;
const MAX_LANES: u32 = 64;
