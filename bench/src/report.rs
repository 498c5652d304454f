//! The table of a campaign, for a terminal.

use core::fmt::Write;

use crate::analysis::{Comparison, Verdict, compare};
use crate::campaign::paired_values;
use crate::record::{self, Reading, Records, Role};
use crate::scenario::Cell;
use crate::statistics::{Interval, Resampler, bca_interval, median};

/// Writes, per cell and metric, every subject's median and the ratios with their spread.
#[must_use]
pub fn table(records: &Records, cells: &[Cell]) -> String {
    let mut out = String::new();
    let manifest = &records.manifest;
    let machine = &manifest.machine;
    put(
        &mut out,
        format_args!("{} on {} x{}, {}", manifest.suite, machine.processor, machine.cores, machine.kernel),
    );
    for subject in &manifest.subjects {
        put(&mut out, format_args!("  {:10} {}", subject.label, subject.version));
    }
    let comparisons = compare(records, cells);
    for cell in cells {
        put(&mut out, format_args!("\n{}: {}", cell.name, cell.about));
        cell_table(&mut out, records, cell, &comparisons);
    }
    let faults = records.runs.iter().filter(|run| run.fault.is_some()).count();
    if faults > 0 {
        put(&mut out, format_args!("\n{faults} of {} runs are not believed:", records.runs.len()));
    }
    for run in &records.runs {
        if let Some(fault) = &run.fault {
            put(&mut out, format_args!("  {} in {}: {fault}", run.subject, run.place.cell));
        }
    }
    out
}

/// A ratio between paired runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The median of the pairs' ratios.
    pub median: f64,
    /// Its 95 % interval; the range of the pairs when they are too few for one.
    pub spread: Interval,
    /// Whether it is different from 1 by more than equals differ here.
    pub resolved: bool,
}

/// Returns the ratio of `subject` to `base`, with `null`, two series of equals, as the measure of what equals
/// differ by.
#[must_use]
pub fn ratio(subject: &[f64], base: &[f64], null: Option<(&[f64], &[f64])>) -> Option<Ratio> {
    let ratios = ratios(subject, base)?;
    let spread = spread(&ratios);
    // How far from 1, in either direction, the opponent is from itself.
    let noise = null.and_then(|(one, other)| self::ratios(one, other)).map_or(0.0, |null| {
        let Interval { low, high } = self::spread(&null);
        low.ln().abs().max(high.ln().abs())
    });
    let median = median(&ratios);
    Some(Ratio { median, resolved: !spread.contains(1.0) && median.ln().abs() > noise, spread })
}

fn ratios(subject: &[f64], base: &[f64]) -> Option<Vec<f64>> {
    let ratios: Vec<f64> = subject.iter().zip(base).map(|(subject, base)| subject / base).collect();
    (!ratios.is_empty() && ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0)).then_some(ratios)
}

