//! The sealed connection of a tunnel: the bytes behind the handshake, and what members tell each other besides.

use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use schwann::security::{Assembly, Handshake, Member, Peer};
use schwann_session::{HANDSHAKE_LIMIT, LayerError, Opened, Refusal, Secure, Suite};

use super::crowd::Seat;
use super::hello;
use super::inbox::Inbox;
use super::shake::{PARTING, shake};

/// Why there is no sealed connection, or no more.
#[derive(Debug)]
pub(super) enum SealError {
    /// It broke.
    Connection(io::Error),
    /// What arrived does not verify.
    Layer(LayerError),
    /// The ends did not agree on a session, or do so no more.
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

impl From<LayerError> for SealError {
    fn from(error: LayerError) -> Self {
        Self::Layer(error)
    }
}

/// A connection through which everything goes sealed. One thread may send while another receives.
pub(super) struct Sealed {
    socket: TcpStream,
    state: Mutex<SealedState>,
    /// The right to send, with memory for reuse. Records go out in the order in which they were sealed.
    sending: Mutex<Vec<u8>>,
    peer: Peer,
    since: Instant,
}

struct SealedState {
    layer: Box<Secure>,
    /// Messages of the session's own that go before the next bytes.
    news: VecDeque<Vec<u8>>,
    assembly: Assembly,
    /// Nothing more is sent: the end was proved.
    has_finished: bool,
    /// Why nothing passes any more.
    barred: Option<Refusal>,
}

/// What to do about the bytes of the other end.
enum Next {
    Ended,
    Plain(Range<usize>),
    Starved,
}

impl Sealed {
    /// Shakes hands as the end that joins.
    pub(super) fn join(socket: TcpStream, member: &Arc<Member>) -> Result<(Arc<Self>, Inbox), SealError> {
        let handshake = Handshake::inlet(member, Suite::Hybrid).map_err(SealError::Refused)?;
        Self::establish(socket, handshake, |_| true)
    }

    /// Shakes hands as the end that shares, when it is the turn of the one at this place.
    pub(super) fn admit(
        socket: TcpStream,
        place: &Seat,
        member: &Arc<Member>,
    ) -> Result<(Arc<Self>, Inbox), SealError> {
        Self::establish(socket, Handshake::outlet(member), |deadline| place.wait_for_turn(deadline))
    }

    fn establish(
        socket: TcpStream,
        handshake: Handshake,
        wait_for_turn: impl Fn(Instant) -> bool,
    ) -> Result<(Arc<Self>, Inbox), SealError> {
        let (session, peer, inbox) = shake(&socket, handshake, wait_for_turn)?;
        let state = SealedState {
            layer: session,
            news: VecDeque::new(),
            assembly: Assembly::default(),
            has_finished: false,
            barred: None,
        };
        let (state, sending) = (Mutex::new(state), Mutex::default());
        Ok((Arc::new(Self { socket, state, sending, peer, since: Instant::now() }), inbox))
    }

    /// The peer at the other end.
    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Seals and sends.
    pub(super) fn send(&self, plain: &[u8]) -> Result<(), SealError> {
        self.send_in(&mut self.sending.lock().unwrap_or_else(PoisonError::into_inner), plain)
    }

