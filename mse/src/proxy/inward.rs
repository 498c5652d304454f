//! From peers to a plain client: MSE (or plain, as the policy says) on one side, plain on the other.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;

use super::relay::relay;
use super::{Carry, Event, Failed, ProxyError, Target};
use crate::bittorrent::BtHandshake;
use crate::net::Acceptor;
use crate::skey::Lookup;

/// The inward half of a sidecar: the address the client announces instead of its own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inward<L> {
    /// The accepted peers, and their torrents.
    pub acceptor: Acceptor<L>,
    /// Where the client listens.
    pub client: SocketAddr,
}

impl<L: Lookup> Inward<L> {
    /// Relays what `acceptor` accepts to a client.
    pub fn new(acceptor: Acceptor<L>, client: SocketAddr) -> Self {
        Self { acceptor, client }
    }

    fn carry_from(
        &self,
        peer: SocketAddr,
        socket: TcpStream,
        observe: &dyn Fn(Event),
    ) -> Result<(), ProxyError> {
        let accepted = self.acceptor.accept(socket).map_err(ProxyError::Accept)?;
        let mut stream = accepted.stream;
        let mut first = [0; BtHandshake::LEN];
        stream.transport().set_read_timeout(Some(PEER_TIMEOUT)).map_err(ProxyError::Client)?;
        stream.read_exact(&mut first).map_err(|_| ProxyError::NotBitTorrent)?;
        stream.transport().set_read_timeout(None).map_err(ProxyError::Client)?;
        let handshake = BtHandshake::parse(&first).ok_or(ProxyError::NotBitTorrent)?;
        if accepted.info_hash.is_some_and(|info_hash| info_hash != handshake.info_hash) {
            return Err(ProxyError::TorrentsDiffer);
        }
        let mut client =
            TcpStream::connect_timeout(&self.client, PEER_TIMEOUT).map_err(ProxyError::Client)?;
        client.write_all(&first).map_err(ProxyError::Client)?;
        observe(Event::Opened {
            peer,
            info_hash: Some(handshake.info_hash),
            attempt: accepted.attempt,
            method: stream.method(),
        });
        let bytes = relay(client, stream).map_err(ProxyError::Client)?;
        observe(Event::Closed { peer, bytes });
        Ok(())
    }
}

impl<L: Lookup + Send + Sync + 'static> Carry for Inward<L> {
    fn carry(&self, socket: TcpStream, observe: &dyn Fn(Event)) -> Result<(), Failed> {
        let peer = socket.peer_addr().map_err(ProxyError::Client)?;
        self.carry_from(peer, socket, observe)
            .map_err(|error| Failed { peer: Some(Target::Address(peer)), error })
    }
}

/// How long the client may take to take a connection, and a peer to name its torrent.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