fn spread(ratios: &[f64]) -> Interval {
    let distribution = Resampler::new(BOOTSTRAP_SEED).distribution(ratios, median, BOOTSTRAP_RESAMPLES);
    let range = || Interval {
        low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        high: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    if ratios.len() < LEAST_PAIRS_FOR_INTERVAL {
        return range();
    }
    bca_interval(ratios, median, &distribution, 0.95).unwrap_or_else(range)
}

fn cell_table(out: &mut String, records: &Records, cell: &Cell, comparisons: &[Comparison]) {
    let mut subjects: Vec<_> = records.manifest.subjects.iter().collect();
    subjects.sort_by_key(|subject| subject.role);
    let shown: Vec<_> = subjects.iter().filter(|subject| subject.role != Role::Null).collect();
    let mut line = format!("  {:24}", "");
    for subject in &shown {
        let _ = write!(line, " {:>12}", subject.label);
    }
    put(
        out,
        format_args!("{line}   ratios [95 % interval, or range below {LEAST_PAIRS_FOR_INTERVAL} pairs]"),
    );
    for metric in cell.metrics {
        let values = paired_values(records, &cell.name, metric.name);
        if values.is_empty() {
            continue;
        }
        let mut line = format!("  {:24}", metric.name);
        for subject in &shown {
            let value =
                values.get(&subject.label).map_or_else(|| "-".to_owned(), |values| number(median(values)));
            let _ = write!(line, " {value:>12}");
        }
        let of_metric = comparisons
            .iter()
            .filter(|comparison| comparison.cell == cell.name && comparison.metric.name == metric.name);
        put(out, format_args!("{line}   {}", of_metric.map(in_words).collect::<Vec<_>>().join("; ")));
    }
}

fn in_words(comparison: &Comparison) -> String {
    let name = match (comparison.subject, comparison.base) {
        (Role::Schwann, Role::Opponent) => "ours/theirs",
        (Role::Schwann, Role::ZeroMq) => "ours/zeromq",
        (Role::Schwann, Role::Zenoh) => "ours/zenoh",
        (Role::Schwann, _) => "ours/raw",
        (Role::Sealed, Role::Schwann) => "sealed/plain",
        (Role::Sealed, _) => "sealed/theirs",
        _ => "null",
    };
    let Ratio { median, spread, .. } = &comparison.ratio;
    let verdict = match comparison.verdict() {
        _ if comparison.subject == Role::Null => "",
        Verdict::Different => "",
        Verdict::Equivalent => " (equal within 5 %)",
        Verdict::NotResolved => " (not resolved)",
    };
    let goal = match comparison.base {
        Role::Opponent if comparison.subject == Role::Schwann => comparison.metric.goal,
        Role::Raw => comparison.metric.goal_raw,
        _ => None,
    };
    let goal = goal.map_or_else(String::new, |goal| {
        let met = if comparison.metric.better.reaches(*median, goal) { "met" } else { "MISSED" };
        format!(" goal {goal}: {met}")
    });
    format!("{name} {median:.3} [{:.3}, {:.3}]{verdict}{goal}", spread.low, spread.high)
}

/// A figure of a suite of steps, as a line for a terminal.
pub(crate) fn reading(reading: &Reading) -> String {
    let verdict =
        reading.criterion.as_deref().zip(reading.verdict()).map_or_else(String::new, |(limit, verdict)| {
            let word = match verdict {
                record::Verdict::Met => "met",
                record::Verdict::Missed => "NOT MET",
                record::Verdict::NotResolved => "not resolved, more restarts or a quieter machine",
            };
            format!("  {word}: {limit}")
        });
    format!(
        "{:14} {:>8} {:26} {:36} {:>12} {} ({} to {}, n {}){verdict}",
        reading.step,
        reading.at.map_or_else(String::new, |at| at.to_string()),
        reading.subject,
        reading.name,
        number(reading.median),
        reading.unit,
        number(reading.low),
        number(reading.high),
        reading.samples,
    )
}

/// Four digits are more than any of these figures deserves.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn put(out: &mut String, line: core::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{line}");
}

const BOOTSTRAP_SEED: u64 = 1;
const BOOTSTRAP_RESAMPLES: usize = 9999;
/// Below this the bootstrap of a median knows less than the range shows.
const LEAST_PAIRS_FOR_INTERVAL: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_smaller_than_what_equals_differ_by_is_not_resolved() {
        let base = [10.0; 8];
        let faster = [9.0, 9.1, 9.0, 8.9, 9.0, 9.1, 9.0, 8.9];
        let quiet = [10.1, 9.9, 10.0, 10.1, 10.0, 9.9, 10.0, 10.0];
        let noisy = [8.0, 12.0, 8.1, 11.9, 8.0, 12.1, 8.2, 12.0];
        assert!(ratio(&faster, &base, Some((&quiet, &base))).expect("positive").resolved);
        assert!(!ratio(&faster, &base, Some((&noisy, &base))).expect("positive").resolved);
    }

    #[test]
    fn a_ratio_to_nothing_is_no_ratio() {
        assert_eq!(ratio(&[1.0], &[0.0], None), None);
        assert_eq!(ratio(&[], &[], None), None);
    }
}
