//! Distributions, sweeps, and throughput against what a raw socket permits.

use std::collections::BTreeMap;

use super::chapter::{Chapter, Figure};
use super::chart::{Chart, Frame, Spacing};
use super::words::{self, us};
use crate::record::{Records, Role, Subject};
use crate::report::number;
use crate::scenario::{Axis, Cell};
use crate::statistics::{median, quantile_interval};

/// How often values were seen, over all runs: a bucket's upper end in microseconds, and its share.
pub(super) struct Distribution {
    buckets: Vec<(f64, f64)>,
}

impl Distribution {
    /// Adds up the runs of one subject; `None` if there are none.
    pub(super) fn of(records: &Records, cell: &Cell, label: &str, name: &str) -> Option<Self> {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let runs = records.believed(&cell.name).filter(|run| run.subject == label);
        for (ns, count) in runs.flat_map(|run| run.figures.histograms.get(name).into_iter().flatten()) {
            *counts.entry(*ns).or_default() += count;
        }
        let all = counts.values().sum::<u64>() as f64;
        let share = |(ns, count): (&u64, &u64)| (*ns as f64 / 1e3, *count as f64 / all);
        (!counts.is_empty()).then(|| Self { buckets: counts.iter().map(share).collect() })
    }

    /// The value that a share `p` does not exceed.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let mut below = 0.0;
        for &(value, share) in &self.buckets {
            below += share;
            if below >= p - 1e-12 {
                return value;
            }
        }
        self.buckets.last().map_or(f64::NAN, |bucket| bucket.0)
    }

    /// The share at or below each value.
    fn cumulative(&self) -> Vec<(f64, f64)> {
        let mut below = 0.0;
        let mut points = Vec::with_capacity(self.buckets.len());
        for &(value, share) in &self.buckets {
            below += share;
            points.push((value, below));
        }
        // A page needs no more points than a screen has.
        let step = points.len().div_ceil(400).max(1);
        let last = points.len() - 1;
        points
            .into_iter()
            .enumerate()
            .filter(|(n, _)| n % step == 0 || *n == last)
            .map(|(_, point)| point)
            .collect()
    }

    /// The share in each of `bins` equal ratios between `low` and `high`, the greatest as 1.
    fn density(&self, low: f64, high: f64, bins: usize) -> Vec<(f64, f64)> {
        let width = (high / low).ln() / bins as f64;
        let mut shares = vec![0.0; bins];
        for &(value, share) in &self.buckets {
            let bin = ((value / low).ln() / width).floor().clamp(0.0, bins as f64 - 1.0) as usize;
            shares[bin] += share;
        }
        let greatest = shares.iter().copied().fold(0.0, f64::max);
        let middle = |bin: usize| low * (width * (bin as f64 + 0.5)).exp();
        shares.iter().enumerate().map(|(bin, share)| (middle(bin), share / greatest)).collect()
    }
}

/// Latency, push and jitter of the first cell on each route that has them: cumulative, and as violins.
pub(super) fn distributions(chapter: &Chapter) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (name, title) in [
        ("latency_push", "One-way latency"),
        ("round_trip_push", "There and back"),
        ("push", "What a push costs its caller"),
        ("jitter", "Jitter"),
    ] {
        for (cell, found) in leading(chapter, name) {
            if matches!(name, "latency_push" | "round_trip_push") {
                figures.push(violins(cell, &found));
            }
            figures.push(cumulative(cell, (name, title), &found));
        }
    }
    figures
}

fn cumulative(cell: &Cell, (name, title): (&str, &str), found: &[Found]) -> Figure {
    let (low, high) = range(found);
    let mut chart = Chart::new(&Frame {
        x: (Spacing::Log, low, high, "microseconds"),
        y: (Spacing::Even, 0.0, 1.0, "share of samples at or below"),
    });
    for (role, label, distribution) in found {
        chart.line(*role, &distribution.cumulative());
        chart.marks(*role, &[0.5, 0.9, 0.99].map(|p| (distribution.quantile(p), p)));
        chart.name(*role, label);
    }
    let says = words::distribution(cell, name, found);
    Figure { title: format!("{title}: {}", cell.about), svg: chart.finish(&says), says }
}

/// A subject's part, its label, and what it did.
pub(super) type Found = (Role, String, Distribution);

/// The first cell on each route that has distributions of this name.
fn leading<'a>(chapter: &'a Chapter, name: &str) -> Vec<(&'a Cell, Vec<Found>)> {
    let mut leading: Vec<(&Cell, Vec<Found>)> = Vec::new();
    for cell in &chapter.cells {
        if leading.iter().any(|(other, _)| other.route == cell.route) {
            continue;
        }
        let mut found: Vec<Found> = chapter
            .records
            .manifest
            .subjects
            .iter()
            .filter(|subject| subject.role != Role::Null)
            .filter_map(|subject| {
                let distribution = Distribution::of(&chapter.records, cell, &subject.label, name)?;
                Some((subject.role, subject.label.clone(), distribution))
            })
            .collect();
        found.sort_by_key(|(role, ..)| *role);
        if !found.is_empty() {
            leading.push((cell, found));
        }
    }
    leading
}

