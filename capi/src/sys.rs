//! What differs between systems: forks, how threads wait, and the ticks of the system's timer. No other file of this crate asks
//! which system it runs on.

use std::sync::Once;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Prepares the process before its first inlet or outlet.
pub(crate) fn prepare_process() {
    static ONCE: Once = Once::new();
    ONCE.call_once(system::prepare_process);
}
