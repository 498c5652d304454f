//! Measures one stream as it arrives: rate, lag and gaps.

use super::arrivals::Arrivals;
use super::course::{Course, MeasuredRate};
use super::verdict::{Evidence, Reach};

/// What has arrived of one stream.
#[derive(Clone, Debug)]
pub struct Meter {
    course: Course,
    lags: Histogram,
    lag: Option<f64>,
    arrivals: Arrivals,
}

/// What a meter shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The rate that the sender says, in Hz; 0 if irregular.
    pub nominal_rate: f64,
    /// Samples that have arrived.
    pub sample_count: u64,
    /// Samples per second over the last seconds, by their stamps; none before there are two.
    pub rate: Option<f64>,
    /// Age of the newest sample when it arrived, in seconds.
    pub lag: Option<f64>,
    /// Median age on arrival, in seconds.
    pub lag_p50: Option<f64>,
    /// Age on arrival that 99 of 100 samples stay below, in seconds.
    pub lag_p99: Option<f64>,
    /// Oldest age on arrival, in seconds.
    pub lag_max: Option<f64>,
    /// Places where stamps are further apart than the rate says.
    pub gap_count: u64,
    /// Samples that are missing there.
    pub missing: u64,
    /// Places where stamps go backwards.
    pub backward_count: u64,
    /// The rate once more, with how far it can be trusted.
    pub measured_rate: Option<MeasuredRate>,
    /// When samples arrived.
    pub arrivals: Arrivals,
}

impl Meter {
    /// Makes a meter for a stream of this rate, in Hz; 0 if it has none.
    pub fn new(nominal_rate: f64) -> Self {
        Self::following(Course::new(nominal_rate))
    }

    /// Makes a meter that takes every missing sample for a gap, for senders that stamp exactly.
    pub fn strict(nominal_rate: f64) -> Self {
        Self::following(Course::strict(nominal_rate))
    }

    fn following(course: Course) -> Self {
        Self { course, lags: Histogram::default(), lag: None, arrivals: Arrivals::default() }
    }

    /// Takes in samples that arrived at `now`; `lag` is the age of the newest, if the sender's clock is known.
    ///
    /// - Units: seconds; `stamps` on one clock, whichever; `now` on the local clock.
    pub fn arrived(&mut self, stamps: &[f64], lag: Option<f64>, now: f64) {
        let Some(&newest) = stamps.last() else { return };
        for &stamp in stamps {
            self.course.add(stamp);
            if let Some(lag) = lag {
                self.lags.add(lag + (newest - stamp));
            }
        }
        self.course.look();
        self.lag = lag.or(self.lag);
        self.arrivals.add(now);
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub fn interrupted(&mut self) {
        self.course.interrupted();
        self.arrivals = Arrivals::default();
        // The sender's clock may be another one.
        self.lag = None;
    }

    /// Notes that the connection has ended: what is measured anew with every connection is not known now.
    pub fn disconnected(&mut self) {
        self.course.forget_rate();
    }

    /// Shows what was measured until `now`, in seconds on the local clock. While no sample comes, the rate falls.
    pub fn reading(&self, now: f64) -> Reading {
        let silence = self.arrivals.last().map_or(0.0, |last| now - last);
        let is_pause = silence <= (2.0 * self.arrivals.usual_pause()).max(1.0);
        Reading {
            rate: self.course.rate(if is_pause { 0.0 } else { silence }),
            lag_p50: self.lags.quantile(0.5),
            lag_p99: self.lags.quantile(0.99),
            lag_max: self.lags.max(),
            ..Reading::new(&self.course, self.arrivals, self.lag)
        }
    }
}

impl Reading {
    /// Shows what stamps and arrivals say, without what falls in silence and without the spread of the lag.
    ///
    /// - Units: `lag` in seconds; none while the sender's clock is not known.
    pub fn new(course: &Course, arrivals: Arrivals, lag: Option<f64>) -> Self {
        Self {
            nominal_rate: course.nominal_rate(),
            sample_count: course.sample_count(),
            rate: None,
            lag,
            lag_p50: None,
            lag_p99: None,
            lag_max: None,
            gap_count: course.gap_count(),
            missing: course.missing(),
            backward_count: course.backward_count(),
            measured_rate: course.measured_rate(),
            arrivals,
        }
    }

