//! The envelope: the statement, who signed it, and persons who endorsed it.
//!
//! Source: certificate §2.

use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schwann::security::{Lab, Member, Purpose, RawCertificate};
use schwann_xdf::{Hash, Piece, Proof};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A certificate that was read and whose signatures were checked.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What it states.
    pub statement: Value,
    /// Which device signed it; none if it is unsigned.
    pub signer: Option<Signer>,
    /// What persons said of it since.
    pub endorsements: Vec<Endorsement>,
    /// The hashes of the recording.
    pub proof: Proof,
    envelope: Envelope,
}

/// A device that signed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Signer {
    /// Its name in the lab.
    pub name: String,
    /// The fingerprint of its key.
    pub key: String,
    /// The number of its certificate.
    pub serial: u64,
    /// The fingerprint of the lab's authority.
    pub lab: String,
    /// Whether that is our lab.
    pub standing: LabStanding,
    /// The seconds since 1970 in which its certificate is valid: the first and the last.
    pub valid: [u64; 2],
}

/// Whose lab it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LabStanding {
    /// This computer is a member of it.
    Ours,
    /// It is ours, which has put the device out since: whoever holds the key can sign anything, also for an earlier time.
    Revoked,
    /// This computer is a member of another one.
    Another,
    /// This computer is a member of none, so that only its fingerprint can be compared.
    NotKnown,
}

/// What a person said of a recording.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Endorsement {
    /// Who says it; the device vouches for it.
    pub name: String,
    /// What it means, such as `reviewed`.
    pub meaning: String,
    /// When, in seconds since 1970.
    pub time: u64,
    /// The device on which it was said.
    pub device: Signer,
}

/// Why a certificate proves nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CertificateError {
    /// It is no certificate, or not in the bytes in which Schwann writes it.
    Malformed,
    /// A signature is not of the device that it names.
    Forged,
    /// The lab's authority did not certify the device, or not at that time.
    NotCertified,
    /// The chain of its events is broken.
    Events,
}

impl fmt::Display for CertificateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Malformed => "it is damaged, or was changed",
            Self::Forged => "a signature is not that of the device that it names: it was FORGED or changed",
            Self::NotCertified => "the lab's authority did not certify the device that signed it",
            Self::Events => "the chain of its events is broken: an event was changed, added or removed",
        })
    }
}

impl core::error::Error for CertificateError {}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<Signature>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    endorsements: Vec<SignedEndorsement>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    keyid: String,
    sig: String,
    certificate: String,
    authority: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SignedEndorsement {
    payload: String,
    signature: Signature,
}

impl Certificate {
    /// Encodes a statement, signed by `member` if there is one.
    pub fn encode(statement: &Value, member: Option<&Member>) -> Vec<u8> {
        let payload = statement.to_string();
        let signatures =
            member.map(|member| Signature::of(member, RECORDING, STATEMENT_TYPE, payload.as_bytes()));
        let envelope = Envelope {
            payload_type: STATEMENT_TYPE.to_owned(),
            payload: STANDARD.encode(payload),
            signatures: signatures.into_iter().collect(),
            endorsements: Vec::new(),
        };
        envelope.bytes()
    }

    /// Reads a certificate and checks everything that can be checked without the recording; `ours` is this computer, if it is a
    /// member of a lab.
    ///
    /// - Errors: [`CertificateError`].
    pub fn parse(bytes: &[u8], ours: Option<&Member>) -> Result<Self, CertificateError> {
        let malformed = CertificateError::Malformed;
        let envelope: Envelope = serde_json::from_slice(bytes).map_err(|_| malformed)?;
        // One text, one certificate: nothing can be slipped in that a reader does not look at.
        if envelope.payload_type != STATEMENT_TYPE
            || envelope.signatures.len() > 1
            || envelope.bytes() != bytes
        {
            return Err(malformed);
        }
        let payload = STANDARD.decode(&envelope.payload).map_err(|_| malformed)?;
        let statement = statement_of(&payload).ok_or(malformed)?;
        let check = |signature: &Signature| signature.check(RECORDING, STATEMENT_TYPE, &payload, ours);
        let signer = envelope.signatures.first().map(check).transpose()?;
        let end = statement["predicate"]["wall_clock"]["end"].as_u64().ok_or(malformed)?;
        if signer.as_ref().is_some_and(|signer| !(signer.valid[0]..=signer.valid[1]).contains(&end)) {
            return Err(CertificateError::NotCertified);
        }
        if !super::events::is_chained(&statement["predicate"]["events"]) {
            return Err(CertificateError::Events);
        }
        let proof = proof_of(&statement).ok_or(malformed)?;
        let endorsements =
            envelope.endorsements.iter().map(|one| one.check(&payload, ours)).collect::<Result<_, _>>()?;
        Ok(Self { statement, signer, endorsements, proof, envelope })
    }

    /// Encodes it once more with what a person says of it, vouched for by `member`.
    pub fn endorsed(&self, name: &str, meaning: &str, time: u64, member: &Member) -> Vec<u8> {
        let of: Hash = Sha256::digest(&self.envelope.payload).into();
        let payload =
            json!({"of": STANDARD.encode(of), "name": name, "meaning": meaning, "time": time}).to_string();
        let signature = Signature::of(member, ENDORSEMENT, ENDORSEMENT_TYPE, payload.as_bytes());
        let mut envelope = self.envelope.clone();
        envelope.endorsements.push(SignedEndorsement { payload: STANDARD.encode(payload), signature });
        envelope.bytes()
    }
}

