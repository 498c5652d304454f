//! Which process a handle belongs to.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::Error;

/// The number of noted forks between this process and the one that loaded the library.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of this process, where the system clears it for a child; see [`number_processes`].
static NUMBER: OnceLock<&'static AtomicU32> = OnceLock::new();

/// The last number that was given. A child has a copy of it, so it takes a number that none of its ancestors had.
static LAST_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Tells the library that this process is the child of a fork: it inherits handles without their threads.
///
/// The C library arranges for it by itself. A Rust program that forks calls it in the child before it uses an
/// outlet or inlet of the parent. Pushes and pulls then fail with [`Error::Forked`]. Without it, they would
/// meddle with the parent's connections, or wait for a lock without an owner. It may be called in a handler of
/// `pthread_atfork`.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Lets the library tell processes apart by a word in memory. This replaces a system call with each sealed send,
/// and needs no [`note_fork`].
///
/// `word` is zero, and no other code uses it. The system makes it zero again in every process with a copy of
/// this one's memory (on Linux: `MADV_WIPEONFORK`). A process that shares the memory itself sees the same word
/// and the same counters of nonces; a child of `vfork` does. The C library arranges for it; call it before the
/// first outlet or inlet is made. Without it, the system is asked for the process's number.
pub fn number_processes(word: &'static AtomicU32) {
    // Once and for all: handles that exist go by the first one.
    let _ = NUMBER.set(word);
}

/// The process that made a handle.
///
/// A fork hands handles down. It does not hand down the threads behind them, and it does not give their
/// sockets to the child alone. So a child lets go of an inherited handle without a word. To wait for its
/// thread would never end. To shut its connections down would end the parent's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Maker {
    process: Process,
    forks: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Process {
    /// By our own count.
    Numbered(u32),
    /// By the system's.
    OfSystem(u32),
}

impl Maker {
    /// This process.
    #[must_use]
    pub fn this() -> Self {
        let process = number().map_or_else(|| Process::OfSystem(std::process::id()), Process::Numbered);
        Self { process, forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Refuses to use a handle that was inherited through a fork, if the fork was noted. Costs no system call.
    ///
    /// - Errors: [`Error::Forked`].
    pub fn check(self) -> Result<(), Error> {
        let is_numbered_alike = match self.process {
            Process::Numbered(own) => number() == Some(own),
            Process::OfSystem(_) => true,
        };
        if is_numbered_alike && self.forks == FORKS.load(Ordering::Relaxed) {
            Ok(())
        } else {
            Err(Error::Forked)
        }
    }

    /// Whether the handle was inherited through a fork, noted or not. Costs a system call where processes are not numbered.
    #[must_use]
    pub fn is_another(self) -> bool {
        let of_another = |own| own != std::process::id();
        self.check().is_err() || matches!(self.process, Process::OfSystem(own) if of_another(own))
    }
}

/// This process's own number, if processes are numbered.
fn number() -> Option<u32> {
    NUMBER.get().map(|word| number_in(word))
}

fn number_in(word: &AtomicU32) -> u32 {
    match word.load(Ordering::Relaxed) {
        0 => renumber(word),
        number => number,
    }
}

/// Gives this process its number: it is new, or a child.
#[cold]
fn renumber(word: &AtomicU32) -> u32 {
    let next = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
    // Another thread may have been faster.
    word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|first| first, |_| next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_word_was_cleared_is_another_for_good() {
        // What a program without such a word goes by.
        let before = Maker { process: Process::OfSystem(std::process::id()), forks: 0 };
        assert_eq!((before.check(), before.is_another()), (Ok(()), false));
        let elsewhere = Maker { process: Process::OfSystem(std::process::id() + 1), forks: 0 };
        assert!(elsewhere.is_another());

        let word = AtomicU32::new(0);
        let parent = number_in(&word);
        assert_eq!(number_in(&word), parent);
        // The system clears it in a child, and in the child's child.
        word.store(0, Ordering::Relaxed);
        let child = number_in(&word);
        word.store(0, Ordering::Relaxed);
        let grandchild = number_in(&word);
        assert!(parent < child && child < grandchild);
    }
}
