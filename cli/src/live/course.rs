//! Follows the stamps of one stream: how many came, how fast, and where some are missing.
//!
//! Everything that shows a live stream counts gaps by this one rule, and `schwann info` counts those of a
//! recording by the same.

use alloc::collections::VecDeque;

/// The course of a stream's stamps.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Stamps further apart than this, in seconds, are a gap; none for a stream without a rate.
    gap_from: Option<f64>,
    nominal_rate: f64,
    sample_count: u64,
    gap_count: u64,
    missing: u64,
    backward_count: u64,
    newest: Option<f64>,
    /// Stamp and count of samples, now and then, over the last [`WINDOW`] seconds.
    window: VecDeque<(f64, u64)>,
}

/// What a stamp says about the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Samples are missing in between.
    Missing(Gap),
    /// None is missing.
    Whole,
}

/// A place where a regular stream has no samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Gap {
    /// Stamp of the sample before it, in seconds.
    pub(crate) from: f64,
    /// Stamp of the sample after it, in seconds.
    pub(crate) to: f64,
    /// Samples that would have fitted in between.
    pub(crate) missing: u64,
}

impl Course {
    /// Begins at zero.
    ///
    /// - Units: Hz, 0 for an irregular stream.
    pub(crate) fn new(nominal_rate: f64) -> Self {
        let gap_from = (nominal_rate > 0.0).then(|| GAP_SECONDS.max(GAP_PERIODS / nominal_rate));
        Self {
            gap_from,
            nominal_rate,
            sample_count: 0,
            gap_count: 0,
            missing: 0,
            backward_count: 0,
            newest: None,
            window: VecDeque::new(),
        }
    }

    /// Takes every missing sample for a gap, for senders that stamp exactly.
    pub(crate) fn strict(nominal_rate: f64) -> Self {
        let mut course = Self::new(nominal_rate);
        course.gap_from = course.gap_from.map(|_| 1.5 / nominal_rate);
        course
    }

    /// Takes in the stamp of the next sample; says whether samples are missing before it.
    ///
    /// - Units: seconds, on one clock, whichever.
    pub(crate) fn add(&mut self, stamp: f64) -> Step {
        self.sample_count += 1;
        let Some(before) = self.newest.replace(stamp) else { return Step::Whole };
        let seconds = stamp - before;
        if seconds < 0.0 {
            self.backward_count += 1;
        }
        // Blocks whose stamps overlap a little are common; more is another clock, which has a rate of its own.
        if seconds < -ANOTHER_CLOCK {
            self.window.clear();
        }
        let is_gap = self.gap_from.is_some_and(|gap_from| seconds > gap_from);
        if !is_gap {
            return Step::Whole;
        }
        let missing = ((seconds * self.nominal_rate).round() as u64).saturating_sub(1);
        self.gap_count += 1;
        self.missing += missing;
        Step::Missing(Gap { from: before, to: stamp, missing })
    }

    /// Notes where the stream is now, for its rate: after all samples that came together.
    pub(crate) fn look(&mut self) {
        let Some(newest) = self.newest else { return };
        if self.window.back().is_none_or(|(stamp, _)| newest - stamp >= WINDOW / 50.0) {
            self.window.push_back((newest, self.sample_count));
        }
        while self.window.len() > 2 && self.window.front().is_some_and(|(stamp, _)| newest - stamp > WINDOW) {
            self.window.pop_front();
        }
    }

