//! One-way latency of single samples on an open-loop schedule, and what a push costs its caller.
//!
//! Latency is taken twice. Once it counts from the time when the sample was *due*. It then includes a late end of
//! the sleep and a delayed push, so nothing hides in "coordinated omission". Once it counts from the moment when
//! the push *began*; a library can answer for this part.

use core::time::Duration;

use super::drift::steadiness;
use super::{Cell, Figures, Metric, delivered_percent, expense, figures, higher, lower, throughput};
use crate::statistics::quantile_of_sorted;
use crate::suite::Effort;
use crate::transfer::Outcome;
use crate::worker::Push;
use crate::workload::{Format, Pacing, Pull, Turns, Workload};

/// The project's goals: 64 channels at 1 kHz, and what [`throughput`] adds.
pub(crate) fn goals(effort: Effort) -> Vec<Cell> {
    let workload = single_samples(64, 1000.0, 1, effort.time(10.0, 2.0));
    let mut cells = vec![Cell::new("latency-1khz", workload, take, METRICS)];
    cells.extend(throughput::goals(effort));
    cells
}

/// A point of a sweep: single samples of `channel_count` channels at `rate` Hz to `consumers` processes.
pub(super) fn point(channel_count: usize, rate: f64, consumers: usize, duration: Duration) -> Cell {
    let name = format!("latency-{channel_count}ch-{rate}hz-{consumers}in");
    let workload = single_samples(channel_count, rate, consumers, duration);
    Cell::new(name, workload, take, POINT_METRICS)
}

/// The published table's cell, and sweeps over channels, rates and inlets around it.
pub(crate) fn sweep(effort: Effort) -> Vec<Cell> {
    let channels = effort.points(&[8, 32, 64, 128, 256], &[8, 64]);
    let rates = effort.points(&[250.0, 500.0, 1000.0, 2000.0], &[250.0, 1000.0]);
    let inlets = effort.points(&[1, 2, 4, 16, 64], &[1, 4]);
    let duration = effort.time(10.0, 1.5);
    // The headline comes first.
    let mut cells = vec![Cell { metrics: METRICS, ..point(64, 1000.0, 1, effort.time(30.0, 2.0)) }];
    Cell::sweep(&mut cells, channels.into_iter().map(|count| point(count, 1000.0, 1, duration)));
    Cell::sweep(&mut cells, rates.into_iter().map(|rate| point(64, rate, 1, duration)));
    Cell::sweep(&mut cells, inlets.into_iter().map(|count| point(64, 1000.0, count, duration)));
    cells
}

/// Streams of many channels to each number of inlets.
pub(crate) fn fan_out(effort: Effort) -> Vec<Cell> {
    let inlets = effort.points(&[1, 4, 16], &[4]);
    let cell = |(count, rate), inlets| point(count, rate, inlets, effort.time(10.0, 1.0));
    let streams = [(384, 1000.0), (5000, 500.0)].into_iter();
    streams.flat_map(|stream| inlets.iter().map(move |&inlets| cell(stream, inlets))).collect()
}

/// Single samples of `channel_count` channels at `rate` Hz to `consumers` processes.
pub(crate) fn single_samples(
    channel_count: usize,
    rate: f64,
    consumers: usize,
    duration: Duration,
) -> Workload {
    Workload {
        format: Format::Float32,
        channel_count,
        nominal_rate: rate,
        chunk: 1,
        pacing: Pacing::Schedule { rate },
        duration,
        warmup: WARMUP,
        buffer: 360,
        consumers,
        pull: Pull::Sample,
        timed: true,
        turns: Turns::default(),
    }
}

