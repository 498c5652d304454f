//! Measures one stream as it arrives: rate, lag and gaps.

use schwann_xdf::{Drift, Histogram, is_time};

use super::arrivals::Arrivals;
use super::certificate::Gathered;
use super::course::{Course, Gap, MeasuredRate, Step};
use super::timing::{Pace, Steps};
use super::verdict::{ClockSeen, Evidence, Limits, Reach};

/// What has arrived of one stream.
#[derive(Clone, Debug)]
pub struct Meter {
    course: Course,
    lags: Histogram,
    lag: Option<f64>,
    arrivals: Arrivals,
    pace: Pace,
    /// The first places where samples are missing.
    gaps: Vec<Gap>,
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
    /// The newest stamp, in seconds on the sender's clock.
    pub newest: Option<f64>,
    /// How far intervals are from the nominal one: the median, and what 99 of 100 stay below, in seconds.
    pub jitter: Option<[f64; 2]>,
    /// Samples with the stamp of the one before.
    pub duplicates: u64,
    /// Stamps that go back by more than blocks overlap, and how far the worst does, in seconds.
    pub far_backward: Option<(u64, f64)>,
    /// Samples whose stamp is no time, such as NaN.
    pub invalid_stamps: u64,
    /// How often the clock jumped that stamps the stream.
    pub steps: Option<Steps>,
    /// How much faster the stamps run than the local clock.
    pub drift: Option<Drift>,
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
        let pace = Pace::new(course.nominal_rate());
        Self {
            course,
            lags: Histogram::default(),
            lag: None,
            arrivals: Arrivals::default(),
            pace,
            gaps: Vec::new(),
        }
    }

    /// Takes in samples that arrived at `now`; `lag` is the age of the newest, if the sender's clock is known.
    ///
    /// - Units: seconds; `stamps` on one clock, whichever; `now` on the local clock.
    pub fn arrived(&mut self, stamps: &[f64], lag: Option<f64>, now: f64) {
        let Some(&newest) = stamps.last() else { return };
        let lag = lag.filter(|lag| is_time(newest) && is_time(*lag));
        for &stamp in stamps {
            if let Step::Missing(gap) = self.course.add(stamp)
                && self.gaps.len() < Gathered::GAPS_MAX
            {
                self.gaps.push(gap);
            }
            if let Some(lag) = lag.filter(|_| is_time(stamp)) {
                self.lags.add(lag + (newest - stamp));
            }
        }
        self.course.look();
        self.pace.arrived(stamps, now);
        self.lag = lag.or(self.lag);
        self.arrivals.add(now);
    }

    /// The first places where samples are missing; stamps are on the clock of those that arrived.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub fn interrupted(&mut self) {
        self.course.interrupted();
        self.pace.interrupted();
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
            lag_max: self.lags.longest(),
            steps: self.pace.steps(),
            drift: self.pace.drift(),
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
            newest: course.newest(),
            jitter: course.stamps().jitter(),
            duplicates: course.stamps().duplicates(),
            far_backward: Some((course.stamps().backward_count, course.stamps().backward_seconds))
                .filter(|(count, _)| *count > 0),
            invalid_stamps: course.stamps().invalid_count,
            steps: None,
            drift: None,
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
            newest: self.newest,
            jitter: self.jitter,
            duplicates: self.duplicates,
            backward: self.far_backward,
            invalid_stamps: self.invalid_stamps,
            steps: self.steps,
            drift: self.drift,
            clock: ClockSeen::NotAsked,
            limits: Limits::USUAL,
        }
    }
}

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
    fn places_of_missing_samples_are_listed_up_to_a_bound() {
        let mut meter = Meter::new(1000.0);
        meter.arrived(&regular(0, 500), None, 0.0);
        meter.arrived(&regular(900, 1000), None, 0.0);
        let [gap] = meter.gaps() else { panic!("{:?}", meter.gaps()) };
        assert!(
            (gap.from - 100.499).abs() < 1e-9 && (gap.to - 100.9).abs() < 1e-9 && gap.missing == 400,
            "{gap:?}"
        );
        (2..5000).for_each(|second| meter.arrived(&regular(second * 1000, second * 1000 + 2), None, 0.0));
        assert_eq!(meter.gaps().len(), crate::certificate::Gathered::GAPS_MAX);
        assert_eq!(meter.reading(0.0).gap_count, 4999);
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