    /// Sends the proof that nothing more comes from this end.
    pub(super) fn finish_sending(&self) {
        let mut end = [0; END_BYTES];
        // What another thread has sealed goes out first: out of order, the end would look like an attack.
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let length = {
            let mut state = self.lock();
            if state.barred.is_some() {
                return;
            }
            state.has_finished = true;
            state.layer.close(&mut end).unwrap_or(0)
        };
        // An error means that the other end has gone already.
        let _ = (&self.socket).write_all(end.get(..length).unwrap_or_default());
        let _ = self.socket.shutdown(Shutdown::Write);
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
                Next::Plain(place) => out(inbox.opened(place))?,
                Next::Ended => return Ok(()),
                Next::Starved => match inbox.receive(&self.socket) {
                    Ok(0) => return Err(self.ended_early(SealError::Truncated).into()),
                    Ok(_) => {}
                    Err(error) => return Err(self.ended_early(error).into()),
                },
            }
        }
    }

    /// Receives the first message of the other end, within the time of a handshake.
    pub(super) fn receive_hello(&self, inbox: &mut Inbox) -> Result<[u8; hello::BYTES], SealError> {
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        let mut message = Vec::new();
        while message.len() < hello::BYTES {
            match self.open_next(inbox)? {
                Next::Plain(place) => message.extend_from_slice(inbox.opened(place)),
                Next::Starved if inbox.receive_until(&self.socket, deadline)? > 0 => {}
                Next::Starved | Next::Ended => return Err(self.ended_early(SealError::Truncated)),
            }
        }
        self.socket.set_read_timeout(None)?;
        // Both ends wait until the first messages are exchanged.
        message.try_into().map_err(|_| SealError::Layer(LayerError::Malformed))
    }

    /// Ends the connection in both directions; threads that wait for it return.
    pub(super) fn shut(&self) {
        // A barred peer is told the reason first.
        if self.lock().barred.is_none() {
            self.disconnect();
        }
    }

    /// Lets nothing pass any more; says whether that is new. [`part`](Self::part) is to follow.
    pub(super) fn bar(&self, refusal: Refusal) -> bool {
        self.lock().barred.replace(refusal).is_none()
    }

    /// Tells a barred peer the reason, if it takes it soon, and ends the connection.
    pub(super) fn part(&self) {
        // A peer that does not read is not waited for.
        if let Some(mut wire) = self.try_sending() {
            // Without the limit, parting takes longer.
            let _ = self.socket.set_write_timeout(Some(PARTING));
            let length = {
                let mut state = self.lock();
                let refusal = state.barred.unwrap_or(Refusal::Closed);
                state.layer.seal_refusal(refusal, room(&mut wire, 0, END_BYTES)).unwrap_or(0)
            };
            let _ = (&self.socket).write_all(wire.get(..length).unwrap_or_default());
        }
        self.disconnect();
    }

    /// Whether to hand on the lab's newest list.
    pub(super) fn has_news(&self) -> bool {
        let state = &mut *self.lock();
        if state.has_finished || state.barred.is_some() {
            return false;
        }
        state.news.extend(self.peer.news(state.layer.control_len()).into_iter().flatten());
        !state.news.is_empty()
    }

    /// Hands the lab's newest list on, unless another thread is sending: then it goes with the next bytes.
    pub(super) fn send_news(&self) {
        if let Some(mut wire) = self.try_sending() {
            // The threads of the relay see what is wrong.
            let _ = self.send_in(&mut wire, &[]);
        }
    }

    fn send_in(&self, wire: &mut Vec<u8>, plain: &[u8]) -> Result<(), SealError> {
        let length = self.seal(plain, wire)?;
        Ok((&self.socket).write_all(wire.get(..length).unwrap_or_default())?)
    }

    /// Seals the news, then `plain`, into the front of `wire`; returns how many bytes that makes.
    fn seal(&self, plain: &[u8], wire: &mut Vec<u8>) -> Result<usize, SealError> {
        let state = &mut *self.lock();
        if let Some(refusal) = state.barred {
            return Err(SealError::Refused(refusal));
        }
        state.layer.tick(self.since.elapsed());
        let mut filled = 0;
        while let Some(message) = state.news.pop_front() {
            let most = state.layer.sealed_len(message.len());
            filled += state.layer.seal_control(&message, room(wire, filled, most))?;
        }
        let most = state.layer.sealed_len(plain.len());
        Ok(filled + state.layer.seal(plain, room(wire, filled, most))?)
    }

    /// Opens the next records; the place is valid until the next call.
    fn open_next(&self, inbox: &mut Inbox) -> Result<Next, SealError> {
        loop {
            let mut guard = self.lock();
            let state = &mut *guard;
            if let Some(refusal) = state.barred {
                return Err(SealError::Refused(refusal));
            }
            match state.layer.open(inbox.unopened()) {
                Ok(Opened::Data { consumed, plain }) => {
                    let start = inbox.note_opened(consumed);
                    if !plain.is_empty() {
                        return Ok(Next::Plain(start + plain.start..start + plain.end));
                    }
                }
                Ok(Opened::Control { consumed, message }) => {
                    let update = inbox.unopened().get(message).and_then(|part| state.assembly.add(part));
                    drop(guard);
                    inbox.note_opened(consumed);
                    update.iter().for_each(|update| self.peer.take_in(update));
                }
                Ok(Opened::End { .. }) => return Ok(Next::Ended),
                Ok(Opened::Incomplete) => return Ok(Next::Starved),
                Err(error) => {
                    drop(guard);
                    return Err(self.ended_early(SealError::Layer(error)));
                }
            }
        }
    }

    /// Why this session really ended, if either end said so before `error` showed.
    fn ended_early(&self, error: SealError) -> SealError {
        let state = self.lock();
        state.barred.or(state.layer.refusal()).map_or(error, SealError::Refused)
    }

    fn disconnect(&self) {
        // An error means that the peer has closed it already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn try_sending(&self) -> Option<MutexGuard<'_, Vec<u8>>> {
        match self.sending.try_lock() {
            Ok(wire) => Some(wire),
            Err(TryLockError::Poisoned(wire)) => Some(wire.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, SealedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of `wire` from `start`, which is made at least `length` long.
fn room(wire: &mut Vec<u8>, start: usize, length: usize) -> &mut [u8] {
    if wire.len() < start + length {
        wire.resize(start + length, 0);
    }
    wire.get_mut(start..).unwrap_or_default()
}

/// Room for the proof of the end, or a refusal.
const END_BYTES: usize = 64;
