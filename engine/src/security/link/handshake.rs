//! The handshake of a link: how every session of this program begins.
//!
//! It owns no socket and does not wait. Its caller gives it what has come, and sends what it hands out. An inlet
//! that waits, a server with many connections, a search and a FieldTrip tunnel differ only in how they wait.
//!
//! A microcontroller (`firmware/node`) takes the steps of `schwann-session` itself. It has no heap, and its
//! messages lie where its samples lie later.

use alloc::sync::Arc;

use schwann_session::{Initiator, Progress, Refusal, Responder, Secure, Suite};

use super::Peer;
use crate::security::keys::Member;

/// One end of a handshake, and the membership with which it speaks.
pub struct Handshake {
    end: End,
    member: Arc<Member>,
}

enum End {
    Inlet(Box<Initiator>),
    Outlet(Box<Responder>),
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// The session is there; bytes from `consumed` on belong to it.
    Done {
        /// How many of the received bytes were the handshake's.
        consumed: usize,
    },
    /// All bytes are used, and more are needed.
    NeedsMore,
    /// There is no session. What the peer may know of it has been given to `send`.
    Refused(Refusal),
}

impl Handshake {
    /// The end that asks for a session. Its first [step](Self::step), which has received nothing, sends the first message.
    ///
    /// - Errors: why this device cannot begin one.
    pub fn inlet(member: &Arc<Member>, suite: Suite) -> Result<Self, Refusal> {
        let initiator = member.with_context(|context| Initiator::new(suite, context))?;
        Ok(Self { end: End::Inlet(Box::new(initiator)), member: Arc::clone(member) })
    }

    /// The end that is asked.
    pub fn outlet(member: &Arc<Member>) -> Self {
        Self { end: End::Outlet(Box::new(Responder::new())), member: Arc::clone(member) }
    }

    /// Takes what the peer has sent, and gives `send` all that goes to the peer now, if there is anything.
    ///
    /// - Errors: that of `send`, which must take all or fail. A failure to send the reason of a refusal does not count: the
    ///   refusal does.
    pub fn step<E>(&mut self, received: &[u8], send: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<Step, E> {
        let end = &mut self.end;
        let progress = self.member.with_context(|context| match end {
            End::Inlet(initiator) => initiator.handle(received, context),
            End::Outlet(responder) => responder.handle(received, context),
        });
        let sent = self.send_output(send);
        match progress {
            Ok(Progress::Done { consumed }) => sent.map(|()| Step::Done { consumed }),
            Ok(Progress::NeedsMore) => sent.map(|()| Step::NeedsMore),
            Err(refusal) => Ok(Step::Refused(refusal)),
        }
    }

    fn send_output<E>(&mut self, send: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let output = match &self.end {
            End::Inlet(initiator) => initiator.poll_output(),
            End::Outlet(responder) => responder.poll_output(),
        };
        if output.is_empty() {
            return Ok(());
        }
        send(output)?;
        let count = output.len();
        match &mut self.end {
            End::Inlet(initiator) => initiator.sent(count),
            End::Outlet(responder) => responder.sent(count),
        }
        Ok(())
    }

    /// What it means that the peer has closed the connection now.
    pub fn closed(&self) -> Refusal {
        match &self.end {
            End::Inlet(initiator) => initiator.closed(),
            End::Outlet(_) => Refusal::Closed,
        }
    }

    /// Hands over the session, with the member at its other end; nothing before [`Step::Done`].
    pub fn finish(self) -> Option<(Box<Secure>, Peer)> {
        let established = match self.end {
            End::Inlet(initiator) => initiator.finish(),
            End::Outlet(responder) => responder.finish(),
        };
        let mut established = established?;
        established.session.set_rekey_limits(self.member.rekey_limits());
        Some((Box::new(established.session), Peer::new(established.peer, self.member)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::{Lab, step};

    /// The two ends of a handshake.
    struct Ends {
        inlet: Handshake,
        outlet: Handshake,
    }

    impl Ends {
        fn of(asks: &Arc<Member>, is_asked: &Arc<Member>) -> Self {
            let inlet = Handshake::inlet(asks, Suite::Hybrid).expect("keys are there");
            Self { inlet, outlet: Handshake::outlet(is_asked) }
        }

        /// Moves bytes to and fro, at most `most` at a time. Returns each end's outcome, and the bytes behind the
        /// handshake.
        fn shake(&mut self, most: usize) -> ([Step; 2], Vec<u8>) {
            let (mut forth, mut back) = (Vec::new(), Vec::new());
            let mut steps = [step(&mut self.inlet, &[], &mut forth), Step::NeedsMore];
            while steps.contains(&Step::NeedsMore) && !(forth.is_empty() && back.is_empty()) {
                if steps[1] == Step::NeedsMore {
                    let part: Vec<u8> = forth.drain(..most.min(forth.len())).collect();
                    steps[1] = step(&mut self.outlet, &part, &mut back);
                }
                if steps[0] == Step::NeedsMore {
                    let part: Vec<u8> = back.drain(..most.min(back.len())).collect();
                    steps[0] = step(&mut self.inlet, &part, &mut forth);
                }
            }
            (steps, back)
        }
    }

    #[test]
    fn two_members_have_a_session_however_their_bytes_are_cut() {
        for most in [1, 7, 4096] {
            let member = Lab::new().into_member();
            let mut ends = Ends::of(&member, &member);
            let (steps, mut greeting) = ends.shake(most);
            assert!(steps.iter().all(|step| matches!(step, Step::Done { .. })), "{steps:?} by {most}");
            let (mut inlet, peer) = ends.inlet.finish().expect("done");
            let (mut outlet, _) = ends.outlet.finish().expect("done");
            assert_eq!(peer.identity().statement.serial, 1);
            inlet.open(&mut greeting).expect("the outlet's greeting");
            let mut wire = [0; 128];
            let length = inlet.seal(b"said", &mut wire).expect("room");
            assert!(outlet.open(&mut wire[..length]).is_ok());
        }
    }

    #[test]
    fn a_refusal_counts_even_if_its_reason_cannot_be_sent() {
        let mut ends = Ends::of(&Lab::new().into_member(), &Lab::new().into_member());
        let (steps, _) = ends.shake(4096);
        assert_eq!(steps[0], Step::Refused(Refusal::WrongLab));
        let lab = Lab::new().into_member();
        let mut outlet = Handshake::outlet(&lab);
        let step = outlet.step(b"LSL:secure/2 ", |_| Err("cut"));
        assert_eq!(step, Ok(Step::Refused(Refusal::PeerTooNew)));
    }

    #[test]
    fn a_message_that_was_not_sent_ends_in_no_session() {
        let mut inlet = Handshake::inlet(&Lab::new().into_member(), Suite::Hybrid).expect("keys are there");
        assert_eq!(inlet.step(&[], |_| Err("cut")), Err("cut"));
        assert_eq!(inlet.closed(), Refusal::PlainPeer);
        assert!(inlet.finish().is_none());
    }
}
