//! Comparing pairs: Student's t, effect sizes, equivalence.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Interval, mean, variance};

/// The result of a paired t-test of `second - first`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairedT {
    /// The mean difference.
    pub(crate) difference: f64,
    /// The statistic.
    pub(crate) t: f64,
    /// Two-sided.
    pub(crate) p: f64,
    /// Of the mean difference.
    pub(crate) interval: Interval,
}

/// Tests whether pairs differ in the mean; `None` below two pairs, with unequal lengths, or when all
/// differences are equal.
///
/// *Source*: `scipy.stats.ttest_rel`.
pub(crate) fn paired_t(first: &[f64], second: &[f64], level: f64) -> Option<PairedT> {
    let standard = Standard::of(first, second)?;
    let t = standard.difference / standard.error;
    let reach = standard.error * standard.students_t.inverse_cdf(f64::midpoint(1.0, level));
    Some(PairedT {
        difference: standard.difference,
        t,
        p: 2.0 * standard.students_t.cdf(-t.abs()),
        interval: Interval { low: standard.difference - reach, high: standard.difference + reach },
    })
}

/// The mean difference in units of the standard deviation of the differences: the one for pairs.
pub(crate) fn cohens_d_paired(first: &[f64], second: &[f64]) -> f64 {
    let differences = differences(first, second);
    mean(&differences) / variance(&differences).sqrt()
}

/// The result of two one-sided tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Equivalence {
    /// Against "the difference is below minus the margin".
    pub(crate) p_low: f64,
    /// Against "the difference is above the margin".
    pub(crate) p_high: f64,
}

impl Equivalence {
    /// The p-value of the whole test.
    pub(crate) fn p(&self) -> f64 {
        self.p_low.max(self.p_high)
    }
}

/// Tests whether pairs differ by less than `margin`, which must have been fixed before the data were seen.
///
/// *Source*: Schuirmann 1987.
pub(crate) fn equivalence(first: &[f64], second: &[f64], margin: f64) -> Option<Equivalence> {
    let Standard { difference, error, students_t } = Standard::of(first, second)?;
    Some(Equivalence {
        p_low: students_t.cdf(-(difference + margin) / error),
        p_high: students_t.cdf((difference - margin) / error),
    })
}

/// The mean difference, its standard error, and the distribution of their quotient.
struct Standard {
    difference: f64,
    error: f64,
    students_t: StudentsT,
}

impl Standard {
    fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.len() != second.len() {
            return None;
        }
        let differences = differences(first, second);
        let count = differences.len() as f64;
        let error = (variance(&differences) / count).sqrt();
        let students_t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
        (error > 0.0).then(|| Self { difference: mean(&differences), error, students_t })
    }
}

pub(super) fn differences(first: &[f64], second: &[f64]) -> Vec<f64> {
    first.iter().zip(second).map(|(a, b)| b - a).collect()
}
