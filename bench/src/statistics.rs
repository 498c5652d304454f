//! The statistics of the reports: few, named, and equal to scipy's to nine digits.
//!
//! `tests/statistics_reference.py` makes the table that they are tested against. Nothing here decides what an
//! effect means. It says how large the effect is and how sure that is. It also says whether the effect
//! exceeds the difference of the same library, measured twice, from itself.

mod bootstrap;
mod many;
mod paired;
mod power;
mod quantile;
mod wilcoxon;

pub(crate) use bootstrap::{Resampler, bca_interval};
pub(crate) use many::holm;
pub(crate) use paired::{PairedT, cohens_d_paired, equivalence, paired_t};
pub(crate) use power::needed_pairs;
pub(crate) use quantile::{median, quantile_interval, quantile_of_sorted};
pub(crate) use wilcoxon::signed_rank;

/// A range that holds the true value with the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
}

impl Interval {
    /// Says whether `value` lies inside.
    pub(crate) fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Returns the arithmetic mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance (divisor n - 1); NaN below two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests;
