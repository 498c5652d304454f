//! How soon a thread that waits for samples runs once one is there.
//!
//! A sample that was sent on the same computer wakes its reader on the processor of its sender. The system's
//! scheduler decides whether the reader runs at once or when the sender next sleeps. This matters more for
//! the latency than all that this library does: see `docs/decisions/latency-path.md`.

use core::cell::Cell;
use std::sync::OnceLock;

/// What is done in a thread before it waits for samples for the first time.
static PREPARATION: OnceLock<fn()> = OnceLock::new();

thread_local! {
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Lets `prepare` be called once in every thread that is about to wait for samples. `PromptReaders=off` under
/// `[tuning]` prevents that.
///
/// It may ask the system to run the thread soon after it was woken. That takes system calls, which this crate
/// cannot make without unsafe code. The C library arranges for it; call it before the first inlet is made.
pub fn before_first_wait(prepare: fn()) {
    // Once and for all: some threads may have been prepared.
    let _ = PREPARATION.set(prepare);
}

/// Prepares this thread for a wait, if it is its first.
#[inline]
pub(crate) fn about_to_wait() {
    if !IS_PREPARED.get()
        && let Some(prepare) = PREPARATION.get()
    {
        IS_PREPARED.set(true);
        prepare();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn every_thread_is_prepared_once() {
        before_first_wait(|| CALLS.set(CALLS.get() + 1));
        let calls_of_two_waits = || {
            about_to_wait();
            about_to_wait();
            CALLS.get()
        };
        let threads = [(); 2].map(|()| std::thread::spawn(calls_of_two_waits));
        assert_eq!(threads.map(|thread| thread.join().expect("no panic")), [1, 1]);
    }
}
