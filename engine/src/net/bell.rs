//! Wakes a program that waits for many things at once, in a loop of its own.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use socket2::Socket;

use crate::sys::sockets;
use crate::{Error, log};

/// A descriptor that can be read once something has rung it, until it is [cleared](Self::clear).
///
/// A loop such as Python's asyncio waits for it beside other descriptors. One serves any number of inlets:
/// [`Inlet::watch`](crate::inlet::Inlet::watch) takes it along.
pub struct Bell {
    hammer: Socket,
    ear: Socket,
    is_rung: AtomicBool,
}

impl Bell {
    /// Makes one.
    ///
    /// - Errors: [`Error::System`] if there are no descriptors left.
    pub fn new() -> Result<Self, Error> {
        let refused = |_| Error::System("a descriptor that wakes a loop");
        let (hammer, ear) = sockets::pair().map_err(refused)?;
        for end in [&hammer, &ear] {
            end.set_nonblocking(true).map_err(refused)?;
        }
        Ok(Self { hammer, ear, is_rung: AtomicBool::new(false) })
    }

    /// What the loop waits for to be readable: a file descriptor, or on Windows a socket's handle.
    pub fn descriptor(&self) -> i64 {
        sockets::descriptor(&self.ear)
    }

    /// Wakes the loop. Costs a system call the first time, and little until the bell is cleared.
    pub fn ring(&self) {
        if self.is_rung.swap(true, Ordering::SeqCst) {
            return;
        }
        // One byte is enough; if there is no room, there is one already.
        if let Err(error) = self.hammer.send(&[0])
            && error.kind() != std::io::ErrorKind::WouldBlock
        {
            log::error!("a waiting loop cannot be woken: {error}");
        }
    }

    /// Lets the loop wait again. After this, look at everything that the bell announces: a ring before it counts as
    /// seen.
    pub fn clear(&self) {
        let mut bytes = [0; 16];
        while matches!(sockets::receive_now(&self.ear, &mut bytes), Ok(1..)) {}
        self.is_rung.store(false, Ordering::SeqCst);
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Bell").field("is_rung", &self.is_rung).finish_non_exhaustive()
    }
}

/// The bells of all that wait for the same.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<Vec<Weak<Bell>>>);

impl Bells {
    /// Rings `bell`, too, from now on, as long as there is one.
    pub(crate) fn add(&self, bell: &Arc<Bell>) {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|other| other.strong_count() > 0);
        if !bells.iter().any(|other| core::ptr::eq(other.as_ptr(), Arc::as_ptr(bell))) {
            bells.push(Arc::downgrade(bell));
        }
    }

    /// Rings them all.
    pub(crate) fn ring(&self) {
        // Copied, because no lock is held across a system call.
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for bell in bells.iter().filter_map(Weak::upgrade) {
            bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_readable(bell: &Bell) -> bool {
        bell.ear.peek(&mut [core::mem::MaybeUninit::uninit(); 1]).is_ok()
    }

    #[test]
    fn a_bell_can_be_read_from_the_first_ring_until_it_is_cleared() {
        let bell = Bell::new().expect("descriptors");
        assert!(!is_readable(&bell));
        for _ in 0..3 {
            bell.ring();
            bell.ring();
            assert!(is_readable(&bell));
            bell.clear();
            assert!(!is_readable(&bell));
        }
    }

    #[test]
    fn bells_ring_together_as_long_as_they_are_there() {
        let bells = Bells::default();
        let (one, other) = (Arc::new(Bell::new().expect("one")), Arc::new(Bell::new().expect("another")));
        bells.add(&one);
        bells.add(&one);
        bells.add(&other);
        drop(other);
        bells.ring();
        assert!(is_readable(&one));
        bells.add(&one);
        assert_eq!(bells.0.lock().expect("no panic").len(), 1);
    }
}
