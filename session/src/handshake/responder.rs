//! The outlet's side.

use arrayvec::ArrayVec;
use schwann_aead::{Key, Tag};
use zeroize::Zeroizing;

use super::{
    ALERT, ClassicSuite, Context, Established, Progress, Suite,
    initiator::no_entropy,
    message::{self, Inbox, Output, Proof, Proven, Side},
};
use crate::{
    Refusal, Secure,
    control::{self, Welcome},
    identity::random,
    kem,
    noise::{Broken, Noise, NoiseKey},
    record::{RECORD_OVERHEAD, RecordType, Sender},
};

/// The outlet's side of a handshake.
///
/// It holds some kilobytes and computes nothing before message 1 is whole; whoever listens bounds how
/// many there are at a time, in total and per address.
pub struct Responder {
    state: State,
    inbox: Inbox,
    output: Output,
    sent: usize,
}

/// What the outlet waits for.
#[allow(clippy::large_enum_variant, reason = "the session is kept where the handshake was, without a heap")]
enum State {
    FirstLine(ArrayVec<u8, MAX_LINE>),
    Message1(Suite),
    Message3(Suite, Noise),
    Done(Established),
    /// Ended, and nothing but the alert may still go out.
    Refused,
    /// Ended, and the sealed reason may still go out.
    Told,
}

impl Default for Responder {
    fn default() -> Self {
        Self::new()
    }
}

impl Responder {
    /// Waits for an inlet's first line.
    #[must_use]
    pub fn new() -> Self {
        let state = State::FirstLine(ArrayVec::new());
        Self { state, inbox: Inbox::default(), output: Output::new(), sent: 0 }
    }

    /// Takes what the socket received.
    ///
    /// - Errors: why there is no session. Send what [`poll_output`](Self::poll_output) holds, and close.
    pub fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal> {
        let mut rest = input;
        loop {
            match self.advance(&mut rest, context) {
                Ok(Step::Next) => {}
                Ok(Step::NeedsMore) => return Ok(Progress::NeedsMore),
                Ok(Step::Done) => {
                    return Ok(Progress::Done { consumed: input.len().saturating_sub(rest.len()) });
                }
                Err(refusal) => {
                    self.refuse(refusal);
                    return Err(refusal);
                }
            }
        }
    }

    fn advance(&mut self, input: &mut &[u8], context: &mut Context<'_>) -> Result<Step, Refusal> {
        match &mut self.state {
            State::FirstLine(_) => self.handle_first_line(input, context),
            State::Message1(suite) => {
                let suite = *suite;
                self.handle_message_1(suite, input, context)
            }
            State::Message3(..) => self.handle_message_3(input, context),
            State::Done(_) => Ok(Step::Done),
            State::Refused | State::Told => Err(Refusal::Closed),
        }
    }

