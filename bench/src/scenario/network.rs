//! The same transfers between two computers: over a line with a rate, a delay, jitter and loss.

use core::time::Duration;

use super::{Cell, Metric, RawBaseline, Route, latency, throughput};
use crate::line::{ETHERNET, Profile, WIFI};
use crate::workload::Pacing;

/// The cells of both lines: 64 channels at 1 kHz, the other shapes, and as much as the line carries.
#[must_use]
pub fn cells(
    shapes: &[(usize, f64)],
    headline: Duration,
    duration: Duration,
    flat_out: Duration,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for profile in [&ETHERNET, &WIFI] {
        cells.push(single_samples(profile, (64, 1000.0), headline));
        cells.extend(shapes.iter().map(|&shape| single_samples(profile, shape, duration)));
        cells.push(flow(profile, flat_out));
    }
    cells
}

fn single_samples(
    profile: &'static Profile,
    (channel_count, rate): (usize, f64),
    duration: Duration,
) -> Cell {
    Cell {
        name: format!("{}-{channel_count}ch-{rate}hz", profile.name),
        about: format!(
            "{channel_count} channels float32 at {rate} Hz, single samples, over {}",
            profile.about
        ),
        route: Route::Line(profile),
        metrics: METRICS,
        raw_baseline: RawBaseline::Measured,
        ..latency::point(channel_count, rate, 1, Vec::new(), duration)
    }
}

/// Chunks as fast as the line carries them. The sender stays within a window, so nothing may be lost.
fn flow(profile: &'static Profile, duration: Duration) -> Cell {
    let workload = throughput::chunks(64, CHUNK, Pacing::Window { ahead: AHEAD }, duration);
    Cell {
        name: format!("{}-flow", profile.name),
        about: format!("64 channels float32 in chunks of {CHUNK}, flat out over {}", profile.about),
        route: Route::Line(profile),
        workload,
        ..throughput::point(64, CHUNK, Vec::new(), duration)
    }
}

const CHUNK: usize = 256;
/// What a sender may be ahead by, samples: 1 MB, some times what is on its way on either line, so that it stays full.
const AHEAD: u64 = 4096;

const METRICS: &[Metric] = &[
    Metric::lower("latency_push_p50_us"),
    Metric::lower("latency_push_p90_us"),
    Metric::lower("latency_push_p99_us"),
    Metric::lower("latency_push_max_us"),
    Metric::lower("latency_due_p50_us"),
    Metric::lower("latency_due_p99_us"),
    Metric::lower("push_p50_us"),
    Metric::lower("push_mean_us"),
    Metric::lower("jitter_p50_us"),
    Metric::lower("jitter_p99_us"),
    Metric::lower("cpu_s_per_million"),
    Metric::higher("delivered_percent"),
];
