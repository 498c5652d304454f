//! Peak memory of a receiver of a fast, wide stream: 30 kHz, 384 channels, 16 bits (a Neuropixels probe).

use core::time::Duration;

use super::{Cell, Figures, Metric, RawBaseline, cpu_seconds_per_million, figures_of, largest, throughput};
use crate::transfer::Outcome;
use crate::workload::{Format, Pacing, Pull, Workload};

/// The receiver pulls as data comes, or takes a fifth of it so that the rest piles up.
#[must_use]
pub fn cells(duration: Duration) -> [Cell; 2] {
    let prompt = "peak memory at 30 kHz x 384 int16, chunks of 10 ms, receiver pulls promptly";
    let slow = "the same, receiver pulls only a fifth of the data";
    [("memory-prompt", prompt, Duration::ZERO), ("memory-slow", slow, Duration::from_millis(50))].map(
        |(name, about, pause)| {
            let workload = Workload {
                format: Format::Int16,
                nominal_rate: 30_000.0,
                pull: Pull::Chunk { samples: 300, pause },
                buffer: 360,
                ..throughput::chunks(384, 300, Pacing::Schedule { rate: 30_000.0 }, duration)
            };
            let cell = Cell::new(name, about, workload, figures, METRICS);
            Cell { raw_baseline: RawBaseline::Meaningless, ..cell }
        },
    )
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