impl Envelope {
    fn bytes(&self) -> Vec<u8> {
        // A struct of texts has no value that JSON lacks.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

impl SignedEndorsement {
    fn check(&self, statement: &[u8], ours: Option<&Member>) -> Result<Endorsement, CertificateError> {
        let malformed = CertificateError::Malformed;
        let payload = STANDARD.decode(&self.payload).map_err(|_| malformed)?;
        let device = self.signature.check(ENDORSEMENT, ENDORSEMENT_TYPE, &payload, ours)?;
        let said: Value = serde_json::from_slice(&payload).map_err(|_| malformed)?;
        let of: Hash = Sha256::digest(STANDARD.encode(statement)).into();
        if said["of"] != STANDARD.encode(of) {
            return Err(CertificateError::Forged);
        }
        let text = |name: &str| said[name].as_str().map(str::to_owned).ok_or(malformed);
        let time = said["time"].as_u64().ok_or(malformed)?;
        Ok(Endorsement { name: text("name")?, meaning: text("meaning")?, time, device })
    }
}

impl Signature {
    fn of(member: &Member, purpose: Purpose, kind: &str, payload: &[u8]) -> Self {
        let credentials = member.credentials();
        let sig = credentials.sign(purpose, &digest(kind, payload));
        Self {
            keyid: credentials.certificate().statement.device.fingerprint().to_string(),
            sig: STANDARD.encode(sig),
            certificate: STANDARD.encode(credentials.certificate().encode()),
            authority: STANDARD.encode(member.lab().authority().0),
        }
    }

    fn check(
        &self,
        purpose: Purpose,
        kind: &str,
        payload: &[u8],
        ours: Option<&Member>,
    ) -> Result<Signer, CertificateError> {
        let malformed = CertificateError::Malformed;
        let lab = Lab::new(&array(&self.authority)?).ok_or(malformed)?;
        let certificate = RawCertificate::parse(&array(&self.certificate)?).map_err(|_| malformed)?;
        certificate.verify(&lab).map_err(|_| CertificateError::NotCertified)?;
        let said = &certificate.statement;
        let key = said.device.fingerprint().to_string();
        if self.keyid != key || !said.device.signed(purpose, &digest(kind, payload), &array(&self.sig)?) {
            return Err(CertificateError::Forged);
        }
        let standing = match ours {
            None => LabStanding::NotKnown,
            Some(ours) if *ours.lab() != lab => LabStanding::Another,
            Some(ours) if ours.has_revoked(said) => LabStanding::Revoked,
            Some(_) => LabStanding::Ours,
        };
        Ok(Signer {
            name: said.name.as_str().to_owned(),
            key,
            serial: said.serial,
            lab: lab.authority().fingerprint().to_string(),
            standing,
            valid: [said.not_before.0, said.not_after.0],
        })
    }
}

/// The hash of a DSSE pre-authentication encoding.
fn digest(kind: &str, payload: &[u8]) -> Hash {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    Sha256::new().chain_update(head).chain_update(payload).finalize().into()
}

/// A statement of this program, written as this program writes it.
fn statement_of(payload: &[u8]) -> Option<Value> {
    let statement: Value = serde_json::from_slice(payload).ok()?;
    let is_ours = statement["_type"] == IN_TOTO && statement["predicateType"] == PREDICATE;
    (is_ours && statement.to_string().as_bytes() == payload).then_some(statement)
}

/// The hashes that a statement names; none if they do not agree with each other.
fn proof_of(statement: &Value) -> Option<Proof> {
    let subject = &statement["subject"][0];
    let mut proof = Proof {
        bytes: statement["predicate"]["bytes"].as_u64()?,
        sha256: hex_hash(subject["digest"]["sha256"].as_str()?)?,
        pieces: Vec::new(),
    };
    let pieces = STANDARD.decode(statement["predicate"]["pieces"].as_str()?).ok()?;
    let (pieces, rest) = pieces.as_chunks::<40>();
    for piece in pieces {
        let (bytes, hash) = piece.split_first_chunk()?;
        proof.pieces.push(Piece { bytes: u64::from_le_bytes(*bytes), hash: hash.try_into().ok()? });
    }
    let head = hex_hash(subject["digest"]["schwannTree"].as_str()?)?;
    let sum = proof.pieces.iter().try_fold(0_u64, |sum, piece| sum.checked_add(piece.bytes))?;
    (rest.is_empty() && proof.head() == head && sum == proof.bytes).then_some(proof)
}

pub(crate) fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex_hash(text: &str) -> Option<Hash> {
    let bytes: Vec<u8> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}

fn array<const N: usize>(text: &str) -> Result<[u8; N], CertificateError> {
    let bytes = STANDARD.decode(text).map_err(|_| CertificateError::Malformed)?;
    bytes.try_into().map_err(|_| CertificateError::Malformed)
}

/// The type of an in-toto statement.
pub(super) const IN_TOTO: &str = "https://in-toto.io/Statement/v1";
/// What ours says.
pub(super) const PREDICATE: &str = "urn:schwann:recording:1";
const STATEMENT_TYPE: &str = "application/vnd.in-toto+json";
const ENDORSEMENT_TYPE: &str = "application/vnd.schwann.endorsement+json";
/// What the signatures are for.
const RECORDING: Purpose = Purpose(*b"schwann/1 recording\0\0\0\0\0");
const ENDORSEMENT: Purpose = Purpose(*b"schwann/1 endorsement\0\0\0");
