//! The server thread's half of the fan-out.

use super::*;

/// The server thread's buffers for one send after the other.
#[derive(Default)]
pub(crate) struct Draining {
    blocks: Vec<Arc<Block>>,
    bridge: Vec<u8>,
}

/// Consumers that cannot be sent to.
pub(crate) struct Stuck {
    /// Their sockets are full.
    pub(crate) blocked: Vec<u64>,
    /// Their connections are broken and must be removed.
    pub(crate) failed: Vec<u64>,
}

/// A consumer whose turn the server thread has.
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
        if let Some(consumer) = self.lock().consumers.iter_mut().find(|consumer| consumer.id == id) {
            consumer.blocked = false;
            consumer.became_writable = true;
        }
    }

    /// The consumers that cannot be sent to now.
    pub(crate) fn stuck(&self) -> Stuck {
        let state = self.lock();
        let all = |which: fn(&Consumer) -> bool| {
            state.consumers.iter().filter(|consumer| which(consumer)).map(|consumer| consumer.id).collect()
        };
        Stuck { blocked: all(|consumer| consumer.blocked), failed: all(|consumer| consumer.failed) }
    }

    fn claim(&self, draining: &mut Draining) -> Option<Claim> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let logs = &mut state.logs;
        let consumer = state
            .consumers
            .iter_mut()
            .find(|consumer| consumer.wants_service(&logs[consumer.encoding.index()]))?;
        let log = &mut logs[consumer.encoding.index()];
        consumer.drop_oldest(log, consumer.capacity);
        draining.bridge.clear();
        draining.bridge.extend_from_slice(consumer.bridge.get(consumer.bridge_sent..).unwrap_or_default());
        log.blocks_from(consumer.cursor, BLOCKS_PER_SEND, &mut draining.blocks);
        consumer.take_turn();
        Some(Claim { id: consumer.id, link: Arc::clone(&consumer.link), cursor: consumer.cursor })
    }

    fn release_turn(&self, claim: &Claim, progress: Progress) {
        let mut guard = self.lock();
        let Some(consumer) = guard.consumers.iter_mut().find(|consumer| consumer.id == claim.id) else {
            return;
        };
        consumer.advance(progress.taken);
        consumer.end_turn(progress);
        let encoding = consumer.encoding;
        guard.release(encoding);
        drop(guard);
        self.changed.notify_all();
    }
}
