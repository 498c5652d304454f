//! The outlet's side, step by step.

use arrayvec::ArrayVec;
use schwann_aead::{Key, Tag};
use zeroize::Zeroizing;

use crate::{
    Refusal, Secure,
    control::{self, Welcome},
    handshake::{
        ALERT, ClassicSuite, Context, Established, HANDSHAKE_PREFIX, Progress, Suite,
        initiator::no_entropy,
        message::{self, LENGTH_LEN, MAX_MESSAGE, Proven, Side},
        room::Room,
    },
    identity::random,
    kem,
    noise::{Broken, Noise, NoiseKey},
    record::{RECORD_OVERHEAD, RecordType, Sender},
};

/// The outlet's side of a handshake, for a caller that has memory for its messages anyway. It
/// equals [`Responder`](crate::Responder), but each call brings its memory, the same each
/// time.
pub struct BareResponder(State);

/// Memory for what comes and for what goes, [`BareResponder::longest_message`] of each. A suite whose messages do not fit
/// is refused as one that is not there.
pub struct Desk<'a> {
    /// What the peer has said and is not a whole message yet. It may hold the peer's first bytes at the start.
    pub inbox: Room<'a>,
    /// The bytes to send. A refusal withdraws what still lies there.
    pub output: Room<'a>,
}

/// What the outlet waits for.
#[allow(clippy::large_enum_variant, reason = "the session is kept where the handshake was, without a heap")]
enum State {
    FirstLine,
    Message1(Suite),
    Message3(Suite, Noise),
    Done(Established),
    /// Ended, and nothing but the alert may still go out.
    Refused,
    /// Ended, and the sealed reason may still go out.
    Told,
}

impl Default for BareResponder {
    fn default() -> Self {
        Self::new()
    }
}

impl BareResponder {
    /// Waits for an inlet's first line.
    #[must_use]
    pub const fn new() -> Self {
        Self(State::FirstLine)
    }

    /// Longest message of a suite, with its length, in bytes.
    #[must_use]
    pub const fn longest_message(suite: Suite) -> usize {
        LENGTH_LEN + suite.message_2_len()
    }

    /// Takes what the socket received.
    ///
    /// - Errors: why there is no session. Send what lies in the output, and close.
    pub fn handle(
        &mut self,
        input: &[u8],
        desk: &mut Desk<'_>,
        context: &mut Context<'_>,
    ) -> Result<Progress, Refusal> {
        let mut rest = input;
        loop {
            match self.advance(&mut rest, desk, context) {
                Ok(Step::Next) => {}
                Ok(Step::NeedsMore) => return Ok(Progress::NeedsMore),
                Ok(Step::Done) => {
                    return Ok(Progress::Done { consumed: input.len().saturating_sub(rest.len()) });
                }
                Err(refusal) => {
                    self.refuse(refusal, &mut desk.output);
                    return Err(refusal);
                }
            }
        }
    }

    fn advance(
        &mut self,
        input: &mut &[u8],
        desk: &mut Desk<'_>,
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        match &self.0 {
            State::FirstLine => self.handle_first_line(input, desk, context),
            State::Message1(suite) => self.handle_message_1(*suite, input, desk, context),
            State::Message3(..) => self.handle_message_3(input, desk, context),
            State::Done(_) => Ok(Step::Done),
            State::Refused | State::Told => Err(Refusal::Closed),
        }
    }

    fn handle_first_line(
        &mut self,
        input: &mut &[u8],
        desk: &mut Desk<'_>,
        context: &Context<'_>,
    ) -> Result<Step, Refusal> {
        let longest = Self::longest_message(Suite::Hybrid);
        let has_hybrid = kem::AVAILABLE && desk.inbox.capacity().min(desk.output.capacity()) >= longest;
        let inbox = &mut desk.inbox;
        // Byte by byte: what cannot become such a line is refused at once.
        for len in 1..=MAX_LINE {
            if !inbox.fill(input, len)? {
                return Ok(Step::NeedsMore);
            }
            let Some(suite) = parse_first_line(inbox.filled().get(..len).unwrap_or_default())? else {
                continue;
            };
            if suite == Suite::Classic && context.classic == ClassicSuite::Refused {
                return Err(Refusal::ClassicRefused);
            }
            if suite == Suite::Hybrid && !has_hybrid {
                return Err(Refusal::NoHybrid);
            }
            inbox.drop_front(len);
            self.0 = State::Message1(suite);
            return Ok(Step::Next);
        }
        Err(Refusal::Malformed)
    }

