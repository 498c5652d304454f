//! What a campaign's records say: every comparison once, for the terminal, the page and the summary alike.

use std::collections::BTreeMap;

use crate::campaign::paired_values;
use crate::record::{Records, Role};
use crate::report::{Ratio, ratio};
use crate::scenario::{Cell, Metric};
use crate::statistics::{
    PairedT, cohens_d_paired, cohens_d_pooled, equivalence, holm, median, needed_pairs, paired_t, signed_rank,
};

/// Differences below this share of the base are of no consequence to an experiment; fixed before any data were seen.
pub const EQUIVALENCE_MARGIN: f64 = 0.05;

/// One subject against another, by one metric in one cell.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The cell's name.
    pub cell: String,
    /// What is compared.
    pub metric: Metric,
    /// Whose figure it is.
    pub subject: Role,
    /// What it is divided by.
    pub base: Role,
    /// Pairs.
    pub pairs: usize,
    /// The median of the subject's runs.
    pub value: f64,
    /// The median of the base's runs.
    pub base_value: f64,
    /// Their ratio, and whether it is beyond what equals differ by here.
    pub ratio: Ratio,
    /// Of `subject - base`, in the metric's unit.
    pub t: Option<PairedT>,
    /// Wilcoxon's p.
    pub p_ranks: Option<f64>,
    /// [`PairedT::p`], corrected for all comparisons of the same metric and roles in the suite.
    pub p_holm: Option<f64>,
    /// Effect size for pairs.
    pub d_paired: f64,
    /// Effect size as if unpaired, as older reports give it.
    pub d_pooled: f64,
    /// p of the test that both are equal within [`EQUIVALENCE_MARGIN`].
    pub p_equal: Option<f64>,
    /// Pairs with which an effect of this size is found four times out of five.
    pub pairs_needed: Option<u32>,
}

impl Comparison {
    /// What may be said, in two or three words.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.ratio.resolved {
            Verdict::Different
        } else if self.p_equal.is_some_and(|p| p < 0.05) || self.identical() {
            Verdict::Equivalent
        } else {
            Verdict::NotResolved
        }
    }

    /// Whether no pair differs at all, where no test has anything to work with.
    fn identical(&self) -> bool {
        self.ratio.spread.low == 1.0 && self.ratio.spread.high == 1.0
    }
}

/// What a comparison permits to say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The difference is real, and beyond that between equals.
    Different,
    /// The two are equal within the margin.
    Equivalent,
    /// The data say neither.
    NotResolved,
}

/// Compares, in every cell and metric: ours with the opponent, the raw socket, ZeroMQ and Zenoh, sealed with plain, and the
/// opponent with itself.
#[must_use]
pub fn compare(records: &Records, cells: &[Cell]) -> Vec<Comparison> {
    let mut all = Vec::new();
    for cell in cells {
        for metric in cell.metrics {
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
    correct(&mut all);
    all
}

/// The comparisons that a report makes, subject first.
const PAIRS: [(Role, Role); 7] = [
    (Role::Schwann, Role::Opponent),
    (Role::Schwann, Role::Raw),
    (Role::Schwann, Role::ZeroMq),
    (Role::Schwann, Role::Zenoh),
    (Role::Sealed, Role::Schwann),
    (Role::Sealed, Role::Opponent),
    (Role::Null, Role::Opponent),
];

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
        d_pooled: cohens_d_pooled(base_values, values),
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
