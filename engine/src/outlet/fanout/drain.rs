//! The server thread's half of the fan-out.

use super::*;

/// The server thread's buffers for one send after the other.
#[derive(Default)]
pub(crate) struct Draining {
    blocks: Vec<Arc<Block>>,
    bridge: Vec<u8>,
}

/// Members to whom nothing can be sent.
pub(crate) struct Stuck {
    /// Their sockets are full.
    pub(crate) blocked: Vec<u64>,
    /// Their connections are broken, and they are to be removed.
    pub(crate) failed: Vec<u64>,
}

/// A member whose turn the server thread has.
struct Claim {
    id: u64,
    link: Arc<Link>,
    cursor: u64,
}

impl Fanout {
    /// Sends what waits for each consumer whose socket takes it, until nothing is left to do.
    pub(crate) fn drain(&self, draining: &mut Draining) {
        self.lock().server_called = false;
        while let Some(claim) = self.claim(draining) {
            let progress = {
                let first = core::iter::once(draining.bridge.as_slice()).filter(|bridge| !bridge.is_empty());
                let blocks = draining.blocks.iter().map(|block| block.from(claim.cursor));
                claim.link.send(first.chain(blocks))
            };
            // Before the log lets go of them, so that it can use their memory again.
            draining.blocks.clear();
            self.release_turn(&claim, progress);
        }
    }

    /// A socket can take bytes again.
    pub(crate) fn writable(&self, id: u64) {
        if let Some(member) = self.lock().members.iter_mut().find(|member| member.id == id) {
            member.blocked = false;
            member.became_writable = true;
        }
    }

    /// The members to whom nothing can be sent now.
    pub(crate) fn stuck(&self) -> Stuck {
        let state = self.lock();
        let all = |which: fn(&Member) -> bool| {
            state.members.iter().filter(|member| which(member)).map(|member| member.id).collect()
        };
        Stuck { blocked: all(|member| member.blocked), failed: all(|member| member.failed) }
    }

    fn claim(&self, draining: &mut Draining) -> Option<Claim> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let logs = &mut state.logs;
        let member =
            state.members.iter_mut().find(|member| member.wants_service(&logs[member.encoding.index()]))?;
        let log = &mut logs[member.encoding.index()];
        member.drop_oldest(log, member.capacity);
        draining.bridge.clear();
        draining.bridge.extend_from_slice(member.bridge.get(member.bridge_sent..).unwrap_or_default());
        log.blocks_from(member.cursor, BLOCKS_PER_SEND, &mut draining.blocks);
        // From here on the whole bridge may be under way.
        member.bridge_fixed = member.bridge.len();
        member.take_turn();
        Some(Claim { id: member.id, link: Arc::clone(&member.link), cursor: member.cursor })
    }

    fn release_turn(&self, claim: &Claim, progress: Progress) {
        let mut guard = self.lock();
        let Some(member) = guard.members.iter_mut().find(|member| member.id == claim.id) else { return };
        member.advance(progress.taken);
        member.end_turn(progress);
        let encoding = member.encoding;
        guard.release(encoding);
        drop(guard);
        self.changed.notify_all();
    }
}
