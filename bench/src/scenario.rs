//! What is measured: a scenario is a workload and the figures that are taken from it.
//!
//! A scenario checks its own result. A run whose samples are damaged, out of order, or lost where the
//! workload allows no loss gives no figures at all.

use std::collections::BTreeMap;

use crate::line::Profile;
use crate::transfer::Outcome;
use crate::workload::{Pacing, Workload};

pub mod agent;
pub mod drift;
pub mod latency;
pub mod memory;
pub mod network;
pub mod throughput;

/// One cell of a suite's table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Unique within the suite, `a-z0-9-`; part of the records.
    pub name: String,
    /// What it measures, for the reader of the table.
    pub about: String,
    /// The sweeps that it is a point of.
    pub points: Vec<Point>,
    /// What the processes do.
    pub workload: Workload,
    /// How figures are taken from it.
    pub take: fn(&Workload, &Outcome) -> Figures,
    /// The figures that the table shows, in its order.
    pub metrics: &'static [Metric],
    /// Whether the same transfer over a raw socket says anything.
    pub raw_baseline: RawBaseline,
    /// Whether the opponent also runs against itself here.
    pub null: NullRuns,
    /// What is between the two ends.
    pub route: Route,
}

impl Cell {
    /// A cell between two processes of this computer, measured over a raw socket and with its own null, too.
    pub(crate) fn new(
        name: impl Into<String>,
        about: impl Into<String>,
        workload: Workload,
        take: fn(&Workload, &Outcome) -> Figures,
        metrics: &'static [Metric],
    ) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            points: Vec::new(),
            workload,
            take,
            metrics,
            raw_baseline: RawBaseline::Measured,
            null: NullRuns::Measured,
            route: Route::Loopback,
        }
    }

    /// Adds cells, or the place on a sweep's axis to the cell that is there already.
    fn join(cells: &mut Vec<Self>, made: Self) {
        match cells.iter_mut().find(|cell| cell.name == made.name) {
            Some(cell) => cell.points.extend(made.points),
            None => cells.push(made),
        }
    }
}

/// What is between the two ends of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Route {
    /// To another computer, on which an agent runs.
    Agent,
    /// A line between two network namespaces.
    Line(&'static Profile),
    /// This computer's loopback.
    Loopback,
}

/// Whether a cell shows what a difference between equals looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NullRuns {
    /// Its comparisons use the widest null among the suite's cells.
    Borrowed,
    /// It has its own.
    Measured,
}

/// A place on the axis of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What is varied.
    pub axis: Axis,
    /// Where on it, in the axis' unit.
    pub at: f64,
}

/// What a sweep varies.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Axis {
    /// Channels per sample.
    Channels,
    /// Samples per push.
    Chunk,
    /// Receiving processes.
    Inlets,
    /// Samples per second.
    Rate,
}

impl Axis {
    /// The axis' name with its unit, as a plot shows it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Channels => "channels",
            Self::Chunk => "samples per chunk",
            Self::Inlets => "inlets",
            Self::Rate => "rate, Hz",
        }
    }

    /// What follows a value on it in a sentence.
    #[must_use]
    pub fn unit(self) -> &'static str {
        if self == Self::Rate { "Hz" } else { self.label() }
    }
}

/// Whether a raw socket is measured beside the libraries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RawBaseline {
    /// It shows what the machine permits.
    Measured,
    /// It has nothing to compare.
    Meaningless,
}

/// A figure's name, meaning and goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Key in [`Figures`]; ends in its unit.
    pub name: &'static str,
    /// Which way is better.
    pub better: Better,
    /// The project's goal for its ratio to the opponent.
    pub goal: Option<f64>,
    /// The project's goal for its ratio to the raw socket.
    pub goal_raw: Option<f64>,
}

impl Metric {
    pub(crate) const fn lower(name: &'static str) -> Self {
        Self { name, better: Better::Lower, goal: None, goal_raw: None }
    }

    pub(crate) const fn higher(name: &'static str) -> Self {
        Self { name, better: Better::Higher, goal: None, goal_raw: None }
    }

    const fn goal(self, ratio: f64) -> Self {
        Self { goal: Some(ratio), ..self }
    }

