//! The sealed connection of a tunnel: the handshake, and the bytes behind it.

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schwann::trust::Member;
use schwann_session::{
    Context, Established, HANDSHAKE_LIMIT, Initiator, Layer as _, LayerError, MAX_RECORD, Opened,
    PeerIdentity, Progress, RECORD_OVERHEAD, Refusal, Responder, Secure, Suite,
};

use super::hello;

/// Why there is no sealed connection, or no more.
#[derive(Debug)]
pub(super) enum SealError {
    /// It broke.
    Connection(io::Error),
    /// What arrived does not verify.
    Layer(LayerError),
    /// The ends did not agree on a session.
    Refused(Refusal),
    /// It ended without a proof that this is the end: cut, or the other end died.
    Truncated,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Layer(error) => error.fmt(f),
            Self::Refused(refusal) => write!(f, "no sealed session: {refusal}"),
            Self::Truncated => f.write_str("the connection was cut"),
        }
    }
}

impl From<io::Error> for SealError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// A connection through which everything goes sealed. One thread may send while another receives.
pub(super) struct Sealed {
    socket: TcpStream,
    session: Mutex<Secure>,
    since: Instant,
}

/// What has arrived and is not opened yet.
pub(super) struct Inbox {
    wire: Vec<u8>,
    opened: usize,
    filled: usize,
}

/// What to do about the bytes of the other end.
enum Next {
    Ended,
    Plain(Range<usize>),
    Starved,
}

/// Either side of a handshake.
trait Hand {
    fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal>;
    fn output(&self) -> &[u8];
    fn sent(&mut self, count: usize);
    fn closed(&self) -> Refusal;
    fn finish(self) -> Option<Established>;
}

macro_rules! hand {
    ($side:ty, |$this:ident| $closed:expr) => {
        impl Hand for $side {
            fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal> {
                <$side>::handle(self, input, context)
            }

            fn output(&self) -> &[u8] {
                self.poll_output()
            }

            fn sent(&mut self, count: usize) {
                <$side>::sent(self, count);
            }

            fn closed(&self) -> Refusal {
                let $this = self;
                $closed
            }

            fn finish(self) -> Option<Established> {
                <$side>::finish(self)
            }
        }
    };
}

hand!(Initiator, |this| Self::closed(this));
hand!(Responder, |_this| Refusal::Closed);

impl Sealed {
    /// Shakes hands as the end that joins.
    pub(super) fn join(socket: TcpStream, member: &Member) -> Result<(Self, Inbox, PeerIdentity), SealError> {
        let hand = member.with_context(|context| Initiator::new(Suite::Hybrid, context));
        Self::shake(socket, hand.map_err(SealError::Refused)?, member)
    }

    /// Shakes hands as the end that shares.
    pub(super) fn admit(
        socket: TcpStream,
        member: &Member,
    ) -> Result<(Self, Inbox, PeerIdentity), SealError> {
        Self::shake(socket, Responder::new(), member)
    }

    fn shake(
        socket: TcpStream,
        mut hand: impl Hand,
        member: &Member,
    ) -> Result<(Self, Inbox, PeerIdentity), SealError> {
        socket.set_nodelay(true)?;
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        let mut inbox = Inbox { wire: vec![0; INBOX_BYTES], opened: 0, filled: 0 };
        loop {
            send_output(&socket, &mut hand)?;
            let arrived = inbox.receive_until(&socket, deadline)?;
            if arrived == 0 {
                return Err(SealError::Refused(hand.closed()));
            }
            let input = inbox.wire.get(inbox.opened..inbox.filled).unwrap_or_default();
            match member.with_context(|context| hand.handle(input, context)) {
                Ok(Progress::NeedsMore) => inbox.opened = inbox.filled,
                Ok(Progress::Done { consumed }) => {
                    inbox.opened += consumed;
                    break;
                }
                Err(refusal) => {
                    part(&socket, &mut hand, &mut inbox);
                    return Err(SealError::Refused(refusal));
                }
            }
        }
        send_output(&socket, &mut hand)?;
        let established = hand.finish().ok_or(SealError::Refused(Refusal::Closed))?;
        let session = Mutex::new(established.session);
        Ok((Self { socket, session, since: Instant::now() }, inbox, established.peer))
    }

    /// Seals and sends; `wire` is memory that is used again.
    pub(super) fn send(&self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), SealError> {
        let length = {
            let mut session = self.lock();
            session.tick(self.since.elapsed());
            let room = session.sealed_len(plain.len());
            if wire.len() < room {
                wire.resize(room, 0);
            }
            session.seal(plain, wire).map_err(SealError::Layer)?
        };
        Ok((&self.socket).write_all(wire.get(..length).unwrap_or_default())?)
    }

    /// Sends the proof that nothing more comes from this end.
    pub(super) fn finish_sending(&self) {
        let mut end = [0; END_BYTES];
        let length = self.lock().close(&mut end).unwrap_or(0);
        // The other end has gone already is what an error means.
        let _gone = (&self.socket).write_all(end.get(..length).unwrap_or_default());
        let _gone = self.socket.shutdown(Shutdown::Write);
    }

