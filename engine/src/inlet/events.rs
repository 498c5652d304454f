//! What happened to a stream's connection, for users and programs that watch it.

use alloc::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::receiver::Wait;

/// A change of the connection to a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The program gets old samples, or lost some: [`Inlet::set_alarm`](super::Inlet::set_alarm) says what counts as old.
    Behind,
    /// The program gets samples of the present again.
    CaughtUp,
    /// The clock of the sender may be another one now.
    ClockReset,
    /// Samples arrive.
    Connected,
    /// The stream is gone and will not come back to this inlet.
    Lost,
    /// Another device than before serves the stream, or none that seals; [`Inlet::peer`](super::Inlet::peer) says which.
    OtherDevice,
    /// The connection broke and the stream is looked for.
    Recovering,
    /// There is no session with the outlet; [`Inlet::refusal`](super::Inlet::refusal) says why.
    Refused,
    /// Nothing arrives although the stream has a rate; told if there is an alarm.
    Silent,
}

/// Events not taken yet; the oldest are dropped.
pub(crate) struct Events {
    state: Mutex<EventQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct EventQueue {
    waiting: VecDeque<StreamEvent>,
    /// Nothing will happen any more.
    ended: bool,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn push(&self, event: StreamEvent) {
        let mut state = self.lock();
        if state.waiting.len() == KEPT {
            state.waiting.pop_front();
        }
        state.waiting.push_back(event);
        drop(state);
        self.changed.notify_all();
    }

    /// Ends every wait.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Takes the oldest event, waiting for one if there is none and one may come.
    pub(crate) fn next(&self, wait: Wait) -> Option<StreamEvent> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.ended {
            state = match wait.left() {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return None,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.waiting.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, EventQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most events kept until they are taken.
const KEPT: usize = 64;
