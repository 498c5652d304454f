//! Samples at a fixed rate without gaps, for formats that have no stamps.

use core::ops::Range;

use schwann_xdf::{ClockMap, LONGEST_BLOCK, is_time};

use crate::error::ExportError;
use crate::plan::Stream;
use crate::timing::{Stretch, Timing};

/// Where the samples of a stream lie on an even grid of times.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// In hertz.
    pub(crate) rate: f64,
    /// When its first place is, in seconds on the recorder's clock.
    pub(crate) begin: f64,
    /// Where each stretch of samples begins: its first sample, how many there are, and its place.
    pub(crate) runs: Vec<Run>,
    /// Places in all.
    pub(crate) places: u64,
    /// The most by which a place's time differs from its sample's in its stretch, in seconds.
    pub(crate) time_error: f64,
}

/// Samples at places one after the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) place: u64,
}

impl Grid {
    /// Lays the samples of a stream out.
    ///
    /// The rate is the nominal one if no sample is half a period off by it, else the measured one.
    ///
    /// - Errors: [`ExportError::Stamps`], [`ExportError::Gaps`].
    pub(crate) fn of(stream: &Stream) -> Result<Self, ExportError> {
        let no_sequence = || ExportError::Stamps(stream.header.name.clone());
        let Timing::Even(stretches) = &stream.timing else { return Err(no_sequence()) };
        let first = stretches.first().ok_or_else(no_sequence)?;
        let nominal = Self::at_rate(stretches, first.begin, stream.header.nominal_rate);
        let grid = match nominal {
            Some(grid) if grid.time_error < HALF / grid.rate => grid,
            _ => {
                let intervals: u64 = stretches.iter().map(|stretch| stretch.count.saturating_sub(1)).sum();
                let seconds: f64 = stretches.iter().map(|stretch| stretch.last() - stretch.begin).sum();
                let rate = intervals as f64 / seconds;
                let measured = Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0);
                measured
                    .and_then(|rate| Self::at_rate(stretches, first.begin, rate))
                    .or(nominal)
                    .ok_or_else(no_sequence)?
            }
        };
        let filled = grid.places - stream.samples;
        if filled > FILLED_MAX.max(stream.samples.saturating_mul(FILLED_FACTOR)) {
            let seconds = filled as f64 / grid.rate;
            return Err(ExportError::Gaps { stream: stream.header.name.clone(), seconds });
        }
        Ok(grid)
    }

    fn at_rate(stretches: &[Stretch], begin: f64, rate: f64) -> Option<Self> {
        let mut grid =
            Self { rate, begin, runs: Vec::with_capacity(stretches.len()), places: 0, time_error: 0.0 };
        for stretch in stretches {
            let wished = ((stretch.begin - begin) * rate).round();
            if !wished.is_finite() || wished > PLACES_MAX {
                return None;
            }
            // Stamps that go back come after what is there.
            let place = (wished.max(0.0) as u64).max(grid.places);
            let end = place.checked_add(stretch.count)?;
            grid.runs.push(Run { first: stretch.first, count: stretch.count, place });
            grid.places = end;
            for (time, place) in [(stretch.begin, place), (stretch.last(), end - 1)] {
                grid.time_error = grid.time_error.max((grid.time(place) - time).abs());
            }
        }
        Some(grid)
    }

    /// When a place is.
    pub(crate) fn time(&self, place: u64) -> f64 {
        self.begin + place as f64 / self.rate
    }

    /// The place nearest to a time; none beyond the ends.
    pub(crate) fn place(&self, time: f64) -> Option<u64> {
        let place = ((time - self.begin) * self.rate).round();
        (place >= 0.0 && place < self.places as f64).then_some(place as u64)
    }

    /// The gaps, as places.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Range<u64>> {
        let ends = self.runs.iter().map(|run| run.place + run.count);
        ends.zip(self.runs.iter().skip(1)).map(|(end, next)| end..next.place).filter(|gap| !gap.is_empty())
    }

    /// Places without a sample.
    pub(crate) fn filled(&self) -> u64 {
        self.gaps().map(|gap| gap.end - gap.start).sum()
    }

    /// Walks along the samples, whose stamps `clock` places.
    pub(crate) fn walk(&self, clock: &ClockMap) -> Walk {
        let (grid, clock) = (self.clone(), clock.clone());
        Walk { grid, clock, run: 0, sample: 0, place: 0, time_error: 0.0 }
    }
}

/// Walks along the samples of a grid, and says where the gaps are.
#[derive(Debug)]
pub(crate) struct Walk {
    grid: Grid,
    clock: ClockMap,
    run: usize,
    sample: u64,
    place: u64,
    /// The most by which a place's time differs from its sample's stamp, in seconds, as far as it has come.
    time_error: f64,
}

/// What comes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// So many places without a sample.
    Fill(u64),
    /// These of the samples at hand.
    Take(Range<usize>),
}

