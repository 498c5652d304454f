//! The bias-corrected and accelerated bootstrap.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Interval, mean, quantile_of_sorted};

/// Draws samples with replacement. The same seed draws the same, so a report can be made again.
pub(crate) struct Resampler(u64);

impl Resampler {
    /// Starts from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns `statistic` of `count` resamples of `values`.
    pub(crate) fn distribution(
        &mut self,
        values: &[f64],
        statistic: impl Fn(&[f64]) -> f64,
        count: usize,
    ) -> Vec<f64> {
        let mut drawn = vec![0.0; values.len()];
        (0..count)
            .map(|_| {
                for slot in &mut drawn {
                    *slot = values[self.below(values.len() as u64) as usize];
                }
                statistic(&drawn)
            })
            .collect()
    }

    /// Shuffles in place (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Returns a number below `bound`. The bias, `bound / 2^64`, is far below what any count here can show.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns the BCa interval of `statistic` over `values`, from a distribution that a [`Resampler`] made.
/// `None` below three values, where there is nothing to resample.
///
/// *Source*: Efron and Tibshirani, An Introduction to the Bootstrap §14.3; `scipy.stats.bootstrap`.
pub(crate) fn bca_interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    distribution: &[f64],
    level: f64,
) -> Option<Interval> {
    if values.len() < 3 || distribution.is_empty() {
        return None;
    }
    let mut sorted = distribution.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [first, .., last] = sorted.as_slice() else { return None };
    if first == last {
        return Some(Interval { low: *first, high: *last });
    }
    let normal = Normal::standard();
    let observed = statistic(values);
    let below = sorted.partition_point(|&value| value < observed);
    let not_above = sorted.partition_point(|&value| value <= observed);
    let bias = normal.inverse_cdf((below + not_above) as f64 / (2 * sorted.len()) as f64);
    let acceleration = acceleration(values, statistic);
    let end = |tail: f64| {
        let z = bias + normal.inverse_cdf(tail);
        quantile_of_sorted(&sorted, normal.cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - level) / 2.0;
    Some(Interval { low: end(tail), high: end(1.0 - tail) })
}

/// How fast the statistic's spread changes with its value, from leaving out one value at a time.
fn acceleration(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let jackknife: Vec<f64> = (0..values.len())
        .map(|left_out| {
            let mut rest = values.to_vec();
            rest.remove(left_out);
            statistic(&rest)
        })
        .collect();
    let centre = mean(&jackknife);
    let moment = |power| jackknife.iter().map(|value| (centre - value).powi(power)).sum::<f64>();
    let spread = moment(2);
    // A statistic that no single value moves has no acceleration.
    if spread == 0.0 { 0.0 } else { moment(3) / (6.0 * spread.powf(1.5)) }
}
