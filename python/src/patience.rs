//! Waiting without holding the interpreter, in turns short enough for Ctrl-C.

use core::time::Duration;
use std::time::Instant;

use pyo3::prelude::*;

use crate::failure::{Kind, exception};

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(Option<Instant>);

/// Does an indivisible task in a thread of its own, so that Ctrl-C ends the wait for it. The thread then ends by
/// itself.
pub(crate) fn in_thread<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name(String::from("schwann-python"))
        // After Ctrl-C, no thread waits for the result any more.
        .spawn(move || {
            let _ = sender.send(work());
        })
        .map_err(|_| exception(py, Kind::Error, "The operating system refused a thread."))?;
    // A mutex makes it a value that the closure may take along.
    let receiver = std::sync::Mutex::new(receiver);
    let done = Patience(None).wait(py, |turn| {
        let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match receiver.recv_timeout(Duration::from_secs_f64(turn)) {
            Ok(done) => Some(Some(done)),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Some(None),
        }
    })?;
    done.flatten().ok_or_else(|| exception(py, Kind::Error, "The thread ended early: its panic was printed."))
}

impl Patience {
    /// The patience of an operation with `timeout` seconds; none waits without limit.
    ///
    /// - Errors: `ArgumentError` for what is not a number.
    pub(crate) fn seconds(py: Python<'_>, timeout: Option<f64>) -> PyResult<Self> {
        let Some(timeout) = timeout else { return Ok(Self(None)) };
        if timeout.is_nan() {
            return Err(exception(
                py,
                Kind::Argument,
                "A timeout is a number of seconds, or None for no limit.",
            ));
        }
        // What no clock can hold waits without limit, too.
        let end = Duration::try_from_secs_f64(timeout.max(0.0)).ok();
        Ok(Self(end.and_then(|timeout| Instant::now().checked_add(timeout))))
    }

    fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Calls `step` with a number of seconds to wait, until it returns something or the time is over. Between the
    /// calls, the interpreter handles signals.
    ///
    /// - Errors: what a handler of signals raises, such as `KeyboardInterrupt`.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        mut step: impl FnMut(f64) -> Option<T> + Send,
    ) -> PyResult<Option<T>> {
        loop {
            let turn = self.left().min(TURN);
            if let Some(outcome) = py.detach(|| step(turn.as_secs_f64())) {
                return Ok(Some(outcome));
            }
            py.check_signals()?;
            if self.left().is_zero() {
                return Ok(None);
            }
        }
    }
}

/// How long Ctrl-C may take to end a wait.
const TURN: Duration = Duration::from_millis(50);
