//! Threads that run a borrowed closure, without allocating for it.
//!
//! The only unsafe code that is not arithmetic. A closure on the caller's stack is lent to threads, and
//! these outlive the call. That is sound because [`Crew::run`] never returns, not even by a panic,
//! before every thread has reported its end.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::{hint, mem};
use std::panic::catch_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::vec::Vec;

/// Threads that wait for work.
pub(crate) struct Crew {
    shared: Arc<CrewState>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts `count` threads, or as many as the system grants.
    pub(crate) fn new(count: usize) -> Self {
        let shared = Arc::new(CrewState::default());
        let start = |_| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("schwann-aead".into()).spawn(move || shared.serve()).ok()
        };
        let threads = (0..count).map_while(start).collect();
        Self { shared, threads }
    }

    /// Calls `work` on every thread and on the caller's, and waits for all.
    ///
    /// # Panics
    ///
    /// If `work` did, on any thread.
    pub(crate) fn run(&mut self, work: &(dyn Fn() + Sync)) {
        // SAFETY: only the lifetime changes, and `wait` ends every use before it is over.
        let lent = unsafe { mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let mut order = self.shared.lock();
        order.work = Some(lent);
        order.busy = self.threads.len();
        self.shared.round.fetch_add(1, Ordering::Release);
        drop(order);
        self.shared.called.notify_all();
        let own = catch_unwind(AssertUnwindSafe(work));
        let failed = self.wait();
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!failed, "a worker panicked");
    }

    /// Waits until no thread uses what was lent; tells whether one panicked.
    fn wait(&self) -> bool {
        for _ in 0..SPINS {
            if self.shared.done.load(Ordering::Acquire) == self.threads.len() {
                break;
            }
            hint::spin_loop();
        }
        let mut order = self.shared.lock();
        while order.busy > 0 {
            order = self.shared.finished.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
        order.work = None;
        self.shared.done.store(0, Ordering::Relaxed);
        mem::take(&mut order.failed)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.lock().dismissed = true;
        self.shared.round.fetch_add(1, Ordering::Release);
        self.shared.called.notify_all();
        for thread in self.threads.drain(..) {
            // The threads catch their panics; there is no error to report.
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct CrewState {
    order: Mutex<Order>,
    /// Counts calls; a thread that has seen fewer has work.
    round: AtomicUsize,
    /// Threads that are done with this round's work, for a caller that waits awake.
    done: AtomicUsize,
    called: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct Order {
    work: Option<&'static (dyn Fn() + Sync)>,
    /// Threads that still use `work`.
    busy: usize,
    failed: bool,
    dismissed: bool,
}

impl CrewState {
    /// A thread's life.
    fn serve(&self) {
        let mut seen = 0;
        while let Some(work) = self.next(&mut seen) {
            let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
            let mut order = self.lock();
            order.failed |= failed;
            order.busy -= 1;
            self.done.fetch_add(1, Ordering::Release);
            if order.busy == 0 {
                self.finished.notify_one();
            }
        }
    }

    /// Waits for the next round, awake for a while, then asleep. Nothing means to leave.
    fn next(&self, seen: &mut usize) -> Option<&'static (dyn Fn() + Sync)> {
        for _ in 0..SPINS {
            if self.round.load(Ordering::Acquire) != *seen {
                break;
            }
            hint::spin_loop();
        }
        let mut order = self.lock();
        loop {
            let round = self.round.load(Ordering::Acquire);
            if order.dismissed {
                return None;
            }
            if round != *seen {
                *seen = round;
                return order.work;
            }
            order = self.called.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        // Nothing panics while it holds the lock.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often to look before sleeping: some 20 µs, about what waking up would cost.
const SPINS: usize = 2_000;
