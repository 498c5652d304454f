//! Multicast that we send ourselves: whether it leaves, and whether it comes in again.
//!
//! The system hands a copy to every listener on this computer, as if it had arrived through the interface. So
//! this tries the firewall's rules in both directions.

use core::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    time::Duration,
};
use std::{io, net::UdpSocket, thread, time::Instant};

use schwann::Config;
use socket2::{Domain, Protocol, Socket, Type};

use super::facts::Interface;

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

/// Sends multicast through an interface by the IP version of its address, and listens for it. It uses the port of
/// discovery, and the last port of the service range, where replies come in.
///
/// Nothing if there is no group to try.
pub(super) fn echo(interface: &Interface, config: &Config) -> Option<Echo> {
    let fits = |group: &&IpAddr| group.is_ipv4() == interface.ip.is_ipv4() && leaves(**group);
    let group = *config.multicast.discovery_addresses.iter().find(fits)?;
    let reply_port = config.ports.service_range().next_back().unwrap_or(config.ports.multicast);
    let outcomes = [config.ports.multicast, reply_port].map(|port| try_port(interface, group, port));
    // A port that another program has alone says nothing about the network.
    let outcomes = outcomes.into_iter().flatten().collect::<Vec<_>>();
    outcomes.iter().find(|echo| **echo != Echo::Heard).or(outcomes.first()).copied()
}

/// Whether it is a group that is heard beyond this computer.
fn leaves(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.is_multicast(),
        // RFC 4291 §2.7: from link-local scope on.
        IpAddr::V6(group) => group.is_multicast() && group.segments()[0] & 0xf > 1,
    }
}

fn try_port(interface: &Interface, group: IpAddr, port: u16) -> io::Result<Echo> {
    let (listener, sender) = sockets(interface, group, port)?;
    let target = match group {
        IpAddr::V4(group) => SocketAddr::from((group, port)),
        IpAddr::V6(group) => SocketAddrV6::new(group, port, 0, interface.index).into(),
    };
    let word = word()?;
    if let Err(error) = send(&sender, word.as_bytes(), target) {
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

/// A socket that hears multicast of an interface, and one that sends it.
///
/// With zero hops it stays on this computer and is still heard here.
fn sockets(interface: &Interface, group: IpAddr, port: u16) -> io::Result<(Socket, Socket)> {
    match (interface.ip, group) {
        (IpAddr::V4(own), IpAddr::V4(group)) => {
            let (listener, sender) = (socket(Domain::IPV4)?, socket(Domain::IPV4)?);
            listener.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
            listener.join_multicast_v4(&group, &own)?;
            sender.set_multicast_if_v4(&own)?;
            sender.set_multicast_loop_v4(true)?;
            sender.set_multicast_ttl_v4(0)?;
            Ok((listener, sender))
        }
        (IpAddr::V6(_), IpAddr::V6(group)) => {
            let (listener, sender) = (socket(Domain::IPV6)?, socket(Domain::IPV6)?);
            listener.set_only_v6(true)?;
            listener.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
            listener.join_multicast_v6(&group, interface.index)?;
            sender.set_multicast_if_v6(interface.index)?;
            sender.set_multicast_loop_v6(true)?;
            sender.set_multicast_hops_v6(0)?;
            Ok((listener, sender))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Sends a word. The system tries a new address of IPv6 for a second or two before it may be used (RFC 4862 §5.4).
fn send(sender: &Socket, word: &[u8], target: SocketAddr) -> io::Result<usize> {
    let deadline = Instant::now() + NEW_ADDRESS_TIME;
    loop {
        match sender.send_to(word, &target.into()) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(50));
            }
            outcome => return outcome,
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

fn socket(domain: Domain) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

const ECHO_TIMEOUT: Duration = Duration::from_millis(400);
const NEW_ADDRESS_TIME: Duration = Duration::from_secs(3);
