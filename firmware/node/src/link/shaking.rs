//! The handshake of a link: from its first line to the session.

use schwann_proto::wire::feed::RequestReader;
use schwann_session::{BareResponder, Desk, Progress, UnixSeconds};

use super::{Event, Host, LINK_TIMEOUT_US, Link, Phase, guard::Guard};
use crate::{security::Surroundings, time::Micros};

impl<const RX: usize, const TX: usize> Link<RX, TX> {
    pub(super) fn begin_shaking(
        &mut self,
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> Event {
        self.await_message(surroundings.now);
        // What the peer has said lies in the intake already.
        self.shake_hands(&[], host, surroundings).1
    }

    /// Not part of its caller, whose frame lies below the whole handshake: the responder is made on the stack.
    #[inline(never)]
    fn await_message(&mut self, now: Micros) {
        self.phase = Phase::Shaking;
        self.guard = Guard::Shaking(BareResponder::new());
        self.deadline = now.after(LINK_TIMEOUT_US);
    }

    pub(super) fn shake_hands(
        &mut self,
        bytes: &[u8],
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> (usize, Event) {
        let step = self.step_handshake(bytes, host, surroundings);
        self.follow(&step, bytes, host, surroundings)
    }

    /// Goes on as a step of the handshake says; the step took `bytes`.
    fn follow(
        &mut self,
        step: &Shaken,
        bytes: &[u8],
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> (usize, Event) {
        match *step {
            Shaken::Goes => (bytes.len(), Event::None),
            Shaken::Done { consumed } => {
                self.intake.clear();
                let Some(certified) = self.enter_session() else {
                    return (bytes.len(), self.give_up());
                };
                self.deadline = surroundings.now.after(LINK_TIMEOUT_US);
                let count = self.intake.take(bytes.get(consumed..).unwrap_or_default());
                self.listen(host, surroundings);
                (consumed + count, Event::Established { certified })
            }
            Shaken::Broken => (bytes.len(), self.give_up()),
            Shaken::Refused => {
                // What the responder has to say to such a peer still goes out.
                self.phase = Phase::Closing;
                (bytes.len(), Event::Refused)
            }
        }
    }

    /// From here on everything is sealed; what the peer wants comes next. Returns from when on the peer is certified, if
    /// there is a session.
    ///
    /// Not part of its caller, whose frame lies below the whole handshake: the responder is moved over the stack.
    #[inline(never)]
    fn enter_session(&mut self) -> Option<UnixSeconds> {
        let Guard::Shaking(responder) = core::mem::replace(&mut self.guard, Guard::Open) else {
            return None;
        };
        let mut established = responder.finish()?;
        let datagrams = established.session.take_datagrams();
        self.guard = Guard::Sealed(established.session, datagrams);
        self.phase = Phase::Asking(RequestReader::new());
        Some(established.peer.statement.not_before)
    }
    /// The messages lie where requests and answers lie later.
    fn step_handshake(
        &mut self,
        bytes: &[u8],
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> Shaken {
        let (Guard::Shaking(responder), Some(member)) = (&mut self.guard, host.security.member()) else {
            return Shaken::Broken;
        };
        let (intake, out) = (&mut self.intake, &mut self.out);
        let step = out.put_by(|output| {
            let mut desk = Desk { inbox: intake.room(), output };
            surroundings.with_context(member, |context| responder.handle(bytes, &mut desk, context))
        });
        match step {
            Ok(Progress::NeedsMore) => Shaken::Goes,
            Ok(Progress::Done { consumed }) => Shaken::Done { consumed },
            Err(_) => Shaken::Refused,
        }
    }
}

/// What a step of a handshake came to.
enum Shaken {
    Goes,
    Done { consumed: usize },
    Broken,
    Refused,
}
