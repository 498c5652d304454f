//! Receiving a stream on a microcontroller.

use core::{fmt, time::Duration};

use arrayvec::ArrayString;
use schwann_proto::{
    clock::{ClockEstimator, ClockSettings},
    stream::{ChannelFormat, PROTOCOL_VERSION},
    wire::{
        ByteWriter,
        feed::{DataProtocol, Expected, FeedRequest, ResponseError, ResponseReader},
        sample::{Layout, Malformed, StampTracker, Value},
        test_pattern::{self, Mismatch},
    },
};
use schwann_session::{Datagrams, Initiator, Progress, Refusal, Secure, Suite};

use crate::{
    finder::Found,
    intake::{Flow, Intake, IntakeError},
    outgoing::Outgoing,
    security::{Security, Surroundings},
    time::{Micros, Wait},
};

mod clock;

/// What an inlet receives.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    uid: ArrayString<64>,
    format: ChannelFormat,
    channel_count: usize,
    nominal_rate: f64,
    buffer_samples: i32,
}

impl Wanted {
    /// A stream that was found; its outlet is to hold `buffer_samples` for us.
    ///
    /// Returns nothing if its identity is no UUID.
    #[must_use]
    pub fn new(found: &Found<'_>, buffer_samples: u16) -> Option<Self> {
        Some(Self {
            uid: ArrayString::from(found.uid).ok()?,
            format: found.format,
            channel_count: found.channel_count,
            nominal_rate: found.nominal_rate,
            buffer_samples: i32::from(buffer_samples.max(1)),
        })
    }
}

/// An inlet without sockets, for one connection at a time.
///
/// - Shape: `RX` bytes for input, at least two samples. Where it is sealed, also one record of the outlet with its
///   own 20 bytes. 4,096 serve 128 channels of 8 bytes. `TX` for what goes: 2,048 in the hybrid suite, else 1,024.
pub struct Inlet<'a, const RX: usize, const TX: usize> {
    wanted: Wanted,
    security: Security<'a>,
    suite: Suite,
    phase: Phase,
    intake: Intake<RX>,
    out: Outgoing<TX>,
    layer: Option<Secure>,
    datagrams: Option<Datagrams>,
    tracker: StampTracker,
    clock: ClockEstimator,
    deadline: Micros,
}

#[expect(clippy::large_enum_variant, reason = "there is no heap to box it in")]
enum Phase {
    Idle,
    Shaking(Initiator),
    Asking,
    Testing(Layout),
    Receiving(Layout),
    Over(InletError),
}

/// How far an inlet is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InletState {
    /// Connect its socket, then call [`Inlet::connected`].
    Idle,
    /// Shaking hands.
    Opening,
    /// Samples come.
    Receiving,
    /// Close the socket; to try again, call [`Inlet::reset`].
    Over(InletError),
}

/// Why an inlet receives nothing more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InletError {
    /// The outlet has ended the stream.
    Ended,
    /// The outlet sends something other than samples, or a sample too large for `RX`.
    Malformed,
    /// The outlet encodes its values otherwise than we do.
    Pattern(Mismatch),
    /// There is no secure session.
    Refused(Refusal),
    /// The outlet's answer to the request.
    Response(ResponseError),
    /// The outlet did not answer in time.
    Slow,
    /// The connection ended before the authenticated end of the stream.
    Truncated,
}

impl fmt::Display for InletError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => out.write_str("the outlet has ended the stream"),
            Self::Malformed => out.write_str("the outlet sends something that is not samples"),
            Self::Pattern(why) => why.fmt(out),
            Self::Refused(why) => why.fmt(out),
            Self::Response(why) => why.fmt(out),
            Self::Slow => out.write_str("the outlet did not answer in time"),
            Self::Truncated => out.write_str("the connection was cut"),
        }
    }
}

impl core::error::Error for InletError {}

impl From<Malformed> for InletError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl<'a, const RX: usize, const TX: usize> Inlet<'a, RX, TX> {
    /// Receives `wanted`; where `security` has a membership, sealed in `suite` and never otherwise.
    #[must_use]
    pub fn new(wanted: Wanted, security: Security<'a>, suite: Suite) -> Self {
        Self {
            tracker: StampTracker::new(wanted.nominal_rate),
            wanted,
            security,
            suite,
            phase: Phase::Idle,
            intake: Intake::new(),
            out: Outgoing::new(),
            layer: None,
            datagrams: None,
            clock: ClockEstimator::new(ClockSettings::default(), 1),
            deadline: Micros(u64::MAX),
        }
    }

