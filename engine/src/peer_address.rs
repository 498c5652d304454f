//! Where the other end of a connection is.

use core::fmt;
use core::net::SocketAddr;

use schwann_session::Network;

/// Where the other end of a connection is, as logs name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PeerAddress {
    /// At this address.
    Address(SocketAddr),
    /// In another program of the same user, which came by the local transport and has no address.
    ThisComputer,
    /// It is gone, or there never was one.
    Unknown,
}

impl PeerAddress {
    /// The network that counts for this address, as far as addresses tell.
    pub(crate) fn network(self) -> Network {
        match self {
            Self::Address(address) => address.ip().into(),
            Self::ThisComputer | Self::Unknown => Network::ThisComputer,
        }
    }
}

impl From<Option<SocketAddr>> for PeerAddress {
    fn from(address: Option<SocketAddr>) -> Self {
        address.map_or(Self::Unknown, Self::Address)
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(out),
            Self::ThisComputer => out.write_str("this computer"),
            Self::Unknown => Ok(()),
        }
    }
}
