//! How many samples per second arrive, in chunks and one by one, with and without a sender that outruns.

use core::time::Duration;

use super::{Axis, Cell, Figures, Metric, Point, borrow_nulls, cpu_seconds_per_million, figures_of, largest};
use crate::transfer::Outcome;
use crate::workload::{Format, Pacing, Pull, Turns, Workload};

/// Chunks of 1000 samples and single ones; the sender stays within a window, so nothing may be lost, or pushes as fast as the
/// library takes them.
#[must_use]
pub fn goals(duration: Duration) -> Vec<Cell> {
    let window = Pacing::Window { ahead: 64 * CHUNK as u64 };
    vec![
        Cell::new(
            "chunks-window",
            "push_chunk(1000) to pull_chunk(1000), sender at most 64 chunks ahead, 64 channels float32",
            chunks(64, CHUNK, window, duration),
            figures,
            CHUNK_METRICS,
        ),
        Cell::new(
            "chunks-unpaced",
            "the same, sender without pause (what the receiver cannot take is dropped)",
            chunks(64, CHUNK, Pacing::Unpaced, duration),
            figures,
            CHUNK_METRICS,
        ),
        Cell::new(
            "singles-window",
            "the same, sender at most 16,000 samples ahead",
            singles(Pacing::Window { ahead: 16_000 }, duration),
            figures,
            SINGLE_METRICS,
        ),
        Cell::new(
            "singles-unpaced",
            "push_sample to pull_sample, sender without pause, 64 channels float32",
            singles(Pacing::Unpaced, duration),
            figures,
            SINGLE_METRICS,
        ),
    ]
}

/// Chunks of `chunk` samples, the sender within a window of 8 MB but two chunks at least: a point of a sweep.
#[must_use]
pub fn point(channel_count: usize, chunk: usize, points: Vec<Point>, duration: Duration) -> Cell {
    let ahead = (WINDOW_BYTES / (channel_count * 4)).max(2 * chunk).max(8);
    let mut workload = chunks(channel_count, chunk, Pacing::Window { ahead: ahead as u64 }, duration);
    if chunk == 1 {
        workload.pull = Pull::Sample;
    }
    let name = format!("flow-{channel_count}ch-{chunk}");
    let about =
        format!("{channel_count} channels float32 in chunks of {chunk}, as fast as the receiver takes them");
    Cell { points, ..Cell::new(name, about, workload, figures, POINT_METRICS) }
}

/// Chunk sizes at 64 channels, and channel counts at chunks of about 64 KB.
#[must_use]
pub fn sweep(chunks: &[usize], channels: &[usize], duration: Duration) -> Vec<Cell> {
    let mut cells: Vec<Cell> = chunks
        .iter()
        .map(|&chunk| point(64, chunk, vec![Point { axis: Axis::Chunk, at: chunk as f64 }], duration))
        .collect();
    for &channel_count in channels {
        let here = Point { axis: Axis::Channels, at: channel_count as f64 };
        let chunk = (16_384 / channel_count).clamp(1, 4096);
        Cell::join(&mut cells, point(channel_count, chunk, vec![here], duration));
    }
    borrow_nulls(&mut cells);
    cells
}

/// A stream of 30 kHz at its own pace, in chunks of 10 ms: can it be kept up, and what does it cost?
#[must_use]
pub fn thirty_kilohertz(channel_count: usize, duration: Duration) -> Cell {
    let workload = Workload {
        format: Format::Int16,
        nominal_rate: 30_000.0,
        ..chunks(channel_count, 300, Pacing::Schedule { rate: 30_000.0 }, duration)
    };
    let about = format!("30 kHz x {channel_count} int16 in chunks of 10 ms, on schedule");
    Cell::new(format!("30khz-{channel_count}ch"), about, workload, figures, PACED_METRICS)
}

/// Chunks of `chunk` samples of `channel_count` channels.
#[must_use]
pub fn chunks(channel_count: usize, chunk: usize, pacing: Pacing, duration: Duration) -> Workload {
    Workload {
        format: Format::Float32,
        channel_count,
        nominal_rate: 1000.0,
        chunk,
        pacing,
        duration,
        warmup: Duration::ZERO,
        // Seconds: as many bytes for few channels as for 64.
        buffer: 360 * i32::try_from(64 / channel_count.max(1)).unwrap_or(1).max(1),
        consumers: 1,
        pull: Pull::Chunk { samples: chunk, pause: Duration::ZERO },
        timed: false,
        turns: Turns::default(),
    }
}

fn singles(pacing: Pacing, duration: Duration) -> Workload {
    // A smaller buffer than the default's 360 s, so that the receiver soon has what is left of it.
    Workload { chunk: 1, buffer: 36, pull: Pull::Sample, ..chunks(64, 1, pacing, duration) }
}

/// Takes the delivered rate, the loss and processor time.
#[must_use]
pub fn figures(workload: &Workload, outcome: &Outcome) -> Figures {
    let receivers = &outcome.receivers;
    let rate: f64 = receivers.iter().map(|r| r.active_samples as f64 / (r.active_ns as f64 * 1e-9)).sum();
    let received: u64 = receivers.iter().map(|r| r.tally.received).sum();
    let due = outcome.sender.sent * receivers.len() as u64;
    figures_of([
        ("delivered_samples_per_s", rate),
        ("delivered_mb_per_s", rate * workload.sample_bytes() as f64 / 1e6),
        ("pushed_samples_per_s", outcome.sender.sent as f64 / (outcome.sender.active_ns as f64 * 1e-9)),
        ("lost_percent", 100.0 * (1.0 - received as f64 / due as f64)),
        ("cpu_s_per_million", cpu_seconds_per_million(outcome)),
        ("receiver_peak_mb", largest(receivers.iter().map(|r| r.peak_bytes)) / 1e6),
        ("sender_peak_mb", outcome.sender.peak_bytes as f64 / 1e6),
    ])
}

const CHUNK: usize = 1000;
/// What a sender may be ahead by in a sweep, bytes: enough to keep both ends busy, too little to be a queue.
const WINDOW_BYTES: usize = 8 << 20;

const POINT_METRICS: &[Metric] = &[
    Metric::higher("delivered_samples_per_s"),
    Metric::higher("delivered_mb_per_s"),
    Metric::lower("cpu_s_per_million"),
    Metric::lower("lost_percent"),
];

const PACED_METRICS: &[Metric] = &[
    Metric::lower("cpu_s_per_million"),
    Metric::lower("lost_percent"),
    Metric::lower("receiver_peak_mb"),
    Metric::lower("sender_peak_mb"),
];

const CHUNK_METRICS: &[Metric] = &[
    Metric::higher("delivered_samples_per_s").goal(3.0).goal_raw(0.6),
    Metric::higher("delivered_mb_per_s"),
    Metric::lower("lost_percent"),
    Metric::lower("cpu_s_per_million").goal(0.4),
];

const SINGLE_METRICS: &[Metric] = &[
    Metric::higher("delivered_samples_per_s").goal(10.0),
    Metric::higher("pushed_samples_per_s"),
    Metric::lower("lost_percent"),
    Metric::lower("cpu_s_per_million").goal(0.4),
];
