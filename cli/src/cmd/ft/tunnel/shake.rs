//! The handshake before a sealed connection, over a socket that blocks.

use core::time::Duration;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use schwann::security::{Handshake, Peer, Refusal, Step};
use schwann_session::{HANDSHAKE_LIMIT, Secure};

use super::inbox::Inbox;
use super::sealed::SealError;

/// Shakes hands within the time for it; returns the session, its other end, and what has arrived behind the handshake.
///
/// `wait_for_turn` is called before the first bytes of the other end are worked on; if it says no, this ends.
pub(super) fn shake(
    mut socket: &TcpStream,
    mut handshake: Handshake,
    wait_for_turn: impl Fn(Instant) -> bool,
) -> Result<(Box<Secure>, Peer, Inbox), SealError> {
    socket.set_nodelay(true)?;
    let deadline = Instant::now() + HANDSHAKE_LIMIT;
    let mut inbox = Inbox::new();
    let mut has_turn = false;
    loop {
        match handshake.step(inbox.unopened(), |output| socket.write_all(output))? {
            Step::NeedsMore => inbox.clear(),
            Step::Done { consumed } => {
                inbox.note_opened(consumed);
                break;
            }
            Step::Refused(refusal) => {
                part(socket, &mut inbox);
                return Err(SealError::Refused(refusal));
            }
        }
        if inbox.receive_until(socket, deadline)? == 0 {
            return Err(SealError::Refused(handshake.closed()));
        }
        has_turn = has_turn || wait_for_turn(deadline);
        if !has_turn {
            return Err(SealError::Refused(Refusal::Closed));
        }
    }
    let (session, peer) = handshake.finish().ok_or(SealError::Refused(Refusal::Closed))?;
    Ok((session, peer, inbox))
}

/// Gives the peer time to read its answer, one byte or the sealed reason. To close while its bytes are unread would
/// destroy the answer.
fn part(socket: &TcpStream, inbox: &mut Inbox) {
    if socket.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let deadline = Instant::now() + PARTING;
    loop {
        inbox.clear();
        if !matches!(inbox.receive_until(socket, deadline), Ok(1..)) {
            return;
        }
    }
}

/// How long a refused peer may take to read why.
pub(super) const PARTING: Duration = Duration::from_millis(500);
