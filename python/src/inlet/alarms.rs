//! Alarms, as a thread of the program's own waits for them.
//!
//! The engine's thread does not call the program. Before 3.14, CPython ends a thread that runs Python code while the
//! interpreter ends. A thread that ends below Rust's frames takes the process with it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use schwann::inlet::Alarm;

use super::event_name;

/// An event's name, seconds of lag, and the number of skipped samples.
type Told = (&'static str, f64, u64);

/// What a stream's alarm tells, in order, until it is set anew or the stream is closed.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Alarms {
    told: Mutex<Receiver<Told>>,
    /// What waits of an alarm that is over is not told any more.
    teller: Weak<()>,
}

/// The engine's end of it.
pub(super) struct Teller {
    told: SyncSender<Told>,
    _is_there: Arc<()>,
}

/// Both ends.
pub(super) fn alarms() -> (Teller, Alarms) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let there = Arc::new(());
    let alarms = Alarms { told: Mutex::new(receiver), teller: Arc::downgrade(&there) };
    (Teller { told: sender, _is_there: there }, alarms)
}

impl Teller {
    pub(super) fn tell(&self, alarm: Alarm) {
        // A program that has not returned for so many is told no more until it does.
        let _ = self.told.try_send((event_name(alarm.kind.into()), alarm.lag, alarm.skipped));
    }
}

#[pymethods]
impl Alarms {
    /// Waits for the next event; nothing once it is over. Signals do not end the wait.
    fn next(&self, py: Python<'_>) -> Option<Told> {
        let told = py.detach(|| self.told.lock().unwrap_or_else(PoisonError::into_inner).recv());
        told.ok().filter(|_| self.teller.strong_count() > 0)
    }
}

/// Events that wait for a program's thread.
const WAITING_MAX: usize = 1_000;
