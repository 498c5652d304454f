//! Transfers to another computer, on which an agent runs: the way there and back, and what the way there carries.

use core::time::Duration;

use super::{Cell, Figures, Metric, Route, latency, throughput};
use crate::transfer::Outcome;
use crate::workload::{Pacing, Workload};

/// Single samples of the shapes there and back, and chunks there flat out.
#[must_use]
pub fn cells(shapes: &[(usize, f64)], duration: Duration, flat_out: Duration) -> Vec<Cell> {
    let mut cells: Vec<Cell> = shapes.iter().map(|&shape| there_and_back(shape, duration)).collect();
    cells.push(Cell {
        name: "there-flow".to_owned(),
        about: format!("64 channels float32 in chunks of {CHUNK}, flat out to the other computer"),
        route: Route::Agent,
        workload: throughput::chunks(64, CHUNK, Pacing::Window { ahead: AHEAD }, flat_out),
        ..throughput::point(64, CHUNK, Vec::new(), flat_out)
    });
    cells
}

fn there_and_back((channel_count, rate): (usize, f64), duration: Duration) -> Cell {
    Cell {
        name: format!("there-and-back-{channel_count}ch-{rate}hz"),
        about: format!(
            "{channel_count} channels float32 at {rate} Hz, single samples, to the other computer and back on one clock"
        ),
        route: Route::Agent,
        take: figures,
        metrics: METRICS,
        ..latency::point(channel_count, rate, 1, Vec::new(), duration)
    }
}

/// What [`latency::figures`] takes, under names that say that it is the way there and back. Processor time and memory are
/// left out: half of both is spent on the other computer.
fn figures(workload: &Workload, outcome: &Outcome) -> Figures {
    let here = |name: &String| !name.starts_with("cpu_") && !name.ends_with("_peak_mb");
    let one_way = latency::figures(workload, outcome).into_iter().filter(|(name, _)| here(name));
    one_way.map(|(name, value)| (name.replace("latency_", "round_trip_"), value)).collect()
}

const CHUNK: usize = 256;
/// What a sender may be ahead by, samples: 1 MB.
const AHEAD: u64 = 4096;

const METRICS: &[Metric] = &[
    Metric::lower("round_trip_push_p50_us"),
    Metric::lower("round_trip_push_p90_us"),
    Metric::lower("round_trip_push_p99_us"),
    Metric::lower("round_trip_push_max_us"),
    Metric::lower("round_trip_due_p50_us"),
    Metric::lower("round_trip_due_p99_us"),
    Metric::lower("push_p50_us"),
    Metric::lower("jitter_p99_us"),
    Metric::higher("delivered_percent"),
];