/// From a little below the least 0.1 % to the greatest 99.9 %.
fn range(found: &[Found]) -> (f64, f64) {
    let low = found.iter().map(|(_, _, d)| d.quantile(0.001)).fold(f64::INFINITY, f64::min).max(0.05);
    let high = found.iter().map(|(_, _, d)| d.quantile(0.999)).fold(low * 2.0, f64::max);
    (low * 0.9, high * 1.1)
}

fn violins(cell: &Cell, found: &[Found]) -> Figure {
    let (low, high) = range(found);
    let rows = found.len() as f64;
    let mut chart = Chart::new(&Frame {
        x: (Spacing::Log, low, high, "microseconds; the bar is the median, the mark the 99th percentile"),
        y: (Spacing::Even, 0.0, rows, ""),
    });
    for (n, (role, label, distribution)) in found.iter().enumerate() {
        let middle = rows - 0.5 - n as f64;
        let density = distribution.density(low, high, 90);
        let upper = density.iter().map(|&(x, d)| (x, middle + 0.42 * d));
        let lower = density.iter().rev().map(|&(x, d)| (x, middle - 0.42 * d));
        chart.shape(*role, &upper.chain(lower).collect::<Vec<_>>());
        let centre = distribution.quantile(0.5);
        chart.line(*role, &[(centre, middle - 0.3), (centre, middle + 0.3)]);
        chart.marks(*role, &[(distribution.quantile(0.99), middle)]);
        chart.name(*role, label);
    }
    let says = words::violins(found);
    Figure { title: format!("The shape of latency: {}", cell.about), svg: chart.finish(&says), says }
}

/// A sweep's points of one subject: where on the axis, the median, and its interval.
type Curve = Vec<(f64, f64, f64, f64)>;

/// One figure per axis and metric that was swept.
pub(super) fn sweeps(chapter: &Chapter) -> Vec<Figure> {
    let mut figures = Vec::new();
    for axis in [Axis::Channels, Axis::Rate, Axis::Inlets, Axis::Chunk] {
        for (metric, name) in SWEPT {
            let curves = curves(chapter, axis, metric);
            if curves.iter().all(|(_, _, curve)| curve.len() < 2) {
                continue;
            }
            figures.push(sweep(axis, name, &curves));
        }
    }
    figures
}

fn curves(chapter: &Chapter, axis: Axis, metric: &str) -> Vec<(Role, String, Curve)> {
    let mut curves = Vec::new();
    for subject in &chapter.records.manifest.subjects {
        if subject.role == Role::Null {
            continue;
        }
        let mut curve: Curve = Vec::new();
        for cell in &chapter.cells {
            let Some(point) = cell.points.iter().find(|point| point.axis == axis) else { continue };
            let values = values(&chapter.records, cell, &subject.label, metric);
            if let (Some(low), Some(high)) = (values.first(), values.last()) {
                let interval = quantile_interval(&values, 0.5, 0.95);
                let (low, high) = interval.map_or((*low, *high), |interval| (interval.low, interval.high));
                curve.push((point.at, median(&values), low, high));
            }
        }
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        curves.push((subject.role, subject.label.clone(), curve));
    }
    curves.sort_by_key(|(role, ..)| *role);
    curves.retain(|(_, _, curve)| !curve.is_empty());
    curves
}

/// A subject's values of one metric, ascending.
fn values(records: &Records, cell: &Cell, label: &str, metric: &str) -> Vec<f64> {
    let runs = records.believed(&cell.name).filter(|run| run.subject == label);
    let mut values: Vec<f64> = runs.filter_map(|run| run.figures.values.get(metric).copied()).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn sweep(axis: Axis, name: &str, curves: &[(Role, String, Curve)]) -> Figure {
    let points = || curves.iter().flat_map(|(_, _, curve)| curve);
    let span = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|v| *v > 0.0).fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (x_low, x_high) = span(&mut points().map(|point| point.0));
    let (y_low, y_high) = span(&mut points().flat_map(|point| [point.2, point.3]));
    let mut chart = Chart::new(&Frame {
        x: (Spacing::Log, x_low * 0.93, x_high * 1.07, axis.label()),
        y: (Spacing::Log, y_low * 0.85, y_high * 1.15, name),
    });
    for (role, label, curve) in curves {
        chart.ribbon(*role, &curve.iter().map(|&(x, _, low, high)| (x, low, high)).collect::<Vec<_>>());
        let middle: Vec<(f64, f64)> = curve.iter().map(|&(x, y, ..)| (x, y)).collect();
        chart.line(*role, &middle);
        chart.marks(*role, &middle);
        chart.name(*role, label);
    }
    let of = |wanted: Role| curves.iter().find(|(role, ..)| *role == wanted).map(|(_, _, curve)| curve);
    let says = of(Role::Schwann).zip(of(Role::Opponent)).map_or_else(
        || "The ribbons are 95 % intervals of the medians, or ranges when the runs are few.".to_owned(),
        |(ours, theirs)| words::sweep(axis, name, &ratios(ours, theirs)),
    );
    let fan_out = if axis == Axis::Inlets { "Fan-out" } else { "Sweep" };
    Figure { title: format!("{fan_out}: {name} by {}", axis.label()), svg: chart.finish(&says), says }
}