impl Walk {
    /// What to do with the next samples, which have these stamps.
    pub(crate) fn steps(&mut self, stamps: &[f64]) -> Vec<Step> {
        let (mut steps, mut at, count) = (Vec::new(), 0, stamps.len());
        while at < count {
            let Some(run) = self.grid.runs.get(self.run).copied() else { break };
            if self.place < run.place {
                steps.push(Step::Fill(run.place - self.place));
                self.place = run.place;
            }
            let left = run.first + run.count - self.sample;
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(count - at);
            if taken == 0 {
                self.run += 1;
                continue;
            }
            steps.push(Step::Take(at..at + taken));
            self.compare(stamps.get(at..at + taken).unwrap_or_default());
            at += taken;
            self.sample += taken as u64;
            self.place += taken as u64;
            if self.sample == run.first + run.count {
                self.run += 1;
            }
        }
        steps
    }

    /// Compares stamps with the times of the next places.
    fn compare(&mut self, stamps: &[f64]) {
        for (place, stamp) in (self.place..).zip(stamps) {
            if is_time(*stamp) {
                let error = (self.grid.time(place) - self.clock.place(*stamp)).abs();
                self.time_error = self.time_error.max(error);
            }
        }
    }

    /// The most by which a place's time differs from its sample's, in seconds, once all samples are walked along.
    pub(crate) fn time_error(&self) -> f64 {
        self.time_error.max(self.grid.time_error)
    }

    /// Says that samples are too far from their times, if they are.
    pub(crate) fn complaint(&self) -> Option<String> {
        let period = 1.0 / self.grid.rate;
        let is_off = self.grid.time_error > OFF_SECONDS.max(period);
        let seconds = self.time_error();
        if is_off { Some(far(seconds)) } else { complaint(seconds, period) }
    }
}

/// Says that samples are too far from their stamps, if they are.
///
/// The stamps may be further off than the samples: those of a block are alike, and one that is late is late.
///
/// - Units: seconds.
pub(crate) fn complaint(time_error: f64, period: f64) -> Option<String> {
    (time_error > OFF_SECONDS.max(period) + LONGEST_BLOCK).then(|| far(time_error))
}

fn far(seconds: f64) -> String {
    format!(
        "its samples are up to {seconds:.1} s from their times in the file; its stamps jump; schwann verify says why"
    )
}

const HALF: f64 = 0.5;
/// Samples further from their times, in seconds, are not where they belong.
const OFF_SECONDS: f64 = 0.1;
/// So many samples may be put into gaps in any case: an hour of 30 kHz.
const FILLED_MAX: u64 = 108_000_000;
const FILLED_FACTOR: u64 = 4;
/// Below what a `f64` counts exactly.
const PLACES_MAX: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(first: u64, count: u64, begin: f64, rate: f64) -> Stretch {
        Stretch { first, count, begin, step: 1.0 / rate }
    }

    #[test]
    fn a_gap_is_filled_and_a_clock_that_drifts_keeps_its_rate() {
        let grid = Grid::at_rate(&[stretch(0, 100, 5.0, 100.0), stretch(100, 50, 7.0, 100.0)], 5.0, 100.0);
        let grid = grid.expect("a grid");
        assert_eq!((grid.places, grid.filled()), (250, 100));
        assert!(grid.gaps().eq(core::iter::once(100..200)));
        assert_eq!(grid.place(7.004), Some(200));
        assert_eq!((grid.place(4.9), grid.place(9.0)), (None, None));
        let mut walk = grid.walk(&ClockMap::default());
        let stamps: Vec<_> = (0..100).chain(200..250).map(|n| 5.0 + f64::from(n) / 100.0).collect();
        assert_eq!(walk.steps(&stamps[..90]), [Step::Take(0..90)]);
        let next = [&stamps[90..120], &[stamps[120] + 0.007], &stamps[121..]].concat();
        assert_eq!(walk.steps(&next), [Step::Take(0..10), Step::Fill(100), Step::Take(10..60)]);
        assert_eq!(walk.steps(&[9.0; 5]), []);
        assert!(
            (walk.time_error() - 0.007).abs() < 1e-9,
            "a stamp counts, not its line: {}",
            walk.time_error()
        );
    }

    #[test]
    fn stamps_that_go_back_lose_no_sample() {
        let grid = Grid::at_rate(&[stretch(0, 100, 5.0, 100.0), stretch(100, 50, 2.0, 100.0)], 5.0, 100.0);
        let grid = grid.expect("a grid");
        assert_eq!((grid.places, grid.filled()), (150, 0));
        assert!((grid.time_error - 4.0).abs() < 1e-9, "and the error is told: {}", grid.time_error);
        assert!(
            Grid::at_rate(&[stretch(0, 1, 5.0, 100.0), stretch(1, 1, 1e300, 100.0)], 5.0, 100.0).is_none()
        );
    }
}
