//! The pushing thread's half of the fan-out.

use super::*;
use crate::net::link::wait_any_writable;

impl Sending {
    pub(crate) fn new() -> Self {
        Self {
            generation: 0,
            encodings: EncodingSet::default(),
            chunk_samples: None,
            direct: Vec::new(),
            wire: Vec::new(),
        }
    }

    /// Whether the consumer list is another one than this view was made from.
    pub(crate) fn is_stale(&self, fanout: &Fanout) -> bool {
        self.generation != fanout.generation.load(Ordering::Acquire)
    }

    /// Takes the present consumer list as the receivers of the next samples.
    pub(crate) fn renew(&mut self, fanout: &Fanout) {
        let state = fanout.lock();
        self.generation = fanout.generation.load(Ordering::Acquire);
        self.encodings = state.consumers.iter().map(|consumer| consumer.encoding).collect();
        self.chunk_samples = state.consumers.iter().filter_map(|consumer| consumer.chunk_samples).min();
    }
}

impl Fanout {
    /// Gives `pending` to all consumers that `sending` knows of; empties it.
    ///
    /// Does not block: what a socket does not take at once is left to the server thread.
    pub(crate) fn flush(&self, sending: &mut Sending, pending: &mut Pending, route: Route) {
        if route == Route::Direct {
            self.take_turns(sending, pending);
            for direct in &mut sending.direct {
                let bytes = pending.bytes(direct.encoding);
                direct.progress = direct.link.send_through(bytes, &mut sending.wire);
            }
            sending.direct.iter().for_each(|direct| direct.link.layer().idle());
        }
        let call = self.settle(sending, pending);
        pending.clear();
        if call {
            (self.call_server)();
        }
    }

    /// Lists the consumers that can be sent to directly.
    fn take_turns(&self, sending: &mut Sending, pending: &Pending) {
        let state = &mut *self.lock();
        for consumer in &mut state.consumers {
            let receives =
                consumer.joined <= sending.generation && !pending.bytes(consumer.encoding).is_empty();
            if receives && consumer.is_idle(&state.logs[consumer.encoding.index()]) {
                consumer.take_turn();
                sending.direct.push(Direct {
                    id: consumer.id,
                    encoding: consumer.encoding,
                    link: Arc::clone(&consumer.link),
                    progress: Progress::NOTHING,
                });
            }
        }
    }

    /// Notes what the direct sends did, stores what is left, and says whether the server must look.
    fn settle(&self, sending: &mut Sending, pending: &mut Pending) -> bool {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut work = false;
        for encoding in sending.encodings.iter() {
            work |= state.store(encoding, sending, pending);
        }
        for direct in sending.direct.drain(..) {
            if let Some(consumer) = state.consumers.iter_mut().find(|consumer| consumer.id == direct.id) {
                consumer.end_turn(direct.progress);
                // Only the server thread waits for sockets and removes consumers.
                work |= consumer.blocked || consumer.failed;
            }
        }
        // The server tells who is too slow.
        work |= state.has_untold();
        work && !core::mem::replace(&mut state.server_called, true)
    }
}

impl Audience {
    /// Appends one encoding's bytes to its log if some consumer lacks part of them. Moves the cursors of
    /// the consumers that have all. Says whether the log has work for the server thread.
    fn store(&mut self, encoding: Encoding, sending: &Sending, pending: &mut Pending) -> bool {
        let len = pending.bytes(encoding).len();
        let taken = |consumer: &Consumer| {
            let direct = sending.direct.iter().find(|direct| direct.id == consumer.id);
            direct.map(|direct| direct.progress.taken)
        };
        let all_sent = self.consumers.iter().all(|consumer| {
            consumer.encoding != encoding
                || consumer.joined > sending.generation
                || taken(consumer) == Some(len)
        });
        if all_sent || len == 0 {
            return false;
        }
        let (samples, stamps) = (pending.samples(), pending.stamps_before);
        let log = &mut self.logs[encoding.index()];
        let start = log.append(pending.buffer(encoding), samples, stamps);
        let end = log.end();
        for consumer in self.consumers.iter_mut().filter(|consumer| consumer.encoding == encoding) {
            if consumer.joined > sending.generation {
                // It came after these samples; nothing older waits for it.
                consumer.cursor = end;
            } else if let Some(taken) = taken(consumer) {
                consumer.cursor = start + taken as u64;
            }
        }
        self.release(encoding);
        self.limit(encoding);
        true
    }
}

impl Fanout {
    /// Gives `pending` to all consumers that `sending` knows of, and returns when their kernels have it.
    ///
    /// A consumer that takes nothing for `timeout` is given up; it does not hold up the others.
    pub(crate) fn flush_blocking(&self, sending: &mut Sending, pending: &mut Pending, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.wait_until(Some(deadline), |state| {
            let busy = |consumer: &Consumer| {
                consumer.joined <= sending.generation
                    && !consumer.failed
                    && !consumer.is_idle(&state.logs[consumer.encoding.index()])
            };
            !state.consumers.iter().any(busy)
        });
        self.take_turns(sending, pending);
        send_to_all(&mut sending.direct, pending, timeout);
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut failed = false;
        for consumer in state.consumers.iter_mut().filter(|consumer| consumer.joined <= sending.generation) {
            match sending.direct.iter().find(|direct| direct.id == consumer.id) {
                Some(direct) => consumer.end_turn(direct.progress),
                // Still busy with the handshake's answer when the time was up.
                None => consumer.failed = true,
            }
            failed |= consumer.failed;
        }
        sending.direct.clear();
        drop(guard);
        pending.clear();
        if failed {
            (self.call_server)();
        }
    }
}

/// Sends all of `pending` to each of `direct`, waiting for their sockets; one that takes nothing for
/// `timeout` has failed.
fn send_to_all(direct: &mut [Direct], pending: &Pending, timeout: Duration) {
    let mut waiting = Vec::new();
    for one in direct {
        let bytes = pending.bytes(one.encoding);
        one.progress = one.link.send(core::iter::once(bytes));
        if one.progress.blocked && !one.progress.failed {
            waiting.push((one, bytes, Instant::now() + timeout));
        }
    }
    while let Some(deadline) = waiting.iter().map(|(.., deadline)| *deadline).min() {
        let links = waiting.iter().map(|(one, ..)| one.link.as_ref());
        wait_any_writable(links, deadline.saturating_duration_since(Instant::now()));
        waiting.retain_mut(|(one, bytes, deadline)| {
            let rest = bytes.get(one.progress.taken..).unwrap_or_default();
            let progress = one.link.send(core::iter::once(rest));
            one.progress.taken += progress.taken;
            let now = Instant::now();
            if progress.taken > 0 {
                *deadline = now + timeout;
            }
            one.progress.failed = progress.failed || (progress.blocked && now >= *deadline);
            one.progress.blocked = progress.blocked && !one.progress.failed;
            one.progress.blocked
        });
    }
}
