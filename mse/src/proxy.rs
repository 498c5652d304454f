//! MSE for a BitTorrent client that has none: a sidecar beside it.
//!
//! ```text
//! client ──plain──▶ Outward (SOCKS5) ──MSE──▶ peers        the client's first 68 bytes name the torrent
//! peers ──MSE──▶ Inward ──plain──▶ client                  and become the initial payload
//! ```
//!
//! One thread a direction, because a connection lives for minutes and moves megabytes. What a sidecar
//! cannot do: speak uTP, or show the client where its incoming peers really are.

mod inward;
mod outward;
mod relay;
mod socks5;

use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread;

use alloc::sync::Arc;

pub use self::inward::Inward;
pub use self::outward::{Others, Outward};
pub use self::socks5::{SocksError, Target, negotiate};
use crate::method::Method;
use crate::net::{AcceptError, DialError};
use crate::policy::Attempt;
use crate::skey::InfoHash;

/// What a sidecar did with one connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// It was carried to its end.
    Closed {
        /// The peer.
        peer: SocketAddr,
        /// Bytes to the peer and from it.
        bytes: (u64, u64),
    },
    /// It was not carried.
    Failed(Failed),
    /// The system refuses further connections for now, usually because descriptors or threads are used up.
    /// Open connections go on; said once, until a connection is carried again.
    Full(io::Error),
    /// It is being carried.
    Opened {
        /// The peer.
        peer: SocketAddr,
        /// The torrent; `None` if it is not BitTorrent, or not known yet.
        info_hash: Option<InfoHash>,
        /// How the connection begins.
        attempt: Attempt,
        /// How the payload goes over the wire.
        method: Method,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { peer, bytes: (to, from) } => {
                write!(f, "{peer} closed, {to} bytes to it, {from} from it")
            }
            Self::Failed(failed) => failed.fmt(f),
            Self::Full(error) => write!(
                f,
                "no further connection can be carried yet: {error}; close some, or raise the limits (ulimit -n, -u)"
            ),
            Self::Opened { peer, info_hash, method, .. } => {
                write!(f, "{peer} opened, {method}")?;
                info_hash.map_or(Ok(()), |info_hash| write!(f, ", {info_hash}"))
            }
        }
    }
}

/// A connection that was not carried.
#[derive(Debug)]
pub struct Failed {
    /// The peer; `None` while the client has not named it.
    pub peer: Option<Target>,
    /// What went wrong.
    pub error: ProxyError,
}

impl From<ProxyError> for Failed {
    fn from(error: ProxyError) -> Self {
        Self { peer: None, error }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.peer {
            Some(peer) => write!(f, "{peer} failed: {}", self.error),
            None => write!(f, "failed: {}", self.error),
        }
    }
}

impl core::error::Error for Failed {}

/// Why a connection was not carried.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyError {
    /// A peer came in and was not accepted.
    Accept(AcceptError),
    /// The client cannot be reached, or left.
    Client(io::Error),
    /// The peer could not be reached as the policy says.
    Dial(DialError),
    /// The client's bytes are not BitTorrent, and nothing else is carried.
    NotBitTorrent,
    /// The client did not ask as a SOCKS client does.
    Socks(SocksError),
    /// The peer's BitTorrent handshake names another torrent than its MSE handshake.
    TorrentsDiffer,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept(error) => error.fmt(f),
            Self::Client(error) => write!(f, "the client: {error}"),
            Self::Dial(error) => error.fmt(f),
            Self::NotBitTorrent => f.write_str("the client does not speak BitTorrent here"),
            Self::Socks(error) => error.fmt(f),
            Self::TorrentsDiffer => f.write_str("the peer names two torrents"),
        }
    }
}

impl core::error::Error for ProxyError {}

/// Something that carries one connection at a time; [`serve`] gives it many.
pub trait Carry: Send + Sync + 'static {
    /// Carries one accepted connection to its end, telling `observe` what happens.
    ///
    /// - Errors: it was not carried; close it.
    fn carry(&self, socket: TcpStream, observe: &dyn Fn(Event)) -> Result<(), Failed>;
}

/// Accepts connections for as long as the listener lives, each on a thread of its own.
///
/// What the system lacks for now, such as descriptors, does not end it: connections wait until there are some again.
///
/// - Errors: the socket does not listen.
pub fn serve(
    listener: &TcpListener,
    sidecar: Arc<impl Carry>,
    observe: impl Fn(Event) + Clone + Send + 'static,
) -> io::Result<()> {
    let carried = Arc::new(AtomicUsize::new(0));
    let mut is_full = false;
    loop {
        let (sidecar, seat, observe_one) = (sidecar.clone(), carried.clone(), observe.clone());
        let taken = listener.accept().and_then(|(socket, _)| carry_apart(socket, seat, sidecar, observe_one));
        match taken {
            Ok(()) => is_full = false,
            Err(error) => match Fault::of(&error) {
                Fault::Listener => return Err(error),
                Fault::Peer => {}
                Fault::System => {
                    if !core::mem::replace(&mut is_full, true) {
                        observe(Event::Full(error));
                    }
                    // Nothing tells when there are descriptors again.
                    thread::sleep(ACCEPT_PAUSE);
                }
            },
        }
    }
}

/// Carries one connection on a thread of its own, or closes it if there are too many.
fn carry_apart(
    socket: TcpStream,
    carried: Arc<AtomicUsize>,
    sidecar: Arc<impl Carry>,
    observe: impl Fn(Event) + Send + 'static,
) -> io::Result<()> {
    let others = carried.fetch_add(1, Ordering::Relaxed);
    let seat = Seat(carried);
    if others >= CONNECTIONS {
        return Ok(());
    }
    let carry = move || {
        let _seat = seat;
        if let Err(failed) = sidecar.carry(socket, &observe) {
            observe(Event::Failed(failed));
        }
    };
    thread::Builder::new().spawn(carry).map(drop)
}

/// Which side made a connection fail before it was carried.
enum Fault {
    /// It cannot go on.
    Listener,
    /// The peer left before it was taken.
    Peer,
    /// The system lacks something that comes back: descriptors, memory, threads, the network.
    System,
}

impl Fault {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => Self::Peer,
            io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Self::Listener,
            _ => Self::System,
        }
    }
}

/// One of the [`CONNECTIONS`]; given back when the thread ends, however it ends.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connections carried at once, in either direction; what comes beyond is closed.
const CONNECTIONS: usize = 512;
/// Pause before connections are taken again after the system refused one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
