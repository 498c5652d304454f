//! Which file the streams are written to, and how all of them move to the next one.
//!
//! A stream's thread sits in one file: it looks before each pull whether there is a new one, and then moves. So the
//! samples of a pull are all in one file, and those of the next pull in the next. The last that leaves a file is
//! noticed by a channel whose senders are gone.

use core::convert::Infallible;
use core::sync::atomic::{AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use schwann_xdf::Failure;

use super::file::{File, Finished};
use super::lock;
use crate::certificate::StreamAccount;

/// The file that new samples go into.
pub(super) struct Current {
    seat: Mutex<Taken>,
    number: AtomicU64,
}

struct Taken {
    seat: Seat,
    left: Receiver<Infallible>,
}

/// A place in a file, for as long as samples may come.
#[derive(Clone)]
pub(super) struct Seat {
    // Before the sender: when that is dropped, the file has been let go.
    pub(super) file: Arc<File>,
    number: u64,
    _left: Sender<Infallible>,
}

/// A file that streams are leaving for the next one.
pub struct Leaving {
    path: PathBuf,
    file: Arc<File>,
    left: Receiver<Infallible>,
    /// The streams as they were when the next file was begun.
    accounts: Vec<StreamAccount>,
}

impl Current {
    pub(super) fn new(file: File) -> Self {
        Self { seat: Mutex::new(Taken::new(file, 0)), number: AtomicU64::new(0) }
    }

    /// A seat in the file of now.
    pub(super) fn seat(&self) -> Seat {
        lock(&self.seat).seat.clone()
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&lock(&self.seat).seat.file)
    }

    /// Whether there is a newer file than the one in which this seat is.
    pub(super) fn has_changed(&self, seat: &Seat) -> bool {
        self.number.load(Ordering::Acquire) != seat.number
    }

    /// Makes `next`, at `path`, the file of now; returns the one before, which is at `before`.
    pub(super) fn change(
        &self,
        next: File,
        before: PathBuf,
        path: &Path,
        accounts: Vec<StreamAccount>,
    ) -> Leaving {
        next.note(&format!("continues {}", name(&before)));
        let mut taken = lock(&self.seat);
        let number = taken.seat.number + 1;
        let Taken { seat, left } = core::mem::replace(&mut *taken, Taken::new(next, number));
        // Before another may take a seat: it would find this file newer than its own, and move into it a second time.
        self.number.store(number, Ordering::Release);
        drop(taken);
        seat.file.note(&format!("continued in {}", name(path)));
        Leaving { path: before, file: Arc::clone(&seat.file), left, accounts }
    }

    /// The file, once no stream is in it.
    pub(super) fn into_file(self) -> Option<File> {
        let taken = self.seat.into_inner().ok()?;
        Arc::into_inner(taken.seat.file)
    }
}

impl Taken {
    fn new(file: File, number: u64) -> Self {
        let (sender, left) = channel();
        Self { seat: Seat { file: Arc::new(file), number, _left: sender }, left }
    }
}

impl Leaving {
    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until every stream has left, which takes as long as one pull, and completes the file.
    ///
    /// - Errors: the file lacks what was pushed last; all that is in it is readable.
    pub fn finish(self) -> Result<Finished, Failure> {
        // Nothing is ever sent: this returns when the last sender is gone.
        let Err(_all_left) = self.left.recv();
        Arc::into_inner(self.file).ok_or(Failure::Internal)?.finish(self.accounts)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
