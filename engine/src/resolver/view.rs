//! Asks the program behind an outlet what it tells members of itself.
//!
//! Source: secure-session §11.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use schwann_proto::wire::view::{Heard, VIEW_LIMIT, View};
use schwann_session::{Refusal, Suite};

use crate::context::Context;
use crate::net::handshake::{HandshakeError, connect_tcp, no_stream, prepare};
use crate::net::request::Asking;
use crate::security::Member;

/// What came of the question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Viewed {
    /// The program tells of itself.
    Told(Box<HostView>),
    /// This computer has no key, and only members of the lab get an answer.
    NoKeys,
    /// There could be no session, and why.
    Refused(Refusal),
    /// Nothing answers, or something that does not know the question: an older program, or a microcontroller.
    Silent,
}

/// What a program tells of itself and of what it has heard.
#[derive(Clone, Debug, PartialEq)]
pub struct HostView {
    /// The device, as its certificate names it.
    pub device: String,
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// `require`, `prefer` or `off`.
    pub policy: String,
    /// Streams that it sends.
    pub stream_count: u32,
    /// Seconds that its calendar is ahead of this computer's.
    pub clock_ahead: f64,
    /// How much that may be wrong, in seconds, either way.
    pub clock_uncertainty: f64,
    /// When its certificate expires, in seconds since 1970 UTC.
    pub certificate_until: u64,
    /// Number of its revocation list.
    pub revocation_number: u64,
    /// Queries that came to the port that all outlets of that computer share.
    pub multicast: Heard,
    /// Queries that came to the outlet's own port.
    pub unicast: Heard,
    /// The firewall that it sees to be switched on.
    pub firewall: Option<String>,
}

/// Asks the program behind the data port at `address`, for `patience` at most.
pub fn view(context: &Context, address: SocketAddr, patience: Duration) -> Viewed {
    let Ok(trust) = context.trust() else { return Viewed::NoKeys };
    let Some(member) = trust.member() else { return Viewed::NoKeys };
    match ask(member, address, patience) {
        Ok(Some(view)) => Viewed::Told(Box::new(view)),
        Err(HandshakeError::Refused(refusal)) => Viewed::Refused(refusal),
        Ok(None) | Err(_) => Viewed::Silent,
    }
}

fn ask(
    member: &Arc<Member>,
    address: SocketAddr,
    patience: Duration,
) -> Result<Option<HostView>, HandshakeError> {
    let deadline = Instant::now() + patience;
    let link = connect_tcp(address)?;
    let opener = prepare(&link, &no_stream(), Some((member, Suite::Hybrid)), deadline)?;
    let mut answer = Vec::new();
    let (asked, began) = (now(), Instant::now());
    Asking { link: &link, opener, deadline, limit: VIEW_LIMIT + 1 }.ask(b"LSL:view\r\n", &mut answer)?;
    let took = began.elapsed().as_secs_f64();
    let device = link.layer().peer().map(|peer| peer.statement.name.as_str().to_owned());
    Ok(View::parse(&answer).map(|view| HostView {
        device: device.unwrap_or_default(),
        version: view.version.to_owned(),
        policy: view.policy.to_owned(),
        stream_count: view.stream_count,
        clock_ahead: view.wall_clock - (asked + took / 2.0),
        clock_uncertainty: took / 2.0,
        certificate_until: view.certificate_until,
        revocation_number: view.revocation_number,
        multicast: view.multicast,
        unicast: view.unicast,
        firewall: Some(view.firewall.to_owned()).filter(|name| !name.is_empty()),
    }))
}

/// This computer's calendar, in seconds since 1970 UTC.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
