//! From a plain client to peers: SOCKS5 on one side, MSE on the other.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use alloc::vec;
use alloc::vec::Vec;

use super::relay::relay;
use super::socks5::{Reply, Target, negotiate, reply};
use super::{Carry, Event, Failed, ProxyError};
use crate::bittorrent::{BtHandshake, PREFIX};
use crate::net::{DialError, Dialler};
use crate::policy::{Attempt, Policy};
use crate::stream::Stream;

/// What to do with connections that do not begin as BitTorrent does, such as a tracker's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    /// Close them.
    Refuse,
    /// Carry them as they are: nothing in them is obfuscated.
    Relay,
}

/// The outward half of a sidecar: the client's SOCKS5 proxy.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outward {
    /// How peers are reached.
    pub dialler: Dialler,
    /// What else may pass.
    pub others: Others,
    /// How long the client may take to say what it wants. Ten seconds by default.
    pub patience: Duration,
}

impl Outward {
    /// Reaches peers as `policy` says. Under [`Policy::Required`] nothing but BitTorrent passes.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        let others = if policy == Policy::Required { Others::Refuse } else { Others::Relay };
        Self { dialler: Dialler::new(policy), others, patience: Duration::from_secs(10) }
    }

    fn connect(
        &self,
        client: &mut TcpStream,
        target: &Target,
    ) -> Result<(SocketAddr, TcpStream), ProxyError> {
        let connected = target
            .resolve()
            .map_err(DialError::Connect)
            .and_then(|peer| self.dialler.connect(peer).map(|socket| (peer, socket)));
        let word = match &connected {
            Ok(_) => Reply::Connected,
            Err(DialError::Connect(error)) if error.kind() == ErrorKind::ConnectionRefused => Reply::Refused,
            Err(_) => Reply::HostUnreachable,
        };
        reply(client, word).map_err(ProxyError::Client)?;
        connected.map_err(ProxyError::Dial)
    }

    fn carry_to(
        &self,
        target: &Target,
        mut client: TcpStream,
        observe: &dyn Fn(Event),
    ) -> Result<(), ProxyError> {
        let (peer, socket) = self.connect(&mut client, target)?;
        let first = first_words(&mut client)?;
        client.set_read_timeout(None).map_err(ProxyError::Client)?;
        let (stream, attempt, info_hash) = match first {
            FirstWords::BitTorrent(handshake) => {
                let reached = self.dialler.dial_from(socket, peer, &handshake);
                let reached = reached.map_err(ProxyError::Dial)?;
                (reached.stream, reached.attempt, Some(handshake.info_hash))
            }
            FirstWords::Other(_) if self.others == Others::Refuse => {
                return Err(ProxyError::NotBitTorrent);
            }
            FirstWords::Other(bytes) => {
                let mut stream = Stream::plain(socket, Vec::new());
                stream.write_all(&bytes).map_err(|e| ProxyError::Dial(DialError::Io(e)))?;
                (stream, Attempt::Plain, None)
            }
        };
        observe(Event::Opened { peer, info_hash, attempt, method: stream.method() });
        let bytes = relay(client, stream).map_err(ProxyError::Client)?;
        observe(Event::Closed { peer, bytes });
        Ok(())
    }
}

impl Carry for Outward {
    fn carry(&self, mut client: TcpStream, observe: &dyn Fn(Event)) -> Result<(), Failed> {
        client.set_read_timeout(Some(self.patience)).map_err(ProxyError::Client)?;
        let target = negotiate(&mut client).map_err(ProxyError::Socks)?;
        self.carry_to(&target, client, observe).map_err(|error| Failed { peer: Some(target), error })
    }
}

/// How a client's connection begins.
enum FirstWords {
    BitTorrent(BtHandshake),
    Other(Vec<u8>),
}

/// Reads the 68 bytes of a BitTorrent handshake, or only enough to see that it is another
/// protocol.
fn first_words(client: &mut TcpStream) -> Result<FirstWords, ProxyError> {
    let mut bytes = vec![0; BtHandshake::LEN];
    let mut len = 0;
    loop {
        let room = bytes.get_mut(len..).unwrap_or_default();
        match client.read(room).map_err(ProxyError::Client)? {
            0 => return Err(ProxyError::Client(ErrorKind::UnexpectedEof.into())),
            count => len += count,
        }
        let whole = bytes.first_chunk().filter(|_| len == BtHandshake::LEN);
        if let Some(handshake) = whole.and_then(BtHandshake::parse) {
            return Ok(FirstWords::BitTorrent(handshake));
        }
        let known = len.min(PREFIX.len());
        if bytes.get(..known) != PREFIX.get(..known) {
            bytes.truncate(len);
            return Ok(FirstWords::Other(bytes));
        }
    }
}
