//! The one clock of a run: `CLOCK_MONOTONIC`, which all processes of a machine share.

use core::time::Duration;

use rustix::io::Errno;
use rustix::thread::ClockId as SleepClock;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns the machine's monotonic clock, ns.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Returns the processor time that this process and all its threads have used so far, user and system, ns.
pub(crate) fn cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Sleeps until the monotonic clock reads `at_ns`; returns at once when that is past.
pub(crate) fn sleep_until(at_ns: u64) {
    let Ok(seconds) = i64::try_from(at_ns / NS_PER_SECOND) else { return };
    let at = Timespec { tv_sec: seconds, tv_nsec: (at_ns % NS_PER_SECOND).cast_signed() };
    // An absolute sleep that a signal interrupts is started again, so no drift comes in.
    while rustix::thread::clock_nanosleep_absolute(SleepClock::Monotonic, &at) == Err(Errno::INTR) {}
}

/// Returns a duration as whole nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn nanoseconds(at: Timespec) -> u64 {
    at.tv_sec.cast_unsigned() * NS_PER_SECOND + at.tv_nsec.cast_unsigned()
}

const NS_PER_SECOND: u64 = 1_000_000_000;
