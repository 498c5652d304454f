//! The owner of the program at the other end.

use core::net::SocketAddr;

use super::local;

/// Nothing: users have no numbers here.
pub(crate) fn own() -> Option<u32> {
    None
}

/// Nothing: what the system tells could not be tried, for Wine 8 names no process of a connection.
pub(crate) fn of_tcp(_end: SocketAddr, _other: SocketAddr) -> Option<u32> {
    None
}

/// Nothing: what the system tells could not be tried, for Wine 8 names no process of a connection.
pub(crate) fn of_udp_end(_end: SocketAddr) -> Vec<Option<u32>> {
    Vec::new()
}

/// The user at the other end of a connection that cannot be.
pub(crate) fn of_local(stream: &local::Stream) -> Option<u32> {
    match *stream {}
}

/// Whether the system tells whose program is at the other end of a TCP connection.
pub(crate) const TELLS: bool = false;
