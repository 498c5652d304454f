//! What the threads of one inlet share: its samples, and the right to receive more.
//!
//! The thread that needs samples receives them. A pull that waits reads the socket itself, so a sample
//! costs one system call and one wake-up. While no thread pulls, the connection's thread drains the socket
//! now and then. The right to receive is the [`Receiver`] value. The state holds it when no thread
//! receives; the receiving thread takes it.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::queue::SampleQueue;
use super::receiver::{Received, Receiver, Wait};
use crate::Error;
use crate::net::bell::Bells;
use crate::net::link::Link;

/// Where the data connection stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// No samples were asked for yet, or the stream was closed.
    Closed,
    /// The connection's thread is at work to make a connection.
    Connecting,
    /// Samples can arrive.
    Open,
    /// The stream is gone for good.
    Lost,
}

/// The part under the lock.
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// There was a connection since the stream was last closed.
    pub(crate) was_open: bool,
    /// Samples of the present connection, or of the one that broke.
    pub(crate) queue: Option<SampleQueue>,
    /// Samples of earlier connections that are still to be pulled, oldest first.
    older: VecDeque<SampleQueue>,
    pub(crate) receiver: Option<Receiver>,
    /// The present connection, to be shut down when the stream is closed.
    pub(crate) link: Option<Arc<Link>>,
    /// Counts connections and closings, so that what belongs to an older one is recognised.
    pub(crate) epoch: u64,
    /// Counts closings, so that a wait for the stream to open ends when it is closed.
    pub(crate) closings: u64,
    /// The connection broke and its thread must look.
    pub(crate) broken: bool,
    /// The inlet is being destroyed.
    pub(crate) ending: bool,
    /// Counts receives by pulling threads: while they come, no other thread needs to drain.
    pub(crate) pulls: u64,
    /// When bytes last arrived.
    pub(crate) last_arrival: Instant,
    /// A search for the stream is running.
    pub(crate) searching: bool,
    /// The outlet wants to hear that the program is too slow.
    pub(crate) takes_reports: bool,
    /// A loop waits for bytes and receives them itself. A thread that takes them in instead must
    /// ring.
    pub(crate) is_watched: bool,
    /// Samples dropped by connections that are over.
    dropped_before: u64,
    waiting: usize,
}

impl State {
    /// Makes a new connection the present one. What arrived before stays to be pulled.
    pub(crate) fn open(&mut self, queue: SampleQueue, receiver: Receiver) {
        self.older.extend(self.queue.replace(queue));
        self.receiver = Some(receiver);
        self.phase = Phase::Open;
        self.was_open = true;
        self.broken = false;
        self.last_arrival = Instant::now();
        self.limit();
    }

    /// Drops everything that was not pulled.
    pub(crate) fn discard(&mut self) {
        self.older.extend(self.queue.take());
        while let Some(queue) = self.older.pop_front() {
            self.dropped_before += queue.dropped();
        }
    }

    /// The queue that holds the oldest sample, if there is a sample.
    pub(crate) fn unread(&mut self) -> Option<&mut SampleQueue> {
        while let Some(done) = self.older.pop_front_if(|queue| queue.len() == 0) {
            self.dropped_before += done.dropped();
        }
        let queue = if self.older.is_empty() { self.queue.as_mut() } else { self.older.front_mut() };
        queue.filter(|queue| queue.len() > 0)
    }

    /// Drops all samples unseen and returns how many that were.
    pub(crate) fn flush(&mut self) -> usize {
        self.older.iter_mut().chain(&mut self.queue).map(SampleQueue::flush).sum()
    }

    /// Drops the oldest samples whose stamps are before `oldest`, and returns how many that were.
    pub(crate) fn drop_before(&mut self, oldest: f64) -> usize {
        let mut dropped = 0;
        while let Some(queue) = self.unread() {
            dropped += queue.drop_before(oldest);
            if queue.len() > 0 {
                break;
            }
        }
        dropped
    }

    /// Samples that can be pulled.
    pub(crate) fn sample_count(&self) -> usize {
        self.queues().map(SampleQueue::len).sum()
    }

    /// Bytes of the samples that can be pulled.
    pub(crate) fn byte_len(&self) -> usize {
        self.queues().map(SampleQueue::byte_len).sum()
    }

    /// Samples that were dropped because they were not pulled in time.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped_before + self.queues().map(SampleQueue::dropped).sum::<u64>()
    }

    fn queues(&self) -> impl Iterator<Item = &SampleQueue> {
        self.older.iter().chain(&self.queue)
    }

    /// Lets all queues together hold no more than one may.
    fn limit(&mut self) {
        let Some(queue) = &self.queue else { return };
        let (mut samples, mut bytes) = (queue.len(), queue.byte_len());
        for older in self.older.iter_mut().rev() {
            older.make_room(samples, bytes);
            samples += older.len();
            bytes += older.byte_len();
        }
    }
}

/// State, and the two ways to wait for it to change.
pub(crate) struct InletShared {
    state: Mutex<State>,
    /// Samples arrived, the phase changed, or the receiver came back.
    changed: Condvar,
    /// The connection's thread has something to do.
    control: Condvar,
    /// Of loops that wait for this inlet beside others.
    pub(crate) bells: Bells,
}

