//! What the stamps of one recorded stream say of its clock: steps, drift, jitter, and stretches without offsets.
//!
//! A recorder writes a clock offset about every five seconds, between the samples that came then. So the
//! time of each measurement, less the newest stamp in the file before it, is the age of the stream. The
//! age grows in silence. It jumps where the stamps jump but the samples go on.

use core::ops::Range;

use super::RESET_SECONDS;
use crate::clock::{ClockOffset, Correction, median, segments};
use crate::histogram::Histogram;

/// What stamps and clock offsets of one stream say of its clocks.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StampTiming {
    /// Samples of a regular stream with the stamp of the sample before them.
    pub duplicate_count: u64,
    /// How far intervals between samples are from the nominal one, in seconds; gaps and steps aside.
    pub jitter: Histogram,
    /// How long a block of samples with one stamp usually is, in seconds; 0 if there are none.
    pub block_seconds: f64,
    /// Age of the newest sample at the first measurement of the clock that found new ones, in seconds.
    pub age: Option<f64>,
    /// When that was, in seconds on the sender's clock.
    pub age_at: f64,
    /// Age of the newest sample at the last measurement of the clock, in seconds.
    pub last_age: Option<f64>,
    /// The age of the newest sample at each measurement that found new ones: when, on the sender's clock, and how old;
    /// in seconds.
    pub ages: Vec<[f64; 2]>,
    /// Places where a clock jumps, in the order of the file.
    pub steps: Vec<ClockStep>,
    /// The longest time between samples and the next clock offset, in seconds.
    pub offset_pause: f64,
    /// When it began, in seconds on the stream's clock.
    pub offset_pause_from: f64,
    /// What lies between two resets of the clock.
    pub segments: Vec<ClockSegment>,
    /// How much faster the stamps run than the stream's own clock; none where too little is known.
    pub stamp_drift: Option<Drift>,
}

/// A place where a clock jumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Stamp of the last sample, or time of the last measurement, before it; in seconds on the stream's clock.
    pub at: f64,
    /// How far it jumps ahead, in seconds.
    pub seconds: f64,
    /// Which clock it is.
    pub clock: SteppedClock,
}

/// Which clock jumps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SteppedClock {
    /// The sender's: its offset jumps too, as after a restart of the computer.
    Sender,
    /// The clock of the program's stamps; the sender's own clock goes on.
    Stamps,
}

/// A stretch between two resets of the sender's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockSegment {
    /// Stamp of its first sample, in seconds on the stream's clock.
    pub from: f64,
    /// Stamp of its last sample.
    pub to: f64,
    /// Samples in it.
    pub sample_count: u64,
    /// Samples per second outside gaps; 0 if unknown.
    pub rate: f64,
    /// Seconds without gaps over which the rate was measured.
    pub seconds: f64,
    /// How much faster the sender's clock runs than the recorder's; none where too little is known.
    pub drift: Option<Drift>,
}

/// How much faster one clock runs than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Parts per million.
    pub ppm: f64,
    /// Half of the interval in which it lies with 95 %, in parts per million.
    pub plus_minus: f64,
}

/// A [`StampTiming`] in the making.
#[derive(Debug, Default)]
pub(super) struct TimingTally {
    timing: StampTiming,
    period: f64,
    newest: Option<f64>,
    /// Between two clock offsets or jumps each.
    pieces: Vec<Piece>,
    ages: Vec<Age>,
    jumps: Vec<Jump>,
    blocks: u64,
    block_sum: f64,
    sample_count: u64,
    samples_at_offset: u64,
}

/// Samples between two measurements of the clock, or jumps of the stamps.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Clock offsets before it.
    offsets: usize,
    from: f64,
    to: f64,
    sample_count: u64,
    intervals: u64,
    seconds: f64,
}

/// The age of the newest sample when the clock was measured.
#[derive(Clone, Copy, Debug)]
struct Age {
    collected: f64,
    seconds: f64,
    /// Whether samples came since the measurement before.
    is_fresh: bool,
    /// Jumps of the stamps before it.
    jumps: usize,
}

