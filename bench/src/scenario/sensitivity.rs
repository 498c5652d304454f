//! Whether a small effect would be found here: the opponent against itself, twice, and against itself with every
//! push made 5 % longer in a spin.

use core::time::Duration;

use super::{Cell, Metric, NullRuns, RawBaseline, Route, latency};
use crate::workload::{Pacing, Workload};

/// By how much pushes are made longer.
pub const HANDICAP: f64 = 0.05;

/// The metric that must show it: the quiet end of the push's distribution, which other programs disturb least.
pub const METRIC: &str = "push_p10_us";

/// Chunks of 100 samples on a schedule that leaves the processor room.
#[must_use]
pub fn pushes(duration: Duration) -> Cell {
    Cell {
        name: "pushes".to_owned(),
        about: "cost of push_chunk(100) with 64 channels float32, 200 times a second".to_owned(),
        points: Vec::new(),
        workload: Workload {
            chunk: CHUNK,
            pacing: Pacing::Schedule { rate: 200.0 * CHUNK as f64 },
            warmup: Duration::from_millis(100),
            pull: crate::workload::Pull::Chunk { samples: CHUNK, pause: Duration::ZERO },
            ..latency::single_samples(64, 200.0 * CHUNK as f64, 1, duration)
        },
        take: latency::push_figures,
        metrics: METRICS,
        raw_baseline: RawBaseline::Meaningless,
        null: NullRuns::Measured,
        route: Route::Loopback,
    }
}

const CHUNK: usize = 100;

const METRICS: &[Metric] =
    &[Metric::lower(METRIC), Metric::lower("push_p50_us"), Metric::lower("push_mean_us")];
