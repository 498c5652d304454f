//! How the processes of one transfer find each other and no others.

use core::net::Ipv4Addr;
use std::net::{TcpListener, UdpSocket};

use crate::clock::now_ns;

/// A configuration under which only this transfer's processes find each other, and find each other fast.
/// They ask `peer`, the sender's address, so no multicast is needed. Their ports begin with `base`.
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

/// Finds a run of ports that are free now, below LSL's own and below the ports of other crates' tests.
pub(crate) fn free_ports() -> u16 {
    let seed = now_ns() ^ u64::from(std::process::id()).rotate_left(32);
    let mut base = FIRST_PORT + (seed % u64::from(PORT_SPAN)) as u16;
    while !(base..base + PORTS).all(is_free) {
        base = FIRST_PORT + (base - FIRST_PORT + PORTS) % PORT_SPAN;
    }
    base
}

fn is_free(port: u16) -> bool {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

/// Ports of one transfer: discovery and the service range.
const PORTS: u16 = 17;
const FIRST_PORT: u16 = 10_000;
const PORT_SPAN: u16 = 6_500;
