//! A request to stop that many threads wait for.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Whether to stop, for several threads.
#[derive(Debug, Default)]
pub struct Stop {
    raised: Mutex<bool>,
    /// The same, for those who look without waiting.
    flag: AtomicBool,
    changed: Condvar,
}

impl Stop {
    /// Asks all threads to stop.
    pub fn raise(&self) {
        *self.lock() = true;
        self.flag.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        *self.lock()
    }

    /// Whether to stop, as a library function looks at it.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Waits for `time`, but not beyond the moment of stopping; says whether to stop.
    pub fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut raised = self.lock();
        while !*raised {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            raised = self.changed.wait_timeout(raised, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *raised
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
