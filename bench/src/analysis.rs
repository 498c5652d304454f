//! What the record of a suite of cells says: every comparison once, for the tables and the page alike.

use core::fmt;
use std::collections::BTreeMap;

use crate::record::{Records, Role};
use crate::scenario::{Better, Cell, Metric};
use crate::statistics::{
    Interval, PairedT, Resampler, bca_interval, cohens_d_paired, equivalence, holm, median, needed_pairs,
    paired_t, signed_rank,
};

/// One subject against another, by one metric in one cell.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// The cell's name.
    pub(crate) cell: String,
    /// What is compared.
    pub(crate) metric: Metric,
    /// The subject of a figure.
    pub(crate) subject: Role,
    /// What it is divided by.
    pub(crate) base: Role,
    /// Pairs.
    pub(crate) pairs: usize,
    /// The median of the subject's runs.
    pub(crate) value: f64,
    /// The median of the base's runs.
    pub(crate) base_value: f64,
    /// Their ratio, and whether it is beyond what equals differ by here.
    pub(crate) ratio: Ratio,
    /// Of `subject - base`, in the metric's unit.
    pub(crate) t: Option<PairedT>,
    /// Wilcoxon's p.
    pub(crate) p_ranks: Option<f64>,
    /// [`PairedT::p`], corrected for all comparisons of the same metric and roles in the suite.
    pub(crate) p_holm: Option<f64>,
    /// Effect size for pairs.
    pub(crate) d_paired: f64,
    /// p of the test that both are equal within [`EQUIVALENCE_MARGIN`].
    pub(crate) p_equal: Option<f64>,
    /// Pairs with which an effect of this size is found four times out of five.
    pub(crate) pairs_needed: Option<u32>,
}

impl Comparison {
    /// The ratio that the project wants to reach here, if it has such a goal.
    pub(crate) fn goal(&self) -> Option<f64> {
        match (self.subject, self.base) {
            (Role::Schwann, Role::Opponent) => self.metric.goal,
            (Role::Schwann, Role::Raw) => self.metric.goal_raw,
            _ => None,
        }
    }

    /// Whether it does, if there is a goal.
    pub(crate) fn reaches_goal(&self) -> Option<bool> {
        self.goal().map(|goal| self.metric.better.reaches(self.ratio.median, goal))
    }

    /// What may be said.
    pub(crate) fn outcome(&self) -> Outcome {
        let is_better = (self.ratio.median > 1.0) == (self.metric.better == Better::Higher);
        if self.ratio.resolved {
            if is_better { Outcome::Better } else { Outcome::Worse }
        } else if self.p_equal.is_some_and(|p| p < 0.05) || self.identical() {
            Outcome::Equal
        } else {
            Outcome::Unresolved
        }
    }

    /// Whether no pair differs at all, where no test has anything to work with.
    fn identical(&self) -> bool {
        self.ratio.spread.low == 1.0 && self.ratio.spread.high == 1.0
    }
}

/// What a comparison permits to say of its subject.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// Better than the base, by more than equals differ here.
    Better,
    /// Equal within the margin.
    Equal,
    /// The data say neither.
    Unresolved,
    /// Worse than the base, by more than equals differ here.
    Worse,
}

impl Outcome {
    /// The sign that stands beside the number.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Better => "▲",
            Self::Equal => "=",
            Self::Unresolved => "·",
            Self::Worse => "▼",
        }
    }
}

/// Compares, in every cell and metric: ours with each other subject, sealed with plain, and the
/// opponent with itself.
pub(crate) fn compare(records: &Records, cells: &[Cell]) -> Vec<Comparison> {
    let mut all = compare_those(records, cells, |_, _| true);
    correct(&mut all);
    all
}

/// [`compare`], of the cells and metrics that are wanted by name alone, and without [`Comparison::p_holm`].
pub(crate) fn compare_those(
    records: &Records,
    cells: &[Cell],
    is_wanted: impl Fn(&str, &str) -> bool,
) -> Vec<Comparison> {
    let mut all = Vec::new();
    for cell in cells {
        for metric in cell.metrics.iter().filter(|metric| is_wanted(&cell.name, metric.name)) {
            let values = by_role(records, &paired_values(records, &cell.name, metric.name));
            for (subject, base) in PAIRS {
                let null = match subject {
                    Role::Null => None,
                    _ => null_of(records, cells, cell, metric),
                };
                let both = values.get(&subject).zip(values.get(&base));
                all.extend(both.and_then(|(subject_values, base_values)| {
                    one(cell, *metric, (subject, subject_values), (base, base_values), null.as_ref())
                }));
            }
        }
    }
    all
}

fn by_role(records: &Records, values: &BTreeMap<String, Vec<f64>>) -> BTreeMap<Role, Vec<f64>> {
    let subjects = &records.manifest.subjects;
    subjects.iter().filter_map(|subject| Some((subject.role, values.get(&subject.label)?.clone()))).collect()
}