    const fn goal_raw(self, ratio: f64) -> Self {
        Self { goal_raw: Some(ratio), ..self }
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Better {
    /// Says whether `ratio` reaches `goal`.
    #[must_use]
    pub fn reaches(self, ratio: f64, goal: f64) -> bool {
        match self {
            Self::Higher => ratio >= goal,
            Self::Lower => ratio <= goal,
        }
    }
}

/// What one run gave, by metric name, in the unit that the name ends in.
pub type Figures = BTreeMap<String, f64>;

/// Names each figure.
fn figures_of<const N: usize>(figures: [(&str, f64); N]) -> Figures {
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Why the result of a run is not believed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckFailure {
    /// Values were wrong in so many samples.
    #[error("{0} samples with wrong values")]
    Corrupt(u64),
    /// So many samples came twice or too late.
    #[error("{0} samples twice or out of order")]
    Disordered(u64),
    /// Latency changed by so many per cent from the run's beginning to its end.
    #[error("latency drifted by {0} % during the run")]
    Drifted(i64),
    /// So many samples never came, in a workload that gives no excuse.
    #[error("{0} samples lost")]
    Lost(u64),
    /// The receiver got nothing.
    #[error("nothing was received")]
    Nothing,
}

/// Leaves the null to the ends of every sweep, and to cells that are in several: a machine's restlessness depends on
/// the load, which is least and greatest there.
fn borrow_nulls(cells: &mut [Cell]) {
    let ends: Vec<(Axis, f64, f64)> = [Axis::Channels, Axis::Chunk, Axis::Inlets, Axis::Rate]
        .into_iter()
        .map(|axis| {
            let on = cells.iter().flat_map(|cell| &cell.points).filter(|point| point.axis == axis);
            let (low, high) = on.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
                (low.min(point.at), high.max(point.at))
            });
            (axis, low, high)
        })
        .collect();
    for cell in cells {
        let at_end = |point: &Point| {
            ends.iter().any(|&(axis, low, high)| axis == point.axis && (point.at == low || point.at == high))
        };
        if cell.points.len() < 2 && !cell.points.iter().any(at_end) {
            cell.null = NullRuns::Borrowed;
        }
    }
}

/// Checks that what was received is what was sent.
///
/// # Errors
///
/// [`CheckFailure`]: the run proves a fault, and its timing means nothing.
pub fn check(workload: &Workload, outcome: &Outcome) -> Result<(), CheckFailure> {
    for receiver in &outcome.receivers {
        let tally = receiver.tally;
        if tally.received == 0 {
            return Err(CheckFailure::Nothing);
        }
        if tally.corrupt > 0 {
            return Err(CheckFailure::Corrupt(tally.corrupt));
        }
        if tally.disordered > 0 {
            return Err(CheckFailure::Disordered(tally.disordered));
        }
        let unread = outcome.sender.sent.saturating_sub(tally.received);
        match workload.pacing {
            // More was pushed than any receiver can take; what is dropped is a figure, not a fault.
            Pacing::Unpaced => {}
            // Who pulls slowly on purpose leaves samples unread, but sees no gap.
            _ if workload.pauses() && tally.lost == 0 => {}
            _ if unread == 0 => {}
            _ => return Err(CheckFailure::Lost(unread)),
        }
    }
    Ok(())
}

/// Checks that the latency of a run stood still: what changes while one looks has no one value.
///
/// # Errors
///
/// [`CheckFailure::Drifted`]: the run is made again.
pub fn check_drift(figures: &Figures) -> Result<(), CheckFailure> {
    let value = |name| figures.get(name).copied().unwrap_or(0.0_f64);
    let (percent, t) = (value("drift_percent"), value("drift_t"));
    if percent.abs() > DRIFT_LIMIT_PERCENT && t.abs() > DRIFT_LIMIT_T {
        return Err(CheckFailure::Drifted(percent as i64));
    }
    Ok(())
}

/// More than this between a run's beginning and its end, of the run's median, is drift.
const DRIFT_LIMIT_PERCENT: f64 = 25.0;
/// The slope must be beyond chance, too: p < 0.001 at 18 degrees of freedom.
const DRIFT_LIMIT_T: f64 = 3.92;

/// Processor seconds of sender and receivers per million samples delivered.
fn cpu_seconds_per_million(outcome: &Outcome) -> f64 {
    let cpu_ns: u64 = outcome.sender.cpu_ns + outcome.receivers.iter().map(|r| r.cpu_ns).sum::<u64>();
    let delivered: u64 = outcome.receivers.iter().map(|r| r.tally.received).sum();
    cpu_ns as f64 * 1e-9 / delivered as f64 * 1e6
}

fn largest(values: impl Iterator<Item = u64>) -> f64 {
    values.max().unwrap_or(0) as f64
}
