//! When each sample was, on the recorder's clock: the offsets applied, and the stamps of even stretches evened out.

use schwann_xdf::{
    ANOTHER_CLOCK, ClockMap, GAP_PERIODS, GAP_SECONDS, Grid as Steps, StreamHeader, is_time, uncrowd,
};

/// When the samples of a stream were.
#[derive(Clone, Debug)]
pub(crate) enum Timing {
    /// At even times, in stretches; at least one.
    Even(Vec<Stretch>),
    /// Each at the time of its own stamp.
    Single,
}

/// Samples at even times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// The number of its first sample in the stream.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// When its first sample was, in seconds on the recorder's clock.
    pub(crate) begin: f64,
    /// Seconds from a sample to the next.
    pub(crate) step: f64,
}

impl Stretch {
    pub(crate) fn at(&self, sample: u64) -> f64 {
        self.begin + self.step * (sample - self.first) as f64
    }

    pub(crate) fn last(&self) -> f64 {
        self.at(self.first + self.count.saturating_sub(1))
    }
}

/// Learns the timing of a stream from its stamps, one after the other, and keeps none.
#[derive(Debug)]
pub(crate) struct Learner {
    /// A stretch ends where samples are further apart than this, in seconds; nothing for streams without a rate.
    longest: Option<f64>,
    interval: f64,
    /// Seconds that samples of one block are stamped too close together.
    crowded: f64,
    /// Says whether short steps of whole periods are gaps, once it has all; until then, lines end there.
    steps: Steps,
    ends_at_skips: bool,
    done: Vec<Line>,
    line: Line,
    count: u64,
    last: f64,
}

/// The least-squares line through stamps, as far as it has come.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Whether it begins after a short step of whole periods, and may be the same line as the one before it.
    is_after_skip: bool,
    first: u64,
    count: u64,
    base: f64,
    mean_x: f64,
    mean_y: f64,
    products: f64,
    squares: f64,
}

impl Line {
    fn take(&mut self, stamp: f64) {
        let (x, y) = (self.count as f64, stamp - self.base);
        self.count += 1;
        let n = self.count as f64;
        let (from_x, from_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += from_x / n;
        self.mean_y += from_y / n;
        self.products += from_x * (y - self.mean_y);
        self.squares += from_x * (x - self.mean_x);
    }

    /// Makes this the line through the stamps of the next one, too.
    fn join(&mut self, next: &Self) {
        let (own, others) = (self.count as f64, next.count as f64);
        let all = own + others;
        let x = own + next.mean_x - self.mean_x;
        let y = next.base - self.base + next.mean_y - self.mean_y;
        self.count += next.count;
        self.mean_x += x * others / all;
        self.mean_y += y * others / all;
        self.products += next.products + x * y * own * others / all;
        self.squares += next.squares + x * x * own * others / all;
    }

    fn at(&self, place: f64) -> f64 {
        let slope = if self.squares > 0.0 { self.products / self.squares } else { 0.0 };
        self.base + (self.mean_y + slope * (place - self.mean_x))
    }
}

impl Learner {
    pub(crate) fn new(header: &StreamHeader) -> Self {
        let interval = header.interval();
        let longest = match header.can_drop_samples {
            // Its stamps are exact, and each left-out sample is a gap.
            true => LEFT_OUT_PERIODS * interval,
            false => GAP_SECONDS.max(GAP_PERIODS * interval),
        };
        let longest = (interval > 0.0).then_some(longest);
        Self {
            longest,
            interval,
            crowded: 0.0,
            steps: Steps::default(),
            ends_at_skips: true,
            done: Vec::new(),
            line: Line::default(),
            count: 0,
            last: 0.0,
        }
    }

    pub(crate) fn take(&mut self, stamps: &[f64]) {
        for &stamp in stamps {
            match self.longest {
                Some(longest) => self.take_one(stamp, longest),
                None => self.count += 1,
            }
        }
    }

    fn take_one(&mut self, stamp: f64, longest: f64) {
        let seconds = stamp - self.last;
        let missed = seconds - uncrowd(&mut self.crowded, seconds, self.interval);
        // Written so that a stamp that is no number breaks, too.
        let is_short = self.line.count > 0 && missed <= longest;
        // Asked of the same steps as `schwann verify` does, so that both find the same gaps.
        let is_skip = is_short && self.steps.add(seconds, self.interval).is_some();
        if !is_short || seconds < -ANOTHER_CLOCK {
            self.crowded = 0.0;
            self.begin(stamp, false);
        } else if is_skip && self.ends_at_skips {
            self.begin(stamp, true);
        }
        self.line.take(stamp);
        self.last = stamp;
        self.count += 1;
    }

