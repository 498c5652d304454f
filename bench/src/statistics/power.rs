//! How many pairs a question needs.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Returns the smallest number of pairs for a two-sided paired t-test at `alpha`. It then finds a
/// standardised difference `d` with probability `power`. Returns `None` if a million do not suffice.
pub(crate) fn needed_pairs(d: f64, alpha: f64, power: f64) -> Option<u32> {
    let enough = |pairs: u32| paired_power(d, alpha, pairs) >= power;
    let mut high = 2;
    while !enough(high) {
        high *= 2;
        if high > 1_000_000 {
            return None;
        }
    }
    let mut low = 2;
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

/// Returns the probability that a two-sided paired t-test at `alpha` finds a standardised difference `d`.
pub(crate) fn paired_power(d: f64, alpha: f64, pairs: u32) -> f64 {
    let freedom = f64::from(pairs) - 1.0;
    let Ok(students_t) = StudentsT::new(0.0, 1.0, freedom) else { return 0.0 };
    let critical = students_t.inverse_cdf(1.0 - alpha / 2.0);
    let shift = d.abs() * f64::from(pairs).sqrt();
    // Beyond this the far tail is nil, and the near one is normal to all digits.
    if shift > 36.0 {
        return 1.0;
    }
    1.0 - noncentral_t_cdf(critical, freedom, shift) + noncentral_t_cdf(-critical, freedom, shift)
}

/// Returns the cumulative probability of the noncentral t distribution, for `shift` up to 36 in size.
///
/// *Source*: Lenth 1989, Algorithm AS 243.
pub(crate) fn noncentral_t_cdf(t: f64, freedom: f64, shift: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - noncentral_t_cdf(-t, freedom, -shift);
    }
    let half_square = shift * shift / 2.0;
    let start = Normal::standard().cdf(-shift);
    if t == 0.0 || shift == 0.0 {
        return start + beta_reg(0.5, freedom / 2.0, t * t / (freedom + t * t)) / 2.0;
    }
    let x = t * t / (freedom + t * t);
    let term = |index: u32| {
        let j = f64::from(index);
        let even = (-half_square + j * half_square.ln() - ln_gamma(j + 1.0)).exp();
        let odd = (-half_square + j * half_square.ln() - ln_gamma(j + 1.5)).exp() * shift
            / core::f64::consts::SQRT_2;
        even * beta_reg(j + 0.5, freedom / 2.0, x) + odd * beta_reg(j + 1.0, freedom / 2.0, x)
    };
    // The weights are Poisson's with mean `half_square`; forty standard deviations hold all of them.
    let last = (half_square + 40.0 * half_square.sqrt() + 60.0) as u32;
    start + (0..=last).map(term).sum::<f64>() / 2.0
}
