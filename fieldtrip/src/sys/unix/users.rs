//! The owner of the program at the other end.

#[cfg(target_os = "linux")]
pub(crate) use crate::sys::linux::users::{of_local, of_tcp, of_udp_end};

/// The number of the user of this program.
pub(crate) fn own() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// The user who owns the end at `end` of the connection with `other`: the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_tcp(_end: core::net::SocketAddr, _other: core::net::SocketAddr) -> Option<u32> {
    None
}

/// The users of sockets that send datagrams from `end`: the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_udp_end(_end: core::net::SocketAddr) -> Vec<Option<u32>> {
    Vec::new()
}

/// The user at the other end. The system does not say whose it is. The mode of the socket's file then decides: a
/// program that could connect may stay.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_local(_: &super::local::Stream) -> Option<u32> {
    own()
}

/// Whether the system tells whose program is at the other end of a TCP connection.
pub(crate) const TELLS: bool = cfg!(target_os = "linux");
