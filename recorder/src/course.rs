//! Follows the stamps of one stream: how many came, how fast, and where some are missing.
//!
//! Whatever shows a live stream counts gaps by this one rule, and `schwann info` counts those of a recording
//! by the same.

use alloc::collections::VecDeque;

use schwann_xdf::{ANOTHER_CLOCK, GAP_PERIODS, GAP_SECONDS, Grid, is_time, uncrowd};

use super::timing::StampCourse;

/// The course of a stream's stamps.
#[derive(Clone, Debug)]
pub struct Course {
    /// Stamps further apart than this, in seconds, are a gap; none for a stream without a rate.
    gap_from: Option<f64>,
    nominal_rate: f64,
    sample_count: u64,
    gap_count: u64,
    missing: u64,
    backward_count: u64,
    newest: Option<f64>,
    /// Samples since then whose stamp is no time.
    unplaced: u64,
    /// Where the stream was, now and then, over the last [`WINDOW`] seconds.
    window: VecDeque<Look>,
    /// Longest step of the stamps since the newest look in the window, gaps aside, in seconds.
    step: f64,
    /// Seconds that samples of one block are stamped too close together.
    crowded: f64,
    grid: Grid,
    stamps: StampCourse,
}

/// Where a stream was.
#[derive(Clone, Copy, Debug)]
struct Look {
    stamp: f64,
    count: u64,
    /// Samples that were missing until then.
    missing: u64,
    /// Longest step of the stamps since the look before, in seconds.
    step: f64,
}

/// How fast samples come, by their stamps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRate {
    /// Samples per second.
    pub hz: f64,
    /// Over so many seconds.
    pub seconds: f64,
    /// Share by which it may be wrong, because samples come in blocks.
    pub uncertainty: f64,
}

/// What a stamp says about the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Samples are missing in between.
    Missing(Gap),
    /// None is missing.
    Whole,
}

/// A place where a regular stream has no samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Stamp of the sample before it, in seconds.
    pub from: f64,
    /// Stamp of the sample after it, in seconds.
    pub to: f64,
    /// Samples that would have fitted in between.
    pub missing: u64,
}

impl Course {
    /// Begins at zero.
    ///
    /// - Units: Hz, 0 for an irregular stream.
    pub fn new(nominal_rate: f64) -> Self {
        let gap_from = (nominal_rate > 0.0).then(|| GAP_SECONDS.max(GAP_PERIODS / nominal_rate));
        Self {
            gap_from,
            nominal_rate,
            sample_count: 0,
            gap_count: 0,
            missing: 0,
            backward_count: 0,
            newest: None,
            unplaced: 0,
            window: VecDeque::new(),
            step: 0.0,
            crowded: 0.0,
            grid: Grid::default(),
            stamps: StampCourse::default(),
        }
    }

    /// Takes every missing sample for a gap, for senders that stamp exactly.
    pub fn strict(nominal_rate: f64) -> Self {
        let mut course = Self::new(nominal_rate);
        course.gap_from = course.gap_from.map(|_| 1.5 / nominal_rate);
        course
    }

    /// Takes in the stamp of the next sample; says whether samples are missing before it.
    ///
    /// - Units: seconds, on one clock, whichever.
    pub fn add(&mut self, stamp: f64) -> Step {
        self.sample_count += 1;
        if !is_time(stamp) {
            self.stamps.invalid_count += 1;
            self.unplaced += 1;
            return Step::Whole;
        }
        let unplaced = core::mem::take(&mut self.unplaced) as f64;
        let Some(before) = self.newest.replace(stamp) else { return Step::Whole };
        let period = if self.nominal_rate > 0.0 { 1.0 / self.nominal_rate } else { 0.0 };
        let seconds = stamp - before - unplaced * period;
        if seconds < 0.0 {
            self.backward_count += 1;
        }
        // Blocks whose stamps overlap a little are common; more is another clock, which has a rate of its own.
        if seconds < -ANOTHER_CLOCK {
            self.forget_rate();
        }
        let crowded = if period > 0.0 { uncrowd(&mut self.crowded, seconds, period) } else { 0.0 };
        let seconds_missed = seconds - crowded;
        let is_gap = self.gap_from.is_some_and(|gap_from| seconds_missed > gap_from);
        self.stamps.add(seconds, period, is_gap);
        if !is_gap {
            self.step = self.step.max(seconds);
            self.grid.add(seconds, period);
            return Step::Whole;
        }
        let missing = ((seconds_missed * self.nominal_rate).round() as u64).saturating_sub(1);
        self.gap_count += 1;
        self.missing += missing;
        Step::Missing(Gap { from: before, to: stamp, missing })
    }