    /// What speaks for and against the stream, whose connection is as `reach` says since `since`; without twins.
    ///
    /// - Units: `since` in seconds on the local clock.
    pub fn evidence(&self, reach: Reach, since: f64) -> Evidence {
        Evidence {
            nominal_rate: self.nominal_rate,
            reach,
            since,
            rate: self.measured_rate,
            arrivals: self.arrivals,
            lag: self.lag,
            gap_count: self.gap_count,
            missing: self.missing,
            has_twin: false,
        }
    }
}

/// Counts of times by their size, within 3 % and in constant memory.
#[derive(Clone, Debug)]
struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max: f64::NEG_INFINITY }
    }
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        // What seems to come from the future, because clocks are only so well known, has no lag.
        let bucket = ((seconds.max(SMALLEST) / SMALLEST).log2() * PER_OCTAVE) as usize;
        if let Some(count) = self.counts.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.total += 1;
        self.max = self.max.max(seconds);
    }

    /// Returns what this share of the times stays below; none before there is a time.
    fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted
        })?;
        // The last bucket holds all that is longer than it can tell.
        let is_last = bucket + 1 == BUCKETS;
        let upper = if is_last { self.max } else { SMALLEST * ((bucket + 1) as f64 / PER_OCTAVE).exp2() };
        Some(upper.min(self.max))
    }

    fn max(&self) -> Option<f64> {
        (self.total > 0).then_some(self.max)
    }
}

/// The shortest time that is told apart from none, in seconds.
const SMALLEST: f64 = 1e-6;
const PER_OCTAVE: f64 = 24.0;
/// Up to 2³⁰ µs, which is 18 minutes.
const BUCKETS: usize = 30 * 24;

#[cfg(test)]
mod tests {
    use super::Meter;

    fn regular(from: u32, to: u32) -> Vec<f64> {
        (from..to).map(|n| 100.0 + f64::from(n) / 1000.0).collect()
    }

    #[test]
    fn the_rate_is_that_of_the_stamps() {
        let mut meter = Meter::new(1000.0);
        for from in (0..7_000).step_by(20) {
            meter.arrived(&regular(from, from + 20), None, 0.0);
        }
        let rate = meter.reading(0.0).rate.expect("there are stamps");
        assert!((rate - 1000.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn lags_are_told_by_their_quantiles() {
        let mut meter = Meter::new(0.0);
        for n in 1..=1000 {
            meter.arrived(&[f64::from(n)], Some(f64::from(n) * 1e-5), 0.0);
        }
        let reading = meter.reading(0.0);
        let (p50, p99) = (reading.lag_p50.expect("lags"), reading.lag_p99.expect("lags"));
        assert!((p50 / 5e-3 - 1.0).abs() < 0.03 && (p99 / 9.9e-3 - 1.0).abs() < 0.03, "{p50} {p99}");
        assert_eq!((reading.lag, reading.lag_max), (Some(0.01), Some(0.01)));
    }

    #[test]
    fn a_lag_beyond_all_measure_is_told_as_it_is() {
        let mut meter = Meter::new(0.0);
        meter.arrived(&[1.0], Some(40_000.0), 0.0);
        assert_eq!(meter.reading(0.0).lag_p50, Some(40_000.0));
    }

    #[test]
    fn every_sample_of_a_chunk_has_its_own_lag() {
        let mut meter = Meter::new(1000.0);
        meter.arrived(&regular(0, 101), Some(0.0), 0.0);
        assert!((meter.reading(0.0).lag_max.expect("lags") - 0.1).abs() < 1e-9);
    }
}
