//! A client's handshake: from its turn to the session.

use std::time::Instant;

use schwann_proto::wire::feed::RequestReader;

use super::{CLIENT_TIMEOUT, Conversation, Heard, Next, Role};
use crate::outlet::Shared;
use crate::security::journal::{self, Side};
use crate::security::link::{Flow, Handshake, Step};

impl Conversation {
    /// Keeps what a client says before its turn.
    pub(super) fn wait_for_turn(&mut self) -> Next {
        let Role::Waiting { received, .. } = &mut self.role else { return Next::Keep };
        let mut so_far = core::mem::take(received);
        let heard = self.hear(&mut so_far);
        if let Role::Waiting { received, .. } = &mut self.role {
            *received = so_far;
        }
        match heard {
            Heard::Nothing => Next::Keep,
            Heard::Enough | Heard::End => Next::Part,
        }
    }

    /// Gives the client its turn: begins to answer its handshake.
    pub(in crate::outlet::server) fn begin_securing(&mut self, shared: &Shared) -> Next {
        let Role::Waiting { received, deadline } = &mut self.role else { return Next::Keep };
        let (received, deadline) = (core::mem::take(received), *deadline);
        let Some(member) = &shared.terms.sealing else { return Next::Part };
        self.role = Role::Securing { handshake: Handshake::outlet(member), deadline };
        self.shake_hands(shared, &received)
    }

    /// Goes on with a handshake.
    pub(super) fn secure(&mut self, shared: &Shared) -> Next {
        loop {
            let mut received = Vec::new();
            let heard = self.hear(&mut received);
            let next = self.shake_hands(shared, &received);
            match heard {
                Heard::End if next == Next::Keep => return Next::Part,
                // The poller tells of bytes once, and not of the bytes that were left.
                Heard::Enough if next == Next::Keep && matches!(self.role, Role::Securing { .. }) => {}
                // A member that knows of a newer lab sends the update right behind its handshake. That may be more
                // than one read takes, and a link after its handshake reads on.
                _ => return next,
            }
        }
    }

    fn shake_hands(&mut self, shared: &Shared, received: &[u8]) -> Next {
        let Role::Securing { handshake, .. } = &mut self.role else { return Next::Keep };
        // A handshake's messages are far smaller than a socket's buffer: what does not go out now will not.
        let link = &self.link;
        let step = handshake.step(received, |output| {
            let taken = link.send(core::iter::once(output)).taken;
            if taken == output.len() { Ok(()) } else { Err(()) }
        });
        match step {
            Ok(Step::NeedsMore) => Next::Keep,
            Ok(Step::Done { consumed }) => {
                self.begin_sealed(shared, received.get(consumed..).unwrap_or_default())
            }
            Ok(Step::Refused(refusal)) => self.refuse(shared, refusal),
            Err(()) => Next::Part,
        }
    }

    /// From here on everything is sealed; what the client wants comes next.
    fn begin_sealed(&mut self, shared: &Shared, received: &[u8]) -> Next {
        let asking = Role::Asking {
            reader: RequestReader::new(),
            received: Vec::new(),
            deadline: Instant::now() + CLIENT_TIMEOUT,
        };
        let Role::Securing { handshake, .. } = core::mem::replace(&mut self.role, asking) else {
            return Next::Part;
        };
        let Some((mut session, peer)) = handshake.finish() else { return Next::Part };
        let datagrams = session.take_datagrams();
        self.session = datagrams.map(|datagrams| shared.probes.insert(datagrams));
        let address = self.link.peer_address();
        journal::connected(shared.advertisement.info(), address, peer.identity(), Side::Outlet);
        if let Some(member) = &shared.terms.sealing {
            member.note_met(address);
        }
        self.link.layer().begin(session, Some(peer));
        let mut plain = Vec::new();
        match self.opener.open(self.link.layer(), received, &mut plain) {
            Ok(Flow::Goes) => {}
            Ok(Flow::Ended) | Err(_) => return Next::Part,
        }
        if self.link.has_unsent() {
            self.link.send(core::iter::empty());
        }
        self.keep(plain);
        self.listen(shared)
    }
}