    /// Forgets how fast samples came, because the connection has ended.
    pub(crate) fn forget_rate(&mut self) {
        self.window.clear();
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub(crate) fn interrupted(&mut self) {
        self.newest = None;
        self.window.clear();
    }

    /// Samples per second over the last seconds, by their stamps, because samples may come in blocks; none before
    /// the stretch is long enough for that. A `silence`, in seconds, counts as time without samples.
    pub(crate) fn rate(&self, silence: f64) -> Option<f64> {
        let ((from, before), (to, after)) = (self.window.front()?, self.window.back()?);
        (to - from >= RATE_FROM).then(|| (after - before) as f64 / (to - from + silence))
    }

    /// Samples that have come.
    pub(crate) fn sample_count(&self) -> u64 {
        self.sample_count
    }

    /// Places where stamps are further apart than the rate says.
    pub(crate) fn gap_count(&self) -> u64 {
        self.gap_count
    }

    /// Samples that are missing there, about.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// Places where stamps go backwards.
    pub(crate) fn backward_count(&self) -> u64 {
        self.backward_count
    }

    /// The nominal rate, in Hz; 0 for an irregular stream.
    pub(crate) fn nominal_rate(&self) -> f64 {
        self.nominal_rate
    }
}

/// The rate is measured over this many seconds.
const WINDOW: f64 = 5.0;
/// Over less than this, in seconds, the jitter of stamps would weigh more than what is measured.
const RATE_FROM: f64 = 0.3;
/// A regular stream has a gap where stamps are further apart than this and than [`GAP_PERIODS`] periods, as
/// in `schwann info`: less is the jitter of senders that stamp on arrival or send in blocks.
const GAP_SECONDS: f64 = 0.1;
const GAP_PERIODS: f64 = 2.5;
/// Stamps that go back by more than this, in seconds, are those of another clock.
const ANOTHER_CLOCK: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::{Course, Gap, Step};

    fn run(course: &mut Course, from: u32, to: u32) {
        for n in from..to {
            course.add(100.0 + f64::from(n) / 250.0);
            course.look();
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds_and_falls_in_silence() {
        let mut course = Course::new(250.0);
        assert_eq!(course.rate(0.0), None);
        run(&mut course, 0, 2_500);
        let rate = course.rate(0.0).expect("known after 10 s");
        assert!((rate - 250.0).abs() < 0.5, "{rate}");
        assert!(course.rate(5.0).expect("known") < 130.0);
    }

    #[test]
    fn a_gap_is_counted_once_with_what_is_missing() {
        let mut course = Course::new(250.0);
        run(&mut course, 0, 500);
        let (from, to) = (100.0 + 499.0 / 250.0, 100.0 + 650.0 / 250.0);
        assert_eq!(course.add(to), Step::Missing(Gap { from, to, missing: 150 }));
        assert_eq!((course.gap_count(), course.missing(), course.sample_count()), (1, 150, 501));
        // Blocks that come 80 ms apart with equal stamps are no gap.
        assert_eq!(course.add(100.0 + 670.0 / 250.0), Step::Whole);
    }

    #[test]
    fn a_strict_course_sees_a_single_missing_sample() {
        let (mut loose, mut strict) = (Course::new(250.0), Course::strict(250.0));
        for course in [&mut loose, &mut strict] {
            run(course, 0, 10);
            run(course, 11, 20);
        }
        assert_eq!((loose.gap_count(), strict.gap_count(), strict.missing()), (0, 1, 1));
    }

    #[test]
    fn an_irregular_stream_has_no_gaps() {
        let mut course = Course::new(0.0);
        assert_eq!([1.0, 50.0, 50.0, 49.0].map(|stamp| course.add(stamp)), [Step::Whole; 4]);
        assert_eq!((course.gap_count(), course.backward_count()), (0, 1));
    }

    #[test]
    fn another_run_of_a_stream_is_no_gap() {
        let mut course = Course::new(250.0);
        run(&mut course, 0, 10);
        course.interrupted();
        run(&mut course, 5_000, 5_010);
        assert_eq!(course.gap_count(), 0);
    }

    #[test]
    fn stamps_that_go_back_or_are_no_numbers_are_no_gap() {
        let mut course = Course::new(10.0);
        for stamp in [5.0, 4.0, f64::NAN, 6.0, f64::NAN] {
            assert_eq!(course.add(stamp), Step::Whole);
        }
    }
}