    /// Begins another line.
    fn begin(&mut self, stamp: f64, is_after_skip: bool) {
        if self.line.count > 0 {
            self.done.push(self.line);
        }
        self.line = Line { is_after_skip, first: self.count, base: stamp, ..Line::default() };
        if self.done.len() > STRETCHES_MAX {
            if self.ends_at_skips && self.steps.gap_count() == 0 {
                self.join_at_skips();
            }
            self.ends_at_skips = false;
            self.longest = self.longest.filter(|_| self.done.len() <= STRETCHES_MAX);
        }
    }

    /// Joins what was cut at short steps that are no gaps.
    fn join_at_skips(&mut self) {
        let mut joined: Vec<Line> = Vec::new();
        for line in self.done.drain(..) {
            match joined.last_mut() {
                Some(before) if line.is_after_skip => before.join(&line),
                _ => joined.push(line),
            }
        }
        self.done = joined;
    }

    /// How many samples there were.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The timing, once it is known how the clock went.
    pub(crate) fn finish(mut self, clock: &ClockMap) -> Timing {
        if self.longest.is_none() || self.count == 0 {
            return Timing::Single;
        }
        let mut map = clock.clone();
        self.done.push(self.line);
        if self.steps.gap_count() == 0 {
            self.join_at_skips();
        }
        let stretches = self.done.iter().map(|line| {
            let end = line.count.saturating_sub(1) as f64;
            let (first, last) = (line.at(0.0), line.at(end));
            let begin = map.place(first);
            let step = if end > 0.0 { (map.place(last) - begin) / end } else { self.interval };
            Stretch { first: line.first, count: line.count, begin, step }
        });
        Timing::Even(stretches.collect())
    }
}

impl Timing {
    /// When the first sample was, and the last; none if each has a time of its own.
    pub(crate) fn span(&self) -> Option<(f64, f64)> {
        let Self::Even(stretches) = self else { return None };
        let first = stretches.iter().map(|stretch| stretch.begin).min_by(f64::total_cmp)?;
        Some((first, stretches.iter().map(Stretch::last).max_by(f64::total_cmp)?))
    }

    /// Gives out the time of one sample after the other, whose stamps `clock` places.
    pub(crate) fn stamper(&self, clock: &ClockMap) -> Stamper {
        let stretches = match self {
            Self::Even(stretches) => stretches.clone(),
            Self::Single => Vec::new(),
        };
        Stamper { stretches, at: 0, map: clock.clone(), next: 0, time_error: 0.0 }
    }
}

/// Gives out the time of one sample after the other.
#[derive(Debug)]
pub(crate) struct Stamper {
    stretches: Vec<Stretch>,
    at: usize,
    map: ClockMap,
    next: u64,
    time_error: f64,
}

impl Stamper {
    /// When the next sample was, whose stamp on its own clock is `stamp`.
    pub(crate) fn next(&mut self, stamp: f64) -> f64 {
        let sample = self.next;
        self.next += 1;
        while self.stretches.get(self.at).is_some_and(|stretch| sample >= stretch.first + stretch.count) {
            self.at += 1;
        }
        let placed = self.map.place(stamp);
        let Some(stretch) = self.stretches.get(self.at) else { return placed };
        let even = stretch.at(sample);
        if is_time(stamp) {
            self.time_error = self.time_error.max((even - placed).abs());
        }
        even
    }

    /// The most by which a time differed from its sample's stamp on the recorder's clock so far, in seconds.
    pub(crate) fn time_error(&self) -> f64 {
        self.time_error
    }
}

/// A step of more periods than this leaves a sample out.
const LEFT_OUT_PERIODS: f64 = 1.5;
/// Stamps that jump more often have no even stretches worth the name.
const STRETCHES_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use schwann_xdf::ClockOffset;

    use super::*;

    fn header(rate: f64) -> StreamHeader {
        let xml = format!(
            "<info><channel_count>1</channel_count><nominal_srate>{rate}</nominal_srate>\
             <channel_format>int8</channel_format></info>"
        );
        StreamHeader::parse(1, xml.as_bytes()).expect("a header")
    }

