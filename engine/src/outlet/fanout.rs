//! The receivers of an outlet's samples, and how the bytes get to them.
//!
//! Two threads send: the one that pushes, and the outlet's server thread. The pushing thread sends
//! directly to every consumer that has taken all earlier bytes. For the others it appends to the
//! [`Log`], and the server thread sends from there as their sockets permit. A consumer's [`Turn`] says
//! which of the two may touch its socket. So no lock is held while the kernel works.
//!
//! Before working here, read `docs/decisions/latency-path.md`.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schwann_proto::wire::feed::Report;
use schwann_session::PeerIdentity;

use super::log::{Block, Log};
use super::pending::Pending;
use crate::codec::{Encoding, EncodingSet, SampleCodec};
use crate::net::link::{Carrier, Link, Progress};

/// What a new consumer asked for.
pub(crate) struct Joining {
    pub(crate) link: Arc<Link>,
    pub(crate) encoding: Encoding,
    pub(crate) capacity: u64,
    pub(crate) chunk_samples: Option<u64>,
    /// The handshake's answer with the test pattern.
    pub(crate) answer: Vec<u8>,
}

/// A consumer as its operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerStatus {
    /// What its samples go by.
    pub carrier: Carrier,
    /// The consumer as text for people: the device's name if it has proven one, and its address or its process.
    pub name: String,
    /// Samples that this consumer was too slow for.
    pub dropped_samples: u64,
    /// Bytes waiting for it.
    pub waiting_bytes: u64,
    /// Whether the program there keeps up with its inlet, if that has said: only ours do.
    pub report: Option<Report>,
    /// The device, as the lab's authority says; nothing if the connection is plain.
    pub peer: Option<PeerIdentity>,
}

struct Audience {
    logs: [Log; Encoding::COUNT],
    consumers: Vec<Consumer>,
    next_id: u64,
    /// The server thread was woken and has not looked yet.
    server_called: bool,
    /// Samples dropped for consumers that are gone.
    dropped_before: u64,
}

/// All consumers of one outlet.
pub(crate) struct Fanout {
    state: Mutex<Audience>,
    /// Consumers come or go.
    changed: Condvar,
    /// Counts the changes of the consumer list.
    generation: AtomicU64,
    call_server: Box<dyn Fn() + Send + Sync>,
}

/// The pushing thread's view of the consumers; its buffers are reused.
pub(crate) struct Sending {
    generation: u64,
    pub(crate) encodings: EncodingSet,
    /// The smallest number of samples that any consumer wants to be held back.
    pub(crate) chunk_samples: Option<u64>,
    direct: Vec<Direct>,
    /// Where bytes are sealed.
    wire: Vec<u8>,
}

/// One send from the pushing thread.
struct Direct {
    id: u64,
    encoding: Encoding,
    link: Arc<Link>,
    progress: Progress,
}

/// How a flush treats consumers that could take the bytes at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    /// Send from this thread to all that keep up.
    Direct,
    /// Leave all sending to the server thread, which takes many samples at a time.
    Server,
}