    /// Gives what arrives to `out`, until the other end proves its end.
    ///
    /// - Errors: those of the connection, and of `out`.
    pub(super) fn receive_all<E: From<SealError>>(
        &self,
        inbox: &mut Inbox,
        mut out: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            match self.open_next(inbox)? {
                Next::Plain(range) => out(inbox.wire.get(range).unwrap_or_default())?,
                Next::Ended => return Ok(()),
                Next::Starved => {
                    if inbox.receive(&self.socket)? == 0 {
                        return Err(SealError::Truncated.into());
                    }
                }
            }
        }
    }

    /// Receives the first message of the other end, within the time of a handshake.
    pub(super) fn receive_hello(&self, inbox: &mut Inbox) -> Result<[u8; hello::BYTES], SealError> {
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        let mut message = Vec::new();
        while message.len() < hello::BYTES {
            match self.open_next(inbox)? {
                Next::Plain(range) => message.extend_from_slice(inbox.wire.get(range).unwrap_or_default()),
                Next::Starved if inbox.receive_until(&self.socket, deadline)? > 0 => {}
                Next::Starved | Next::Ended => return Err(self.ended_early()),
            }
        }
        self.socket.set_read_timeout(None)?;
        // Nobody goes on before the first messages are exchanged.
        message.try_into().map_err(|_| SealError::Layer(LayerError::Malformed))
    }

    /// Ends the connection in both directions; whoever waits for it returns.
    pub(super) fn shut(&self) {
        // Already closed by the peer is what an error means.
        let _closed = self.socket.shutdown(Shutdown::Both);
    }

    /// Opens the next records; the range is valid until the next call.
    fn open_next(&self, inbox: &mut Inbox) -> Result<Next, SealError> {
        loop {
            let wire = inbox.wire.get_mut(inbox.opened..inbox.filled).unwrap_or_default();
            let opened = self.lock().open(wire);
            match opened {
                Ok(Opened::Data { consumed, plain }) => {
                    let start = inbox.opened;
                    inbox.opened += consumed;
                    if !plain.is_empty() {
                        return Ok(Next::Plain(start + plain.start..start + plain.end));
                    }
                }
                // A message of the session's own.
                Ok(Opened::Control { consumed, .. }) => inbox.opened += consumed,
                Ok(Opened::End { .. }) => return Ok(Next::Ended),
                Ok(Opened::Incomplete) => return Ok(Next::Starved),
                Err(LayerError::Refused) => return Err(self.ended_early()),
                Err(error) => return Err(SealError::Layer(error)),
            }
        }
    }

    fn ended_early(&self) -> SealError {
        self.lock().refusal().map_or(SealError::Truncated, SealError::Refused)
    }

    fn lock(&self) -> MutexGuard<'_, Secure> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    /// Reads what has arrived; returns how many bytes, 0 at the end.
    fn receive(&mut self, mut socket: &TcpStream) -> Result<usize, SealError> {
        self.wire.copy_within(self.opened..self.filled, 0);
        self.filled -= self.opened;
        self.opened = 0;
        // A record is shorter than the inbox, so there is room.
        let count = socket.read(self.wire.get_mut(self.filled..).unwrap_or_default())?;
        self.filled += count;
        Ok(count)
    }

    /// The same, before `deadline`.
    fn receive_until(&mut self, socket: &TcpStream, deadline: Instant) -> Result<usize, SealError> {
        let left = deadline.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match self.receive(socket) {
            Err(SealError::Connection(error)) if is_timeout(&error) => {
                Err(SealError::Refused(Refusal::TimedOut))
            }
            // A peer that closes before it has read everything resets the connection.
            Err(SealError::Connection(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            outcome if left.is_zero() => outcome.and(Err(SealError::Refused(Refusal::TimedOut))),
            outcome => outcome,
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn send_output(mut socket: &TcpStream, hand: &mut impl Hand) -> Result<(), SealError> {
    socket.write_all(hand.output())?;
    let count = hand.output().len();
    hand.sent(count);
    Ok(())
}

/// Tells the peer as much as it may know, one byte or the sealed reason, and gives it the time to read that: to
/// close while its bytes are unread would take the answer along.
fn part(socket: &TcpStream, hand: &mut impl Hand, inbox: &mut Inbox) {
    if send_output(socket, hand).is_err() || socket.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let deadline = Instant::now() + PARTING;
    loop {
        inbox.opened = inbox.filled;
        if !matches!(inbox.receive_until(socket, deadline), Ok(1..)) {
            return;
        }
    }
}

/// Room for several records, which are opened side by side.
const INBOX_BYTES: usize = 256 << 10;
const _: () = assert!(INBOX_BYTES > 2 * (MAX_RECORD + RECORD_OVERHEAD), "a record always fits");

/// Room for the proof of the end.
const END_BYTES: usize = 64;

/// How long a refused peer may take to read why.
const PARTING: Duration = Duration::from_millis(500);
