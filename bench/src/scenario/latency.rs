//! One-way latency of single samples on an open-loop schedule, and what a push costs its caller.
//!
//! Latency is taken twice: from the time when the sample was *due*, which includes the sleep that ends late and
//! any push that was held up (so that nothing hides in "coordinated omission"), and from the moment when the push
//! *began*, which is what a library can answer for.

use core::time::Duration;

use super::drift::{Drift, stretches};
use super::{Axis, Cell, Figures, Metric, Point, borrow_nulls, cpu_seconds_per_million, figures_of, largest};
use crate::statistics::quantile_of_sorted;
use crate::transfer::Outcome;
use crate::worker::Push;
use crate::workload::{Format, Pacing, Pull, Turns, Workload};

/// Single samples of 64 channels at 1 kHz for `duration`.
#[must_use]
pub fn one_kilohertz(duration: Duration) -> Cell {
    let about = "one-way latency and push cost, single samples at 1 kHz, 64 channels float32";
    Cell::new("latency-1khz", about, single_samples(64, 1000.0, 1, duration), figures, METRICS)
}

/// A point of a sweep: single samples of `channel_count` channels at `rate` Hz to `consumers` processes.
#[must_use]
pub fn point(
    channel_count: usize,
    rate: f64,
    consumers: usize,
    points: Vec<Point>,
    duration: Duration,
) -> Cell {
    let receivers = if consumers == 1 { "one inlet".to_owned() } else { format!("{consumers} inlets") };
    let name = format!("latency-{channel_count}ch-{rate}hz-{consumers}in");
    let about = format!("{channel_count} channels float32 at {rate} Hz to {receivers}, single samples");
    let workload = single_samples(channel_count, rate, consumers, duration);
    Cell { points, ..Cell::new(name, about, workload, figures, POINT_METRICS) }
}

/// The published table's cell for `headline`, and sweeps over channels, rates and inlets around it.
#[must_use]
pub fn sweep(
    channels: &[usize],
    rates: &[f64],
    inlets: &[usize],
    headline: Duration,
    duration: Duration,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |channel_count: usize, rate: f64, consumers: usize, axis: Axis, at: f64| {
        let here = Point { axis, at };
        let cell = match (channel_count, rate, consumers) {
            CENTRE => {
                Cell { metrics: METRICS, ..point(channel_count, rate, consumers, vec![here], headline) }
            }
            _ => point(channel_count, rate, consumers, vec![here], duration),
        };
        Cell::join(&mut cells, cell);
    };
    channels.iter().for_each(|&count| add(count, 1000.0, 1, Axis::Channels, count as f64));
    rates.iter().for_each(|&rate| add(64, rate, 1, Axis::Rate, rate));
    inlets.iter().for_each(|&count| add(64, 1000.0, count, Axis::Inlets, count as f64));
    // The headline comes first.
    if let Some(at) = cells.iter().position(|cell| cell.metrics == METRICS) {
        cells[..=at].rotate_right(1);
    }
    borrow_nulls(&mut cells);
    cells
}

/// Each stream, of so many channels at a rate, to each number of inlets.
#[must_use]
pub fn fan_out(streams: &[(usize, f64)], inlets: &[usize], duration: Duration) -> Vec<Cell> {
    let cell = |(channel_count, rate): (usize, f64), consumers: usize| Cell {
        metrics: FAN_OUT_METRICS,
        ..point(channel_count, rate, consumers, Vec::new(), duration)
    };
    streams.iter().flat_map(|&stream| inlets.iter().map(move |&consumers| cell(stream, consumers))).collect()
}

