//! Asks an outlet over TCP what it sends, to learn why it does not answer a search.
//!
//! A stranger's search gets no answer at all. So a user of the searching program could not tell a foreign
//! lab from an empty network. A connection tells them apart: it ends with a reason. This is for people and
//! for logs; no stream is found this way.
//!
//! Source: secure-session §3.8; lsl-wire §8.

use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::time::Instant;

use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::discover::Query;
use schwann_session::{Refusal, Suite};

use crate::config::Config;
use crate::context::Context;
use crate::net::handshake::{HandshakeError, connect_tcp, no_stream, prepare};
use crate::net::interfaces;
use crate::net::names;
use crate::net::request::Asking;
use crate::net::sockets::version_of;
use crate::security::Member;

/// What is behind a port.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Knocked {
    /// No listener, or one that is no outlet.
    Nobody,
    /// An outlet that this computer may not receive from, and why.
    Refused(Refusal),
    /// A listener that takes connections and does not answer: a program that hangs or was stopped, or one that is no outlet.
    Silent,
    /// An outlet that says what it sends.
    Stream(Box<StreamInfo>),
}

/// Asks what is behind `address`, as a search in this context would ask, for `patience` at most.
///
/// With keys installed it is asked inside a session, else in the clear.
pub fn knock(context: &Context, address: SocketAddr, patience: Duration) -> Knocked {
    let Ok(trust) = context.trust() else { return Knocked::Nobody };
    match ask_in_either_suite(trust.member(), address, patience) {
        Ok(document) => match StreamInfo::parse(&document) {
            Ok(mut info) => {
                info.set_address(version_of(address.ip()), address.ip().to_string());
                Knocked::Stream(Box::new(info))
            }
            Err(_) => Knocked::Nobody,
        },
        Err(HandshakeError::Refused(refusal)) if is_told(refusal) => Knocked::Refused(refusal),
        Err(HandshakeError::Slow | HandshakeError::Refused(Refusal::TimedOut)) => Knocked::Silent,
        Err(_) => Knocked::Nobody,
    }
}

/// Whether an address is one of this computer's own.
pub fn is_own_address(ip: IpAddr) -> bool {
    interfaces::is_own(ip)
}

/// Where to knock for outlets of this computer.
pub fn own_ports(config: &Config) -> Vec<SocketAddr> {
    let hosts = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
    service_ports(config, hosts.into_iter().map(|ip| SocketAddr::new(ip, 0)))
}

/// The addresses of the known peers, with port 0, as far as their names are looked up by now.
///
/// A new or outdated name is looked up beside the caller, which waits for nothing. A later call has its address.
pub fn known_peers(config: &Config) -> Vec<SocketAddr> {
    config.lab.known_peers.iter().flat_map(|peer| names::addresses(peer, None)).collect()
}

/// Where to knock for outlets of other computers.
pub fn peer_ports(config: &Config, peers: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    service_ports(config, peers.filter(|peer| !peer.ip().is_loopback()))
}

fn service_ports(config: &Config, hosts: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let hosts = hosts.filter(|host| config.ports.ip.allows(host.ip()));
    let at = |mut host: SocketAddr, port| {
        host.set_port(port);
        host
    };
    hosts.flat_map(|host| config.ports.service_range().map(move |port| at(host, port))).collect()
}

/// Whether a reason is an outlet's. The others may as well come from a port that has nothing to do with LSL.
fn is_told(refusal: Refusal) -> bool {
    use Refusal::{Closed, Forged, Malformed, NoEntropy, TimedOut};
    !matches!(refusal, Closed | Forged | Malformed | NoEntropy | TimedOut)
}

/// Asks again in the classic suite where the other is refused. A small device knows only that one, and would look
/// like another lab's (secure-session §3.7).
fn ask_in_either_suite(
    member: Option<&Arc<Member>>,
    address: SocketAddr,
    patience: Duration,
) -> Result<Vec<u8>, HandshakeError> {
    let first = ask(member.map(|member| (member, Suite::Hybrid)), address, patience);
    let (Some(member), Err(HandshakeError::Refused(Refusal::RefusedByPeer))) = (member, &first) else {
        return first;
    };
    match ask(Some((member, Suite::Classic)), address, patience.max(PATIENCE_WITH_SMALL)) {
        Err(HandshakeError::Refused(why)) if is_told(why) => Err(HandshakeError::Refused(why)),
        Err(_) => first,
        answer => answer,
    }
}

fn ask(
    sealing: Option<(&Arc<Member>, Suite)>,
    address: SocketAddr,
    patience: Duration,
) -> Result<Vec<u8>, HandshakeError> {
    let deadline = Instant::now() + patience;
    let link = connect_tcp(address)?;
    let opener = prepare(&link, &no_stream(), sealing, deadline)?;
    let mut request = Vec::new();
    // The condition that every stream fulfils; a vector takes all it is given.
    let _ = Query::encode_tcp("", &mut request);
    let mut answer = Vec::new();
    match (Asking { link: &link, opener, deadline, limit: LIMIT }).ask(&request, &mut answer) {
        // A peer that closes with a request unread resets the connection.
        Err(HandshakeError::Connection(error)) if error.kind() == io::ErrorKind::ConnectionReset => {}
        asked => asked?,
    }
    match answer.is_empty() && sealing.is_none() {
        true => Err(HandshakeError::Refused(Refusal::MembersOnly)),
        false => Ok(answer),
    }
}

/// How long a microcontroller may take for a handshake.
const PATIENCE_WITH_SMALL: Duration = Duration::from_secs(2);
/// Longest answer that is read, in bytes.
const LIMIT: usize = 1 << 20;