/// Where both have a point: where, and ours over theirs.
fn ratios(ours: &Curve, theirs: &Curve) -> Vec<(f64, f64)> {
    let other = |at: f64| theirs.iter().find(|point| point.0 == at);
    ours.iter().filter_map(|point| Some((point.0, point.1 / other(point.0)?.1))).collect()
}

/// Bytes per second of every cell that has them, against the raw socket's.
pub(super) fn against_the_limit(chapter: &Chapter) -> Option<Figure> {
    let metric = "delivered_mb_per_s";
    let cells: Vec<&Cell> = chapter
        .cells
        .iter()
        .filter(|cell| !values(&chapter.records, cell, "raw-tcp", metric).is_empty())
        .collect();
    if cells.is_empty() {
        return None;
    }
    let rows = cells.len() as f64;
    let subjects = chapter.records.manifest.subjects.iter();
    let shares: Vec<(&Subject, Vec<(f64, f64)>)> = subjects
        .filter(|subject| !matches!(subject.role, Role::Raw | Role::Null))
        .map(|subject| (subject, shares_of_raw(&chapter.records, &cells, &subject.label, metric)))
        .collect();
    let all = || shares.iter().flat_map(|(_, points)| points.iter().map(|point| point.0));
    let (low, high) = (all().fold(1.0, f64::min) * 0.6, all().fold(1.0, f64::max) * 1.3);
    let mut chart = Chart::new(&Frame {
        x: (Spacing::Log, low, high, "share of what a raw socket carries in the same run"),
        y: (Spacing::Even, 0.0, rows, ""),
    });
    chart.line(Role::Raw, &[(1.0, 0.0), (1.0, rows)]);
    chart.name(Role::Raw, "raw-tcp");
    for (subject, points) in &shares {
        chart.marks(subject.role, points);
        chart.name(subject.role, &subject.label);
    }
    for (n, cell) in cells.iter().enumerate() {
        // Above its marks, lest they hide it.
        chart.text((low * 1.02, rows - 0.2 - n as f64), &cell.name);
    }
    let ours = shares.iter().find(|(subject, _)| subject.role == Role::Schwann);
    let ours: Vec<f64> = ours.iter().flat_map(|(_, points)| points.iter().map(|point| point.0)).collect();
    let most = ours.iter().copied().fold(0.0, f64::max);
    let mut says = format!(
        "A raw socket with the same pushes, a write each, is at 1. Schwann reaches {} of it, depending on the \
         shape of the data.",
        words::from_to(&ours, &|share| format!("{} %", number(100.0 * share)))
    );
    if most > 1.1 {
        says += " Beyond 1 it carries more than a socket with a write for every push.";
    }
    Some(Figure { title: "Throughput against the limit".to_owned(), svg: chart.finish(&says), says })
}

/// A subject's median over the raw socket's in every cell that has both: the share, and the cell's row.
fn shares_of_raw(records: &Records, cells: &[&Cell], label: &str, metric: &str) -> Vec<(f64, f64)> {
    let share = |(n, cell): (usize, &&Cell)| {
        let of = |label| median(&values(records, cell, label, metric));
        (of(label) / of("raw-tcp"), cells.len() as f64 - 0.5 - n as f64)
    };
    cells.iter().enumerate().map(share).filter(|point| point.0.is_finite() && point.0 > 0.0).collect()
}

/// The metrics whose sweeps are drawn, and what they are called.
const SWEPT: [(&str, &str); 5] = [
    ("latency_push_p50_us", "median latency, µs"),
    ("latency_push_p99_us", "99 % latency, µs"),
    ("push_p50_us", "median push, µs"),
    ("cpu_s_per_million", "CPU seconds per million samples"),
    ("delivered_mb_per_s", "delivered, MB/s"),
];

/// The three quantiles that sentences give.
pub(super) fn in_short(distribution: &Distribution) -> [String; 3] {
    [0.5, 0.99, 1.0].map(|p| us(distribution.quantile(p)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_histogram_count_shares() {
        let distribution = Distribution { buckets: vec![(1.0, 0.5), (2.0, 0.4), (9.0, 0.1)] };
        assert_eq!([0.5, 0.51, 0.9, 0.99].map(|p| distribution.quantile(p)), [1.0, 2.0, 2.0, 9.0]);
        assert_eq!(distribution.cumulative().len(), 3);
    }

    #[test]
    fn the_densest_place_of_a_violin_is_full_width() {
        let distribution = Distribution { buckets: vec![(1.0, 0.2), (10.0, 0.8)] };
        let density = distribution.density(0.5, 20.0, 10);
        assert_eq!(density.iter().map(|point| point.1).fold(0.0, f64::max), 1.0);
    }
}
