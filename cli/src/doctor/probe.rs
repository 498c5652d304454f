//! Multicast that we send ourselves: whether it leaves, and whether it comes in again.
//!
//! The system hands a copy to every listener on this computer, as if it had arrived through the interface. So
//! this tries the firewall's rules in both directions.

use core::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};
use std::{io, net::UdpSocket, time::Instant};

use schwann::Config;
use socket2::{Domain, Protocol, Socket, Type};

/// What became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Echo {
    /// It came in.
    Heard,
    /// The system does not send it.
    NotSent(io::ErrorKind),
    /// It was sent, and did not come in.
    Swallowed,
}

/// Sends multicast through the interface with this address, and listens for it. It uses the port of discovery, and
/// the last port of the service range, where replies come in.
///
/// Nothing for IPv6, and if there is no group to try.
pub(super) fn echo(interface: IpAddr, config: &Config) -> Option<Echo> {
    let IpAddr::V4(interface) = interface else { return None };
    let group = config.multicast.discovery_addresses.iter().find_map(|ip| match ip {
        IpAddr::V4(ip) if ip.is_multicast() => Some(*ip),
        _ => None,
    })?;
    let reply_port = config.ports.service_range().next_back().unwrap_or(config.ports.multicast);
    let outcomes = [config.ports.multicast, reply_port].map(|port| try_port(interface, group, port));
    // A port that another program has alone says nothing about the network.
    let outcomes = outcomes.into_iter().flatten().collect::<Vec<_>>();
    outcomes.iter().find(|echo| **echo != Echo::Heard).or(outcomes.first()).copied()
}

fn try_port(interface: Ipv4Addr, group: Ipv4Addr, port: u16) -> io::Result<Echo> {
    let listener = socket()?;
    listener.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    listener.join_multicast_v4(&group, &interface)?;
    let sender = socket()?;
    sender.set_multicast_if_v4(&interface)?;
    sender.set_multicast_loop_v4(true)?;
    // With zero hops it stays on this computer and is still heard here.
    sender.set_multicast_ttl_v4(0)?;
    let word = word()?;
    if let Err(error) = sender.send_to(word.as_bytes(), &SocketAddr::from((group, port)).into()) {
        return Ok(Echo::NotSent(error.kind()));
    }
    let (listener, deadline) = (UdpSocket::from(listener), Instant::now() + ECHO_TIMEOUT);
    let mut received = [0; 256];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Echo::Swallowed);
        }
        listener.set_read_timeout(Some(left))?;
        // Others' queries come to the same port.
        if listener.recv(&mut received).is_ok_and(|length| received.get(..length) == Some(word.as_bytes())) {
            return Ok(Echo::Heard);
        }
    }
}

/// A query that no stream fulfils: outlets of this computer hear it, too, and must not complain.
fn word() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let number = u64::from_le_bytes(random);
    Ok(format!("LSL:shortinfo\r\nuid='probe of schwann doctor'\r\n9 {number}\r\n"))
}

fn socket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

const ECHO_TIMEOUT: Duration = Duration::from_millis(400);
