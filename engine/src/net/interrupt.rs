//! Ends waits in other threads at once.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mio::Waker;

/// Says "stop waiting" to every wait that listens to it, from any thread. Clones are the same interrupt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<InterruptState>);

#[derive(Debug, Default)]
struct InterruptState {
    raised: AtomicBool,
    listeners: Mutex<Vec<Arc<Waker>>>,
}

impl Interrupt {
    /// Ends the waits that listen now, and all that begin before [`Self::lower`].
    pub(crate) fn raise(&self) {
        self.0.raised.store(true, Ordering::SeqCst);
        // Copied, because no lock is held across a system call.
        for waker in self.listeners().clone() {
            if let Err(error) = waker.wake() {
                crate::log::error!("a wait could not be ended: {error}");
            }
        }
    }

    /// Lets waits begin again.
    pub(crate) fn lower(&self) {
        self.0.raised.store(false, Ordering::SeqCst);
    }

    /// Whether waits must end.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Wakes `waker` when the interrupt is raised, until the result is dropped. A wait checks
    /// [`Self::is_raised`] *after* this call, so that no interrupt falls between the two.
    pub(crate) fn listen(&self, waker: Arc<Waker>) -> Listening<'_> {
        self.listeners().push(Arc::clone(&waker));
        Listening { interrupt: self, waker }
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Waker>>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the listening when dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Listening<'a> {
    interrupt: &'a Interrupt,
    waker: Arc<Waker>,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.interrupt.listeners().retain(|other| !Arc::ptr_eq(other, &self.waker));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::Instant;

    use mio::{Events, Poll, Token};

    use super::*;

    #[test]
    fn a_raised_interrupt_ends_a_wait_in_another_thread() {
        let interrupt = Interrupt::default();
        let mut poll = Poll::new().expect("a poller");
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).expect("a waker"));
        let listening = interrupt.listen(waker);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| interrupt.raise());
            let mut events = Events::with_capacity(1);
            poll.poll(&mut events, Some(Duration::from_secs(20))).expect("polled");
        });
        assert!(interrupt.is_raised() && start.elapsed() < Duration::from_secs(10));
        drop(listening);
        assert!(interrupt.listeners().is_empty());
        interrupt.lower();
        assert!(!interrupt.is_raised());
    }
}
