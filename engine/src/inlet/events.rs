//! What happened to a stream's connection, for those who want to know.

use alloc::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use super::receiver::Wait;

/// A change of the connection to a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The clock of the sender may be another one now.
    ClockReset,
    /// Samples arrive.
    Connected,
    /// The stream is gone and will not come back to this inlet.
    Lost,
    /// The connection broke and the stream is looked for.
    Recovering,
    /// There is no session with the outlet; [`Inlet::refusal`](super::Inlet::refusal) says why.
    Refused,
}

/// Events that nobody took yet; the oldest are dropped.
pub(crate) struct Events {
    waiting: Mutex<VecDeque<StreamEvent>>,
    arrived: Condvar,
}

/// Events kept for somebody who does not ask.
const KEPT: usize = 64;

impl Events {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(VecDeque::new()), arrived: Condvar::new() }
    }

    pub(crate) fn push(&self, event: StreamEvent) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == KEPT {
            waiting.pop_front();
        }
        waiting.push_back(event);
        drop(waiting);
        self.arrived.notify_all();
    }

    /// Takes the oldest event, waiting for one if there is none.
    pub(crate) fn next(&self, wait: Wait) -> Option<StreamEvent> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.is_empty() {
            waiting = match wait.left() {
                None => self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return None,
                Some(left) => {
                    self.arrived.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        waiting.pop_front()
    }
}
