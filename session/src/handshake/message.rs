//! The handshake's bytes: first line, lengths, payloads.

use arrayvec::ArrayVec;

use super::{ClassicSuite, Context, PeerIdentity, Suite};
use crate::{
    Certificate, Refusal, Roles, Statement,
    bytes::{Reader, concat},
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
            Self::Classic => 32 + 48 + Proof::LEN + 16,
            Self::Hybrid => 32 + 48 + kem::CIPHERTEXT_LEN + Proof::LEN + 16,
        }
    }
}

/// Length of message 3: `s` and its tag, the payload and its tag.
pub(super) const MESSAGE_3_LEN: usize = 48 + Proof::LEN + 16;
/// The longest message.
pub(super) const MAX_MESSAGE: usize = Suite::Hybrid.message_2_len();
/// The most that is waiting to be sent: the first line and message 1, or message 2.
pub(super) const MAX_OUTPUT: usize = LENGTH_LEN + MAX_MESSAGE;
const LENGTH_LEN: usize = 2;
const _: () =
    assert!(Suite::Classic.first_line().len() + LENGTH_LEN + Suite::Hybrid.message_1_len() <= MAX_OUTPUT);
// The alert is no first byte of a length.
const _: () = assert!(MAX_MESSAGE < 0xFF00);

/// Bytes waiting to be sent.
pub(super) type Output = ArrayVec<u8, MAX_OUTPUT>;

/// Adds to what is waiting to be sent.
pub(super) fn put(output: &mut Output, bytes: &[u8]) -> Result<(), Broken> {
    output.try_extend_from_slice(bytes).map_err(|_| Broken)
}

/// Writes a Noise message of `length` bytes, with its length before it.
#[inline(never)]
pub(super) fn put_message(
    noise: &mut Noise,
    payload: &[u8],
    length: usize,
    output: &mut Output,
) -> Result<(), Broken> {
    let mut message = [0; MAX_MESSAGE];
    let message = message.get_mut(..length).ok_or(Broken)?;
    if noise.write(payload, message)? != length {
        return Err(Broken);
    }
    put(output, &u16::try_from(length).map_err(|_| Broken)?.to_be_bytes())?;
    put(output, message)
}

/// Collects a message whose length is known before it comes.
#[derive(Default)]
pub(super) struct Inbox(ArrayVec<u8, { LENGTH_LEN + MAX_MESSAGE }>);

impl Inbox {
    /// Takes from the front of `input` what is missing of a message of `length` bytes, and returns it once
    /// it is whole. A wrong length is refused before anything behind it is taken.
    pub(super) fn take(&mut self, input: &mut &[u8], length: usize) -> Result<Option<&[u8]>, Refusal> {
        self.fill(input, LENGTH_LEN);
        self.check_length(length)?;
        self.fill(input, length.saturating_add(LENGTH_LEN));
        Ok(self.0.get(LENGTH_LEN..).filter(|message| message.len() == length))
    }

    /// What lies behind the length.
    pub(super) fn message(&self) -> Option<&[u8]> {
        self.0.get(LENGTH_LEN..)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn fill(&mut self, input: &mut &[u8], until: usize) {
        let missing = until.saturating_sub(self.0.len()).min(input.len());
        let Some((front, rest)) = input.split_at_checked(missing) else { return };
        if self.0.try_extend_from_slice(front).is_ok() {
            *input = rest;
        }
    }

    fn check_length(&self, length: usize) -> Result<(), Refusal> {
        match *self.0.as_slice() {
            [super::ALERT, ..] => Err(Refusal::RefusedByPeer),
            [b'L', b'S', ..] => Err(Refusal::PlainPeer),
            [high, low, ..] if usize::from(u16::from_be_bytes([high, low])) != length => {
                Err(Refusal::Malformed)
            }
            _ => Ok(()),
        }
    }
}

/// What each end says about itself at the end of its payload: certificate, signature, limits.
pub(super) struct Proof {
    certificate: Certificate,
    signature: [u8; 64],
    max_record: usize,
    revocation_number: u64,
}

impl Proof {
    pub(super) const LEN: usize = Certificate::LEN + 64 + 16;

    /// Proves this end, `side`, for the handshake as it stands.
    #[inline(never)]
    pub(super) fn encode(side: Side, noise: &Noise, context: &Context<'_>) -> [u8; Self::LEN] {
        let max_record = u32::try_from(context.credentials.max_record()).unwrap_or(u32::MAX);
        concat(&[
            &context.credentials.certificate().encode(),
            &context.credentials.bind(side.byte(), &noise.hash()),
            &max_record.to_le_bytes(),
            &[0; 4],
            &context.revoked.number().to_le_bytes(),
        ])
    }

    #[inline(never)]
    fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(payload);
        let proof = Self {
            certificate: Certificate::parse(&reader.array()?).ok()?,
            signature: reader.array()?,
            max_record: usize::try_from(reader.word()?).ok()?.min(MAX_RECORD),
            revocation_number: {
                reader.word()?;
                reader.long()?
            },
        };
        (proof.max_record >= MIN_RECORD && reader.rest().is_empty()).then_some(proof)
    }

    /// Checks that the holder of the certificate is the other end of this very handshake.
    #[inline(never)]
    fn verify_binding(&self, side: Side, hash: &[u8; 32], noise: &Noise) -> Result<(), Refusal> {
        let public = noise.remote_static().map_err(|Broken| Refusal::Forged)?;
        let signed = binding(side.byte(), &public, hash);
        let device = &self.certificate.statement.device;
        if device.verifies(&signed, &self.signature) { Ok(()) } else { Err(Refusal::Forged) }
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
    let statement = proof.certificate.statement;
    Ok(Proven { statement, revocation_number: proof.revocation_number, max_record: proof.max_record })
}

impl Proven {
    /// Checks that the peer, `side`, may be spoken to today.
    pub(super) fn admit(
        &self,
        side: Side,
        suite: Suite,
        context: &Context<'_>,
    ) -> Result<PeerIdentity, Refusal> {
        self.statement.check(side.role(), context.now, &context.revoked)?;
        let own = context.credentials.certificate().statement;
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