#[derive(Clone, Copy, Debug)]
struct Jump {
    at: f64,
    seconds: f64,
}

impl TimingTally {
    pub(super) fn new(period: f64) -> Self {
        Self { period, ..Self::default() }
    }

    /// Takes in a stamp that follows without a gap, or is the first.
    pub(super) fn add(&mut self, stamp: f64, offsets: usize) {
        let before = self.newest.replace(stamp);
        self.sample_count += 1;
        let interval = before.map(|before| stamp - before);
        if let Some(interval) = interval.filter(|_| self.period > 0.0) {
            self.timing.duplicate_count += u64::from(interval == 0.0);
            self.timing.jitter.add((interval - self.period).abs());
        }
        match self.pieces.last_mut().filter(|piece| piece.offsets == offsets && interval.is_some()) {
            Some(piece) => {
                piece.to = stamp;
                piece.sample_count += 1;
                piece.intervals += 1;
                piece.seconds += interval.unwrap_or_default();
            }
            None => {
                let seconds = interval.unwrap_or_default();
                self.begin_piece(stamp, offsets, u64::from(interval.is_some()), seconds);
            }
        }
    }

    /// Takes in a stamp that lies across a gap, goes back, or follows one that is no time.
    pub(super) fn jump(&mut self, stamp: f64, offsets: usize) {
        let before = self.newest.replace(stamp).unwrap_or(stamp);
        self.sample_count += 1;
        if (stamp - before).abs() > STEP_SECONDS && self.jumps.len() < JUMPS_MAX {
            self.jumps.push(Jump { at: before, seconds: stamp - before - self.period });
        }
        if stamp < before && before - stamp < STEP_SECONDS {
            self.timing.jitter.add(before - stamp + self.period);
        }
        self.begin_piece(stamp, offsets, 0, 0.0);
    }

    fn begin_piece(&mut self, stamp: f64, offsets: usize, intervals: u64, seconds: f64) {
        // A hopeless file must not fill memory: then the last piece takes all.
        let is_hopeless = self.jumps.len() >= JUMPS_MAX || self.pieces.len() >= PIECES_MAX;
        if let Some(piece) = self.pieces.last_mut().filter(|_| is_hopeless) {
            piece.to = stamp;
            piece.sample_count += 1;
            return;
        }
        self.pieces.push(Piece { offsets, from: stamp, to: stamp, sample_count: 1, intervals, seconds });
    }

    /// Takes in the length of a block whose samples have one stamp, in seconds.
    pub(super) fn block(&mut self, seconds: f64) {
        if seconds > 2.0 * self.period {
            self.blocks += 1;
            self.block_sum += seconds;
        }
    }

    /// Takes in the time of a measurement of the sender's clock, in seconds on that clock.
    pub(super) fn measured(&mut self, collected: f64) {
        let Some(newest) = self.newest else { return };
        let is_fresh = self.sample_count > self.samples_at_offset;
        self.samples_at_offset = self.sample_count;
        self.ages.push(Age { collected, seconds: collected - newest, is_fresh, jumps: self.jumps.len() });
    }

    pub(super) fn finish(mut self, offsets: &[ClockOffset]) -> StampTiming {
        let ranges = if offsets.is_empty() { Vec::new() } else { segments(offsets) };
        if let Some(first) = self.ages.iter().find(|age| age.is_fresh) {
            (self.timing.age, self.timing.age_at) = (Some(first.seconds), first.collected);
        }
        let fresh = self.ages.iter().filter(|age| age.is_fresh);
        self.timing.ages = fresh.map(|age| [age.collected, age.seconds]).collect();
        self.timing.last_age = self.ages.last().map(|age| age.seconds);
        if self.blocks > 0 {
            self.timing.block_seconds = self.block_sum / self.blocks as f64;
        }
        self.clock_steps(offsets, &ranges);
        self.stamp_steps(&ranges, offsets);
        self.offset_pauses(offsets, &ranges);
        self.timing.segments = self.clock_segments(offsets, &ranges);
        self.timing.stamp_drift = self.stamp_drift(offsets, &ranges);
        self.timing
    }

