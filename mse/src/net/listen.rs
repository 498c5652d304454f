//! Accepting a peer as the policy says.

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::dial::Connection;
use super::{DriveError, Gate, QuickAck, Refusal, acknowledge, arm, classify, drive, read};
use crate::bittorrent::PREFIX;
use crate::dh::Group;
use crate::handshake::{Accept, Draw, Handshake as _, Responder, Status};
use crate::policy::{Attempt, Cause, Failure, Policy};
use crate::skey::Lookup;
use crate::stream::Stream;

/// Shakes hands with incoming peers.
#[derive(Debug)]
pub struct Acceptor<L> {
    /// The torrents there are.
    pub torrents: L,
    /// What to accept.
    pub policy: Policy,
    /// The methods and lengths accepted; begins as the policy says.
    pub accept: Accept,
    /// The group to compute in; only peers configured alike dial in another than the default.
    pub group: Group,
    /// For the whole handshake. Fifteen seconds by default.
    pub timeout: Duration,
    /// See [`QuickAck`].
    pub quick_ack: QuickAck,
    door: Mutex<Door>,
    began: Instant,
}

/// The strangers that shake hands, and who of them gives way.
#[derive(Debug, Default)]
struct Door {
    gate: Gate,
    sockets: BTreeMap<u64, TcpStream>,
}

impl Door {
    /// Lets a stranger in, and closes the connection that gives way; this ends its thread.
    fn enter(&mut self, socket: &TcpStream, now: Duration) -> Result<u64, AcceptError> {
        let from = socket.peer_addr().map_err(AcceptError::Io)?.ip();
        let again = socket.try_clone().map_err(AcceptError::Io)?;
        let entered = self.gate.enter(from, now).map_err(AcceptError::Refused)?;
        if let Some(crowded_out) = entered.gives_way.and_then(|oldest| self.sockets.remove(&oldest)) {
            // Fails if the peer was faster.
            let _ = crowded_out.shutdown(Shutdown::Both);
        }
        self.sockets.insert(entered.number, again);
        Ok(entered.number)
    }

    fn leave(&mut self, number: u64) {
        self.gate.leave(number);
        self.sockets.remove(&number);
    }
}

impl<L: Lookup> Acceptor<L> {
    /// Accepts as `policy` says, for the torrents in `torrents`, and waits fifteen seconds.
    pub fn new(torrents: L, policy: Policy) -> Self {
        Self {
            torrents,
            policy,
            accept: policy.accept(),
            group: Group::Mse768,
            timeout: Duration::from_secs(15),
            quick_ack: QuickAck::On,
            door: Mutex::default(),
            began: Instant::now(),
        }
    }

    /// Replaces the limits on strangers.
    #[must_use]
    pub fn with_gate(mut self, gate: Gate) -> Self {
        self.door = Mutex::new(Door { gate, ..Door::default() });
        self
    }

    /// Shakes hands with a peer that has connected. Its BitTorrent handshake is the first thing to read.
    ///
    /// - Errors: close the connection. A stranger learns only this from any of them.
    pub fn accept(&self, socket: TcpStream) -> Result<Connection, AcceptError> {
        let number = self.door().enter(&socket, self.began.elapsed())?;
        let outcome = self.shake_hands(socket);
        self.door().leave(number);
        outcome
    }

    fn shake_hands(&self, socket: TcpStream) -> Result<Connection, AcceptError> {
        let deadline = Instant::now() + self.timeout;
        if self.policy == Policy::Disabled {
            return self.expect_plain(socket, deadline);
        }
        let draw = Draw::system(self.group).map_err(|_| AcceptError::NoRandomness)?;
        let mut machine = Responder::new(&self.torrents, self.accept, draw);
        let (status, rest) = drive(&socket, &mut machine, deadline, self.quick_ack)?;
        match status {
            Status::Established(established) => Ok(Connection {
                info_hash: Some(established.info_hash),
                stream: Stream::new(socket, *established, &rest),
                attempt: Attempt::Mse,
            }),
            Status::Plain(start) if self.policy.accepts(Attempt::Plain) => Ok(Connection {
                stream: Stream::plain(socket, [start, rest].concat()),
                attempt: Attempt::Plain,
                info_hash: None,
            }),
            _ => Err(AcceptError::Failed(Failure::mse(Cause::PlainPeer, machine.progress()))),
        }
    }

    /// Without MSE there is no machine to ask: anything but the plain prefix is refused unanswered.
    fn expect_plain(&self, socket: TcpStream, deadline: Instant) -> Result<Connection, AcceptError> {
        let mut start = Vec::with_capacity(PREFIX.len());
        let mut buffer = [0; 256];
        while start.len() < PREFIX.len() {
            let len = arm(deadline, |left| socket.set_read_timeout(left))
                .and_then(|()| read(&mut &socket, &mut buffer))
                .map_err(|error| classify(error, Failure::plain))?;
            acknowledge(&socket, self.quick_ack);
            start.extend_from_slice(buffer.get(..len).unwrap_or_default());
        }
        if !start.starts_with(&PREFIX) {
            return Err(AcceptError::NotPlain);
        }
        socket.set_read_timeout(None).map_err(AcceptError::Io)?;
        Ok(Connection { stream: Stream::plain(socket, start), attempt: Attempt::Plain, info_hash: None })
    }

    /// The gate counts; a thread that died while counting leaves no harm behind.
    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Why a peer was not accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// The handshake failed.
    Failed(Failure),
    /// The socket failed.
    Io(io::Error),
    /// The system gave no randomness.
    NoRandomness,
    /// The peer does not begin as plain BitTorrent does, and nothing else is accepted.
    NotPlain,
    /// The limits on strangers are reached.
    Refused(Refusal),
}

impl From<DriveError> for AcceptError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Failed(failure) => Self::Failed(failure),
            DriveError::Io(error) => Self::Io(error),
        }
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::NoRandomness => f.write_str("the system gave no randomness"),
            Self::NotPlain => f.write_str("the peer does not speak plain BitTorrent"),
            Self::Refused(Refusal::TooOften) => f.write_str("this address tries too often"),
        }
    }
}

impl core::error::Error for AcceptError {}