/// Takes latencies, push costs, jitter, delivery, memory and processor time.
pub(super) fn take(workload: &Workload, outcome: &Outcome) -> Figures {
    let pushes = &outcome.sender.pushes;
    let rate = match workload.pacing {
        Pacing::Schedule { rate } => rate / workload.chunk as f64,
        Pacing::Unpaced | Pacing::Window { .. } => 0.0,
    };
    let skipped = (workload.warmup.as_secs_f64() * rate) as u64;
    // Each receiver's samples after the warm-up: number, push and time of arrival.
    let arrivals: Vec<Vec<(u64, &Push, u64)>> = outcome
        .receivers
        .iter()
        .map(|receiver| {
            let counted = receiver.arrivals.iter().filter(|(sequence, _)| *sequence >= skipped);
            counted.filter_map(|&(number, at)| Some((number, pushes.get(number as usize)?, at))).collect()
        })
        .collect();
    let since = |from: fn(&Push) -> u64| {
        let all = arrivals.iter().flatten();
        all.map(|(_, push, at)| at.saturating_sub(from(push))).collect::<Vec<_>>()
    };
    let measured = pushes.get(skipped as usize..).unwrap_or_default();
    // By how much the time between two arrivals differs from the schedule's period.
    let jitter = arrivals.iter().flat_map(|receiver| receiver.windows(2)).map(|pair| {
        let steps = pair[1].0.saturating_sub(pair[0].0) as f64;
        (pair[1].2.saturating_sub(pair[0].2) as f64 - steps * 1e9 / rate).abs() as u64
    });
    let mut taken = expense(outcome);
    taken.extend(figures([("delivered_percent", delivered_percent(outcome))]));
    distribution(&mut taken, "latency_due", since(|push| push.due));
    distribution(&mut taken, "latency_push", since(|push| push.begun));
    distribution(&mut taken, "push", measured.iter().map(|push| push.done - push.begun).collect());
    distribution(&mut taken, "late", measured.iter().map(|push| push.begun - push.due).collect());
    distribution(&mut taken, "jitter", jitter.collect());
    // Of the first receiver: all share the sender's time.
    let first = arrivals.first().into_iter().flatten();
    let latencies: Vec<f64> = first.map(|(_, push, at)| at.saturating_sub(push.begun) as f64 / 1e3).collect();
    taken.extend(steadiness(&latencies, rate));
    taken
}

/// Stores p10 to maximum and the mean of `values` (ns) as microseconds.
fn distribution(figures: &mut Figures, name: &str, mut values: Vec<u64>) {
    values.sort_unstable();
    let as_us: Vec<f64> = values.iter().map(|&value| value as f64 / 1e3).collect();
    for (suffix, p) in
        [("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)]
    {
        figures.insert(format!("{name}_{suffix}_us"), quantile_of_sorted(&as_us, p));
    }
    figures.insert(format!("{name}_mean_us"), as_us.iter().sum::<f64>() / as_us.len() as f64);
}

const METRICS: &[Metric] = &[
    lower("latency_push_p50_us").goal(0.5).goal_raw(1.3),
    lower("latency_push_p90_us"),
    lower("latency_push_p99_us").goal(0.6),
    lower("latency_push_p999_us"),
    lower("latency_push_max_us"),
    lower("latency_due_p50_us").goal(0.5).goal_raw(1.3),
    lower("latency_due_p90_us"),
    lower("latency_due_p99_us").goal(0.6),
    lower("latency_due_p999_us"),
    lower("latency_due_max_us"),
    lower("push_p50_us").goal(0.5),
    lower("push_mean_us"),
    lower("push_p99_us"),
    lower("jitter_p50_us"),
    lower("jitter_p99_us"),
    lower("cpu_s_per_million").goal(0.4),
    lower("receiver_peak_mb"),
    lower("sender_peak_mb"),
    higher("delivered_percent"),
];

const POINT_METRICS: &[Metric] = &[
    lower("latency_push_p50_us"),
    lower("latency_push_p99_us"),
    lower("latency_due_p50_us"),
    lower("push_p50_us"),
    lower("push_mean_us"),
    lower("jitter_p99_us"),
    lower("cpu_s_per_million"),
    lower("receiver_peak_mb"),
    lower("sender_peak_mb"),
    higher("delivered_percent"),
];

/// Connections, caches and the scheduler settle in this time.
const WARMUP: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{ReceiverReport, SenderReport};

    #[test]
    fn latency_counts_from_the_due_time_even_when_the_push_was_late() {
        let mut workload = single_samples(4, 1000.0, 1, Duration::from_secs(1));
        workload.warmup = Duration::from_millis(1);
        let push = |due, begun| Push { due, begun, done: begun + 2_000 };
        let outcome = Outcome {
            sender: SenderReport {
                sent: 3,
                pushes: vec![push(0, 0), push(1_000, 6_000), push(2_000, 7_000)],
                ..Default::default()
            },
            receivers: vec![ReceiverReport {
                arrivals: vec![(0, 99_000), (1, 10_000), (2, 11_000)],
                ..Default::default()
            }],
        };
        let figures = take(&workload, &outcome);
        assert_eq!(figures["latency_due_p50_us"], 9.0);
        assert_eq!(figures["latency_push_max_us"], 4.0, "the first is warm-up");
        assert_eq!(figures["push_p50_us"], 2.0);
        assert_eq!(figures["late_max_us"], 5.0);
        assert_eq!(figures["jitter_p50_us"], 999.0, "1 us apart instead of 1 ms");
    }
}