    fn clock_steps(&mut self, offsets: &[ClockOffset], ranges: &[Range<usize>]) {
        for range in ranges.iter().skip(1) {
            let (Some(before), Some(after)) =
                (range.start.checked_sub(1).and_then(|at| offsets.get(at)), offsets.get(range.start))
            else {
                continue;
            };
            let seconds = before.offset - after.offset;
            self.timing.steps.push(ClockStep { at: before.collected, seconds, clock: SteppedClock::Sender });
        }
    }

    /// Jumps of the stamps by which the age of the stream jumps the other way.
    fn stamp_steps(&mut self, ranges: &[Range<usize>], offsets: &[ClockOffset]) {
        for (place, jump) in self.jumps.iter().enumerate() {
            // Where the sender's clock was reset, the stamps jump with it.
            let is_reset = ranges.iter().skip(1).any(|range| {
                let (Some(before), Some(after)) =
                    (range.start.checked_sub(1).and_then(|at| offsets.get(at)), offsets.get(range.start))
                else {
                    return false;
                };
                (jump.seconds - (after.collected - before.collected)).abs()
                    < RESET_SECONDS.max(0.5 * jump.seconds.abs())
                    && (jump.at - before.collected).abs() < RESET_SLACK
            });
            let before = self.ages.iter().rfind(|age| age.is_fresh && age.jumps <= place);
            let after = self.ages.iter().find(|age| age.is_fresh && age.jumps > place);
            let (Some(before), Some(after)) = (before, after) else { continue };
            let change = before.seconds - after.seconds;
            let is_step = (change - jump.seconds).abs() < (0.3 * jump.seconds.abs()).max(STEP_SECONDS);
            if is_step && !is_reset {
                self.timing.steps.push(ClockStep {
                    at: jump.at,
                    seconds: jump.seconds,
                    clock: SteppedClock::Stamps,
                });
            }
        }
    }

    /// The longest stretch in which samples came and the clock was not measured.
    fn offset_pauses(&mut self, offsets: &[ClockOffset], ranges: &[Range<usize>]) {
        let mut note = |from: f64, to: f64| {
            if to - from > self.timing.offset_pause {
                (self.timing.offset_pause, self.timing.offset_pause_from) = (to - from, from);
            }
        };
        for range in ranges {
            for pair in offsets.get(range.clone()).unwrap_or_default().windows(2) {
                if let [before, after] = pair {
                    note(before.collected, after.collected);
                }
            }
        }
        // Only stamps of the measured clock can be compared with its measurements.
        let is_measured = self.timing.age.is_some_and(|age| age.abs() < FOREIGN_SECONDS);
        let (samples, measurements) =
            (self.pieces.first().zip(self.pieces.last()), offsets.first().zip(offsets.last()));
        if let (true, Some((first, last)), Some((begin, end))) = (is_measured, samples, measurements) {
            note(end.collected, last.to);
            if first.offsets == 0 {
                note(first.from, begin.collected);
            }
        }
    }

    fn clock_segments(&self, offsets: &[ClockOffset], ranges: &[Range<usize>]) -> Vec<ClockSegment> {
        let mut out: Vec<ClockSegment> = vec![ClockSegment::default(); ranges.len().max(1)];
        for piece in &self.pieces {
            let place = place_of(piece, offsets, ranges);
            let Some(segment) = out.get_mut(place) else { continue };
            if segment.sample_count == 0 {
                segment.from = piece.from;
            }
            segment.to = piece.to;
            segment.sample_count += piece.sample_count;
            segment.seconds += piece.seconds;
            // For now the count of intervals; the rate follows.
            segment.rate += piece.intervals as f64;
        }
        for (place, segment) in out.iter_mut().enumerate() {
            let is_regular = self.period > 0.0 && segment.seconds > 0.0;
            segment.rate = if is_regular { segment.rate / segment.seconds } else { 0.0 };
            let measured = ranges.get(place).and_then(|range| offsets.get(range.clone()));
            segment.drift = measured.and_then(clock_drift);
        }
        out
    }

