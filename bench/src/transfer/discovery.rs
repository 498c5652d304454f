//! How the processes of one transfer find each other and no others.

use core::net::Ipv4Addr;
use std::net::{TcpListener, UdpSocket};

use crate::clock::now_ns;

/// A configuration under which only this transfer's processes find each other, and find each other fast:
/// by asking `peer`, where the sender is, so that no multicast is needed. Their ports begin with `base`.
pub(crate) fn private(session: &str, base: u16, peer: Ipv4Addr) -> String {
    format!(
        "[ports]\nMulticastPort = {base}\nBasePort = {}\nPortRange = {}\nIPv6 = disable\n\
         [multicast]\nResolveScope = machine\n\
         [lab]\nKnownPeers = {{{peer}}}\nSessionID = {session}\n\
         [tuning]\nMulticastMinRTT = 0.1\nUnicastMinRTT = 0.1\n\
         [log]\nlevel = -2\n",
        base + 1,
        PORTS - 1,
    )
}

/// Finds a run of ports that are free now, below those that the kernel hands out.
pub(crate) fn free_ports() -> u16 {
    let seed = now_ns() ^ u64::from(std::process::id()).rotate_left(32);
    let mut base = 20_000 + (seed % 10_000) as u16;
    while !(base..base + PORTS).all(is_free) {
        base = 20_000 + (base - 20_000 + PORTS) % 10_000;
    }
    base
}

fn is_free(port: u16) -> bool {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

/// Ports of one transfer: discovery and the service range.
const PORTS: u16 = 17;
