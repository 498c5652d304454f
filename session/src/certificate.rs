//! What the lab's authority says about a device, in 192 bytes.
//!
//! ```text
//!   0  magic "SCC" | version 1      32  lab id (16)
//!   4  roles                        48  device's public key (32)
//!   5  flags                        80  name, UTF-8, zero-padded (48)
//!   6  length of the name          128  signature (64)
//!   7  zero                        192
//!   8  serial (LE 64)
//!  16  not before (LE 64, seconds since 1970)
//!  24  not after  (LE 64, seconds since 1970)
//! ```
//!
//! - Source: secure-session §2.2.

use core::{fmt, ops::Range};

use crate::{
    Calendar, Lab, LabId, PublicKey, Refusal, RevocationList, UnixSeconds,
    bytes::{Reader, concat},
    revocation::KEY_ENTRY,
};

/// A statement about a device and the authority's signature under it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Certificate {
    /// What is certified.
    pub statement: Statement,
    pub(crate) signature: [u8; 64],
}

impl Certificate {
    /// Length of an encoded certificate, in bytes.
    pub const LEN: usize = Statement::LEN + 64;

    /// Reads a certificate; it is worth nothing before [`verify`](Self::verify).
    ///
    /// - Errors: [`CertificateError`]: the bytes are no certificate of this version.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, CertificateError> {
        let mut reader = Reader::new(bytes);
        let statement = reader.array().ok_or(CertificateError::Malformed)?;
        let signature = reader.array().ok_or(CertificateError::Malformed)?;
        Ok(Self { statement: Statement::parse(&statement)?, signature })
    }

    /// Lays the certificate down.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        concat(&[&self.statement.encode(), &self.signature])
    }

    /// Checks that `lab`'s authority signed this.
    ///
    /// - Errors: [`Refusal::WrongLab`] if it names another lab, [`Refusal::Forged`] if the signature is not
    ///   the authority's.
    pub fn verify(&self, lab: &Lab) -> Result<(), Refusal> {
        verify_statement(&self.statement.encode(), self.statement.lab, &self.signature, lab)
    }
}

/// A certificate where it lies in a message; nothing of it is copied before it is verified.
pub(crate) struct Encoded<'a> {
    statement: &'a [u8; Statement::LEN],
    signature: &'a [u8; 64],
}

impl<'a> Encoded<'a> {
    pub(crate) fn split(bytes: &'a [u8; Certificate::LEN]) -> Option<Self> {
        let (statement, signature) = bytes.split_first_chunk()?;
        Some(Self { statement, signature: signature.first_chunk()? })
    }

    /// As [`Certificate::verify`].
    pub(crate) fn verify(&self, lab: &Lab) -> Result<(), Refusal> {
        let named = self.statement.get(LAB).and_then(|bytes| bytes.try_into().ok()).map(LabId);
        verify_statement(self.statement, named.ok_or(Refusal::Malformed)?, self.signature, lab)
    }

    /// The key whose holder is certified.
    pub(crate) fn device(&self) -> Option<PublicKey> {
        self.statement.get(DEVICE)?.try_into().ok().map(PublicKey)
    }

    /// What the certificate says.
    pub(crate) fn statement(&self) -> Result<Statement, CertificateError> {
        Statement::parse(self.statement)
    }
}

/// What a certificate says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Statement {
    /// The device's public key.
    pub device: PublicKey,
    /// What else the device may do.
    pub flags: Flags,
    /// The lab; [`AuthorityKey::certify`](crate::AuthorityKey::certify) sets it.
    pub lab: LabId,
    /// What people call the device.
    pub name: DeviceName,
    /// Last second at which the certificate is valid.
    pub not_after: UnixSeconds,
    /// First second at which the certificate is valid.
    pub not_before: UnixSeconds,
    /// What the device may be.
    pub roles: Roles,
    /// Number within the lab, below 2⁶³ and never given twice; revocation names it.
    pub serial: u64,
}

impl Statement {
    const LEN: usize = 128;

    fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, CertificateError> {
        let mut reader = Reader::new(bytes);
        if reader.array() != Some(*MAGIC) {
            return Err(CertificateError::Version);
        }
        Self::parse_body(&mut reader).ok_or(CertificateError::Malformed)
    }

