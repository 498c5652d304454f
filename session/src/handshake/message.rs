//! The handshake's bytes: first line, lengths, payloads.

use super::{ClassicSuite, Context, PeerIdentity, Suite, room::Room};
use crate::{
    Certificate, Refusal, Roles, Statement,
    bytes::{Reader, concat},
    certificate::Encoded,
    identity::binding,
    kem,
    noise::{Broken, Noise},
    record::{MAX_RECORD, MIN_RECORD},
};

impl Suite {
    pub(super) const fn first_line(self) -> &'static [u8] {
        match self {
            Self::Classic => b"LSL:secure/1 classic\r\n",
            Self::Hybrid => b"LSL:secure/1 hybrid\r\n",
        }
    }

    /// Length of message 1: `e`, the payload and its tag.
    pub(super) const fn message_1_len(self) -> usize {
        match self {
            Self::Classic => 32 + 16,
            Self::Hybrid => 32 + kem::PUBLIC_LEN + 16,
        }
    }

    /// Length of message 2: `e`, `s` and its tag, the payload and its tag.
    pub(super) const fn message_2_len(self) -> usize {
        match self {
            Self::Classic => 32 + 48 + PROOF_LEN + 16,
            Self::Hybrid => 32 + 48 + kem::CIPHERTEXT_LEN + PROOF_LEN + 16,
        }
    }
}

/// Writes a Noise message of `length` bytes, with its length before it.
#[inline(never)]
pub(super) fn put_message(
    noise: &mut Noise,
    payload: &[u8],
    length: usize,
    output: &mut Room<'_>,
) -> Result<(), Broken> {
    output.put(&u16::try_from(length).map_err(|_| Broken)?.to_be_bytes())?;
    let written = noise.write(payload, output.grow(length)?)?;
    if written == length { Ok(()) } else { Err(Broken) }
}

/// Proves this end, `side`, for the handshake as it stands.
#[inline(never)]
pub(super) fn prove_own(side: Side, noise: &Noise, context: &Context<'_>) -> [u8; PROOF_LEN] {
    let max_record = u32::try_from(context.credentials.max_record()).unwrap_or(u32::MAX);
    concat(&[
        &context.credentials.certificate().encode(),
        &context.credentials.bind(side.byte(), &noise.hash()),
        &max_record.to_le_bytes(),
        &[0; 4],
        &context.revoked.number().to_le_bytes(),
    ])
}

/// What each end says about itself at the end of its payload: certificate, signature, limits.
struct Proof<'a> {
    certificate: Encoded<'a>,
    signature: &'a [u8; 64],
    max_record: usize,
    revocation_number: u64,
}

impl<'a> Proof<'a> {
    fn parse(payload: &'a [u8]) -> Option<Self> {
        let (certificate, rest) = payload.split_first_chunk()?;
        let certificate = Encoded::split(certificate)?;
        let (signature, rest) = rest.split_first_chunk()?;
        let mut reader = Reader::new(rest);
        let max_record = usize::try_from(reader.word()?).ok()?.min(MAX_RECORD);
        reader.word()?;
        let revocation_number = reader.long()?;
        let proof = Self { certificate, signature, max_record, revocation_number };
        (max_record >= MIN_RECORD && reader.rest().is_empty()).then_some(proof)
    }

    /// Checks that the holder of the certificate is the other end of this very handshake.
    #[inline(never)]
    fn verify_binding(&self, side: Side, hash: &[u8; 32], noise: &Noise) -> Result<(), Refusal> {
        let device = self.certificate.device().ok_or(Refusal::Malformed)?;
        let public = noise.remote_static().map_err(|Broken| Refusal::Forged)?;
        let signed = binding(side.byte(), &public, hash);
        if device.verifies(&signed, self.signature) { Ok(()) } else { Err(Refusal::Forged) }
    }

    /// The part of a verified proof to keep.
    #[inline(never)]
    fn proven(&self) -> Result<Proven, Refusal> {
        let statement = self.certificate.statement().map_err(|_| Refusal::Malformed)?;
        Ok(Proven { statement, revocation_number: self.revocation_number, max_record: self.max_record })
    }
}

/// A peer that holds a certified key; whether it may be spoken to is another matter.
pub(super) struct Proven {
    statement: Statement,
    revocation_number: u64,
    pub(super) max_record: usize,
}

/// Checks that the peer, `side`, is certified by the lab and is here now. `hash` is the handshake hash before
/// its message.
///
/// Not part of its caller: a small chip's stack holds the frame of one step at a time.
#[inline(never)]
pub(super) fn prove(
    payload: &[u8],
    side: Side,
    hash: &[u8; 32],
    noise: &Noise,
    context: &Context<'_>,
) -> Result<Proven, Refusal> {
    let proof = Proof::parse(payload).ok_or(Refusal::Malformed)?;
    proof.certificate.verify(context.lab)?;
    proof.verify_binding(side, hash, noise)?;
    proof.proven()
}

impl Proven {
    /// Checks that the peer, `side`, may be spoken to today.
    pub(super) fn admit(
        &self,
        side: Side,
        suite: Suite,
        context: &Context<'_>,
    ) -> Result<PeerIdentity, Refusal> {
        let own = context.credentials.certificate().statement;
        let calendar = context.calendar.after(own.not_before).after(context.revoked.issued());
        self.statement.check(side.role(), calendar, &context.revoked)?;
        let permitted = context.classic == ClassicSuite::Certified
            && (self.statement.flags.permit_classic() || own.flags.permit_classic());
        if suite == Suite::Classic && !permitted {
            return Err(Refusal::ClassicRefused);
        }
        let (statement, revocation_number) = (self.statement, self.revocation_number);
        Ok(PeerIdentity { revocation_number, statement, suite })
    }
}

/// The two ends, as the binding signature names them.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Inlet,
    Outlet,
}

impl Side {
    fn byte(self) -> u8 {
        match self {
            Self::Inlet => 1,
            Self::Outlet => 2,
        }
    }

    /// What its certificate must permit.
    fn role(self) -> Roles {
        match self {
            Self::Inlet => Roles::SUBSCRIBE,
            Self::Outlet => Roles::PUBLISH,
        }
    }
}

/// Length of message 3: `s` and its tag, the payload and its tag.
pub(super) const MESSAGE_3_LEN: usize = 48 + PROOF_LEN + 16;
/// The longest message.
pub(super) const MAX_MESSAGE: usize = Suite::Hybrid.message_2_len();
/// The most that is waiting to be sent: the first line and message 1, or message 2.
const MAX_OUTPUT: usize = LENGTH_LEN + MAX_MESSAGE;
/// Bytes of a message's length before it.
pub(super) const LENGTH_LEN: usize = 2;
const _: () =
    assert!(Suite::Classic.first_line().len() + LENGTH_LEN + Suite::Hybrid.message_1_len() <= MAX_OUTPUT);
// Message 2 is the longest of its suite.
const _: () = assert!(
    Suite::Classic.message_2_len() >= MESSAGE_3_LEN
        && Suite::Hybrid.message_2_len() >= Suite::Hybrid.message_1_len()
);
// The alert is no first byte of a length.
const _: () = assert!(MAX_MESSAGE < 0xFF00);

/// Bytes of a proof.
pub(super) const PROOF_LEN: usize = Certificate::LEN + 64 + 16;
