//! The door of plain copies: other users of this computer, and other computers, stay out.

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use schwann::{Door, Transport};
use schwann_fieldtrip::door::{self, Stranger};

/// Admits programs of this user, and root's, and tells the person of others; the same once in a while.
#[derive(Debug, Default)]
pub(super) struct OwnUser(Mutex<Option<(Stranger, Instant)>>);

impl Door for OwnUser {
    fn admits(&self, peer: SocketAddr, transport: Transport) -> bool {
        let checked = match transport {
            Transport::Tcp { reached } => door::check_tcp_between(peer, reached),
            Transport::Udp => door::check_udp_from(peer),
        };
        let Err(stranger) = checked else { return true };
        // A search of another computer by multicast is no attempt on this stream.
        if matches!(transport, Transport::Tcp { .. }) {
            self.tell(stranger);
        }
        false
    }
}

impl OwnUser {
    fn tell(&self, stranger: Stranger) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|(who, at)| who == stranger && at.elapsed() < SILENCE) {
            return;
        }
        *told = Some((stranger, Instant::now()));
        eprintln!("schwann: turned away: {stranger}; plain copies are for this user's programs alone");
    }
}

/// Before the same is told again.
const SILENCE: Duration = Duration::from_secs(10);
