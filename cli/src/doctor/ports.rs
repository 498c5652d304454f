//! Ports: which are taken here, and which answer elsewhere.

use core::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};
use std::{
    io,
    net::{TcpListener, TcpStream, UdpSocket},
};

use schwann::Config;

/// What became of an attempt to connect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Knock {
    /// A program listens.
    Open,
    /// The computer is there, but no program listens.
    Refused,
    /// Nothing came back: a firewall drops it, or the computer is away.
    Silent,
    /// There is no way to the computer, or it says that it is forbidden.
    Unreachable,
}

/// Tries to connect.
pub(super) fn knock(address: SocketAddr) -> Knock {
    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
        Ok(_) => Knock::Open,
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Knock::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Knock::Unreachable,
            _ => Knock::Silent,
        },
    }
}

/// Counts the ports of the service range that an outlet could not have here.
pub(super) fn taken_ports(config: &Config) -> usize {
    let is_taken = |port: &u16| {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)).is_err()
            || TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_err()
    };
    config.ports.service_range().filter(is_taken).count()
}

const CONNECT_TIMEOUT: Duration = Duration::from_millis(1200);
