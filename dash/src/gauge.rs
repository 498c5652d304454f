//! What one stream's samples say about its health: rate, lag and gaps.

use std::collections::VecDeque;

use schwann_recorder::{Arrivals, Course, Evidence, Gap, Pace, Reach, Reading, Step};

/// Counts and measures; the samples' values are not its concern.
#[derive(Debug)]
pub(super) struct Gauge {
    course: Course,
    lags: VecDeque<f64>,
    arrivals: Arrivals,
    gaps: VecDeque<Gap>,
    /// What arrivals say of the clock that stamps the samples.
    pace: Pace,
}

impl Gauge {
    /// Begins at zero.
    ///
    /// - Units: Hz, 0 for an irregular stream.
    pub(super) fn new(nominal_rate: f64) -> Self {
        Self {
            course: Course::new(nominal_rate),
            lags: VecDeque::new(),
            arrivals: Arrivals::default(),
            gaps: VecDeque::new(),
            pace: Pace::new(nominal_rate),
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

    /// Notes that samples with these stamps have arrived.
    ///
    /// - Units: `stamps` in seconds on the sender's clock, `now` on the local one.
    pub(super) fn arrived(&mut self, stamps: &[f64], now: f64) {
        self.arrivals.add(now);
        self.course.look();
        self.pace.arrived(stamps, now);
    }

    /// When samples have last arrived.
    pub(super) fn last_arrival(&self) -> Option<f64> {
        self.arrivals.last()
    }

    /// Notes how old a sample was when it came, in seconds.
    pub(super) fn add_lag(&mut self, lag: f64) {
        self.lags.push_back(lag);
        if self.lags.len() > LAGS_KEPT {
            self.lags.pop_front();
        }
    }

    /// Samples before the next one came and were dropped here: they are no gap of the sender's.
    pub(super) fn dropped(&mut self) {
        self.course.interrupted();
    }

    /// Forgets what belongs to a connection that has ended; counts and gaps stay.
    pub(super) fn disconnected(&mut self) {
        self.course.forget_rate();
        self.lags.clear();
        self.arrivals = Arrivals::default();
        self.pace.interrupted();
    }

    /// Samples per second over the last seconds; none before it can be told. While nothing comes, it falls.
    pub(super) fn rate(&self, now: f64) -> Option<f64> {
        let silence = self.arrivals.last().map_or(0.0, |arrival| now - arrival);
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

    /// What speaks for and against the stream, whose sender's clock is known or not. How long ago that was measured is
    /// for who knows it.
    pub(super) fn evidence(&self, reach: Reach, since: f64, is_clock_known: bool) -> Evidence {
        let lag = self.lags.back().copied().filter(|_| is_clock_known);
        let reading = Reading::new(&self.course, self.arrivals, lag);
        Reading { steps: self.pace.steps(), drift: self.pace.drift(), ..reading }.evidence(reach, since)
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

#[cfg(test)]
mod tests {
    use schwann_recorder::{Trouble, Verdict, judge};

    use super::*;

    fn run(gauge: &mut Gauge, from: u32, to: u32) {
        for n in from..to {
            let stamp = 100.0 + f64::from(n) / 250.0;
            gauge.add(stamp);
            gauge.arrived(&[stamp], stamp + 0.002);
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
    fn a_stream_is_judged_by_what_came_on_this_connection() {
        let said = |gauge: &Gauge, now| judge(&gauge.evidence(Reach::Connected, 100.0, true), now);
        let mut gauge = Gauge::new(250.0);
        assert_eq!(said(&gauge, 101.0), Verdict::Early);
        assert!(matches!(said(&gauge, 102.0), Verdict::Trouble(Trouble::NoSamples { .. })));
        run(&mut gauge, 0, 1_000);
        gauge.add_lag(-1.8e9);
        assert!(matches!(said(&gauge, 104.1), Verdict::Trouble(Trouble::TimeBase { .. })));
        let unknown = judge(&gauge.evidence(Reach::Connected, 100.0, false), 104.1);
        assert_eq!(unknown, Verdict::Well, "without the sender's clock a lag means nothing");
        assert!(matches!(said(&gauge, 106.0), Verdict::Trouble(Trouble::Stopped { .. })));
        gauge.disconnected();
        assert_eq!(said(&gauge, 101.0), Verdict::Early);
    }

    #[test]
    fn a_clock_that_jumps_or_runs_too_fast_is_accused() {
        let mut gauge = Gauge::new(250.0);
        run(&mut gauge, 0, 1_000);
        for n in 1_000..2_000_u32 {
            let sent = 100.0 + f64::from(n) / 250.0;
            gauge.add(sent + 7.0);
            gauge.arrived(&[sent + 7.0], sent + 0.002);
        }
        let verdict = judge(&gauge.evidence(Reach::Connected, 100.0, true), 108.0);
        assert!(matches!(verdict, Verdict::Trouble(Trouble::ClockStep { count: 1, .. })), "{verdict:?}");
        let mut gauge = Gauge::new(250.0);
        for n in 0..15_000_u32 {
            let sent = 100.0 + f64::from(n) / 250.0;
            let stamp = 100.0 + (sent - 100.0) * 1.004;
            gauge.add(stamp);
            gauge.arrived(&[stamp], sent + 0.002);
        }
        let verdict = judge(&gauge.evidence(Reach::Connected, 100.0, true), 160.0);
        assert!(matches!(verdict, Verdict::Trouble(Trouble::Drift { .. })), "{verdict:?}");
    }

    #[test]
    fn the_lag_is_the_median_and_the_tail() {
        let mut gauge = Gauge::new(250.0);
        assert_eq!(gauge.lag(), None);
        (1..=100).for_each(|n| gauge.add_lag(f64::from(n) / 1e3));
        assert_eq!(gauge.lag(), Some([0.051, 0.1]));
    }
}