impl InletShared {
    pub(crate) fn new() -> Self {
        let state = State {
            phase: Phase::Closed,
            was_open: false,
            queue: None,
            older: VecDeque::new(),
            receiver: None,
            link: None,
            epoch: 0,
            closings: 0,
            broken: false,
            ending: false,
            pulls: 0,
            last_arrival: Instant::now(),
            searching: false,
            takes_reports: false,
            is_watched: false,
            dropped_before: 0,
            waiting: 0,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            control: Condvar::new(),
            bells: Bells::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all threads and loops that wait for this inlet.
    pub(crate) fn notify_all(&self) {
        self.changed.notify_all();
        self.control.notify_all();
        self.bells.ring();
    }

    /// Waits until the connection's thread has something to do, or `wait` is over.
    pub(crate) fn wait_control<'a>(&self, state: MutexGuard<'a, State>, wait: Wait) -> MutexGuard<'a, State> {
        wait_on(&self.control, state, wait)
    }

    /// Waits for any change of the state, or until `wait` is over.
    pub(crate) fn wait_changed<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        wait: Wait,
    ) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = wait_on(&self.changed, state, wait);
        state.waiting -= 1;
        state
    }

    /// Asks for the data connection unless that was done already.
    pub(crate) fn ask_to_open(&self, state: &mut State) {
        if state.phase == Phase::Closed && !state.ending {
            state.phase = Phase::Connecting;
            self.control.notify_all();
        }
    }

    /// Returns once a sample can be taken from the queue.
    ///
    /// - Errors: [`Error::Timeout`] after `wait`, or when the stream is closed meanwhile; [`Error::Lost`] if nothing will come.
    pub(crate) fn wait_for_samples(&self, wait: Wait) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.lock();
        let closings = state.closings;
        if matches!(wait, Wait::No) {
            // A loop that waits asks again after its pull.
            state.is_watched = false;
        }
        loop {
            // What arrived before a loss is delivered first.
            if state.unread().is_some() {
                return Ok(state);
            }
            if state.phase == Phase::Lost {
                return Err(Error::Lost);
            }
            if state.closings != closings {
                return Err(Error::Timeout);
            }
            if state.ending {
                return Err(Error::Lost);
            }
            self.ask_to_open(&mut state);
            if let Some(receiver) = state.receiver.take() {
                let (next, received) = self.receive(state, receiver, wait);
                state = next;
                state.pulls += 1;
                if received == Received::Nothing {
                    return Err(Error::Timeout);
                }
            } else if wait.is_over() {
                return Err(Error::Timeout);
            } else {
                state = self.wait_changed(state, wait);
            }
        }
    }

    /// Receives once and files what arrived.
    ///
    /// A receive that may wait leaves the lock. Then the queue must be empty, because its last block is
    /// with the receiver meanwhile. A receive that does not wait keeps the lock: others never see a queue
    /// without its last block.
    pub(crate) fn receive<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut receiver: Receiver,
        wait: Wait,
    ) -> (MutexGuard<'a, State>, Received) {
        let Some(mut block) = state.queue.as_mut().map(SampleQueue::take_tail) else {
            return (state, Received::Broken);
        };
        let (mut state, mut received) = if matches!(wait, Wait::No) {
            let received = receiver.receive(&mut block, wait);
            (state, received)
        } else {
            drop(state);
            let received = receiver.receive(&mut block, wait);
            (self.lock(), received)
        };
        if receiver.epoch != state.epoch {
            // The stream was closed or connected anew meanwhile: these bytes have no owner.
            return (state, Received::Broken);
        }
        receiver.tell_truncation();
        let filed = state.queue.as_mut().map_or(Ok(()), |queue| queue.put_back(block));
        state.limit();
        if matches!(received, Received::Bytes(_)) {
            state.last_arrival = Instant::now();
        }
        if filed.is_err() {
            received = Received::Broken;
        }
        if received == Received::Broken {
            state.broken = true;
            self.control.notify_all();
        } else {
            state.receiver = Some(receiver);
        }
        if state.waiting > 0 {
            self.changed.notify_all();
        }
        if received != Received::Nothing && core::mem::take(&mut state.is_watched) {
            self.bells.ring();
        }
        (state, received)
    }

    /// Takes in everything that has arrived, without waiting.
    pub(crate) fn drain<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, usize) {
        let mut total = 0;
        while let Some(receiver) = state.receiver.take() {
            let (next, received) = self.receive(state, receiver, Wait::No);
            match received {
                Received::Bytes(count) if total < DRAIN_LIMIT => total += count,
                _ => return (next, total),
            }
            // Lets pulls have a turn.
            drop(next);
            state = self.lock();
        }
        (state, total)
    }
}

fn wait_on<'a>(condvar: &Condvar, state: MutexGuard<'a, State>, wait: Wait) -> MutexGuard<'a, State> {
    match wait.left() {
        None => condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
        Some(left) => condvar.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
    }
}

/// Bytes taken in by one drain, so that a flood cannot hold its thread.
const DRAIN_LIMIT: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests;
