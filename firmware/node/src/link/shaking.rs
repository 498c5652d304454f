//! The handshake of a link: from its first line to the session.

use schwann_proto::wire::feed::RequestReader;
use schwann_session::{Progress, Responder};

use super::{Event, Host, Link, PATIENCE, Phase, guard::Guard};
use crate::{outgoing::Outgoing, security::Surroundings, time::Micros};

impl<const RX: usize, const TX: usize> Link<RX, TX> {
    pub(super) fn begin_shaking(
        &mut self,
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> Event {
        self.await_message(surroundings.now);
        let said = self.intake.plain();
        let step = step_handshake(&mut self.guard, &mut self.out, said, host, surroundings);
        // The message that makes a session is the peer's second: nothing that it has said goes beyond its first.
        self.intake.clear();
        self.follow(&step, &[], host, surroundings).1
    }

    /// Not part of its caller, whose frame lies below the whole handshake: the responder is made on the stack.
    #[inline(never)]
    fn await_message(&mut self, now: Micros) {
        self.phase = Phase::Shaking;
        self.guard = Guard::Shaking(Responder::new());
        self.deadline = now.after(PATIENCE);
    }

    pub(super) fn shake_hands(
        &mut self,
        bytes: &[u8],
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> (usize, Event) {
        let step = step_handshake(&mut self.guard, &mut self.out, bytes, host, surroundings);
        self.follow(&step, bytes, host, surroundings)
    }

    /// Goes on as a step of the handshake says; `bytes` are those that it took.
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
                if !self.enter_session() {
                    return (bytes.len(), self.give_up());
                }
                self.deadline = surroundings.now.after(PATIENCE);
                let count = self.intake.take(bytes.get(consumed..).unwrap_or_default());
                self.listen(host, surroundings);
                (consumed + count, Event::Established)
            }
            Shaken::Broken => (bytes.len(), self.give_up()),
            Shaken::Refused => {
                // What the responder has to say to such a peer still goes out.
                self.phase = Phase::Closing;
                (bytes.len(), Event::Refused)
            }
        }
    }

    /// From here on everything is sealed; what the peer wants comes next. Tells whether there is a session.
    ///
    /// Not part of its caller, whose frame lies below the whole handshake: the responder is moved over the stack.
    #[inline(never)]
    fn enter_session(&mut self) -> bool {
        let Guard::Shaking(responder) = core::mem::replace(&mut self.guard, Guard::Open) else {
            return false;
        };
        let Some(mut established) = responder.finish() else { return false };
        let datagrams = established.session.take_datagrams();
        self.guard = Guard::Sealed(established.session, datagrams);
        self.phase = Phase::Asking(RequestReader::new());
        true
    }
}

/// What a step of a handshake came to.
enum Shaken {
    Goes,
    Done { consumed: usize },
    Broken,
    Refused,
}

fn step_handshake<const TX: usize>(
    guard: &mut Guard,
    out: &mut Outgoing<TX>,
    bytes: &[u8],
    host: &Host<'_, '_>,
    surroundings: &mut Surroundings<'_>,
) -> Shaken {
    let (Guard::Shaking(responder), Some(member)) = (guard, host.security.member()) else {
        return Shaken::Broken;
    };
    let step = surroundings.with_context(member, |context| responder.handle(bytes, context));
    let output = responder.poll_output();
    let (len, put) = (output.len(), out.put_raw(output));
    responder.sent(len);
    match (step, put) {
        (Ok(Progress::NeedsMore), Ok(())) => Shaken::Goes,
        (Ok(Progress::Done { consumed }), Ok(())) => Shaken::Done { consumed },
        (Ok(_), Err(_)) => Shaken::Broken,
        (Err(_), _) => Shaken::Refused,
    }
}
