//! Windows, which has no fork.

use schwann::Context;
use schwann::log::{self, level};
use windows_sys::Win32::Media::{TIMERR_NOERROR, timeBeginPeriod};

/// Lets waits end on ticks as short as the configuration says; without it the system's last 15.6 ms.
///
/// The original does the same while the library is loaded. What a process asked for ends with it.
pub(super) fn prepare_process() {
    let milliseconds = Context::get().tuning.timer_resolution_ms;
    // SAFETY: it takes a number, and refuses one that is out of its range.
    let is_granted = milliseconds == 0 || unsafe { timeBeginPeriod(milliseconds) } == TIMERR_NOERROR;
    if !is_granted && log::enabled(level::WARNING) {
        let message =
            format_args!("Windows has no timer that ticks every {milliseconds} ms (TimerResolution)");
        log::write(level::WARNING, file!(), line!(), message);
    }
}
