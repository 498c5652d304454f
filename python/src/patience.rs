//! Waiting without holding the interpreter, in turns short enough for Ctrl-C.

use core::time::Duration;
use std::time::Instant;

use pyo3::prelude::*;

use crate::failure::{Kind, exception};

/// How long Ctrl-C may take to end a wait.
const TURN: Duration = Duration::from_millis(50);

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    /// That of an operation that was given `timeout` seconds; none waits without limit.
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

    /// Calls `step` with a number of seconds to wait until it returns something or the time is over, and lets the
    /// interpreter handle signals between the calls.
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