    fn handle_first_line(&mut self, input: &mut &[u8], context: &Context<'_>) -> Result<Step, Refusal> {
        let State::FirstLine(line) = &mut self.state else { return Err(Refusal::Closed) };
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            line.try_push(*byte).map_err(|_| Refusal::Malformed)?;
            if let Some(suite) = parse_first_line(line)? {
                if suite == Suite::Classic && context.classic == ClassicSuite::Refused {
                    return Err(Refusal::ClassicRefused);
                }
                if suite == Suite::Hybrid && !kem::AVAILABLE {
                    return Err(Refusal::NoHybrid);
                }
                self.state = State::Message1(suite);
                return Ok(Step::Next);
            }
        }
        Ok(Step::NeedsMore)
    }

    fn handle_message_1(
        &mut self,
        suite: Suite,
        input: &mut &[u8],
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        if self.inbox.take(input, suite.message_1_len())?.is_none() {
            return Ok(Step::NeedsMore);
        }
        self.begin_noise(suite, context)?;
        self.answer_message_1(suite, context)?;
        self.inbox.clear();
        Ok(Step::Next)
    }

    /// Not part of its caller: a small chip's stack holds the frame of one step at a time.
    #[inline(never)]
    fn begin_noise(&mut self, suite: Suite, context: &mut Context<'_>) -> Result<(), Refusal> {
        let ephemeral = NoiseKey::new(&random(context.entropy).map_err(no_entropy)?);
        let noise = Noise::new(false, suite.first_line(), context.credentials.noise(), ephemeral)
            .map_err(|Broken| Refusal::Malformed)?;
        self.state = State::Message3(suite, noise);
        Ok(())
    }

    /// Not part of its caller, either.
    #[inline(never)]
    fn answer_message_1(&mut self, suite: Suite, context: &mut Context<'_>) -> Result<(), Refusal> {
        let State::Message3(_, noise) = &mut self.state else { return Err(Refusal::Closed) };
        let message = self.inbox.message().ok_or(Refusal::Malformed)?;
        let mut payload = [0; kem::PUBLIC_LEN + Tag::LEN];
        let length = noise.read(message, &mut payload).map_err(|Broken| Refusal::Forged)?;
        let offered = payload.get(..length).ok_or(Refusal::Malformed)?;

        let mut answer = ArrayVec::<u8, { kem::CIPHERTEXT_LEN + Proof::LEN }>::new();
        noise.set_psk(&encapsulate(suite, offered, &mut answer, context)?);
        let proof = Proof::encode(Side::Outlet, noise, context);
        answer.try_extend_from_slice(&proof).map_err(|_| Refusal::Malformed)?;
        message::put_message(noise, &answer, suite.message_2_len(), &mut self.output)
            .map_err(|Broken| Refusal::Malformed)
    }

    fn handle_message_3(&mut self, input: &mut &[u8], context: &mut Context<'_>) -> Result<Step, Refusal> {
        match self.read_message_3(input, context)? {
            Some(proven) => {
                let keys = self.end_noise()?;
                self.establish(&proven, keys, context)
            }
            None => Ok(Step::NeedsMore),
        }
    }

    /// Not part of its caller: a small chip's stack holds the frame of one step at a time.
    #[inline(never)]
    fn read_message_3(
        &mut self,
        input: &mut &[u8],
        context: &Context<'_>,
    ) -> Result<Option<Proven>, Refusal> {
        let State::Message3(_, noise) = &mut self.state else { return Err(Refusal::Closed) };
        let Some(message) = self.inbox.take(input, message::MESSAGE_3_LEN)? else { return Ok(None) };
        let hash = noise.hash();
        let mut payload = [0; message::MAX_MESSAGE];
        let length = noise.read(message, &mut payload).map_err(|Broken| Refusal::Forged)?;
        let proof = payload.get(..length).ok_or(Refusal::Malformed)?;
        message::prove(proof, Side::Inlet, &hash, noise, context).map(Some)
    }

    /// The peer has proved itself: welcomes it, or tells it why not.
    #[inline(never)]
    fn establish(
        &mut self,
        proven: &Proven,
        keys: (Suite, Key, Key),
        context: &mut Context<'_>,
    ) -> Result<Step, Refusal> {
        let (suite, receiving, sending) = keys;
        let peer = match proven.admit(Side::Inlet, suite, context) {
            Ok(peer) => peer,
            Err(refusal) => {
                self.tell(refusal, Sender::new(sending));
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
        self.output.try_extend_from_slice(&record).map_err(|_| Refusal::Malformed)?;
        self.state = State::Done(Established { peer, session });
        Ok(Step::Done)
    }

    /// Not part of its caller, whose frame lies below what is sealed: the state is moved over the stack.
    #[inline(never)]
    fn end_noise(&mut self) -> Result<(Suite, Key, Key), Refusal> {
        let State::Message3(suite, noise) = core::mem::replace(&mut self.state, State::Refused) else {
            return Err(Refusal::Closed);
        };
        let (receiving, sending) = noise.split().map_err(|Broken| Refusal::Malformed)?;
        Ok((suite, receiving, sending))
    }

    /// Seals the reason for a peer that proved itself.
    fn tell(&mut self, refusal: Refusal, mut sender: Sender) {
        let Some(code) = refusal.code() else { return };
        let mut record = [0; 2 + RECORD_OVERHEAD];
        if sender.seal(RecordType::Control, &control::refused(code), &mut record).is_ok() {
            self.clear_output();
            self.output.try_extend_from_slice(&record).unwrap_or_default();
            self.state = State::Told;
        }
    }

    /// Ends the handshake with the one byte for a stranger, unless the peer has been told, speaks plain LSL,
    /// or ended the handshake itself.
    fn refuse(&mut self, refusal: Refusal) {
        if matches!(self.state, State::Told) {
            return;
        }
        self.state = State::Refused;
        self.clear_output();
        if !matches!(refusal, Refusal::PlainPeer | Refusal::RefusedByPeer | Refusal::Closed) {
            // Cannot fail: the output is empty.
            self.output.try_push(ALERT).unwrap_or_default();
        }
    }

    fn clear_output(&mut self) {
        self.output.clear();
        self.sent = 0;
    }

    /// What is to be sent; tell with [`sent`](Self::sent) how much was.
    #[must_use]
    pub fn poll_output(&self) -> &[u8] {
        self.output.get(self.sent..).unwrap_or_default()
    }

    /// Notes that the first `count` bytes of the output were sent.
    pub fn sent(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.output.len());
        if self.sent == self.output.len() {
            self.clear_output();
        }
    }

    /// Hands over the session; nothing if the handshake is not done or its output has not all been sent.
    #[must_use]
    pub fn finish(self) -> Option<Established> {
        match self.state {
            State::Done(established) if self.sent == self.output.len() => Some(established),
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
    match line.strip_prefix(b"LSL:secure/") {
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