    fn stamp_drift(&self, offsets: &[ClockOffset], ranges: &[Range<usize>]) -> Option<Drift> {
        // A step would pass for a drift.
        if self.period <= 0.0 || !self.timing.steps.is_empty() || ranges.len() > 1 || offsets.is_empty() {
            return None;
        }
        let fresh: Vec<_> = self.ages.iter().filter(|age| age.is_fresh).collect();
        let points: Vec<_> =
            fresh.iter().map(|age| ClockOffset { collected: age.collected, offset: age.seconds }).collect();
        // An age that grows means that stamps fall behind.
        drift(&points, STAMP_NOISE).map(|drift| Drift { ppm: -drift.ppm, ..drift })
    }
}

/// The segment of clock offsets to which a piece of samples belongs.
fn place_of(piece: &Piece, offsets: &[ClockOffset], ranges: &[Range<usize>]) -> usize {
    let of = |offset: usize| ranges.iter().position(|range| range.contains(&offset)).unwrap_or_default();
    let (before, after) =
        (piece.offsets.checked_sub(1), Some(piece.offsets).filter(|at| *at < offsets.len()));
    let distance =
        |at: usize| offsets.get(at).map_or(f64::INFINITY, |offset| (offset.collected - piece.from).abs());
    match (before, after) {
        (Some(before), Some(after)) if distance(after) < distance(before) => of(after),
        (Some(before), _) => of(before),
        (None, Some(after)) => of(after),
        (None, None) => 0,
    }
}

fn clock_drift(offsets: &[ClockOffset]) -> Option<Drift> {
    // An offset that grows means that the stream's clock falls behind.
    drift(offsets, 0.0).map(|drift| Drift { ppm: -drift.ppm, ..drift })
}

/// The slope through points with the interval in which it lies with 95 %; none where there are too few.
///
/// - Units: `noise` in seconds: what the points scatter at least.
fn drift(points: &[ClockOffset], noise: f64) -> Option<Drift> {
    let span = points.last()?.collected - points.first()?.collected;
    if points.len() < DRIFT_POINTS || span < DRIFT_SECONDS {
        return None;
    }
    let line = Correction::fit(points);
    let middle =
        points.iter().map(|point| point.collected - points[0].collected).sum::<f64>() / points.len() as f64;
    let squares: f64 =
        points.iter().map(|point| (point.collected - points[0].collected - middle).powi(2)).sum();
    let residuals: Vec<_> =
        points.iter().map(|point| (point.offset - line.at(point.collected)).abs()).collect();
    // 1.4826 times the median deviation estimates the standard deviation.
    let scatter = (1.4826 * median(&residuals)).max(noise);
    Some(Drift { ppm: line.slope * 1e6, plus_minus: 1.96 * scatter / squares.sqrt() * 1e6 })
}

/// Clocks that jump by less, in seconds, are not told from late measurements.
const STEP_SECONDS: f64 = 1.0;
/// A clock is measured for at most this many seconds before it is reset, even if its stream fell silent
/// long before.
const RESET_SLACK: f64 = 3_600.0;
/// Jumps that are examined; more are no clock but noise.
const JUMPS_MAX: usize = 1_000;
/// Stretches between gaps and measurements of the clock: with one a second, those of a day.
const PIECES_MAX: usize = 86_400;
/// Stamps further than this from the sender's clock, in seconds, are not of that clock.
const FOREIGN_SECONDS: f64 = 30.0;
/// Fewer measurements say nothing of a drift.
const DRIFT_POINTS: usize = 6;
/// Measurements over a shorter time, in seconds, say nothing of it either.
const DRIFT_SECONDS: f64 = 20.0;
/// How much the age of a stream varies at least, in seconds: samples wait as long for the disk.
const STAMP_NOISE: f64 = 0.1;