/// Single samples of `channel_count` channels at `rate` Hz to `consumers` processes.
#[must_use]
pub fn single_samples(channel_count: usize, rate: f64, consumers: usize, duration: Duration) -> Workload {
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
#[must_use]
pub fn figures(workload: &Workload, outcome: &Outcome) -> Figures {
    let pushes = &outcome.sender.pushes;
    let rate = match workload.pacing {
        Pacing::Schedule { rate } => rate / workload.chunk as f64,
        Pacing::Unpaced | Pacing::Window { .. } => 0.0,
    };
    let skipped = (workload.warmup.as_secs_f64() * rate) as u64;
    let mut figures = Figures::default();
    let arrivals =
        || outcome.receivers.iter().flat_map(|r| &r.arrivals).filter(|(sequence, _)| *sequence >= skipped);
    let since = |from: fn(&Push) -> u64| {
        arrivals()
            .filter_map(|&(sequence, at)| {
                pushes.get(sequence as usize).map(|push| at.saturating_sub(from(push)))
            })
            .collect::<Vec<_>>()
    };
    let measured = pushes.get(skipped as usize..).unwrap_or_default();
    distribution(&mut figures, "latency_due", since(|push| push.due));
    distribution(&mut figures, "latency_push", since(|push| push.begun));
    distribution(&mut figures, "push", measured.iter().map(|push| push.done - push.begun).collect());
    distribution(&mut figures, "late", measured.iter().map(|push| push.begun - push.due).collect());
    distribution(&mut figures, "jitter", jitter(outcome, skipped, 1e9 / rate));
    steadiness(&mut figures, outcome, skipped, rate);
    figures.extend(figures_of([
        ("delivered_percent", delivered_percent(outcome)),
        ("cpu_s_per_million", cpu_seconds_per_million(outcome)),
        ("receiver_peak_mb", largest(outcome.receivers.iter().map(|r| r.peak_bytes)) / 1e6),
        ("sender_peak_mb", outcome.sender.peak_bytes as f64 / 1e6),
    ]));
    figures
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

/// By how much the time between two arrivals differs from the schedule's period, ns.
fn jitter(outcome: &Outcome, skipped: u64, period_ns: f64) -> Vec<u64> {
    let mut jitter = Vec::new();
    for receiver in &outcome.receivers {
        let counted: Vec<_> = receiver.arrivals.iter().filter(|(sequence, _)| *sequence >= skipped).collect();
        jitter.extend(counted.windows(2).map(|pair| {
            let steps = pair[1].0.saturating_sub(pair[0].0) as f64;
            (pair[1].1.saturating_sub(pair[0].1) as f64 - steps * period_ns).abs() as u64
        }));
    }
    jitter
}

/// Regresses latency on time, over the stretches of the first receiver: all share the sender's time.
fn steadiness(figures: &mut Figures, outcome: &Outcome, skipped: u64, rate: f64) {
    let Some(receiver) = outcome.receivers.first() else { return };
    let latencies: Vec<f64> = receiver
        .arrivals
        .iter()
        .filter(|(sequence, _)| *sequence >= skipped)
        .filter_map(|&(sequence, at)| outcome.sender.pushes.get(sequence as usize).map(|push| (push, at)))
        .map(|(push, at)| at.saturating_sub(push.begun) as f64 / 1e3)
        .collect();
    if let Some(drift) = Drift::of(&stretches(&latencies, rate)) {
        figures.insert("drift_us_per_minute".to_owned(), drift.us_per_minute);
        figures.insert("drift_percent".to_owned(), drift.percent);
        figures.insert("drift_t".to_owned(), drift.t);
    }
}

fn delivered_percent(outcome: &Outcome) -> f64 {
    let received: u64 = outcome.receivers.iter().map(|r| r.tally.received).sum();
    100.0 * received as f64 / (outcome.sender.sent * outcome.receivers.len() as u64) as f64
}

const METRICS: &[Metric] = &[
    Metric::lower("latency_push_p50_us").goal(0.5).goal_raw(1.3),
    Metric::lower("latency_push_p90_us"),
    Metric::lower("latency_push_p99_us").goal(0.6),
    Metric::lower("latency_push_p999_us"),
    Metric::lower("latency_push_max_us"),
    Metric::lower("latency_due_p50_us").goal(0.5).goal_raw(1.3),
    Metric::lower("latency_due_p90_us"),
    Metric::lower("latency_due_p99_us").goal(0.6),
    Metric::lower("latency_due_p999_us"),
    Metric::lower("latency_due_max_us"),
    Metric::lower("push_p50_us").goal(0.5),
    Metric::lower("push_mean_us"),
    Metric::lower("push_p99_us"),
    Metric::lower("jitter_p50_us"),
    Metric::lower("jitter_p99_us"),
    Metric::lower("cpu_s_per_million").goal(0.4),
    Metric::lower("receiver_peak_mb"),
    Metric::lower("sender_peak_mb"),
    Metric::higher("delivered_percent"),
];

const POINT_METRICS: &[Metric] = &[
    Metric::lower("latency_push_p50_us"),
    Metric::lower("latency_push_p99_us"),
    Metric::lower("latency_due_p50_us"),
    Metric::lower("push_p50_us"),
    Metric::lower("push_mean_us"),
    Metric::lower("jitter_p99_us"),
    Metric::lower("cpu_s_per_million"),
    Metric::lower("receiver_peak_mb"),
    Metric::lower("sender_peak_mb"),
    Metric::higher("delivered_percent"),
];

const FAN_OUT_METRICS: &[Metric] = &[
    Metric::lower("latency_push_p50_us"),
    Metric::lower("latency_push_p99_us"),
    Metric::lower("latency_due_p50_us"),
    Metric::lower("push_p50_us"),
    Metric::lower("cpu_s_per_million"),
    Metric::lower("receiver_peak_mb"),
];

/// Channels, rate and inlets of the headline.
const CENTRE: (usize, f64, usize) = (64, 1000.0, 1);
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
        let figures = figures(&workload, &outcome);
        assert_eq!(figures["latency_due_p50_us"], 9.0);
        assert_eq!(figures["latency_push_max_us"], 4.0, "the first is warm-up");
        assert_eq!(figures["push_p50_us"], 2.0);
        assert_eq!(figures["late_max_us"], 5.0);
        assert_eq!(figures["jitter_p50_us"], 999.0, "1 us apart instead of 1 ms");
    }
}
