//! The wall clock, and how far off the system's time service says that it may be (relay §12).

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_recorder::TimeService;

/// Begins to ask the time service, in a thread of its own.
pub(crate) fn begin() {
    LazyLock::force(&ASKS);
}

/// Seconds since 1970, and most seconds by which that may be wrong: infinite if no service has said yet.
pub(crate) fn read() -> (f64, f64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs_f64(), f64::from_bits(BOUND.load(Ordering::Relaxed)))
}

fn ask_again_and_again() {
    loop {
        let bound = TimeService::ask().and_then(|service| service.bound);
        BOUND.store(bound.unwrap_or(f64::INFINITY).to_bits(), Ordering::Relaxed);
        std::thread::sleep(EVERY);
    }
}

static BOUND: AtomicU64 = AtomicU64::new(f64::INFINITY.to_bits());
/// Without a thread there is no bound, and no claim.
static ASKS: LazyLock<bool> = LazyLock::new(|| {
    std::thread::Builder::new().name(String::from("time service")).spawn(ask_again_and_again).is_ok()
});
/// Services ask their own sources no oftener.
const EVERY: Duration = Duration::from_secs(60);
