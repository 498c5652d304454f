//! Waiting for what a buffer does not have yet.

use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use super::Buffer;
use crate::store::Refused;
use crate::wait::{Parked, Sink, WaitEnd, WaitId};
use crate::wire::{Totals, WaitRequest};

/// How a wait began.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is over already.
    Over(Totals),
    /// Its sink will be told.
    Waiting(WaitId),
}

impl Buffer {
    /// Waits until there are more samples or more events than `threshold`, or the time is over; returns the
    /// totals then.
    ///
    /// - Errors: [`Refused::NoHeader`], also when the header goes while waiting.
    pub fn wait(&self, threshold: Totals, timeout: Duration) -> WaitEnd {
        self.wait_with(threshold, timeout, Parked::sleep_until)
    }

    /// As [`Buffer::wait`], but does not fall asleep. It suits a program with a processor to spare that cannot
    /// afford the time of a wake-up. With a single processor it falls asleep all the same.
    ///
    /// - Errors: as [`Buffer::wait`].
    pub fn wait_awake(&self, threshold: Totals, timeout: Duration) -> WaitEnd {
        let look = if has_other_processors() { Parked::look_until } else { Parked::sleep_until };
        self.wait_with(threshold, timeout, look)
    }

    /// Waits in the way of `until`, which returns nothing at the deadline.
    fn wait_with(
        &self,
        threshold: Totals,
        timeout: Duration,
        until: fn(&Parked, Option<Instant>) -> Option<WaitEnd>,
    ) -> WaitEnd {
        let parked = Parked::current();
        let sink = Arc::clone(&parked);
        let timeout_ms = u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        match self.begin_wait(WaitRequest { threshold, timeout_ms }, || sink)? {
            Begun::Over(totals) => Ok(totals),
            Begun::Waiting(id) => {
                let deadline = Instant::now().checked_add(timeout);
                until(&parked, deadline)
                    .or_else(|| self.cancel_wait(id))
                    // A thread is telling it at this moment.
                    .or_else(|| parked.sleep_until(None))
                    .unwrap_or(Err(Refused::NoHeader))
            }
        }
    }

    /// Begins a wait; `sink` is asked for only if there is something to wait for.
    pub(crate) fn begin_wait<S: Sink + 'static>(
        &self,
        wait: WaitRequest,
        sink: impl FnOnce() -> Arc<S>,
    ) -> Result<Begun, Refused> {
        let mut shared = self.lock();
        if shared.store.is_over(wait)? {
            return shared.store.totals().map(Begun::Over);
        }
        Ok(Begun::Waiting(shared.waits.insert(wait.threshold, sink())))
    }

    /// Ends a wait early; `None` if its end was or is being told to its sink.
    pub(crate) fn cancel_wait(&self, id: WaitId) -> Option<WaitEnd> {
        let mut shared = self.lock();
        shared.waits.remove(id).then(|| shared.store.totals())
    }
}

/// Whether others, the writer above all, can work while a thread stays awake.
fn has_other_processors() -> bool {
    static HAS_OTHERS: OnceLock<bool> = OnceLock::new();
    *HAS_OTHERS.get_or_init(|| thread::available_parallelism().is_ok_and(|count| count.get() > 1))
}