impl Fanout {
    pub(crate) fn new(
        codecs: [SampleCodec; Encoding::COUNT],
        call_server: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let state = Audience {
            logs: codecs.map(Log::new),
            consumers: Vec::new(),
            next_id: 0,
            server_called: false,
            dropped_before: 0,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), generation: AtomicU64::new(0), call_server }
    }

    fn lock(&self) -> MutexGuard<'_, Audience> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a consumer; it receives every sample that is pushed from now on.
    pub(crate) fn join(&self, joining: Joining) -> u64 {
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        let cursor = state.logs[joining.encoding.index()].end();
        state.consumers.push(Consumer {
            id,
            link: joining.link,
            encoding: joining.encoding,
            capacity: joining.capacity,
            chunk_samples: joining.chunk_samples,
            joined: generation,
            turn: Turn::Free,
            bridge_fixed: joining.answer.len(),
            bridge: joining.answer,
            bridge_sent: 0,
            cursor,
            blocked: false,
            became_writable: false,
            failed: false,
            dropped: 0,
            told: None,
            report: None,
        });
        self.generation.store(generation, Ordering::Release);
        drop(state);
        self.changed.notify_all();
        id
    }

    /// Removes a consumer.
    pub(crate) fn leave(&self, id: u64) {
        let mut state = self.lock();
        let Some(index) = state.consumers.iter().position(|consumer| consumer.id == id) else { return };
        let consumer = state.consumers.swap_remove(index);
        state.dropped_before += consumer.dropped;
        state.release(consumer.encoding);
        self.generation.fetch_add(1, Ordering::Release);
        drop(state);
        self.changed.notify_all();
    }

    /// Makes the server thread look for work.
    pub(crate) fn call_server(&self) {
        (self.call_server)();
    }

    /// Number of consumers.
    pub(crate) fn count(&self) -> usize {
        self.lock().consumers.len()
    }

    /// Waits until there are at least `count` consumers, and says whether there are.
    pub(crate) fn wait_for(&self, count: usize, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.wait_until(deadline, |state| state.consumers.len() >= count)
    }

    /// Waits until every byte pushed so far is with the kernel, and says whether it is.
    pub(crate) fn wait_until_sent(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.wait_until(deadline, |state| {
            state.consumers.iter().all(|consumer| consumer.failed || state.owed_to(consumer) == 0)
        })
    }

    /// Bytes that wait for consumers on this computer, plus one for each with bytes to be sealed or sent.
    pub(crate) fn owed_locally(&self) -> u64 {
        let state = self.lock();
        let local = state
            .consumers
            .iter()
            .filter(|consumer| consumer.link.carrier() == Carrier::Local && !consumer.failed);
        local.map(|consumer| state.owed_to(consumer)).sum()
    }

    fn wait_until(&self, deadline: Option<Instant>, done: impl Fn(&Audience) -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if done(&state) {
                return true;
            }
            state = match deadline {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// One entry per consumer.
    pub(crate) fn status(&self) -> Vec<ConsumerStatus> {
        let state = self.lock();
        let status = |consumer: &Consumer| ConsumerStatus {
            carrier: consumer.link.carrier(),
            name: consumer.link.peer_text(),
            dropped_samples: consumer.dropped,
            waiting_bytes: state.waiting_bytes(consumer),
            report: consumer.report,
            peer: consumer.link.layer().peer().copied(),
        };
        state.consumers.iter().map(status).collect()
    }

    /// Keeps what a consumer's inlet has said.
    pub(crate) fn note_report(&self, id: u64, report: Report) {
        if let Some(consumer) = self.lock().consumers.iter_mut().find(|consumer| consumer.id == id) {
            consumer.report = Some(report);
        }
    }

    /// The consumers that have lost samples since the last report, with the counts of all slow ones.
    pub(crate) fn newly_behind(&self, now: Instant) -> Vec<(String, u64)> {
        let mut state = self.lock();
        let untold = |consumer: &mut Consumer| Some((consumer.untold(now)?, Arc::clone(&consumer.link)));
        let found: Vec<_> = state.consumers.iter_mut().filter_map(untold).collect();
        drop(state);
        found.into_iter().map(|(lost, link)| (link.peer_text(), lost)).collect()
    }

    /// Samples dropped for all consumers that ever were, and bytes stored for the lagging
    /// ones.
    pub(crate) fn totals(&self) -> (u64, usize) {
        let state = self.lock();
        let dropped = state.consumers.iter().map(|consumer| consumer.dropped).sum::<u64>();
        (state.dropped_before + dropped, state.logs.iter().map(Log::stored_bytes).sum())
    }
}

impl Audience {
    /// Bytes that a consumer has yet to be sent.
    fn waiting_bytes(&self, consumer: &Consumer) -> u64 {
        let bridge = (consumer.bridge.len() - consumer.bridge_sent) as u64;
        self.logs[consumer.encoding.index()].end() - consumer.cursor + bridge
    }

    /// The same, and one more if some of what was sealed is not sent.
    fn owed_to(&self, consumer: &Consumer) -> u64 {
        self.waiting_bytes(consumer) + u64::from(consumer.link.has_unsent())
    }

    /// Forgets what every consumer of an encoding has taken.
    fn release(&mut self, encoding: Encoding) {
        let log = &mut self.logs[encoding.index()];
        let consumers = self.consumers.iter().filter(|consumer| consumer.encoding == encoding);
        let slowest = consumers.map(|consumer| consumer.cursor).min().unwrap_or(log.end());
        log.release(slowest);
    }

    /// Keeps a log within what its slowest consumer may lag.
    fn limit(&mut self, encoding: Encoding) {
        let log = &self.logs[encoding.index()];
        let of_encoding =
            |consumer: &&mut Consumer| consumer.encoding == encoding && consumer.turn == Turn::Free;
        let most = self.consumers.iter().filter(|consumer| consumer.encoding == encoding);
        let most = most.map(|consumer| consumer.capacity).max().unwrap_or(0);
        if !log.is_over(most, STORED_BYTES_LIMIT) {
            return;
        }
        let by_bytes = log.samples_in(STORED_BYTES_LIMIT);
        for consumer in self.consumers.iter_mut().filter(of_encoding) {
            consumer.drop_oldest(log, consumer.capacity.min(by_bytes));
        }
        self.release(encoding);
    }

    /// Whether a consumer has lost samples and the outlet has not said so yet.
    fn has_untold(&self) -> bool {
        self.consumers.iter().any(|consumer| consumer.dropped > 0 && consumer.told.is_none())
    }
}

/// Bytes that all logs of one outlet may hold for consumers that lag.
const STORED_BYTES_LIMIT: usize = 1 << 30;
/// Blocks handed to the kernel in one call.
const BLOCKS_PER_SEND: usize = 16;

mod consumer;
mod drain;
mod flush;

pub(crate) use self::consumer::Consumer;
use self::consumer::Turn;
pub(crate) use self::drain::{Draining, Stuck};

#[cfg(test)]
mod tests;