    fn handle_message_1(
        &mut self,
        suite: Suite,
        input: &mut &[u8],
        desk: &mut Desk<'_>,
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        if !desk.inbox.fill_message(input, suite.message_1_len())? {
            return Ok(Step::NeedsMore);
        }
        self.begin_noise(suite, context)?;
        self.answer_message_1(suite, desk, context)?;
        desk.inbox.drop_front(LENGTH_LEN + suite.message_1_len());
        Ok(Step::Next)
    }

    /// Not part of its caller: a small chip's stack holds the frame of one step at a time.
    #[inline(never)]
    fn begin_noise(&mut self, suite: Suite, context: &mut Context<'_>) -> Result<(), Refusal> {
        let ephemeral = NoiseKey::new(&random(context.entropy).map_err(no_entropy)?);
        let noise = Noise::new(false, suite.first_line(), context.credentials.noise(), ephemeral)
            .map_err(|Broken| Refusal::Malformed)?;
        self.0 = State::Message3(suite, noise);
        Ok(())
    }

    /// Not part of its caller, either.
    #[inline(never)]
    fn answer_message_1(
        &mut self,
        suite: Suite,
        desk: &mut Desk<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        let State::Message3(_, noise) = &mut self.0 else { return Err(Refusal::Closed) };
        let message = desk.inbox.message(suite.message_1_len())?;
        let mut payload = [0; kem::PUBLIC_LEN + Tag::LEN];
        let length = noise.read(message, &mut payload).map_err(|Broken| Refusal::Forged)?;
        let offered = payload.get(..length).ok_or(Refusal::Malformed)?;

        let mut answer = ArrayVec::<u8, { kem::CIPHERTEXT_LEN + message::PROOF_LEN }>::new();
        noise.set_psk(&encapsulate(suite, offered, &mut answer, context)?);
        let proof = message::prove_own(Side::Outlet, noise, context);
        answer.try_extend_from_slice(&proof).map_err(|_| Refusal::Malformed)?;
        message::put_message(noise, &answer, suite.message_2_len(), &mut desk.output)
            .map_err(|Broken| Refusal::Malformed)
    }

    /// Not part of its caller: a small chip's stack holds the frame of one step at a time.
    #[inline(never)]
    fn handle_message_3(
        &mut self,
        input: &mut &[u8],
        desk: &mut Desk<'_>,
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        if !desk.inbox.fill_message(input, message::MESSAGE_3_LEN)? {
            return Ok(Step::NeedsMore);
        }
        match &self.read_message_3(&desk.inbox, context) {
            Ok(proven) => {
                desk.inbox.clear();
                self.end_handshake(proven, &mut desk.output, context)
            }
            Err(refusal) => Err(*refusal),
        }
    }

    /// Not part of its caller, and neither are the functions below.
    #[inline(never)]
    fn read_message_3(&mut self, inbox: &Room<'_>, context: &Context<'_>) -> Result<Proven, Refusal> {
        let State::Message3(_, noise) = &mut self.0 else { return Err(Refusal::Closed) };
        let message = inbox.message(message::MESSAGE_3_LEN)?;
        let hash = noise.hash();
        let mut payload = [0; MAX_MESSAGE];
        let length = noise.read(message, &mut payload).map_err(|Broken| Refusal::Forged)?;
        let proof = payload.get(..length).ok_or(Refusal::Malformed)?;
        message::prove(proof, Side::Inlet, &hash, noise, context)
    }

    #[inline(never)]
    fn end_handshake(
        &mut self,
        proven: &Proven,
        output: &mut Room<'_>,
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        let keys = self.end_noise()?;
        self.establish(proven, keys, output, context)
    }

