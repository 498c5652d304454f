//! Wilcoxon's signed-rank test.

use statrs::distribution::{ContinuousCDF, Normal};

use super::paired::differences;

/// The result of a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SignedRank {
    /// The smaller of the two rank sums.
    pub(crate) w: f64,
    /// Two-sided; exact up to fifty pairs.
    pub(crate) p: f64,
}

/// Tests whether pairs differ. Equal pairs say nothing and are left out; `None` when no others remain.
///
/// *Source*: `scipy.stats.wilcoxon`, exact also with ties (there: its permutation method).
pub(crate) fn signed_rank(first: &[f64], second: &[f64]) -> Option<SignedRank> {
    let mut differences = differences(first, second);
    differences.retain(|difference| *difference != 0.0);
    if differences.is_empty() {
        return None;
    }
    let doubled = doubled_ranks(&mut differences);
    let positive: u64 = doubled
        .iter()
        .zip(&differences)
        .filter(|(_, difference)| **difference > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    let total: u64 = doubled.iter().sum();
    let smaller = positive.min(total - positive);
    let tail = if doubled.len() <= EXACT_PAIRS {
        exact_tail(&doubled, smaller)
    } else {
        normal_tail(&doubled, smaller)
    };
    Some(SignedRank { w: smaller as f64 / 2.0, p: (2.0 * tail).min(1.0) })
}

/// Sorts by absolute value and returns twice the rank of each; ties share their mean rank.
fn doubled_ranks(differences: &mut [f64]) -> Vec<u64> {
    differences.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut ranks = Vec::with_capacity(differences.len());
    for tie in differences.chunk_by(|a, b| a.abs() == b.abs()) {
        let before = ranks.len() as u64;
        ranks.extend(core::iter::repeat_n(2 * before + tie.len() as u64 + 1, tie.len()));
    }
    ranks
}

/// The share of sign assignments whose positive ranks sum to at most `sum`.
fn exact_tail(doubled: &[u64], sum: u64) -> f64 {
    let mut ways = vec![0.0_f64; sum as usize + 1];
    ways[0] = 1.0;
    for &rank in doubled {
        for total in (rank as usize..ways.len()).rev() {
            ways[total] += ways[total - rank as usize];
        }
    }
    ways.iter().sum::<f64>() / 2.0_f64.powi(doubled.len() as i32)
}

/// The same from the normal approximation, whose variance the doubled ranks give with ties corrected.
fn normal_tail(doubled: &[u64], sum: u64) -> f64 {
    let mean = doubled.iter().sum::<u64>() as f64 / 2.0;
    let variance = doubled.iter().map(|&rank| (rank as f64).powi(2)).sum::<f64>() / 4.0;
    Normal::standard().cdf((sum as f64 - mean) / variance.sqrt())
}

/// Up to so many pairs the p-value counts every assignment of signs.
const EXACT_PAIRS: usize = 50;
