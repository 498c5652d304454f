//! The steady clock that liblsl reads.

#[cfg(not(target_vendor = "apple"))]
use rustix::time::ClockId;

/// Seconds and nanoseconds of the steady clock.
#[cfg(not(target_vendor = "apple"))]
#[inline]
pub(crate) fn read() -> (i64, i64) {
    read_from(ClockId::Monotonic)
}

/// `CLOCK_MONOTONIC_RAW`, as the C++ library's steady clock.
#[cfg(target_vendor = "apple")]
#[inline]
pub(crate) fn read() -> (i64, i64) {
    let raw = nix::time::ClockId::from_raw(nix::libc::CLOCK_MONOTONIC_RAW);
    let now = nix::time::clock_gettime(raw).expect("macOS 10.12, iOS 10 and later have this clock");
    (now.tv_sec(), now.tv_nsec())
}

/// The same clock as of the system's last tick, where that is cheaper.
#[inline]
pub(crate) fn read_coarse() -> (i64, i64) {
    #[cfg(target_os = "linux")]
    return read_from(ClockId::MonotonicCoarse);
    #[cfg(not(target_os = "linux"))]
    read()
}

#[cfg(not(target_vendor = "apple"))]
#[inline]
fn read_from(clock: ClockId) -> (i64, i64) {
    let now = rustix::time::clock_gettime(clock);
    (now.tv_sec, now.tv_nsec)
}
