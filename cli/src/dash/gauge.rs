//! What one stream's samples say about its health: rate, lag and gaps.

use std::collections::VecDeque;

use crate::live::course::{Course, Gap, Step};

/// Counts and measures; the samples' values are not its concern.
#[derive(Debug)]
pub(super) struct Gauge {
    course: Course,
    lags: VecDeque<f64>,
    last_arrival: Option<f64>,
    gaps: VecDeque<Gap>,
}

impl Gauge {
    /// Begins at zero.
    ///
    /// - Units: Hz, 0 for an irregular stream.
    pub(super) fn new(nominal_rate: f64) -> Self {
        Self {
            course: Course::new(nominal_rate),
            lags: VecDeque::new(),
            last_arrival: None,
            gaps: VecDeque::new(),
        }
    }

    /// Takes in the stamp of a sample; says whether samples are missing before it.
    ///
    /// - Units: seconds on the local clock.
    pub(super) fn add(&mut self, stamp: f64) -> Continuity {
        let Step::Missing(gap) = self.course.add(stamp) else { return Continuity::Whole };
        self.gaps.push_back(gap);
        if self.gaps.len() > GAPS_KEPT {
            self.gaps.pop_front();
        }
        Continuity::Broken
    }

    /// Notes that samples have arrived.
    pub(super) fn arrived(&mut self, now: f64) {
        self.last_arrival = Some(now);
        self.course.look();
    }

    /// When samples have last arrived.
    pub(super) fn last_arrival(&self) -> Option<f64> {
        self.last_arrival
    }

    /// Notes how old a sample was when it came, in seconds.
    pub(super) fn add_lag(&mut self, lag: f64) {
        self.lags.push_back(lag);
        if self.lags.len() > LAGS_KEPT {
            self.lags.pop_front();
        }
    }

    /// Forgets what belongs to a connection that has ended; counts and gaps stay.
    pub(super) fn disconnected(&mut self) {
        self.course.forget_rate();
        self.lags.clear();
    }

    /// Samples per second over the last seconds; none before it can be told. While nothing comes, it falls.
    pub(super) fn rate(&self, now: f64) -> Option<f64> {
        let silence = self.last_arrival.map_or(0.0, |arrival| now - arrival);
        self.course.rate(if silence > 1.0 { silence } else { 0.0 })
    }

    /// Median and 99th percentile of the age of samples when they came, in seconds.
    pub(super) fn lag(&self) -> Option<[f64; 2]> {
        let mut sorted: Vec<f64> = self.lags.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted.get((sorted.len().saturating_sub(1) * part).div_ceil(100)).copied();
        Some([at(50)?, at(99)?])
    }

    /// How many samples have come, and where some are missing.
    pub(super) fn course(&self) -> &Course {
        &self.course
    }

    /// The newest gaps, oldest first.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter()
    }

    /// Whether samples should have come by now and have not.
    pub(super) fn is_silent(&self, now: f64, since: f64) -> bool {
        let last = self.last_arrival.unwrap_or(since).max(since);
        let rate = self.course.nominal_rate();
        rate > 0.0 && now - last > SILENCE_SECONDS.max(3.0 / rate)
    }
}

/// Whether a sample follows the one before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Continuity {
    /// Samples are missing in between.
    Broken,
    /// None is missing.
    Whole,
}

const GAPS_KEPT: usize = 64;
const LAGS_KEPT: usize = 256;
const SILENCE_SECONDS: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(gauge: &mut Gauge, from: u32, to: u32) {
        for n in from..to {
            let stamp = 100.0 + f64::from(n) / 250.0;
            gauge.add(stamp);
            gauge.arrived(stamp + 0.002);
        }
    }

    #[test]
    fn the_newest_gaps_are_remembered() {
        let mut gauge = Gauge::new(250.0);
        run(&mut gauge, 0, 500);
        assert_eq!(gauge.add(100.0 + 650.0 / 250.0), Continuity::Broken);
        assert_eq!(gauge.add(100.0 + 670.0 / 250.0), Continuity::Whole);
        assert_eq!(gauge.gaps().map(|gap| gap.missing).collect::<Vec<_>>(), [150]);
        for n in 0..2 * GAPS_KEPT {
            gauge.add(200.0 + n as f64);
        }
        assert_eq!(gauge.gaps().count(), GAPS_KEPT);
    }

    #[test]
    fn the_rate_falls_in_silence() {
        let mut gauge = Gauge::new(250.0);
        run(&mut gauge, 0, 2_500);
        let [live, silent] = [110.0, 115.0].map(|now| gauge.rate(now).expect("known after 10 s"));
        assert!((live - 250.0).abs() < 0.5 && silent < 130.0, "{live} {silent}");
    }

    #[test]
    fn irregular_streams_have_neither_gaps_nor_silence() {
        let mut gauge = Gauge::new(0.0);
        assert_eq!([1.0, 50.0].map(|stamp| gauge.add(stamp)), [Continuity::Whole; 2]);
        assert!(!gauge.is_silent(1e6, 0.0));
    }

    #[test]
    fn silence_is_measured_from_the_last_sample_or_the_start() {
        let mut gauge = Gauge::new(250.0);
        assert!(!gauge.is_silent(101.0, 100.0) && gauge.is_silent(102.0, 100.0));
        run(&mut gauge, 0, 1_000);
        assert!(!gauge.is_silent(105.0, 100.0) && gauge.is_silent(106.0, 100.0));
    }

    #[test]
    fn the_lag_is_the_median_and_the_tail() {
        let mut gauge = Gauge::new(250.0);
        assert_eq!(gauge.lag(), None);
        (1..=100).for_each(|n| gauge.add_lag(f64::from(n) / 1e3));
        assert_eq!(gauge.lag(), Some([0.051, 0.1]));
    }
}
