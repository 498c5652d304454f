//! Peak memory of a receiver of a fast, wide stream: 30 kHz, 384 channels, 16 bits (a Neuropixels probe).

use core::time::Duration;

use super::{
    Cell, Figures, Metric, NullRuns, RawBaseline, Route, cpu_seconds_per_million, figures_of, largest,
};
use crate::transfer::Outcome;
use crate::workload::{Format, Pacing, Pull, Turns, Workload};

/// The receiver pulls as data comes.
#[must_use]
pub fn prompt(duration: Duration) -> Cell {
    Cell {
        name: "memory-prompt".to_owned(),
        about: "peak memory at 30 kHz x 384 int16, chunks of 10 ms, receiver pulls promptly".to_owned(),
        points: Vec::new(),
        workload: probe(Duration::ZERO, duration),
        take: figures,
        metrics: METRICS,
        raw_baseline: RawBaseline::Meaningless,
        null: NullRuns::Measured,
        route: Route::Loopback,
    }
}

/// The receiver takes a fifth of what comes, so that the rest piles up.
#[must_use]
pub fn slow(duration: Duration) -> Cell {
    Cell {
        name: "memory-slow".to_owned(),
        about: "the same, receiver pulls only a fifth of the data".to_owned(),
        points: Vec::new(),
        workload: probe(Duration::from_millis(50), duration),
        take: figures,
        metrics: METRICS,
        raw_baseline: RawBaseline::Meaningless,
        null: NullRuns::Measured,
        route: Route::Loopback,
    }
}

fn probe(pause: Duration, duration: Duration) -> Workload {
    Workload {
        format: Format::Int16,
        channel_count: 384,
        nominal_rate: 30_000.0,
        chunk: 300,
        pacing: Pacing::Schedule { rate: 30_000.0 },
        duration,
        warmup: Duration::ZERO,
        buffer: 360,
        consumers: 1,
        pull: Pull::Chunk { samples: 300, pause },
        timed: false,
        turns: Turns::default(),
    }
}

/// Takes peaks of resident memory; the first is the process without what it held before the library came.
#[must_use]
pub fn figures(_: &Workload, outcome: &Outcome) -> Figures {
    let receivers = &outcome.receivers;
    figures_of([
        ("receiver_peak_mb", largest(receivers.iter().map(|r| r.peak_bytes)) / 1e6),
        ("receiver_growth_mb", largest(receivers.iter().map(|r| r.peak_bytes - r.baseline_bytes)) / 1e6),
        ("sender_peak_mb", outcome.sender.peak_bytes as f64 / 1e6),
        ("cpu_s_per_million", cpu_seconds_per_million(outcome)),
    ])
}

const METRICS: &[Metric] = &[
    Metric::lower("receiver_peak_mb").goal(0.3),
    Metric::lower("receiver_growth_mb"),
    Metric::lower("sender_peak_mb"),
    Metric::lower("cpu_s_per_million"),
];
