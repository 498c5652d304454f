//! Reaching a peer as the policy says, over as many connections as that takes.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Instant;

use alloc::vec::Vec;

use super::{DriveError, QuickAck, arm, classify, drive, read};
use crate::bittorrent::BtHandshake;
use crate::dh::Group;
use crate::handshake::{Draw, Initiator, Status};
use crate::method::{Method, Methods};
use crate::policy::{Attempt, Cause, Dialling, Failure, PeerMemory, Policy};
use crate::skey::InfoHash;
use crate::stream::Stream;

/// A connection on which our BitTorrent handshake has been sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connection {
    /// The bytes of the protocol above; the peer's BitTorrent handshake comes first.
    pub stream: Stream<TcpStream>,
    /// How it was reached.
    pub attempt: Attempt,
    /// The torrent, once the handshake has shown it; a plain peer names it in what comes next.
    pub info_hash: Option<InfoHash>,
}

/// Dials peers and remembers what worked with whom.
#[derive(Debug)]
pub struct Dialler {
    /// What to try.
    pub policy: Policy,
    /// The group to compute in; only peers configured alike answer in another than the default.
    pub group: Group,
    /// What to offer first; [`Method::Plaintext`] makes most clients select it.
    pub methods: Methods,
    /// For connecting, and again for the handshake. Ten seconds by default.
    pub timeout: Duration,
    /// See [`QuickAck`].
    pub quick_ack: QuickAck,
    memory: Mutex<PeerMemory>,
}

impl Dialler {
    /// Dials as `policy` says, offers RC4 and waits ten seconds.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            group: Group::Mse768,
            methods: Methods::RC4,
            timeout: Duration::from_secs(10),
            quick_ack: QuickAck::On,
            memory: Mutex::new(PeerMemory::new(REMEMBERED)),
        }
    }

    /// Reaches a peer and sends it our BitTorrent handshake.
    ///
    /// - Errors: [`DialError::Failed`] is the last attempt's failure, after all that the policy permits.
    pub fn dial(&self, peer: SocketAddr, handshake: &BtHandshake) -> Result<Connection, DialError> {
        self.dial_from(self.connect(peer)?, peer, handshake)
    }

    /// Connects and says nothing yet.
    ///
    /// - Errors: [`DialError::Connect`].
    pub fn connect(&self, peer: SocketAddr) -> Result<TcpStream, DialError> {
        TcpStream::connect_timeout(&peer, self.timeout).map_err(DialError::Connect)
    }

    /// As [`Self::dial`], with the first connection made already.
    ///
    /// - Errors: as [`Self::dial`].
    pub fn dial_from(
        &self,
        connected: TcpStream,
        peer: SocketAddr,
        handshake: &BtHandshake,
    ) -> Result<Connection, DialError> {
        let remembered = self.memory.lock().ok().and_then(|memory| memory.recall(&peer));
        let mut dialling = Dialling::new(self.policy, remembered);
        let mut connected = Some(connected);
        loop {
            let attempt = dialling.attempt();
            let socket = connected.take().map_or_else(|| self.connect(peer), Ok)?;
            match self.begin(socket, handshake, attempt) {
                Ok(stream) => {
                    if let Ok(mut memory) = self.memory.lock() {
                        memory.note(peer, attempt);
                    }
                    let info_hash = Some(handshake.info_hash);
                    return Ok(Connection { stream, attempt, info_hash });
                }
                Err(DialError::Failed(failure)) => match dialling.after(&failure) {
                    Some(next) => dialling = next,
                    None => return Err(DialError::Failed(failure)),
                },
                Err(other) => return Err(other),
            }
        }
    }

    /// Begins a connection in one way.
    ///
    /// - Errors: as [`Self::dial`].
    pub fn begin(
        &self,
        socket: TcpStream,
        handshake: &BtHandshake,
        attempt: Attempt,
    ) -> Result<Stream<TcpStream>, DialError> {
        let deadline = Instant::now() + self.timeout;
        match attempt {
            Attempt::Mse => self.initiate(socket, handshake, self.methods, deadline),
            Attempt::MseAnyPayload => {
                let methods = Methods::from_bits(self.methods.bits() | Method::Plaintext.bit());
                self.initiate(socket, handshake, methods, deadline)
            }
            Attempt::Plain => begin_plain(socket, handshake, deadline),
        }
    }

    fn initiate(
        &self,
        socket: TcpStream,
        handshake: &BtHandshake,
        methods: Methods,
        deadline: Instant,
    ) -> Result<Stream<TcpStream>, DialError> {
        let mut offer = self.policy.offer(handshake);
        offer.methods = methods;
        let late = methods.contains(Method::Plaintext);
        if late {
            // Transmission 3.x reads an obfuscated initial payload as plain bytes (mse §6).
            offer.initial_payload = Vec::new();
        }
        let draw = Draw::system(self.group).map_err(|_| DialError::NoRandomness)?;
        let mut machine = Initiator::new(handshake.info_hash, offer, draw).map_err(|error| {
            let progress = None;
            DialError::Failed(Failure { cause: Cause::Handshake(error), progress })
        })?;
        let (status, rest) = drive(&socket, &mut machine, deadline, self.quick_ack)?;
        let Status::Established(established) = status else {
            let progress = crate::handshake::Handshake::progress(&machine);
            return Err(DialError::Failed(Failure::mse(Cause::PlainPeer, progress)));
        };
        let mut stream = Stream::new(socket, *established, &rest);
        if late {
            stream.write_all(&handshake.encode()).map_err(DialError::Io)?;
        }
        Ok(stream)
    }
}

/// Sends the handshake in the clear and waits for the first byte of an answer. Until then it is
/// unknown whether the peer accepts it.
fn begin_plain(
    socket: TcpStream,
    handshake: &BtHandshake,
    deadline: Instant,
) -> Result<Stream<TcpStream>, DialError> {
    let mut start = [0; 256];
    let mut talk = || {
        socket.set_nodelay(true)?;
        arm(deadline, |left| socket.set_write_timeout(left))?;
        (&socket).write_all(&handshake.encode())?;
        arm(deadline, |left| socket.set_read_timeout(left))?;
        let len = read(&mut &socket, &mut start)?;
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        Ok(len)
    };
    let len = talk().map_err(|error| classify(error, Failure::plain))?;
    let start = start.get(..len).unwrap_or_default().to_vec();
    Ok(Stream::plain(socket, start))
}

/// Why a peer could not be reached.
#[derive(Debug)]
#[non_exhaustive]
pub enum DialError {
    /// No connection: the peer is not there. Another attempt would find the same.
    Connect(io::Error),
    /// The peer is there, but nothing that the policy permits worked.
    Failed(Failure),
    /// The socket failed.
    Io(io::Error),
    /// The system gave no randomness.
    NoRandomness,
}

impl From<DriveError> for DialError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Failed(failure) => Self::Failed(failure),
            DriveError::Io(error) => Self::Io(error),
        }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Failed(failure) => failure.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::NoRandomness => f.write_str("the system gave no randomness"),
        }
    }
}

impl core::error::Error for DialError {}

/// Peers remembered: at some 40 bytes each, more than a client ever meets at once.
const REMEMBERED: usize = 4_096;
