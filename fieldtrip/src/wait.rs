//! The waits for samples or events, and how they are ended.
//!
//! The thread that puts data takes finished waits out of the set while it holds the store's lock. It reports
//! them after it has let go. So the writer's thread serves a waiting reader, and no other thread has to wake
//! up first.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Instant;

use crate::store::{Refused, Store};
use crate::wire::Totals;

/// How a wait ended: the totals, or the header is gone.
pub(crate) type WaitEnd = Result<Totals, Refused>;

/// Is told the end of a wait, once, from any thread. Must not block.
pub(crate) trait Sink: Send + Sync {
    fn finished(&self, end: WaitEnd);
}

/// Names a wait in its set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct WaitId(u64);

/// The waits of one buffer.
#[derive(Default)]
pub(crate) struct WaitSet {
    waits: Vec<Wait>,
    next: u64,
}

struct Wait {
    id: WaitId,
    threshold: Totals,
    sink: Arc<dyn Sink>,
}

/// Waits that are over and have yet to be told so; telling happens on drop at the latest.
#[must_use = "dropping tells the waiting readers now"]
#[derive(Default)]
pub(crate) struct Wake(Vec<(Arc<dyn Sink>, WaitEnd)>);

impl Wake {
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.0.is_empty() {
            core::mem::swap(self, &mut other);
        } else {
            self.0.append(&mut other.0);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn tell(&mut self) {
        for (sink, end) in self.0.drain(..) {
            sink.finished(end);
        }
    }
}

impl Drop for Wake {
    #[inline]
    fn drop(&mut self) {
        // A program that fills a buffer alone has no waiting readers; then this check is the whole
        // cost.
        if !self.0.is_empty() {
            self.tell();
        }
    }
}

impl WaitSet {
    pub(crate) fn insert(&mut self, threshold: Totals, sink: Arc<dyn Sink>) -> WaitId {
        let id = WaitId(self.next);
        self.next += 1;
        self.waits.push(Wait { id, threshold, sink });
        id
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Takes a wait back. False if its end was told, is being told, or it does not exist.
    pub(crate) fn remove(&mut self, id: WaitId) -> bool {
        let index = self.waits.iter().position(|wait| wait.id == id);
        index.map(|index| self.waits.swap_remove(index)).is_some()
    }

    /// Takes out the waits that the store's present state ends.
    #[inline]
    pub(crate) fn take_finished(&mut self, store: &Store) -> Wake {
        if self.waits.is_empty() { Wake::default() } else { self.take_out_finished(store) }
    }

    fn take_out_finished(&mut self, store: &Store) -> Wake {
        let end = store.totals();
        let is_over = |wait: &mut Wait| store.is_past(wait.threshold).unwrap_or(true);
        Wake(self.waits.extract_if(.., is_over).map(|wait| (wait.sink, end)).collect())
    }
}

/// A thread that waits for the end.
pub(crate) struct Parked {
    thread: Thread,
    end: OnceLock<WaitEnd>,
}

impl Parked {
    pub(crate) fn current() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), end: OnceLock::new() })
    }

    /// Waits for the end until `deadline`; call it on the thread that called [`Self::current`].
    pub(crate) fn sleep_until(&self, deadline: Option<Instant>) -> Option<WaitEnd> {
        loop {
            if let Some(end) = self.end.get() {
                return Some(*end);
            }
            match deadline {
                None => thread::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    thread::park_timeout(left);
                }
            }
        }
    }

    /// Waits for the end until `deadline` without falling asleep.
    pub(crate) fn look_until(&self, deadline: Option<Instant>) -> Option<WaitEnd> {
        while deadline.is_none_or(|deadline| Instant::now() < deadline) {
            for _ in 0..LOOKS_PER_TIME {
                if let Some(end) = self.end.get() {
                    return Some(*end);
                }
                core::hint::spin_loop();
            }
        }
        None
    }
}

impl Sink for Parked {
    fn finished(&self, end: WaitEnd) {
        // A wait is in its set once and taken out once, so this is the first and only end.
        let _ = self.end.set(end);
        self.thread.unpark();
    }
}

/// Whether something has happened yet, for one thread that may sleep until it has.
pub(crate) struct Signal {
    thread: Thread,
    raised: AtomicBool,
}

impl Signal {
    /// A signal for this thread.
    pub(crate) fn for_current_thread() -> Self {
        Self { thread: thread::current(), raised: AtomicBool::new(false) }
    }

    pub(crate) fn raise(&self) {
        self.raised.store(true, Ordering::Release);
        self.thread.unpark();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Sleeps until the signal is raised or the time is over; says whether it is raised.
    pub(crate) fn sleep(&self, longest: Duration) -> bool {
        let deadline = Instant::now() + longest;
        while !self.is_raised() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    }
}

/// Between two looks at the clock, which takes longer than one at the end.
const LOOKS_PER_TIME: u32 = 16;
