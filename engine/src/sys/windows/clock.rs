//! The performance counter, which the steady clock of the original counts as well: stamps of both can be compared.

use std::sync::LazyLock;

/// Seconds and nanoseconds since the computer started.
#[inline]
pub(crate) fn read() -> (i64, i64) {
    // It cannot fail, either.
    let (count, frequency) = (winsafe::QueryPerformanceCounter().unwrap_or_default(), *FREQUENCY);
    // Seconds apart from the rest, so that the product stays in range.
    (count / frequency, count % frequency * 1_000_000_000 / frequency)
}

/// The same: no other reading is cheaper.
#[inline]
pub(crate) fn read_coarse() -> (i64, i64) {
    read()
}

/// Counts per second; fixed when the computer starts.
static FREQUENCY: LazyLock<i64> = LazyLock::new(|| {
    winsafe::QueryPerformanceFrequency().expect("every Windows since XP has a performance counter")
});
