//! Whether latency stood still while it was measured.

use crate::statistics::median;

/// The least-squares line through a run's stretches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Its slope.
    pub us_per_minute: f64,
    /// Its rise from the first stretch to the last, per cent of the median.
    pub percent: f64,
    /// Its slope in standard errors.
    pub t: f64,
}

impl Drift {
    /// Fits the line to a series of seconds and microseconds; `None` below four stretches.
    #[must_use]
    pub fn of(series: &[(f64, f64)]) -> Option<Self> {
        let n = series.len() as f64;
        let [(first, _), .., (last, _)] = series else { return None };
        let mean = |pick: fn(&(f64, f64)) -> f64| series.iter().map(pick).sum::<f64>() / n;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let sum =
            |f: &dyn Fn(f64, f64) -> f64| series.iter().map(|&(x, y)| f(x - x_mean, y - y_mean)).sum::<f64>();
        let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
        let slope = xy / xx;
        let rest = sum(&|x, y| (y - slope * x).powi(2));
        let error = (rest / (n - 2.0) / xx).sqrt();
        let typical = median(&series.iter().map(|point| point.1).collect::<Vec<_>>());
        // A line without any scatter is as sure as can be.
        let t = if slope == 0.0 { 0.0 } else { slope / error.max(slope.abs() * 1e-9) };
        (series.len() >= 4).then_some(Self {
            us_per_minute: slope * 60.0,
            percent: 100.0 * slope * (last - first) / typical,
            t,
        })
    }
}

/// Cuts latencies (us), which came `rate` times a second, into twenty stretches and takes their medians: a single
/// hold-up, which is no drift, moves none of them.
#[must_use]
pub fn stretches(latencies: &[f64], rate: f64) -> Vec<(f64, f64)> {
    let length = latencies.len().div_ceil(STRETCHES).max(1);
    latencies
        .chunks(length)
        .enumerate()
        .map(|(index, stretch)| {
            let at = (index * length) as f64 + stretch.len() as f64 / 2.0;
            (round(at / rate, 1e3), round(median(stretch), 1e2))
        })
        .collect()
}

/// Records are read by people and kept in version control: no digits that mean nothing.
fn round(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

const STRETCHES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{CheckFailure, Figures, check_drift};

    fn drift(latencies: &[f64]) -> Drift {
        Drift::of(&stretches(latencies, 1000.0)).expect("twenty stretches")
    }

    fn checked(drift: Drift) -> Result<(), CheckFailure> {
        let mut figures = Figures::default();
        figures.insert("drift_percent".to_owned(), drift.percent);
        figures.insert("drift_t".to_owned(), drift.t);
        check_drift(&figures)
    }

    #[test]
    fn a_latency_that_grows_by_a_microsecond_per_second_drifts_by_sixty_per_minute() {
        let growing: Vec<f64> = (0..10_000).map(|index| 50.0 + f64::from(index) * 1e-3).collect();
        assert!((drift(&growing).us_per_minute - 60.0).abs() < 0.5, "{:?}", drift(&growing));
    }

    #[test]
    fn a_run_whose_latency_rises_by_half_is_thrown_away() {
        let rising: Vec<f64> =
            (0..10_000).map(|index| 50.0 + f64::from(index) * 25e-4 + f64::from(index % 7)).collect();
        assert!(matches!(checked(drift(&rising)), Err(CheckFailure::Drifted(35..=50))));
    }

    #[test]
    fn steady_latency_with_hold_ups_is_no_drift() {
        let held_up = |index: u32| if index.is_multiple_of(977) { 5000.0 } else { 0.0 };
        let steady: Vec<f64> =
            (0..10_000).map(|index| 50.0 + f64::from(index % 13) + held_up(index)).collect();
        assert_eq!(checked(drift(&steady)), Ok(()));
    }
}
