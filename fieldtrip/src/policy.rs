//! What a server permits its clients.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use crate::door::Door;
use crate::wire::Command;

/// What a server permits its clients. The default is what the original permits, within bounds.
#[derive(Clone, Default)]
pub struct Policy {
    /// Whether clients may change the buffer.
    pub access: Access,
    /// If there is one, only programs of this user, on this computer, come in; it is told of all others.
    pub door: Option<Arc<dyn Door>>,
    /// Asked before each request; see [`Gate`].
    pub gate: Option<Arc<dyn Gate>>,
    /// How much one client may ask for.
    pub limits: Limits,
}

/// Whether clients may change the buffer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Access {
    /// Putting and flushing are refused.
    ReadOnly,
    /// Everything is permitted.
    #[default]
    ReadWrite,
}

/// Sees every request before it is carried out: to log it, to count it, to refuse it.
pub trait Gate: Send + Sync {
    /// Says what becomes of a request; asked before memory is taken for its payload.
    fn judge(&self, peer: PeerId, command: Command, payload_bytes: u32) -> Verdict;
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is carried out.
    Permit,
    /// The client gets the command's error reply.
    Refuse,
}

/// One connection of a server, for as long as the program runs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct PeerId(pub u64);

/// Bounds on what one client may ask for. More ends its connection, and only its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Largest header with its chunks, in bytes.
    pub header_bytes: u32,
    /// Largest request with events, in bytes.
    pub event_bytes: u32,
    /// Largest request with samples, in bytes. Memory is taken only for what the ring can hold, as it arrives.
    pub sample_bytes: u32,
    /// Bytes of unfinished big requests, of all clients together.
    pub unfinished_bytes: u64,
    /// Bytes of a reply taken out of the ring at once: the cost of a client that stops reading. The rest follows
    /// as the client reads; if the ring has overwritten it by then, the connection ends.
    pub reply_bytes: u32,
    /// Connections at a time; further ones are closed at once.
    pub peers: u32,
    /// Longest silence of a client that is not waiting; `None` for any.
    pub idle: Option<Duration>,
    /// Longest time that a client may leave a reply unread; `None` for any.
    pub stall: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 64 << 20,
            event_bytes: 16 << 20,
            // The original's largest block of up to 256 channels: 600,000 samples of float64.
            sample_bytes: 16 + 600_000 * 256 * 8,
            unfinished_bytes: 2 << 30,
            reply_bytes: 8 << 20,
            peers: 1024,
            idle: None,
            stall: None,
        }
    }
}

/// Memory that clients share for what they have not finished sending.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
}

/// A part of a budget, given back on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(bytes) })
    }
}

impl Reservation {
    pub(crate) fn nothing(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Reserves more; false, and nothing changes, if that is more than is left.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let take = |left: u64| left.checked_sub(bytes);
        let granted = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        self.bytes += if granted { bytes } else { 0 };
        granted
    }

    pub(crate) fn release(&mut self) {
        self.budget.left.fetch_add(core::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_always_given_back() {
        let budget = Budget::new(100);
        let (mut one, mut two) = (Reservation::nothing(&budget), Reservation::nothing(&budget));
        assert!(one.grow(60) && two.grow(40) && !one.grow(1));
        drop(two);
        assert!(one.grow(40));
        one.release();
        drop(one);
        assert_eq!(budget.left.load(Ordering::Relaxed), 100);
    }
}
