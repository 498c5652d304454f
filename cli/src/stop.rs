//! Ends a command in an orderly way: at Ctrl-C, when its console ends, or when the system ends it.

use core::time::Duration;
use std::process;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use schwann_recorder::Stop;

use crate::exit::Problem;
use crate::sys::console;

/// Makes a [`Stop`] that Ctrl-C and the system's request to end raise. A second Ctrl-C, [`ONE_REQUEST`] later, ends at once.
pub(crate) fn on_signals() -> Result<Arc<Stop>, Problem> {
    let stop = Arc::<Stop>::default();
    let raised = Arc::clone(&stop);
    let ended = Arc::clone(&stop);
    let first = OnceLock::<Instant>::new();
    ctrlc::set_handler(move || {
        if first.get_or_init(Instant::now).elapsed() > ONE_REQUEST {
            process::exit(INTERRUPTED);
        }
        raised.raise();
    })
    .map_err(|error| Problem::with("signals", error))?;
    console::on_end(move || ended.raise()).map_err(|error| Problem::with("signals", error))?;
    Ok(stop)
}

/// A time that a person gave in seconds. If it is no number or too long for a clock, it is a
/// year.
pub(crate) fn seconds_or_forever(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(A_YEAR).min(A_YEAR)
}

/// Reads a time in seconds: of what is below zero, or no number, no command could tell what is meant.
pub(crate) fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0);
    seconds.ok_or("a number of seconds, such as 2.5")
}

/// Fast streams are sent this often, in seconds: as often as a person can notice, and no more.
pub(crate) const SHORTEST_WAIT: f64 = 0.5e-3;
/// Signals this close together are one request. `timeout` signals the program and then its group; so does a terminal beside a parent
/// that hands its signal on. A recording that is being finished must not be cut off by that.
const ONE_REQUEST: Duration = Duration::from_secs(1);
const A_YEAR: Duration = Duration::from_secs(31_536_000);
/// What shells expect of a program that was interrupted.
const INTERRUPTED: i32 = 130;