    /// The peer has proved itself: welcomes it, or tells it why not.
    #[inline(never)]
    fn establish(
        &mut self,
        proven: &Proven,
        keys: (Suite, Key, Key),
        output: &mut Room<'_>,
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        let (suite, receiving, sending) = keys;
        let peer = match proven.admit(Side::Inlet, suite, context) {
            Ok(peer) => peer,
            Err(refusal) => {
                self.tell(refusal, Sender::new(sending), output);
                return Err(refusal);
            }
        };
        let mut session = Secure::outlet(sending, receiving, proven.max_record);
        let welcome = Welcome {
            session: *random(context.entropy).map_err(no_entropy)?,
            outlet_to_inlet: random(context.entropy).map_err(no_entropy)?,
            inlet_to_outlet: random(context.entropy).map_err(no_entropy)?,
        };
        let mut record = [0; Welcome::LEN + RECORD_OVERHEAD];
        session.welcome(&welcome, &mut record).map_err(|_| Refusal::Malformed)?;
        output.put(&record).map_err(|Broken| Refusal::Malformed)?;
        self.0 = State::Done(Established::new(peer, session));
        Ok(Step::Done)
    }

    /// Not part of its caller, whose frame lies below what is sealed: the state is moved over the stack.
    #[inline(never)]
    fn end_noise(&mut self) -> Result<(Suite, Key, Key), Refusal> {
        let State::Message3(suite, noise) = core::mem::replace(&mut self.0, State::Refused) else {
            return Err(Refusal::Closed);
        };
        let (receiving, sending) = noise.split().map_err(|Broken| Refusal::Malformed)?;
        Ok((suite, receiving, sending))
    }

    /// Seals the reason for a peer that proved itself.
    fn tell(&mut self, refusal: Refusal, mut sender: Sender, output: &mut Room<'_>) {
        let Some(code) = refusal.code() else { return };
        let mut record = [0; 2 + RECORD_OVERHEAD];
        output.clear();
        if sender.seal(RecordType::Control, &control::refused(code), &mut record).is_ok()
            && output.put(&record).is_ok()
        {
            self.0 = State::Told;
        }
    }

    /// Ends the handshake with the one byte for a stranger. Does nothing if the peer has been told, speaks
    /// plain LSL, or ended the handshake itself.
    fn refuse(&mut self, refusal: Refusal, output: &mut Room<'_>) {
        if matches!(self.0, State::Told) {
            return;
        }
        self.0 = State::Refused;
        output.clear();
        if !matches!(refusal, Refusal::PlainPeer | Refusal::RefusedByPeer | Refusal::Closed) {
            // Without room for it the peer sees the end of the connection, which says as much.
            let _ = output.put(&[ALERT]);
        }
    }

    /// Hands over the session; nothing if the handshake is not done. All output goes before what it seals.
    #[must_use]
    pub fn finish(self) -> Option<Established> {
        match self.0 {
            State::Done(established) => Some(established),
            _ => None,
        }
    }
}

enum Step {
    Done,
    NeedsMore,
    Next,
}

/// Answers the inlet's encapsulation key, if the suite has one; the ciphertext goes into `answer`.
fn encapsulate<const N: usize>(
    suite: Suite,
    offered: &[u8],
    answer: &mut ArrayVec<u8, N>,
    context: &mut Context<'_>,
) -> Result<Zeroizing<[u8; 32]>, Refusal> {
    if suite == Suite::Classic {
        return Ok(Zeroizing::new([0; 32]));
    }
    let public = offered.try_into().map_err(|_| Refusal::Malformed)?;
    let randomness = random(context.entropy).map_err(no_entropy)?;
    let (ciphertext, shared) = kem::encapsulate(public, &randomness).ok_or(Refusal::Malformed)?;
    answer.try_extend_from_slice(&ciphertext).map_err(|_| Refusal::Malformed)?;
    Ok(shared)
}

/// Reads the first line as far as it has come.
///
/// - Errors: as soon as the bytes cannot become a line that is understood here.
fn parse_first_line(line: &[u8]) -> Result<Option<Suite>, Refusal> {
    for suite in [Suite::Hybrid, Suite::Classic] {
        if line == suite.first_line() {
            return Ok(Some(suite));
        }
        if suite.first_line().starts_with(line) {
            return Ok(None);
        }
    }
    match line.strip_prefix(HANDSHAKE_PREFIX) {
        None => Err(Refusal::PlainPeer),
        Some([b'0', b' ', ..]) => Err(Refusal::PeerTooOld),
        Some([b'1', b' ', ..]) => Err(Refusal::Malformed),
        Some([digits @ .., b' ']) if digits.iter().all(u8::is_ascii_digit) => Err(Refusal::PeerTooNew),
        Some(digits) if digits.iter().all(u8::is_ascii_digit) => Ok(None),
        Some(_) => Err(Refusal::Malformed),
    }
}

/// Longest first line, in bytes.
const MAX_LINE: usize = 32;
