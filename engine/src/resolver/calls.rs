//! Connections that are made for nothing but the lab's newest revocation list.
//!
//! Source: secure-session §5.5.

use alloc::collections::VecDeque;
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use schwann_session::Refusal;

use crate::lately::Lately;
use crate::log;
use crate::net::handshake::{HandshakeError, exchange_lists};
use crate::net::lab_call::Answer;
use crate::net::sockets::version_of;
use crate::security::{Member, journal};

/// The calls that one search follows.
#[derive(Clone)]
pub(super) struct Calls {
    member: Arc<Member>,
    state: Arc<Mutex<CallQueue>>,
}

struct CallQueue {
    waiting: VecDeque<SocketAddr>,
    followed: Lately<SocketAddr>,
    is_running: bool,
}

impl Calls {
    pub(super) fn new(member: Arc<Member>) -> Self {
        let state =
            CallQueue { waiting: VecDeque::new(), followed: Lately::new(AGAIN_AFTER), is_running: false };
        Self { member, state: Arc::new(Mutex::new(state)) }
    }

    /// Connects to the outlet that answered from `source`, unless its list is ours, in a thread of its own.
    pub(super) fn follow(&mut self, answer: &Answer, source: SocketAddr) {
        let port = answer.port(version_of(source.ip()));
        if answer.list == self.member.revocation_number() || port == 0 {
            return;
        }
        let address = with_port(source, port);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting.len() >= MOST_WAITING || !state.followed.is_new(address, Instant::now()) {
            return;
        }
        state.waiting.push_back(address);
        if core::mem::replace(&mut state.is_running, true) {
            return;
        }
        let calls = self.clone();
        let spawned = thread::Builder::new().name("lsl-lab-list".to_owned()).spawn(move || calls.run());
        if let Err(error) = spawned {
            log::error!("the lab's newest revocation list cannot be fetched: {error}");
            state.is_running = false;
        }
    }

    fn run(&self) {
        loop {
            let address = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                match state.waiting.pop_front() {
                    Some(address) => address,
                    None => {
                        state.is_running = false;
                        return;
                    }
                }
            };
            let outcome = exchange_lists(&self.member, address);
            note_outcome(address, &outcome);
            match outcome {
                Ok(()) => {}
                Err(HandshakeError::Refused(refusal)) => journal::not_exchanged(address, refusal),
                Err(error) => log::warning!("no revocation list was exchanged with {address}: {error}"),
            }
        }
    }
}

/// Outlets of the lab that refused this device when they were last asked for their list, and why.
///
/// A device that is out finds no stream and hears of no list: this is how it learns of it.
pub fn refused_calls() -> Vec<(SocketAddr, Refusal)> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn note_outcome(address: SocketAddr, outcome: &Result<(), HandshakeError>) {
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    refused.retain(|(known, _)| *known != address);
    if let Err(HandshakeError::Refused(refusal)) = outcome
        && refused.len() < MOST_WAITING
    {
        refused.push((address, *refusal));
    }
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

impl core::fmt::Debug for Calls {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("Calls")
    }
}

/// For the whole process: every search of it is refused alike.
static REFUSED: Mutex<Vec<(SocketAddr, Refusal)>> = Mutex::new(Vec::new());

/// Time between two connections to the same outlet.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// Outlets that wait to be called. The holder of a former key can invent answers faster than connections
/// fail.
const MOST_WAITING: usize = 64;
