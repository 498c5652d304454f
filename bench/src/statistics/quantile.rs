//! Quantiles and their distribution-free confidence intervals.

use statrs::function::beta::beta_reg;

use super::Interval;

/// Returns the median of values in any order; NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, 0.5)
}

/// Returns the `p` quantile of ascending values, between neighbours by linear interpolation (Hyndman and Fan's
/// type 7, as in numpy). NaN of nothing.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Returns the order statistics between which the true `p` quantile lies with confidence `level`, for any
/// distribution. Returns `None` when there are too few values to say.
///
/// *Source*: Conover, Practical Nonparametric Statistics §3.2; `scipy.stats.quantile_test`.
pub(crate) fn quantile_interval(sorted: &[f64], p: f64, level: f64) -> Option<Interval> {
    let tail = (1.0 - level) / 2.0;
    let count = sorted.len() as u64;
    let low = binomial_quantile(tail, count, p).checked_sub(1)?;
    let high = binomial_quantile(1.0 - tail, count, p);
    Some(Interval { low: *sorted.get(low as usize)?, high: *sorted.get(high as usize)? })
}

/// The smallest k whose cumulative binomial probability reaches `probability`.
fn binomial_quantile(probability: f64, count: u64, p: f64) -> u64 {
    let cumulative =
        |k: u64| if k >= count { 1.0 } else { beta_reg((count - k) as f64, k as f64 + 1.0, 1.0 - p) };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if cumulative(middle) >= probability {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
