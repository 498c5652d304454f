//! The local clock, which every LSL program on this computer reads.

use core::time::Duration;

use crate::sys::clock;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_session::UnixSeconds;

/// Time of the local clock.
///
/// - Units: seconds. The epoch is that of the system's steady clock (usually the last start of the
///   computer), as in liblsl. So programs with either library can compare stamps.
/// - Source: equals liblsl `lsl_local_clock`. Linux and other Unix: `CLOCK_MONOTONIC`. macOS:
///   `CLOCK_MONOTONIC_RAW`, which goes on during sleep, unlike [`std::time::Instant`]. Windows: the performance counter.
#[inline]
pub fn local_clock() -> f64 {
    let (seconds, nanoseconds) = clock::read();
    seconds as f64 + nanoseconds as f64 / 1e9
}

/// The same clock for the layers of connections, which count in minutes. It is as of the system's last tick, where
/// that is cheaper. To read it exactly, a CPU first waits for all that it has begun to load.
#[inline]
pub(crate) fn since_start() -> Duration {
    let (seconds, nanoseconds) = clock::read_coarse();
    Duration::new(seconds.unsigned_abs(), nanoseconds.unsigned_abs() as u32)
}

/// Seconds since 1970, for certificates and sealed queries.
pub(crate) fn wall_clock() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let stamps: Vec<f64> = (0..1000).map(|_| local_clock()).collect();
        assert!(stamps.is_sorted());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_epoch_is_that_of_the_steady_clock() {
        // The uptime in /proc counts from the boot clock, which equals the steady clock unless the computer slept.
        // It is never behind the latter.
        let uptime = std::fs::read_to_string("/proc/uptime").expect("Linux has it");
        let uptime: f64 = uptime.split(' ').next().expect("two numbers").parse().expect("a number");
        let now = local_clock();
        assert!(now > 0.0 && now < uptime + 1.0, "{now} {uptime}");
    }
}
