//! The inlet's side.

use zeroize::Zeroizing;

use super::{
    ALERT, ClassicSuite, Context, Established, PeerIdentity, Progress, Suite,
    message::{self, Side},
    room::Memory,
};
use crate::{
    NoEntropy, Refusal, Secure,
    identity::random,
    kem,
    noise::{Broken, Noise, NoiseKey},
};

/// The inlet's side of a handshake.
pub struct Initiator {
    suite: Suite,
    state: State,
    inbox: Memory,
    output: Memory,
    sent: usize,
}

/// What the inlet waits for.
#[allow(clippy::large_enum_variant, reason = "the session is kept where the handshake was, without a heap")]
enum State {
    Message2 { noise: Noise, seed: kem::Seed },
    Done(Established),
    Refused,
}

impl Initiator {
    /// Begins a handshake; its first bytes are ready to be sent.
    ///
    /// - Errors: [`Refusal::ClassicRefused`], [`Refusal::NoHybrid`], [`Refusal::NoEntropy`].
    pub fn new(suite: Suite, context: &mut Context<'_>) -> Result<Self, Refusal> {
        if suite == Suite::Hybrid && !kem::AVAILABLE {
            return Err(Refusal::NoHybrid);
        }
        if suite == Suite::Classic && context.classic == ClassicSuite::Refused {
            return Err(Refusal::ClassicRefused);
        }
        let ephemeral = NoiseKey::new(&random(context.entropy).map_err(no_entropy)?);
        let seed = kem::Seed::new(random(context.entropy).map_err(no_entropy)?);
        Self::begin(suite, ephemeral, seed, context).map_err(|Broken| Refusal::Malformed)
    }

    fn begin(
        suite: Suite,
        ephemeral: NoiseKey,
        seed: kem::Seed,
        context: &Context<'_>,
    ) -> Result<Self, Broken> {
        let mut output = Memory::new();
        let mut room = output.room();
        room.put(suite.first_line())?;
        let mut noise = Noise::new(true, suite.first_line(), context.credentials.noise(), ephemeral)?;
        match suite {
            Suite::Classic => message::put_message(&mut noise, &[], suite.message_1_len(), &mut room)?,
            Suite::Hybrid => {
                let public = seed.public().ok_or(Broken)?;
                message::put_message(&mut noise, &public, suite.message_1_len(), &mut room)?;
            }
        }
        let state = State::Message2 { noise, seed };
        Ok(Self { suite, state, inbox: Memory::new(), output, sent: 0 })
    }

    /// Takes what the socket received.
    ///
    /// - Errors: why there is no session. Send what [`poll_output`](Self::poll_output) holds, and close.
    pub fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal> {
        let mut rest = input;
        let done = self.advance(&mut rest, context);
        match done {
            Ok(true) => Ok(Progress::Done { consumed: input.len().saturating_sub(rest.len()) }),
            Ok(false) => Ok(Progress::NeedsMore),
            Err(refusal) => {
                self.refuse(refusal);
                Err(refusal)
            }
        }
    }

    fn advance(&mut self, input: &mut &[u8], context: &Context<'_>) -> Result<bool, Refusal> {
        let State::Message2 { noise, seed } = &mut self.state else {
            return if matches!(self.state, State::Done(_)) { Ok(true) } else { Err(Refusal::Closed) };
        };
        let (mut inbox, length) = (self.inbox.room(), self.suite.message_2_len());
        if !inbox.fill_message(input, length)? {
            return Ok(false);
        }
        let message = inbox.message(length)?;
        let (peer, max_record) = read_message_2(self.suite, noise, seed, message, context)?;
        let mut output = self.output.room();
        output.clear();
        self.sent = 0;
        let proof = message::prove_own(Side::Inlet, noise, context);
        message::put_message(noise, &proof, message::MESSAGE_3_LEN, &mut output)
            .map_err(|Broken| Refusal::Malformed)?;
        let State::Message2 { noise, .. } = core::mem::replace(&mut self.state, State::Refused) else {
            return Err(Refusal::Closed);
        };
        let (sending, receiving) = noise.split().map_err(|Broken| Refusal::Malformed)?;
        let session = Secure::inlet(sending, receiving, max_record);
        self.state = State::Done(Established::new(peer, session));
        Ok(true)
    }

    /// Ends the handshake. A peer that does not speak this language gets nothing more.
    fn refuse(&mut self, refusal: Refusal) {
        self.state = State::Refused;
        let mut output = self.output.room();
        output.clear();
        self.sent = 0;
        if !matches!(refusal, Refusal::PlainPeer | Refusal::RefusedByPeer | Refusal::Closed) {
            // Cannot fail: the output is empty.
            let _ = output.put(&[ALERT]);
        }
    }

    /// The bytes to send; tell with [`sent`](Self::sent) how many were sent.
    #[must_use]
    pub fn poll_output(&self) -> &[u8] {
        self.output.filled().get(self.sent..).unwrap_or_default()
    }

    /// Notes that the first `count` bytes of the output were sent.
    pub fn sent(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.output.filled().len());
    }

    /// Says what it means that the outlet closed the connection now.
    ///
    /// An outlet of the original library closes at once on a first line that it does not know.
    #[must_use]
    pub fn closed(&self) -> Refusal {
        if self.inbox.filled().is_empty() { Refusal::PlainPeer } else { Refusal::Closed }
    }

    /// Hands over the session; nothing if the handshake is not done or its output has not all been sent.
    #[must_use]
    pub fn finish(self) -> Option<Established> {
        match self.state {
            State::Done(established) if self.sent == self.output.filled().len() => Some(established),
            _ => None,
        }
    }
}

/// Reads the outlet's answer, and returns who it is and how long its records may be.
fn read_message_2(
    suite: Suite,
    noise: &mut Noise,
    seed: &kem::Seed,
    message: &[u8],
    context: &Context<'_>,
) -> Result<(PeerIdentity, usize), Refusal> {
    let hash = noise.hash();
    let mut payload = [0; message::MAX_MESSAGE];
    let length = noise.read(message, &mut payload).map_err(|Broken| Refusal::Forged)?;
    let payload = payload.get(..length).ok_or(Refusal::Malformed)?;
    let proof = match suite {
        Suite::Classic => {
            noise.set_psk(&Zeroizing::new([0; 32]));
            payload
        }
        Suite::Hybrid => {
            let (ciphertext, proof) = payload.split_first_chunk().ok_or(Refusal::Malformed)?;
            noise.set_psk(&seed.decapsulate(ciphertext).ok_or(Refusal::NoHybrid)?);
            proof
        }
    };
    let proven = message::prove(proof, Side::Outlet, &hash, noise, context)?;
    Ok((proven.admit(Side::Outlet, suite, context)?, proven.max_record))
}

pub(super) fn no_entropy(_: NoEntropy) -> Refusal {
    Refusal::NoEntropy
}