    /// Notes where the stream is now, for its rate: after all samples that came together.
    pub fn look(&mut self) {
        let Some(newest) = self.newest else { return };
        if self.window.back().is_none_or(|look| newest - look.stamp >= WINDOW / 50.0) {
            let step = core::mem::take(&mut self.step);
            self.window.push_back(Look {
                stamp: newest,
                count: self.sample_count,
                missing: self.missing,
                step,
            });
        }
        while self.window.len() > 2 && self.window.front().is_some_and(|look| newest - look.stamp > WINDOW) {
            self.window.pop_front();
        }
    }

    /// Forgets how fast samples came, because the connection has ended.
    pub fn forget_rate(&mut self) {
        self.window.clear();
        self.step = 0.0;
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub fn interrupted(&mut self) {
        self.newest = None;
        self.unplaced = 0;
        self.crowded = 0.0;
        self.forget_rate();
    }

    /// Samples per second over the last seconds, by their stamps, because samples may come in blocks; none before
    /// the stretch is long enough for that. A `silence`, in seconds, counts as time without samples.
    pub fn rate(&self, silence: f64) -> Option<f64> {
        let (from, to) = (self.window.front()?, self.window.back()?);
        let seconds = to.stamp - from.stamp;
        (seconds >= RATE_FROM).then(|| (to.count - from.count) as f64 / (seconds + silence))
    }

    /// The rate outside gaps and without any silence, which are judged by themselves; with how far it can be trusted.
    pub fn measured_rate(&self) -> Option<MeasuredRate> {
        let (from, to) = (self.window.front()?, self.window.back()?);
        let seconds = to.stamp - from.stamp;
        if seconds < RATE_FROM {
            return None;
        }
        let hz = (to.count - from.count + to.missing - from.missing) as f64 / seconds;
        // One block more or less at the ends.
        let step = self.window.iter().skip(1).map(|look| look.step).fold(0.0, f64::max);
        Some(MeasuredRate { hz, seconds, uncertainty: step / seconds })
    }

    /// Samples that have come.
    pub fn sample_count(&self) -> u64 {
        self.sample_count
    }

    /// Places where stamps are further apart than the rate says.
    pub fn gap_count(&self) -> u64 {
        self.gap_count + self.grid.gap_count()
    }

    /// Samples that are missing there, about.
    pub fn missing(&self) -> u64 {
        self.missing + self.grid.missing()
    }

    /// Places where stamps go backwards.
    pub fn backward_count(&self) -> u64 {
        self.backward_count
    }

    /// What the stamps say of the clock that made them.
    pub fn stamps(&self) -> &StampCourse {
        &self.stamps
    }

    /// The newest stamp, in seconds; none before there is one, and after an interruption.
    pub fn newest(&self) -> Option<f64> {
        self.newest
    }

    /// The nominal rate, in Hz; 0 for an irregular stream.
    pub fn nominal_rate(&self) -> f64 {
        self.nominal_rate
    }
}

/// The rate is measured over this many seconds.
const WINDOW: f64 = 5.0;
/// Over less than this, in seconds, the jitter of stamps would weigh more than what is measured.
const RATE_FROM: f64 = 0.3;

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
    fn blocks_with_one_stamp_are_no_gaps_and_a_lost_block_is_one() {
        let mut course = Course::new(500.0);
        let mut block =
            |at: f64| (0..250).map(|_| course.add(at)).filter(|step| *step != Step::Whole).count();
        assert_eq!([0.5, 1.0, 1.52, 2.0].map(&mut block), [0; 4]);
        assert_eq!(block(3.0), 1, "half a second is missing");
        assert_eq!((course.gap_count(), course.missing()), (1, 250));
    }

    #[test]
    fn a_gap_does_not_count_against_the_rate() {
        let mut course = Course::new(250.0);
        run(&mut course, 0, 250);
        run(&mut course, 500, 750);
        let measured = course.measured_rate().expect("known after 3 s");
        assert!(
            (measured.hz - 250.0).abs() < 1.0 && course.rate(0.0).expect("known") < 180.0,
            "{measured:?}"
        );
    }

    #[test]
    fn a_rate_is_less_certain_if_samples_come_in_blocks() {
        let (mut smooth, mut blocks) = (Course::new(250.0), Course::new(250.0));
        run(&mut smooth, 0, 1_000);
        for n in 0..8 {
            (0..125).for_each(|_| _ = blocks.add(f64::from(n) * 0.5));
            blocks.look();
        }
        let [smooth, blocks] =
            [smooth, blocks].map(|course| course.measured_rate().expect("known after 4 s"));
        assert!(
            smooth.uncertainty < 0.01 && (0.1..0.2).contains(&blocks.uncertainty),
            "{smooth:?} {blocks:?}"
        );
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
    fn many_short_steps_of_whole_periods_are_gaps_too() {
        let mut course = Course::new(250.0);
        for second in 0..20 {
            run(&mut course, 250 * second, 250 * second + 240);
        }
        assert_eq!((course.gap_count(), course.missing()), (19, 190));
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
        for stamp in [5.0, 4.0, f64::NAN, 4.2, f64::NAN] {
            assert_eq!(course.add(stamp), Step::Whole);
        }
    }
}