    /// Forgets the connection and its keys, to try again.
    pub fn reset(&mut self) {
        self.phase = Phase::Idle;
        self.intake.clear();
        self.out.clear();
        self.layer = None;
        self.datagrams = None;
        self.tracker = StampTracker::new(self.wanted.nominal_rate);
        self.clock.forget();
    }

    /// The socket is connected: writes what the outlet hears first.
    pub fn connected(&mut self, surroundings: &mut Surroundings<'_>) {
        self.reset();
        self.deadline = surroundings.now.after(ANSWER_TIMEOUT_US);
        let outcome = match self.security.member() {
            None => self.ask(),
            Some(member) => {
                let suite = self.suite;
                let initiator = surroundings.with_context(member, |context| Initiator::new(suite, context));
                initiator.map_err(InletError::Refused).map(|initiator| {
                    self.phase = Phase::Shaking(initiator);
                    self.flush_handshake();
                })
            }
        };
        self.settle(outcome);
    }

    /// Takes what the socket received and returns how many bytes. Give the rest again after a
    /// [`pull`](Self::pull).
    pub fn receive(&mut self, bytes: &[u8], surroundings: &mut Surroundings<'_>) -> usize {
        let mut used = 0;
        if let Phase::Shaking(initiator) = &mut self.phase {
            let Some(member) = self.security.member() else { return bytes.len() };
            let step = surroundings.with_context(member, |context| initiator.handle(bytes, context));
            self.flush_handshake();
            match step {
                Ok(Progress::NeedsMore) => return bytes.len(),
                Ok(Progress::Done { consumed }) => used = consumed,
                Err(refusal) => {
                    self.settle(Err(InletError::Refused(refusal)));
                    return bytes.len();
                }
            }
            let outcome = self.begin_sealed();
            self.settle(outcome);
        }
        used += self.intake.take(bytes.get(used..).unwrap_or_default());
        let outcome = self.advance();
        self.settle(outcome);
        if matches!(self.phase, Phase::Over(_)) { bytes.len() } else { used }
    }

    /// Takes the next sample out, if one is whole; returns its stamp in seconds on the outlet's clock.
    ///
    /// - Shape: `out` has one entry per channel; values are converted to its type.
    pub fn pull<T: Value>(&mut self, out: &mut [T]) -> Option<f64> {
        let Phase::Receiving(layout) = &self.phase else { return None };
        let split = layout.split_sample(self.intake.plain());
        let (stamp, values, rest) = match split {
            Ok(Some(parts)) => parts,
            // Nothing more can come in, and the bytes at hand are no sample.
            Ok(None) if !self.intake.is_full() => return None,
            Ok(None) | Err(_) => {
                self.settle(Err(InletError::Malformed));
                return None;
            }
        };
        let read = layout.read_values(values, out);
        let count = self.intake.plain().len() - rest.len();
        self.intake.consume(count);
        if read.is_err() {
            return None;
        }
        let stamp = self.tracker.resolve(stamp);
        let outcome = self.advance();
        self.settle(outcome);
        Some(stamp)
    }

    /// What the socket has to send; tell with [`sent`](Self::sent) how much it took.
    #[must_use]
    pub fn transmit(&self) -> &[u8] {
        self.out.waiting()
    }

    /// The socket has taken the first `count` bytes.
    pub fn sent(&mut self, count: usize) {
        self.out.note_sent(count);
    }

    /// The outlet, or the network, has ended the connection.
    pub fn ended(&mut self) {
        let why = match (&self.phase, &self.layer) {
            (Phase::Over(_) | Phase::Idle, _) => return,
            (Phase::Shaking(initiator), _) => InletError::Refused(initiator.closed()),
            (_, Some(layer)) if layer.end_of_input().is_err() => InletError::Truncated,
            _ => InletError::Ended,
        };
        self.settle(Err(why));
    }

