//! The same transfers between two computers. They go over a line with a rate, a delay, jitter and loss. Or they
//! go to another real computer, and back.

use super::{Cell, Figures, Metric, Route, higher, latency, lower, throughput};
use crate::line::{ETHERNET, WIFI};
use crate::suite::Effort;
use crate::transfer::Outcome;
use crate::workload::{Pacing, Workload};

/// The cells of both lines: 64 channels at 1 kHz, the other shapes, and as much as the line carries.
pub(crate) fn cells(effort: Effort) -> Vec<Cell> {
    let shapes = effort.points(&[(8, 1000.0), (256, 1000.0), (64, 250.0)], &[]);
    let (headline, duration) = (effort.time(30.0, 1.5), effort.time(10.0, 1.5));
    let mut cells = Vec::new();
    for profile in [&ETHERNET, &WIFI] {
        let single_samples = |(channel_count, rate), duration| Cell {
            name: format!("{}-{channel_count}ch-{rate}hz", profile.name),
            route: Route::Line(profile),
            metrics: METRICS,
            ..latency::point(channel_count, rate, 1, duration)
        };
        cells.push(single_samples((64, 1000.0), headline));
        cells.extend(shapes.iter().map(|&shape| single_samples(shape, duration)));
        cells.push(flow(format!("{}-flow", profile.name), Route::Line(profile), effort));
    }
    cells
}

/// To another computer: single samples there and back, and chunks there flat out.
pub(crate) fn other_cells(effort: Effort) -> Vec<Cell> {
    let shapes = effort.points(&[(64, 1000.0), (8, 1000.0), (256, 1000.0), (64, 250.0)], &[(64, 1000.0)]);
    let there_and_back = |&(channel_count, rate): &(usize, f64)| Cell {
        name: format!("there-and-back-{channel_count}ch-{rate}hz"),
        route: Route::Other,
        take: round_trip,
        metrics: METRICS,
        ..latency::point(channel_count, rate, 1, effort.time(30.0, 1.5))
    };
    let cells = shapes.iter().map(there_and_back);
    cells.chain([flow("there-flow".to_owned(), Route::Other, effort)]).collect()
}

/// What [`latency::take`] takes, of the way there and back. Processor time and memory are left out: half of both is spent on the
/// other computer.
fn round_trip(workload: &Workload, outcome: &Outcome) -> Figures {
    let mut figures = latency::take(workload, outcome);
    figures.retain(|name, _| !name.starts_with("cpu_") && !name.ends_with("_mb"));
    figures
}

/// Chunks as fast as the line carries them. The sender stays within a window, so nothing may be lost.
fn flow(name: String, route: Route, effort: Effort) -> Cell {
    let duration = effort.time(4.0, 0.5);
    let workload = throughput::chunks(64, CHUNK, Pacing::Window { ahead: AHEAD }, duration);
    Cell { name, route, workload, ..throughput::point(64, CHUNK, duration) }
}

const CHUNK: usize = 256;
/// How far a sender may be ahead, in samples: 1 MB. This is several times the data on its way on either line, so
/// the line stays full.
const AHEAD: u64 = 4096;

const METRICS: &[Metric] = &[
    lower("latency_push_p50_us"),
    lower("latency_push_p90_us"),
    lower("latency_push_p99_us"),
    lower("latency_push_max_us"),
    lower("latency_due_p50_us"),
    lower("latency_due_p99_us"),
    lower("push_p50_us"),
    lower("push_mean_us"),
    lower("jitter_p50_us"),
    lower("jitter_p99_us"),
    lower("cpu_s_per_million"),
    higher("delivered_percent"),
];
