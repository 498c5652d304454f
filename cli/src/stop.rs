//! Ends a command in an orderly way: at Ctrl-C, when the system ends it, or when its time is over.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::exit::Problem;

/// Whether to stop, for the threads of one command.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    raised: Mutex<bool>,
    /// The same, for those who look without waiting.
    flag: AtomicBool,
    changed: Condvar,
}

impl Stop {
    /// Makes one that Ctrl-C and the system's request to end raise. A second Ctrl-C ends at once.
    pub(crate) fn on_signals() -> Result<Arc<Self>, Problem> {
        let stop = Arc::new(Self::default());
        let raised = Arc::clone(&stop);
        ctrlc::set_handler(move || {
            if raised.is_raised() {
                process::exit(INTERRUPTED);
            }
            raised.raise();
        })
        .map_err(|error| Problem::with("signals", error))?;
        Ok(stop)
    }

    /// Asks everybody to stop.
    pub(crate) fn raise(&self) {
        *self.lock() = true;
        self.flag.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Whether to stop.
    pub(crate) fn is_raised(&self) -> bool {
        *self.lock()
    }

    /// Whether to stop, as a library function looks at it.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Waits for `time`, but not beyond the moment of stopping; says whether to stop.
    pub(crate) fn wait(&self, time: Duration) -> bool {
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

/// What shells expect of a program that was interrupted.
const INTERRUPTED: i32 = 130;
