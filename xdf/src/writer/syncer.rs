//! The thread that syncs what the other one has written.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::{Failure, SharedWriter, lock};

/// The thread that syncs, so that no write waits for it.
pub(super) struct Syncer {
    state: Arc<SyncState>,
    thread: Option<JoinHandle<()>>,
}

/// What the two threads share.
#[derive(Default)]
struct SyncState {
    written: AtomicU64,
    synced: AtomicU64,
    stopping: AtomicBool,
    idle: Mutex<()>,
    woken: Condvar,
}

impl Syncer {
    pub(super) fn spawn(shared: Arc<SharedWriter>, file: Arc<File>) -> io::Result<Self> {
        let state = Arc::new(SyncState::default());
        let thread = thread::Builder::new().name("xdf-sync".into()).spawn({
            let state = Arc::clone(&state);
            move || state.run(&shared, &file)
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    pub(super) fn written(&self, bytes: u64) {
        self.state.written.store(bytes, Ordering::Release);
    }

    pub(super) fn synced(&self) -> u64 {
        self.state.synced.load(Ordering::Acquire)
    }

    pub(super) fn stop(&mut self) {
        {
            let _idle = lock(&self.state.idle);
            self.state.stopping.store(true, Ordering::Release);
            self.state.woken.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // It only ends early by a panic, and the final sync follows anyway.
            let _ = thread.join();
        }
    }
}

impl SyncState {
    fn run(&self, shared: &SharedWriter, file: &File) {
        while self.wait(shared.options.sync_every) {
            let written = self.written.load(Ordering::Acquire);
            if written == self.synced.load(Ordering::Acquire) {
                continue;
            }
            match file.sync_data() {
                Ok(()) => self.synced.store(written, Ordering::Release),
                Err(error) => {
                    // After a failed sync the kernel forgets which pages were not written: no second try.
                    let _ = shared.failure.set(Failure::from(error));
                    return;
                }
            }
        }
    }

    /// Waits for `period`; says whether to go on.
    fn wait(&self, period: Duration) -> bool {
        let idle = lock(&self.idle);
        let until_stop = |_: &mut ()| !self.stopping.load(Ordering::Acquire);
        drop(self.woken.wait_timeout_while(idle, period, until_stop).unwrap_or_else(PoisonError::into_inner));
        !self.stopping.load(Ordering::Acquire)
    }
}
