//! What one stream's samples say about its health: rate, lag and gaps.

use std::collections::VecDeque;

/// Counts and measures; the samples' values are not its concern.
#[derive(Debug)]
pub(super) struct Gauge {
    nominal_rate: f64,
    total: u64,
    /// Newest stamp and total now and then, for the last [`RATE_SECONDS`].
    looks: VecDeque<(f64, u64)>,
    lags: VecDeque<f64>,
    newest_stamp: Option<f64>,
    last_arrival: Option<f64>,
    gap_count: u64,
    missing: u64,
    gaps: VecDeque<Gap>,
}

/// A place where a regular stream has no samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Gap {
    /// Stamp of the sample before it, in seconds on the local clock.
    pub(super) from: f64,
    /// Stamp of the sample after it.
    pub(super) to: f64,
    /// Samples that would have fitted in between.
    pub(super) missing: u64,
}

impl Gauge {
    /// Begins at zero.
    ///
    /// - Units: Hz, 0 for an irregular stream.
    pub(super) fn new(nominal_rate: f64) -> Self {
        Self {
            nominal_rate,
            total: 0,
            looks: VecDeque::new(),
            lags: VecDeque::new(),
            newest_stamp: None,
            last_arrival: None,
            gap_count: 0,
            missing: 0,
            gaps: VecDeque::new(),
        }
    }

    /// Takes in the stamp of a sample; says whether samples are missing before it.
    ///
    /// - Units: seconds on the local clock.
    pub(super) fn add(&mut self, stamp: f64) -> Continuity {
        self.total += 1;
        let Some(before) = self.newest_stamp.replace(stamp) else { return Continuity::Whole };
        let seconds = stamp - before;
        // Blocks whose stamps overlap a little are common; more is another clock.
        if seconds < -1.0 {
            self.looks.clear();
        }
        let is_gap = self.nominal_rate > 0.0 && seconds > self.longest_step();
        if !is_gap {
            return Continuity::Whole;
        }
        let missing = (seconds * self.nominal_rate).round() as u64 - 1;
        self.gap_count += 1;
        self.missing += missing;
        self.gaps.push_back(Gap { from: before, to: stamp, missing });
        if self.gaps.len() > GAPS_KEPT {
            self.gaps.pop_front();
        }
        Continuity::Broken
    }

    /// Notes that samples have arrived.
    pub(super) fn arrived(&mut self, now: f64) {
        self.last_arrival = Some(now);
        let Some(newest) = self.newest_stamp else { return };
        if self.looks.back().is_none_or(|(at, _)| newest - at >= LOOK_SECONDS) {
            self.looks.push_back((newest, self.total));
        }
        while self.looks.front().is_some_and(|(at, _)| newest - at > RATE_SECONDS) {
            self.looks.pop_front();
        }
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
        self.looks.clear();
        self.lags.clear();
    }

    /// Samples per second over the last seconds; none before it can be told.
    pub(super) fn rate(&self, now: f64) -> Option<f64> {
        let (first, counted) = *self.looks.front()?;
        let (last, total) = *self.looks.back()?;
        // By their stamps, because samples may come in blocks. While nothing comes, the rate falls.
        let silence = self.last_arrival.map_or(0.0, |arrival| now - arrival);
        let seconds = last - first + if silence > 1.0 { silence } else { 0.0 };
        (seconds >= 0.5).then(|| (total - counted) as f64 / seconds)
    }

    /// Median and 99th percentile of the age of samples when they came, in seconds.
    pub(super) fn lag(&self) -> Option<[f64; 2]> {
        let mut sorted: Vec<f64> = self.lags.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted.get((sorted.len().saturating_sub(1) * part).div_ceil(100)).copied();
        Some([at(50)?, at(99)?])
    }

    /// Samples that have come.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// How many gaps there were.
    pub(super) fn gap_count(&self) -> u64 {
        self.gap_count
    }

    /// How many samples they swallowed, about.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// The newest gaps, oldest first.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter()
    }

    /// Whether samples should have come by now and have not.
    pub(super) fn is_silent(&self, now: f64, since: f64) -> bool {
        let last = self.last_arrival.unwrap_or(since).max(since);
        self.nominal_rate > 0.0 && now - last > SILENCE_SECONDS.max(3.0 / self.nominal_rate)
    }

    fn longest_step(&self) -> f64 {
        GAP_SECONDS.max(GAP_SAMPLES / self.nominal_rate)
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

/// A gap is longer than this and than [`GAP_SAMPLES`] intervals, as in `schwann verify`: less is the jitter of senders
/// that send in blocks.
const GAP_SECONDS: f64 = 0.1;
const GAP_SAMPLES: f64 = 2.5;
const GAPS_KEPT: usize = 64;
const LAGS_KEPT: usize = 256;
const LOOK_SECONDS: f64 = 0.1;
const RATE_SECONDS: f64 = 5.0;
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
    fn the_rate_is_that_of_the_last_seconds_and_falls_in_silence() {
        let mut gauge = Gauge::new(250.0);
        assert_eq!(gauge.rate(100.0), None);
        run(&mut gauge, 0, 2_500);
        let rate = gauge.rate(110.0).expect("known after 10 s");
        assert!((rate - 250.0).abs() < 0.5, "{rate}");
        assert!(gauge.rate(115.0).expect("known") < 130.0);
    }

    #[test]
    fn a_gap_is_counted_once_with_what_is_missing() {
        let mut gauge = Gauge::new(250.0);
        run(&mut gauge, 0, 500);
        assert_eq!(gauge.add(100.0 + 650.0 / 250.0), Continuity::Broken);
        assert_eq!((gauge.gap_count(), gauge.missing(), gauge.total()), (1, 150, 501));
        // Blocks that come 80 ms apart with equal stamps are no gap.
        assert_eq!(gauge.add(100.0 + 670.0 / 250.0), Continuity::Whole);
        assert_eq!(gauge.gaps().count(), 1);
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

    #[test]
    fn stamps_that_go_back_or_are_no_numbers_are_no_gap() {
        let mut gauge = Gauge::new(10.0);
        for stamp in [5.0, 4.0, f64::NAN, 6.0, f64::NAN] {
            assert_eq!(gauge.add(stamp), Continuity::Whole);
        }
    }
}
