//! Whether the core is ours right now.

use core::hint::black_box;
use std::time::Instant;

/// A short loop whose time is known on an undisturbed core.
///
/// Four independent chains fill the integer units: a busy sibling thread, a lower clock or a preemption
/// all show.
pub(crate) struct Probe {
    best: f64,
}

impl Probe {
    /// Learns the undisturbed time from the fastest of many runs.
    pub(crate) fn new() -> Self {
        let best = (0..20_000).map(|_| run()).fold(f64::MAX, f64::min);
        Self { best }
    }

    /// Runs the loop once; says whether it was disturbed by less than `TOLERANCE`.
    pub(crate) fn quiet(&mut self) -> bool {
        let time = run();
        self.best = self.best.min(time);
        time < self.best * TOLERANCE
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self::new()
    }
}

/// Seconds for about 2 µs of work.
fn run() -> f64 {
    let start = Instant::now();
    let mut chains = black_box([1_u64, 2, 3, 4]);
    for _ in 0..2_000 {
        for chain in &mut chains {
            *chain = chain.rotate_left(7) ^ 0x9e37_79b9;
        }
    }
    black_box(chains);
    start.elapsed().as_secs_f64()
}

/// How much slower than the fastest probe still counts as undisturbed.
const TOLERANCE: f64 = 1.10;