    /// The stretches of stamps at 100 Hz, as their first samples and counts, and the most that a time is off `even`.
    fn learn(stamps: &[f64], even: &[f64], offset: f64) -> (Vec<(u64, u64)>, f64) {
        let mut learner = Learner::new(&header(100.0));
        stamps.chunks(7).for_each(|some| learner.take(some));
        let clock = ClockMap::fit(&[ClockOffset { collected: 55.0, offset }]);
        let timing = learner.finish(&clock);
        let mut stamper = timing.stamper(&clock);
        let errors =
            stamps.iter().zip(even).map(|(stamp, even)| (stamper.next(*stamp) - offset - even).abs());
        let error = errors.fold(0.0, f64::max);
        let Timing::Even(stretches) = timing else { panic!("even") };
        (stretches.iter().map(|one| (one.first, one.count)).collect(), error)
    }

    #[test]
    fn a_stretch_ends_at_each_gap_and_jitter_is_none() {
        for seconds in [0.2, 3.0, 60.0] {
            let pause = |n: u32| if n < 1000 { 0.0 } else { seconds };
            let even: Vec<_> = (0..2000).map(|n| 50.0 + f64::from(n) / 100.0 + pause(n)).collect();
            let jitter = |n: usize| if n.is_multiple_of(2) { 0.002 } else { -0.002 };
            let stamps: Vec<_> = even.iter().enumerate().map(|(n, at)| at + jitter(n)).collect();
            let (stretches, error) = learn(&stamps, &even, 3.0);
            assert_eq!(stretches, [(0, 1000), (1000, 1000)], "{seconds}");
            assert!(error < 2e-5, "{seconds}: {error}");
        }
    }

    #[test]
    fn blocks_with_one_stamp_are_no_gaps() {
        let stamps: Vec<_> = (0..400).map(|n| f64::from(n / 50) * 0.5).collect();
        assert_eq!(learn(&stamps, &stamps, 0.0).0, [(0, 400)]);
    }

    #[test]
    fn stamps_of_nonsense_take_bounded_memory() {
        let mut learner = Learner::new(&header(100.0));
        for n in 0..300_000 {
            learner.take(&[if n % 2 == 0 { f64::NAN } else { 1e300 }]);
        }
        assert!(learner.done.len() <= STRETCHES_MAX + 1);
        assert!(matches!(learner.finish(&ClockMap::default()), Timing::Single));
    }

    #[test]
    fn short_steps_are_gaps_if_they_are_those_of_lost_samples() {
        // Of an exact sender, five of each hundred samples were lost.
        let kept = (0..2000).filter(|n| n % 100 < 95);
        let even: Vec<_> = kept.map(|n| 50.0 + f64::from(n) / 100.0).collect();
        let (stretches, error) = learn(&even, &even, 3.0);
        assert_eq!((stretches.len(), stretches[1]), (20, (95, 95)));
        assert!(error < 1e-9, "{error}");
    }

    #[test]
    fn short_steps_of_a_sender_that_is_late_are_no_gaps() {
        let even: Vec<_> = (0..2000).map(|n| 50.0 + f64::from(n) / 100.0).collect();
        let late = |n: usize| if n % 50 == 49 { 0.02 } else { 0.0 };
        let stamps: Vec<_> = even.iter().enumerate().map(|(n, at)| at + late(n)).collect();
        let (stretches, error) = learn(&stamps, &even, 3.0);
        assert_eq!(stretches, [(0, 2000)]);
        assert!(error < 2e-3, "{error}");
    }

    #[test]
    fn a_line_in_pieces_is_that_of_all_stamps() {
        let stamps: Vec<_> =
            (0..90).map(|n| 7.0 + f64::from(n) * 0.01 + f64::from(n * n % 13) * 1e-3).collect();
        let line = |stamps: &[f64]| {
            let mut line = Line { base: stamps[0], ..Line::default() };
            stamps.iter().for_each(|stamp| line.take(*stamp));
            line
        };
        let mut joined = line(&stamps[..20]);
        joined.join(&line(&stamps[20..21]));
        joined.join(&line(&stamps[21..]));
        let whole = line(&stamps);
        assert!([0.0, 40.0, 89.0].iter().all(|at| (joined.at(*at) - whole.at(*at)).abs() < 1e-12));
    }

    #[test]
    fn a_sender_that_is_always_late_takes_bounded_memory() {
        let mut learner = Learner::new(&header(100.0));
        for n in 0..300_000_u32 {
            let at = f64::from(n) / 50.0;
            learner.take(&[at, at + 0.02]);
        }
        assert!(learner.done.len() <= STRETCHES_MAX + 1);
        let Timing::Even(stretches) = learner.finish(&ClockMap::default()) else { panic!("even") };
        assert_eq!(stretches.len(), 1);
    }
}
