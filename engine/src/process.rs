//! Which process a handle belongs to.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::Error;

/// Forks that lie between this process and the one that loaded the library, as far as they were noted.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Tells the library that this process is the child of a fork, which inherits handles without their threads.
///
/// The C library arranges for it by itself. A program that is written in Rust and forks calls it in the child
/// before it uses an outlet or inlet of the parent: pushes and pulls then fail with [`Error::Forked`] instead of
/// meddling with the parent's connections, or waiting for a lock whose owner is not there. It may be called in a
/// handler of `pthread_atfork`.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process that made a handle.
///
/// A fork hands handles down, but neither the threads behind them nor, to itself alone, their sockets. So a
/// child lets go of an inherited handle without a word: to wait for its thread would never end, and to shut
/// its connections down would end those of the parent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Maker {
    process: u32,
    forks: u32,
}

impl Maker {
    /// This process.
    pub(crate) fn this() -> Self {
        Self { process: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Refuses to use a handle that was inherited through a fork, if the fork was noted. Costs no system call.
    pub(crate) fn check(self) -> Result<(), Error> {
        if self.forks == FORKS.load(Ordering::Relaxed) { Ok(()) } else { Err(Error::Forked) }
    }

    /// Whether the handle was inherited through a fork.
    pub(crate) fn is_another(self) -> bool {
        self != Self::this()
    }
}
