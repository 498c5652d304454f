//! Who may reach an outlet: all peers, or only those that a program admits.
//!
//! A stream in the clear on loopback is open to every user of the computer. A program that offers one for its own user
//! alone puts a door in front of it. A refused peer gets no answer to a search, and a closed connection.

use core::fmt;
use core::net::SocketAddr;

/// How a peer came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// By a connection.
    Tcp {
        /// The address of the outlet that it was made to.
        reached: SocketAddr,
    },
    /// By a datagram.
    Udp,
}

/// Decides about peers of outlets.
pub trait Door: Send + Sync {
    /// Whether this peer may reach the stream. Must not wait.
    fn admits(&self, peer: SocketAddr, transport: Transport) -> bool;
}

impl fmt::Debug for dyn Door {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Door")
    }
}
