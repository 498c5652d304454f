//! The local clock: the one that every LSL program on this computer reads.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_session::UnixSeconds;

/// Time of the local clock.
///
/// - Units: seconds; the epoch is that of the system's steady clock (usually the last start of the
///   computer), equal to the one of liblsl, so that programs with either library can compare stamps.
/// - Source: equals liblsl `lsl_local_clock`. Linux and other Unix: `CLOCK_MONOTONIC`. macOS:
///   `CLOCK_MONOTONIC_RAW`, which goes on during sleep, unlike [`std::time::Instant`]. Windows: the performance counter.
#[inline]
pub fn local_clock() -> f64 {
    let (seconds, nanoseconds) = read();
    seconds as f64 + nanoseconds as f64 / 1e9
}

/// The same clock for the layers of connections, which count in minutes: as of the system's last tick, where that is cheaper. To
/// read it exactly, a CPU first waits for all that it has begun to load.
#[inline]
pub(crate) fn since_start() -> Duration {
    #[cfg(target_os = "linux")]
    let (seconds, nanoseconds) = read_from(rustix::time::ClockId::MonotonicCoarse);
    #[cfg(not(target_os = "linux"))]
    let (seconds, nanoseconds) = read();
    Duration::new(seconds.unsigned_abs(), nanoseconds.unsigned_abs() as u32)
}

/// Seconds since 1970, for certificates and sealed queries.
pub(crate) fn wall_clock() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

#[cfg(all(unix, not(target_os = "macos")))]
#[inline]
fn read() -> (i64, i64) {
    read_from(rustix::time::ClockId::Monotonic)
}

#[cfg(all(unix, not(target_os = "macos")))]
#[inline]
fn read_from(clock: rustix::time::ClockId) -> (i64, i64) {
    let now = rustix::time::clock_gettime(clock);
    (now.tv_sec, now.tv_nsec)
}

#[cfg(target_os = "macos")]
#[inline]
fn read() -> (i64, i64) {
    let raw = nix::time::ClockId::from_raw(nix::libc::CLOCK_MONOTONIC_RAW);
    let now = nix::time::clock_gettime(raw).expect("every macOS since 10.12 has this clock");
    (now.tv_sec(), now.tv_nsec())
}

/// The performance counter, which the steady clock of the original counts as well.
#[cfg(windows)]
#[inline]
fn read() -> (i64, i64) {
    static FREQUENCY: std::sync::LazyLock<i64> = std::sync::LazyLock::new(|| {
        winsafe::QueryPerformanceFrequency().expect("every Windows since XP has this counter")
    });
    let (count, frequency) = (winsafe::QueryPerformanceCounter().unwrap_or_default(), *FREQUENCY);
    // Seconds apart from the rest, so that the product stays in range.
    (count / frequency, count % frequency * 1_000_000_000 / frequency)
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
        // The uptime in /proc counts from the boot clock, which equals the steady clock unless the computer slept;
        // it is never behind the latter.
        let uptime = std::fs::read_to_string("/proc/uptime").expect("Linux has it");
        let uptime: f64 = uptime.split(' ').next().expect("two numbers").parse().expect("a number");
        let now = local_clock();
        assert!(now > 0.0 && now < uptime + 1.0, "{now} {uptime}");
    }
}
