//! What is measured: a scenario is a workload and the figures that are taken from it.
//!
//! A scenario checks its own result. A run gives no figures at all if its samples are damaged or out
//! of order. The same goes for losses where the workload allows none.

use std::collections::BTreeMap;

use crate::line::Profile;
use crate::transfer::Outcome;
use crate::workload::{Pacing, Workload};

pub(crate) mod drift;
pub(crate) mod latency;
pub(crate) mod network;
pub(crate) mod throughput;

/// One cell of a suite's table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Unique within the suite, `a-z0-9-`; part of the records.
    pub(crate) name: String,
    /// What the processes do.
    pub(crate) workload: Workload,
    /// How figures are taken from it.
    pub(crate) take: fn(&Workload, &Outcome) -> Figures,
    /// The figures that the table shows, in its order.
    pub(crate) metrics: &'static [Metric],
    /// Whether a raw socket and other transports are measured beside the libraries. Not where they have nothing to compare.
    pub(crate) is_raw_measured: bool,
    /// Whether the opponent also runs against itself here. Otherwise the widest such null of the suite counts.
    pub(crate) is_null_measured: bool,
    /// What is between the two ends.
    pub(crate) route: Route,
}

impl Cell {
    /// A cell between two processes of this computer, measured over a raw socket and with its own null, too.
    fn new(
        name: impl Into<String>,
        workload: Workload,
        take: fn(&Workload, &Outcome) -> Figures,
        metrics: &'static [Metric],
    ) -> Self {
        let (is_raw_measured, is_null_measured, route) = (true, true, Route::Loopback);
        Self { name: name.into(), workload, take, metrics, is_raw_measured, is_null_measured, route }
    }

    /// Adds the points of a sweep. Its ends have nulls of their own, and so have cells that are in several sweeps.
    /// A machine's restlessness depends on the load, which is least and greatest there.
    fn sweep(cells: &mut Vec<Self>, points: impl IntoIterator<Item = Self>) {
        let mut last = None;
        for (place, point) in points.into_iter().enumerate() {
            last = Some(point.name.clone());
            match cells.iter_mut().find(|cell| cell.name == point.name) {
                Some(cell) => cell.is_null_measured = true,
                None => cells.push(Self { is_null_measured: place == 0, ..point }),
            }
        }
        if let Some(cell) = cells.iter_mut().find(|cell| Some(&cell.name) == last.as_ref()) {
            cell.is_null_measured = true;
        }
    }
}

/// What is between the two ends of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Route {
    /// A line between two network namespaces.
    Line(&'static Profile),
    /// This computer's loopback.
    Loopback,
    /// To another computer.
    Other,
}

/// A figure's name, meaning and goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    /// Key in [`Figures`]; ends in its unit.
    pub(crate) name: &'static str,
    /// Which way is better.
    pub(crate) better: Better,
    /// The project's goal for its ratio to the opponent.
    pub(crate) goal: Option<f64>,
    /// The project's goal for its ratio to the raw socket.
    pub(crate) goal_raw: Option<f64>,
}

const fn lower(name: &'static str) -> Metric {
    Metric { name, better: Better::Lower, goal: None, goal_raw: None }
}

const fn higher(name: &'static str) -> Metric {
    Metric { name, better: Better::Higher, goal: None, goal_raw: None }
}

impl Metric {
    const fn goal(self, ratio: f64) -> Self {
        Self { goal: Some(ratio), ..self }
    }

    const fn goal_raw(self, ratio: f64) -> Self {
        Self { goal_raw: Some(ratio), ..self }
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Better {
    /// Says whether `ratio` reaches `goal`.
    pub(crate) fn reaches(self, ratio: f64, goal: f64) -> bool {
        if self == Self::Higher { ratio >= goal } else { ratio <= goal }
    }
}

/// What one run gave, by metric name, in the unit that the name ends in.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Processor time and memory of both ends.
fn expense(outcome: &Outcome) -> Figures {
    let Outcome { sender, receivers } = outcome;
    let cpu_ns: u64 = sender.cpu_ns + receivers.iter().map(|r| r.cpu_ns).sum::<u64>();
    let delivered: u64 = receivers.iter().map(|r| r.tally.received).sum();
    let megabytes = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / 1e6;
    let growth = receivers.iter().map(|r| r.peak_bytes - r.baseline_bytes).max();
    figures([
        ("cpu_s_per_million", cpu_ns as f64 * 1e-9 / delivered as f64 * 1e6),
        ("receiver_growth_mb", megabytes(growth)),
        ("receiver_peak_mb", megabytes(receivers.iter().map(|r| r.peak_bytes).max())),
        ("sender_peak_mb", megabytes(Some(sender.peak_bytes))),
    ])
}

/// The share of what was sent that arrived, %.
fn delivered_percent(outcome: &Outcome) -> f64 {
    let received: u64 = outcome.receivers.iter().map(|r| r.tally.received).sum();
    100.0 * received as f64 / (outcome.sender.sent * outcome.receivers.len() as u64) as f64
}

fn figures<const N: usize>(figures: [(&str, f64); N]) -> Figures {
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Why the result of a run is not believed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum CheckFailure {
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

/// Checks that what was received is what was sent.
///
/// # Errors
///
/// [`CheckFailure`]: the run proves a fault, and its timing means nothing.
pub(crate) fn check(workload: &Workload, outcome: &Outcome) -> Result<(), CheckFailure> {
    for receiver in &outcome.receivers {
        let tally = receiver.tally;
        let unread = outcome.sender.sent.saturating_sub(tally.received);
        // More was pushed than any receiver can take; what is dropped is a figure, not a fault. A receiver that
        // pulls slowly on purpose leaves samples unread, but sees no gap.
        let is_excused = workload.pacing == Pacing::Unpaced || (workload.pauses() && tally.lost == 0);
        match tally {
            _ if tally.received == 0 => return Err(CheckFailure::Nothing),
            _ if tally.corrupt > 0 => return Err(CheckFailure::Corrupt(tally.corrupt)),
            _ if tally.disordered > 0 => return Err(CheckFailure::Disordered(tally.disordered)),
            _ if unread > 0 && !is_excused => return Err(CheckFailure::Lost(unread)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn the_ends_of_a_sweep_and_what_is_in_several_have_nulls_of_their_own() {
        let time = Duration::from_secs(1);
        let mut cells = Vec::new();
        Cell::sweep(&mut cells, [8, 64, 128, 256].map(|count| latency::point(count, 1e3, 1, time)));
        Cell::sweep(&mut cells, [250.0, 500.0, 1e3, 2e3].map(|rate| latency::point(64, rate, 1, time)));
        let own: Vec<bool> = cells.iter().map(|cell| cell.is_null_measured).collect();
        assert_eq!(own, [true, true, false, true, true, false, true]);
    }
}