    fn parse_body(reader: &mut Reader<'_>) -> Option<Self> {
        let roles = Roles::from_bits(reader.byte()?)?;
        let flags = Flags::from_bits(reader.byte()?)?;
        let name_len = reader.byte()?;
        if reader.byte()? != 0 {
            return None;
        }
        Some(Self {
            roles,
            flags,
            serial: reader.long().filter(|serial| serial & KEY_ENTRY == 0)?,
            not_before: UnixSeconds(reader.long()?),
            not_after: UnixSeconds(reader.long()?),
            lab: LabId(reader.array()?),
            device: PublicKey(reader.array()?),
            name: DeviceName::from_padded(reader.array()?, name_len)?,
        })
    }

    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        concat(&[
            MAGIC,
            &[self.roles.0, self.flags.0, self.name.length, 0],
            &self.serial.to_le_bytes(),
            &self.not_before.0.to_le_bytes(),
            &self.not_after.0.to_le_bytes(),
            &self.lab.0,
            &self.device.0,
            &self.name.padded,
        ])
    }

    /// Checks what may change after the certificate was signed, and the role.
    ///
    /// - Errors: [`Refusal::Revoked`], [`Refusal::NotYetValid`], [`Refusal::Expired`], [`Refusal::WrongRole`].
    pub fn check<B: AsRef<[u8]>>(
        &self,
        role: Roles,
        calendar: Calendar,
        revoked: &RevocationList<B>,
    ) -> Result<(), Refusal> {
        if revoked.puts_out(self) {
            return Err(Refusal::Revoked);
        }
        if calendar.is_before(self.not_before) {
            return Err(Refusal::NotYetValid);
        }
        if calendar.earliest() > self.not_after {
            return Err(Refusal::Expired);
        }
        if self.roles.contain(role) { Ok(()) } else { Err(Refusal::WrongRole) }
    }
}

/// What the authority signs: a domain, so that no other signature of its passes for this, and the statement.
pub(crate) fn signed_bytes(statement: &[u8; Statement::LEN]) -> [u8; 21 + Statement::LEN] {
    concat(&[b"schwann/1 certificate", statement])
}

/// Checks that `lab`'s authority signed `statement`, which names the lab `named`.
// Not part of its caller: a small chip's stack holds the frame of one step at a time.
#[inline(never)]
fn verify_statement(
    statement: &[u8; Statement::LEN],
    named: LabId,
    signature: &[u8; 64],
    lab: &Lab,
) -> Result<(), Refusal> {
    if named != lab.id() {
        return Err(Refusal::WrongLab);
    }
    if lab.verifies(&signed_bytes(statement), signature) { Ok(()) } else { Err(Refusal::Forged) }
}

/// What a device may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Roles(u8);

impl Roles {
    /// Both.
    pub const BOTH: Self = Self(3);
    /// It may offer streams.
    pub const PUBLISH: Self = Self(1);
    /// It may receive streams.
    pub const SUBSCRIBE: Self = Self(2);

    /// Tells whether all of `roles` are among these.
    #[must_use]
    pub fn contain(self, roles: Self) -> bool {
        self.0 & roles.0 == roles.0
    }

    /// No role, or one that this version does not know, is no certificate.
    fn from_bits(bits: u8) -> Option<Self> {
        matches!(bits, 1..=3).then_some(Self(bits))
    }
}

/// What else a device may do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags(u8);

impl Flags {
    /// It may do without the post-quantum exchange, because it is too small for it.
    pub const CLASSIC: Self = Self(1);
    /// It was issued although its key had been put out: only its own serial puts it out again.
    pub const COME_BACK: Self = Self(2);
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// These flags and `more`.
    #[must_use]
    pub const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Tells whether the device may use the classic suite.
    #[must_use]
    pub fn permit_classic(self) -> bool {
        self.0 & Self::CLASSIC.0 != 0
    }

    /// Tells whether the authority let the key come back with this certificate.
    #[must_use]
    pub fn come_back(self) -> bool {
        self.0 & Self::COME_BACK.0 != 0
    }

    fn from_bits(bits: u8) -> Option<Self> {
        matches!(bits, 0..=3).then_some(Self(bits))
    }
}

/// What people call a device: 1 to 48 bytes of UTF-8 without control characters.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct DeviceName {
    length: u8,
    padded: [u8; Self::MAX],
}

impl DeviceName {
    /// Longest name, in bytes.
    pub const MAX: usize = 48;

    /// Takes a name.
    ///
    /// Returns nothing if it is empty, too long or holds control characters.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut padded = [0; Self::MAX];
        padded.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Self::from_padded(padded, u8::try_from(name.len()).ok()?)
    }

    fn from_padded(padded: [u8; Self::MAX], length: u8) -> Option<Self> {
        let (name, padding) = padded.split_at_checked(usize::from(length))?;
        let name = core::str::from_utf8(name).ok()?;
        let proper =
            !name.is_empty() && !name.chars().any(char::is_control) && padding.iter().all(|b| *b == 0);
        proper.then_some(Self { length, padded })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let name = self.padded.get(..usize::from(self.length)).unwrap_or_default();
        core::str::from_utf8(name).unwrap_or_default()
    }
}

impl fmt::Debug for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Why bytes are not a certificate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CertificateError {
    /// A field holds what it must not.
    Malformed,
    /// It does not begin as certificates of this version do.
    Version,
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "a field of the certificate holds what it must not",
            Self::Version => "not a certificate of version 1",
        })
    }
}

impl core::error::Error for CertificateError {}

const MAGIC: &[u8; 4] = b"SCC\x01";

/// Where a statement names the lab and the device's key.
const LAB: Range<usize> = 32..48;
const DEVICE: Range<usize> = 48..80;