/// The runs of equals against which an effect in `cell` is judged: its own, or the widest of the suite.
fn null_of(records: &Records, cells: &[Cell], cell: &Cell, metric: &Metric) -> Option<(Vec<f64>, Vec<f64>)> {
    let of = |cell: &Cell| {
        let mut values = by_role(records, &paired_values(records, &cell.name, metric.name));
        Some((values.remove(&Role::Null)?, values.remove(&Role::Opponent)?))
    };
    let width = |(null, base): &(Vec<f64>, Vec<f64>)| {
        ratio(null, base, None)
            .map_or(0.0, |ratio| ratio.spread.low.ln().abs().max(ratio.spread.high.ln().abs()))
    };
    of(cell).or_else(|| cells.iter().filter_map(of).max_by(|a, b| width(a).total_cmp(&width(b))))
}

fn one(
    cell: &Cell,
    metric: Metric,
    (subject, values): (Role, &Vec<f64>),
    (base, base_values): (Role, &Vec<f64>),
    null: Option<&(Vec<f64>, Vec<f64>)>,
) -> Option<Comparison> {
    let d_paired = cohens_d_paired(base_values, values);
    let base_value = median(base_values);
    Some(Comparison {
        cell: cell.name.clone(),
        metric,
        subject,
        base,
        pairs: values.len(),
        value: median(values),
        base_value,
        ratio: ratio(values, base_values, null.map(|(null, base)| (null.as_slice(), base.as_slice())))?,
        t: paired_t(base_values, values, 0.95),
        p_ranks: signed_rank(base_values, values).map(|ranks| ranks.p),
        p_holm: None,
        d_paired,
        p_equal: equivalence(base_values, values, EQUIVALENCE_MARGIN * base_value).map(|both| both.p()),
        pairs_needed: (d_paired.is_finite() && d_paired != 0.0)
            .then(|| needed_pairs(d_paired, 0.05, 0.8))
            .flatten(),
    })
}

/// Holm's correction within each family: one metric and one pair of roles over all cells.
fn correct(all: &mut [Comparison]) {
    let mut families: BTreeMap<(&str, Role, Role), Vec<usize>> = BTreeMap::new();
    for (index, comparison) in all.iter().enumerate() {
        if comparison.t.is_some() {
            let family = (comparison.metric.name, comparison.subject, comparison.base);
            families.entry(family).or_default().push(index);
        }
    }
    for indices in families.into_values() {
        let p: Vec<f64> = indices.iter().filter_map(|&index| all[index].t.map(|t| t.p)).collect();
        for (index, adjusted) in indices.into_iter().zip(holm(&p)) {
            all[index].p_holm = Some(adjusted);
        }
    }
}

/// Returns, for one cell and metric, the values per subject in pairs. The same index is the same pass of the same
/// block. Passes that are not complete are left out.
pub(crate) fn paired_values(records: &Records, cell: &str, metric: &str) -> BTreeMap<String, Vec<f64>> {
    let mut passes: BTreeMap<usize, BTreeMap<&str, f64>> = BTreeMap::new();
    let believed = |reading: &&crate::record::Reading| reading.fault.is_none();
    for reading in records.readings.iter().filter(|r| r.step == cell && r.name == metric).filter(believed) {
        for (pass, value) in reading.values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            passes.entry(pass).or_default().insert(&reading.subject, *value);
        }
    }
    let complete = passes.values().map(BTreeMap::len).max().unwrap_or(0);
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (subject, value) in passes.values().filter(|pass| pass.len() == complete).flatten() {
        values.entry((*subject).to_owned()).or_default().push(*value);
    }
    values
}

/// A ratio between paired runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// The median of the pairs' ratios.
    pub(crate) median: f64,
    /// Its 95 % interval; the range of the pairs when they are too few for one.
    pub(crate) spread: Interval,
    /// Whether it is different from 1 by more than equals differ here.
    pub(crate) resolved: bool,
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.3} [{:.3}, {:.3}]", self.median, self.spread.low, self.spread.high)
    }
}

/// Returns the ratio of `subject` to `base`. `null`, two series of equals, measures how much equals differ.
pub(crate) fn ratio(subject: &[f64], base: &[f64], null: Option<(&[f64], &[f64])>) -> Option<Ratio> {
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

const BOOTSTRAP_SEED: u64 = 1;
const BOOTSTRAP_RESAMPLES: usize = 9999;
/// Below this the bootstrap of a median knows less than the range shows.
const LEAST_PAIRS_FOR_INTERVAL: usize = 6;

/// Differences below this share of the base do not matter to an experiment; fixed before any data were seen.
pub(crate) const EQUIVALENCE_MARGIN: f64 = 0.05;

/// The comparisons that a report makes, subject first.
const PAIRS: [(Role, Role); 7] = [
    (Role::Schwann, Role::Opponent),
    (Role::Schwann, Role::ZeroCopy),
    (Role::Schwann, Role::Raw),
    (Role::Schwann, Role::Iceoryx2),
    (Role::Sealed, Role::Schwann),
    (Role::Sealed, Role::Opponent),
    (Role::Null, Role::Opponent),
];

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
