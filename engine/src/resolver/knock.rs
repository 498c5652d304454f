//! Asks an outlet over TCP what it sends, to learn why it does not answer a search.
//!
//! A search that a stranger makes gets no answer at all, so nobody in front of the searching program could tell a foreign
//! lab from an empty network. A connection tells them apart: it ends with a reason. This is for people and for logs; no
//! stream is found this way.
//!
//! Source: spec: secure-session §3.8; lsl-wire §8.

use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::discover::Query;
use schwann_session::{Refusal, Suite};

use crate::config::Config;
use crate::inlet::{HandshakeError, no_stream, prepare, start_connecting};
use crate::net::link::Link;
use crate::net::sealing::{Flow, Sealing};
use crate::net::sockets::version_of;
use crate::trust::Member;

/// What is behind a port.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Knocked {
    /// Nobody, or something that is no outlet.
    Nobody,
    /// An outlet that this computer may not receive from, and why.
    Refused(Refusal),
    /// An outlet that says what it sends.
    Stream(Box<StreamInfo>),
}

/// Asks what is behind `address`, as a search with this configuration would ask, for `patience` at most.
///
/// With keys installed it is asked inside a session, else in the clear.
pub fn knock(config: &Config, address: SocketAddr, patience: Duration) -> Knocked {
    let Ok(trust) = config.trust() else { return Knocked::Nobody };
    let deadline = Instant::now() + patience;
    match ask(trust.member(), address, deadline) {
        Ok(document) => match StreamInfo::parse(&document) {
            Ok(mut info) => {
                info.set_address(version_of(address.ip()), address.ip().to_string());
                Knocked::Stream(Box::new(info))
            }
            Err(_) => Knocked::Nobody,
        },
        Err(HandshakeError::Refused(refusal)) if is_told(refusal) => Knocked::Refused(refusal),
        Err(_) => Knocked::Nobody,
    }
}

/// Where outlets of this computer are to be knocked at.
pub fn own_ports(config: &Config) -> Vec<SocketAddr> {
    let hosts = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
    let hosts = hosts.into_iter().filter(|ip| config.ports.ip.allows(*ip));
    hosts.flat_map(|ip| config.ports.service_range().map(move |port| SocketAddr::new(ip, port))).collect()
}

/// Whether a reason is an outlet's; the others are as likely those of a port that has nothing to do with LSL.
fn is_told(refusal: Refusal) -> bool {
    use Refusal::{Closed, Forged, Malformed, NoEntropy, TimedOut};
    !matches!(refusal, Closed | Forged | Malformed | NoEntropy | TimedOut)
}

fn ask(
    member: Option<&Arc<Member>>,
    address: SocketAddr,
    deadline: Instant,
) -> Result<Vec<u8>, HandshakeError> {
    let link = Link::plain(start_connecting(address)?);
    let sealing = member.map(|member| (member, Suite::Hybrid));
    let mut opener = prepare(&link, &no_stream(), sealing, deadline)?;
    let mut request = Vec::new();
    // The condition that every stream fulfils; a vector takes whatever it is given.
    let _ = Query::encode_tcp("", &mut request);
    if link.send_until(&request, deadline).failed {
        return Err(HandshakeError::Slow);
    }
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    let ended = |answer: Vec<u8>| match answer.is_empty() && sealing.is_none() {
        true => Err(HandshakeError::Refused(Refusal::MembersOnly)),
        false => Ok(answer),
    };
    while answer.len() < LIMIT {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !link.wait_ready(PollFlags::IN, left) {
            return Err(HandshakeError::Slow);
        }
        match rustix::net::recv(link.socket(), &mut buffer, RecvFlags::DONTWAIT) {
            // Whoever closes with a request unread resets the connection.
            Ok((_, 0)) | Err(Errno::CONNRESET) => return ended(answer),
            Ok((_, count)) => {
                match opener.open(&link, buffer.get(..count).unwrap_or_default(), &mut answer) {
                    Ok(Flow::Goes) => {}
                    Ok(Flow::Ended) => return ended(answer),
                    Err(_) => {
                        let refusal = link.sealing().and_then(Sealing::refusal);
                        return Err(refusal.map_or(HandshakeError::Malformed, HandshakeError::Refused));
                    }
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(HandshakeError::Malformed)
}

/// Longest answer that is read, in bytes.
const LIMIT: usize = 1 << 20;
