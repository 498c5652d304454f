//! The handshake before a sealed connection, over a socket that blocks.

use core::time::Duration;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use schwann::security::Member;
use schwann_session::{Context, Established, HANDSHAKE_LIMIT, Initiator, Progress, Refusal, Responder};

use super::inbox::Inbox;
use super::sealed::SealError;

/// Either side of a handshake.
pub(super) trait Hand {
    fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal>;
    fn output(&self) -> &[u8];
    fn sent(&mut self, count: usize);
    fn closed(&self) -> Refusal;
    fn finish(self) -> Option<Established>;
}

macro_rules! hand {
    ($side:ty, |$this:ident| $closed:expr) => {
        impl Hand for $side {
            fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal> {
                <$side>::handle(self, input, context)
            }

            fn output(&self) -> &[u8] {
                self.poll_output()
            }

            fn sent(&mut self, count: usize) {
                <$side>::sent(self, count);
            }

            fn closed(&self) -> Refusal {
                let $this = self;
                $closed
            }

            fn finish(self) -> Option<Established> {
                <$side>::finish(self)
            }
        }
    };
}

hand!(Initiator, |this| Self::closed(this));
hand!(Responder, |_this| Refusal::Closed);

/// Shakes hands within the time for it; returns the session, and what has arrived behind the handshake.
///
/// `wait_for_turn` is called before the first bytes of the other end are worked on; if it says no, this ends.
pub(super) fn shake(
    socket: &TcpStream,
    mut hand: impl Hand,
    member: &Member,
    wait_for_turn: impl Fn(Instant) -> bool,
) -> Result<(Established, Inbox), SealError> {
    socket.set_nodelay(true)?;
    let deadline = Instant::now() + HANDSHAKE_LIMIT;
    let mut inbox = Inbox::new();
    let mut has_turn = false;
    loop {
        send_output(socket, &mut hand)?;
        if inbox.receive_until(socket, deadline)? == 0 {
            return Err(SealError::Refused(hand.closed()));
        }
        has_turn = has_turn || wait_for_turn(deadline);
        if !has_turn {
            return Err(SealError::Refused(Refusal::Closed));
        }
        match member.with_context(|context| hand.handle(inbox.unopened(), context)) {
            Ok(Progress::NeedsMore) => inbox.clear(),
            Ok(Progress::Done { consumed }) => {
                inbox.note_opened(consumed);
                break;
            }
            Err(refusal) => {
                part(socket, &mut hand, &mut inbox);
                return Err(SealError::Refused(refusal));
            }
        }
    }
    send_output(socket, &mut hand)?;
    Ok((hand.finish().ok_or(SealError::Refused(Refusal::Closed))?, inbox))
}

fn send_output(mut socket: &TcpStream, hand: &mut impl Hand) -> Result<(), SealError> {
    socket.write_all(hand.output())?;
    let count = hand.output().len();
    hand.sent(count);
    Ok(())
}

/// Tells the peer as much as it may know, one byte or the sealed reason, and gives it the time to read that: to
/// close while its bytes are unread would take the answer along.
fn part(socket: &TcpStream, hand: &mut impl Hand, inbox: &mut Inbox) {
    if send_output(socket, hand).is_err() || socket.shutdown(Shutdown::Write).is_err() {
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
