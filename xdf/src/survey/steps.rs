//! What the steps from stamp to stamp tell beside gaps: blocks of a sender, and samples that are missing in short steps.

use super::{ANOTHER_CLOCK, Gap, StreamSurvey, Survey};

/// Returns the seconds of a step that belong to the block before it. `crowded` has, from one step to the next, the seconds that
/// samples of one block are stamped too close together.
///
/// Some senders stamp all samples of a block alike, when they have it. The step to the next block is then as long as the
/// block, and nothing is missing.
///
/// - Units: seconds.
pub fn uncrowd(crowded: &mut f64, step: f64, period: f64) -> f64 {
    match step {
        s if s < -ANOTHER_CLOCK => *crowded = 0.0,
        s if s < 0.5 * period => *crowded += period - s,
        s if s > 1.5 * period => return core::mem::take(crowded).min(LONGEST_BLOCK),
        _ => {}
    }
    0.0
}

/// Tells lost samples from jitter.
///
/// A sender that stamps exactly leaves steps of whole periods where it lost samples. Steps of one that is late, or that sends in
/// blocks, have any length. So short steps count if nearly all that are not one period long are whole periods. They must be too
/// many for a sender that sets its stamps right now and then, and too few for one that says a wrong rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    /// Steps of one period.
    even: u64,
    /// Steps of several.
    skips: u64,
    /// Samples that fit into those.
    missing: u64,
    /// All other steps.
    odd: u64,
}

impl Grid {
    /// Takes in a step that is no gap; returns how many samples fit into it, if it is several whole periods long. Without a rate,
    /// whose period is 0, no step is.
    ///
    /// - Units: seconds.
    pub fn add(&mut self, step: f64, period: f64) -> Option<u64> {
        let periods = step / period;
        let whole = periods.round();
        if !(periods - whole).abs().le(&TOLERANCE) || whole < 1.0 {
            self.odd += 1;
            return None;
        }
        let missing = whole as u64 - 1;
        match missing {
            0 => self.even += 1,
            _ => self.skips += 1,
        }
        self.missing += missing;
        (missing > 0).then_some(missing)
    }

    /// Places where samples were lost; 0 if the steps may be jitter.
    #[must_use]
    pub fn gap_count(&self) -> u64 {
        let is_on_grid = self.skips >= FEWEST && self.odd * ODD_ONE_OF <= self.skips;
        let are_exceptions = self.skips * SKIP_ONE_OF <= self.even;
        let all = self.even + self.skips + self.odd + self.missing;
        if is_on_grid && are_exceptions && self.missing * LOST_ONE_OF >= all { self.skips } else { 0 }
    }

    /// Samples that are missing there.
    #[must_use]
    pub fn missing(&self) -> u64 {
        if self.gap_count() > 0 { self.missing } else { 0 }
    }
}

/// Steps of several periods in one stream of a recording, which are gaps if [`Grid`] says so.
#[derive(Debug, Default)]
pub(super) struct Skips {
    grid: Grid,
    /// The first [`Survey::LISTED_MAX`].
    first: Vec<Gap>,
    seconds: f64,
}

impl Skips {
    /// Takes in a step that is no gap by itself.
    pub(super) fn add(&mut self, after: f64, seconds: f64, period: f64) {
        let Some(missing) = self.grid.add(seconds, period) else { return };
        self.seconds += seconds;
        if self.first.len() < Survey::LISTED_MAX {
            self.first.push(Gap { after, seconds, missing });
        }
    }

    /// Counts them among the gaps of a stream, if they are some; returns their number and seconds.
    pub(super) fn count_in(&mut self, survey: &mut StreamSurvey) -> (u64, f64) {
        let count = self.grid.gap_count();
        if count == 0 {
            return (0, 0.0);
        }
        survey.gap_count += count;
        survey.gap_seconds += self.seconds;
        survey.gaps.append(&mut self.first);
        survey.gaps.sort_by(|one, other| one.after.total_cmp(&other.after));
        survey.gaps.truncate(Survey::LISTED_MAX);
        (count, self.seconds)
    }
}

/// A longer block than this, in seconds, does not excuse a gap.
pub const LONGEST_BLOCK: f64 = 2.0;
/// How far a step may be from whole periods, in periods.
const TOLERANCE: f64 = 0.2;
/// As few may be chance.
const FEWEST: u64 = 8;
/// Of so many long steps, one may have any length.
const ODD_ONE_OF: u64 = 4;
/// Of so many steps of one period, one is longer at most.
const SKIP_ONE_OF: u64 = 4;
/// One sample of so many is missing at least.
const LOST_ONE_OF: u64 = 200;

#[cfg(test)]
mod tests {
    use super::Grid;

    /// What it says of steps, in periods.
    fn lost(steps: impl IntoIterator<Item = f64>) -> (u64, u64) {
        let mut grid = Grid::default();
        for step in steps {
            grid.add(step * 0.01, 0.01);
        }
        (grid.gap_count(), grid.missing())
    }

    fn repeated(times: usize, of: &[f64]) -> Vec<f64> {
        of.repeat(times)
    }

    #[test]
    fn samples_that_an_exact_sender_lost_are_missing() {
        let four_of_hundred = [&[1.0; 95][..], &[5.01]].concat();
        assert_eq!(lost(repeated(20, &four_of_hundred)), (20, 80));
        assert_eq!(lost(repeated(4, &four_of_hundred)), (0, 0), "so few may be chance");
    }

    #[test]
    fn jitter_lacks_nothing() {
        let late_and_early = [&[1.0; 30][..], &[3.0, -1.0]].concat();
        assert_eq!(lost(repeated(100, &late_and_early)), (0, 0), "what is late is early afterwards");
        let slow_blocks = [&[1.0; 31][..], &[2.4]].concat();
        assert_eq!(lost(repeated(100, &slow_blocks)), (0, 0), "blocks of a sender that is slow");
        assert_eq!(lost(repeated(1_000, &[1.03])), (0, 0), "a sender that sleeps between two samples");
        let set_right = [&[1.0; 999][..], &[2.0]].concat();
        assert_eq!(lost(repeated(50, &set_right)), (0, 0), "stamps that are set right now and then");
        assert_eq!(lost(repeated(1_000, &[1.0, 1.0, 2.0])), (0, 0), "a wrong rate");
        let mut irregular = Grid::default();
        assert!([0.0, 1.0, 2.0].into_iter().all(|step| irregular.add(step, 0.0).is_none()));
        assert_eq!(lost([f64::NAN, f64::INFINITY, -3.0, 0.0]), (0, 0));
    }
}
