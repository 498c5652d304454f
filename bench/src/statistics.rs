//! The statistics of the reports: few, named, and equal to scipy's to nine digits.
//!
//! `tests/statistics_reference.py` makes the table that they are tested against. Nothing here decides what an
//! effect means; it says how large it is, how sure that is, and whether it is beyond what the same library
//! measured twice differs from itself.

mod bootstrap;
mod many;
mod paired;
mod power;
mod quantile;
mod wilcoxon;

pub use bootstrap::{Resampler, bca_interval};
pub use many::holm;
pub use paired::{Equivalence, PairedT, cohens_d_paired, cohens_d_pooled, equivalence, paired_t};
pub use power::{needed_pairs, noncentral_t_cdf, paired_power};
pub use quantile::{median, quantile_interval, quantile_of_sorted};
pub use wilcoxon::{SignedRank, signed_rank};

/// A range that holds the true value with the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Says whether `value` lies inside.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Returns the arithmetic mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance (divisor n - 1); NaN below two values.
#[must_use]
pub fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}