    /// Notices an outlet that does not answer; says until when there is nothing to do.
    pub fn poll(&mut self, now: Micros) -> Wait {
        if let Some(layer) = &mut self.layer {
            layer.tick(Duration::from_micros(now.0));
        }
        match self.state() {
            InletState::Opening if now >= self.deadline => {
                self.settle(Err(InletError::Slow));
                Wait::ForEvent
            }
            InletState::Opening => Wait::Until(self.deadline),
            _ => Wait::ForEvent,
        }
    }

    /// How far the inlet is.
    #[must_use]
    pub fn state(&self) -> InletState {
        match &self.phase {
            Phase::Idle => InletState::Idle,
            Phase::Over(why) => InletState::Over(*why),
            Phase::Receiving(_) => InletState::Receiving,
            Phase::Shaking(_) | Phase::Asking | Phase::Testing(_) => InletState::Opening,
        }
    }

    fn settle(&mut self, outcome: Result<(), InletError>) {
        if let Err(why) = outcome {
            self.phase = Phase::Over(why);
            self.layer = None;
            self.datagrams = None;
        }
    }

    fn flush_handshake(&mut self) {
        let Phase::Shaking(initiator) = &mut self.phase else { return };
        let output = initiator.poll_output();
        let len = output.len();
        if self.out.put_raw(output).is_ok() {
            initiator.sent(len);
        }
    }

    fn begin_sealed(&mut self) -> Result<(), InletError> {
        let Phase::Shaking(initiator) = core::mem::replace(&mut self.phase, Phase::Asking) else {
            return Ok(());
        };
        let established = initiator.finish().ok_or(InletError::Malformed)?;
        self.layer = Some(established.session);
        self.ask()
    }

    /// Asks for samples.
    fn ask(&mut self) -> Result<(), InletError> {
        let Wanted { uid, format, buffer_samples, .. } = &self.wanted;
        let request = FeedRequest::new(PROTOCOL_VERSION, uid, *format, *buffer_samples, 0);
        let mut room = [0; REQUEST_LEN];
        let mut writer = ByteWriter::new(&mut room);
        request.encode(&mut writer).map_err(|_| InletError::Malformed)?;
        self.out.put(self.layer.as_mut(), writer.written()).map_err(|_| InletError::Malformed)?;
        self.phase = Phase::Asking;
        Ok(())
    }

    /// Reads what has come as far as it goes.
    fn advance(&mut self) -> Result<(), InletError> {
        let flow = match self.intake.open(self.layer.as_mut()) {
            Ok(flow) => flow,
            Err(IntakeError::TooLong) => return Err(InletError::Malformed),
            Err(IntakeError::Layer(_)) => {
                let refusal = self.layer.as_ref().and_then(Secure::refusal);
                return Err(refusal.map_or(InletError::Malformed, InletError::Refused));
            }
        };
        if self.datagrams.is_none()
            && let Some(layer) = &mut self.layer
        {
            self.datagrams = layer.take_datagrams();
        }
        if let Phase::Asking = self.phase {
            self.read_response()?;
        }
        if let Phase::Testing(layout) = self.phase {
            let verified = test_pattern::verify(&layout, self.intake.plain());
            if let Some(len) = verified.map_err(InletError::Pattern)? {
                self.intake.consume(len);
                self.phase = Phase::Receiving(layout);
            } else if self.intake.is_full() {
                return Err(InletError::Malformed);
            }
        }
        let drained = self.intake.plain().is_empty();
        if flow == Flow::Ended && drained { Err(InletError::Ended) } else { Ok(()) }
    }

    fn read_response(&mut self) -> Result<(), InletError> {
        let Wanted { uid, format, channel_count, .. } = &self.wanted;
        let expected = Expected { version: PROTOCOL_VERSION, uid, format: *format };
        let read = ResponseReader::new(expected).read(self.intake.plain()).map_err(InletError::Response)?;
        let Some(response) = read else {
            return if self.intake.is_full() { Err(InletError::Malformed) } else { Ok(()) };
        };
        if response.data_protocol == DataProtocol::Archive {
            return Err(InletError::Malformed);
        }
        let mut layout = response.layout(*format, *channel_count);
        layout.string_limit = RX;
        self.intake.consume(response.len);
        self.phase = Phase::Testing(layout);
        Ok(())
    }
}

/// How long an outlet may take to answer, in microseconds.
const ANSWER_TIMEOUT_US: u64 = 10_000_000;
/// Room for a request, in bytes.
const REQUEST_LEN: usize = 512;
