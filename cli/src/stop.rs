//! Ends a command in an orderly way: at Ctrl-C, or when the system ends it.

use std::process;
use std::sync::Arc;

use schwann_recorder::Stop;

use crate::exit::Problem;

/// Makes a [`Stop`] that Ctrl-C and the system's request to end raise. A second Ctrl-C ends at once.
pub(crate) fn on_signals() -> Result<Arc<Stop>, Problem> {
    let stop = Arc::<Stop>::default();
    let raised = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if raised.is_raised() {
            process::exit(INTERRUPTED);
        }
        raised.raise();
    })
    .map_err(|error| Problem::with("signals", error))?;
    Ok(stop)
}

/// What shells expect of a program that was interrupted.
const INTERRUPTED: i32 = 130;
