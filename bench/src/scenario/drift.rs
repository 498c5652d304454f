//! Whether latency stood still while it was measured.

use super::{CheckFailure, Figures, figures};
use crate::statistics::{mean, median};

/// Checks that the latency of a run stood still: a value that changes meanwhile is no single
/// value.
///
/// # Errors
///
/// [`CheckFailure::Drifted`]: the run is made again.
pub(crate) fn check_drift(figures: &Figures) -> Result<(), CheckFailure> {
    let value = |name| figures.get(name).copied().unwrap_or(0.0_f64);
    let (percent, t) = (value("drift_percent"), value("drift_t"));
    if percent.abs() > LIMIT_PERCENT && t.abs() > LIMIT_T {
        return Err(CheckFailure::Drifted(percent as i64));
    }
    Ok(())
}

/// The least-squares line through the medians of twenty stretches of latencies (us), which came `rate` times a
/// second. Gives its slope, also in standard errors, and its rise from first stretch to last in per cent of the
/// median. A single hold-up, which is no drift, moves no median. Nothing below four stretches.
pub(super) fn steadiness(latencies: &[f64], rate: f64) -> Figures {
    let length = latencies.len().div_ceil(STRETCHES).max(1);
    let y: Vec<f64> = latencies.chunks(length).map(median).collect();
    if y.len() < 4 {
        return Figures::new();
    }
    let middle = |(index, stretch): (usize, &[f64])| (index * length) as f64 + stretch.len() as f64 / 2.0;
    let x: Vec<f64> = latencies.chunks(length).enumerate().map(|place| middle(place) / rate).collect();
    let (x_mean, y_mean) = (mean(&x), mean(&y));
    let sum = |term: &dyn Fn(f64, f64) -> f64| {
        x.iter().zip(&y).map(|(x, y)| term(x - x_mean, y - y_mean)).sum::<f64>()
    };
    let xx = sum(&|x, _| x * x);
    let slope = sum(&|x, y| x * y) / xx;
    let error = (sum(&|x, y| (y - slope * x).powi(2)) / (x.len() as f64 - 2.0) / xx).sqrt();
    let rise = slope * (x[x.len() - 1] - x[0]);
    figures([
        ("drift_us_per_minute", slope * 60.0),
        ("drift_percent", 100.0 * rise / median(&y)),
        // A line without any scatter is as sure as can be.
        ("drift_t", if slope == 0.0 { 0.0 } else { slope / error.max(slope.abs() * 1e-9) }),
    ])
}

const STRETCHES: usize = 20;
/// More than this between a run's beginning and its end, of the run's median, is drift.
const LIMIT_PERCENT: f64 = 25.0;
/// The slope must be beyond chance, too: p < 0.001 at 18 degrees of freedom.
const LIMIT_T: f64 = 3.92;

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(latencies: &[f64]) -> Figures {
        steadiness(latencies, 1000.0)
    }

    #[test]
    fn a_latency_that_grows_by_a_microsecond_per_second_drifts_by_sixty_per_minute() {
        let growing: Vec<f64> = (0..10_000).map(|index| 50.0 + f64::from(index) * 1e-3).collect();
        let drift = drift(&growing)["drift_us_per_minute"];
        assert!((drift - 60.0).abs() < 0.5, "{drift}");
    }

    #[test]
    fn a_run_whose_latency_rises_by_half_is_thrown_away() {
        let rising: Vec<f64> =
            (0..10_000).map(|index| 50.0 + f64::from(index) * 25e-4 + f64::from(index % 7)).collect();
        assert!(matches!(check_drift(&drift(&rising)), Err(CheckFailure::Drifted(35..=50))));
    }

    #[test]
    fn steady_latency_with_hold_ups_is_no_drift() {
        let held_up = |index: u32| if index.is_multiple_of(977) { 5000.0 } else { 0.0 };
        let steady: Vec<f64> =
            (0..10_000).map(|index| 50.0 + f64::from(index % 13) + held_up(index)).collect();
        assert_eq!(check_drift(&drift(&steady)), Ok(()));
    }
}
