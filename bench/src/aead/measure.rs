//! Turns, gates and medians.

use core::hint::black_box;
use std::time::Instant;

use super::{Contender, Workload};
use crate::statistics::quantile_of_sorted;

/// What one contender needed.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// Name of the contender.
    pub(super) name: String,
    /// Nanoseconds per message: medians over the accepted passes of sealing and of opening.
    pub(super) ns: [f64; 2],
    /// Half the interquartile range of sealing, as a share of its median.
    pub(super) spread: f64,
    /// Accepted passes of either, in the mean.
    pub(super) accepted: usize,
}

/// The machine was never left to us for long enough: there is no figure.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the machine is too restless to measure {subject}: {} of {} passes were undisturbed; end what else runs on it, or take \
     more rounds",
    accepted.0, accepted.1
)]
pub(super) struct Restless {
    /// What could not be measured.
    pub(super) subject: String,
    /// Undisturbed passes, or rounds, and all of them.
    pub(super) accepted: (usize, usize),
}

/// Measures all contenders on one workload, in so many turns each.
///
/// # Errors
///
/// [`Restless`] if there are too few undisturbed passes of one.
///
/// # Panics
///
/// If a contender's result is wrong: its time would mean nothing.
pub(super) fn measure(
    contenders: &mut [Box<dyn Contender>],
    work: &mut Workload,
    rounds: usize,
    probe: &mut Probe,
) -> Result<Vec<Figure>, Restless> {
    let mut samples = vec![Samples::default(); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (turn + round) % contenders.len();
            samples[index].turn(contenders[index].as_mut(), work, probe);
        }
    }
    let count = work.places.len() as f64;
    let all = contenders.iter().zip(samples);
    all.map(|(contender, samples)| samples.figure(contender.name(), count)).collect()
}

/// Seconds of one contender's passes that were not disturbed, of sealing and of opening.
#[derive(Clone, Default)]
struct Samples {
    quiet: [Vec<f64>; 2],
    all: usize,
}

impl Samples {
    /// Warms up, then times sealing and opening pass by pass.
    fn turn(&mut self, contender: &mut dyn Contender, work: &mut Workload, probe: &mut Probe) {
        let warm_up = Instant::now();
        while warm_up.elapsed().as_micros() < WARM_UP_US {
            contender.seal(work);
            assert!(contender.open(work), "{} did not open what it sealed", contender.name());
        }
        let mut was_quiet = probe.is_quiet();
        for pass in 0..2 * PASSES {
            let start = Instant::now();
            let verified = if pass % 2 == 0 {
                contender.seal(work);
                true
            } else {
                contender.open(work)
            };
            let took = start.elapsed().as_secs_f64();
            let is_quiet = probe.is_quiet();
            assert!(verified, "{} did not open what it sealed", contender.name());
            if was_quiet && is_quiet {
                self.quiet[pass % 2].push(took);
            }
            was_quiet = is_quiet;
        }
        self.all += 2 * PASSES;
        assert!(work.is_plain(), "{} does not give back the plaintext", contender.name());
    }

    fn figure(mut self, name: String, count: f64) -> Result<Figure, Restless> {
        let [seal, open] = self.quiet.each_ref().map(Vec::len);
        if seal.min(open) < FEWEST {
            return Err(Restless { subject: name, accepted: (seal + open, self.all) });
        }
        self.quiet.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let ns = self.quiet.each_ref().map(|times| quantile_of_sorted(times, 0.5) * 1e9 / count);
        let quarter = |part| quantile_of_sorted(&self.quiet[0], part) * 1e9 / count;
        let spread = (quarter(0.75) - quarter(0.25)) / 2.0 / ns[0];
        Ok(Figure { name, ns, spread, accepted: (seal + open) / 2 })
    }
}

/// A short loop whose time is known on an undisturbed core.
///
/// Four independent chains fill the integer units: a busy sibling thread, a lower clock or a preemption
/// all show.
pub(super) struct Probe {
    best: f64,
}

impl Probe {
    /// Learns the undisturbed time from the fastest of many runs.
    pub(super) fn new() -> Self {
        Self { best: (0..20_000).map(|_| Self::run()).fold(f64::MAX, f64::min) }
    }

    /// Runs the loop once; says whether it was disturbed by less than [`TOLERANCE`].
    fn is_quiet(&mut self) -> bool {
        let time = Self::run();
        self.best = self.best.min(time);
        time < self.best * TOLERANCE
    }

    /// Seconds for about 2 µs of work.
    fn run() -> f64 {
        let start = Instant::now();
        let mut chains = black_box([1_u64, 2, 3, 4]);
        for _ in 0..2_000 {
            for chain in &mut chains {
                *chain = chain.rotate_left(7) ^ 0x9e37_79b9;
            }
        }
        black_box(chains);
        start.elapsed().as_secs_f64()
    }
}

/// Timed passes of sealing, and of opening, in a turn.
const PASSES: usize = 8;
/// Of fewer passes a median says nothing.
pub(super) const FEWEST: usize = 3;
/// Wide vector units change the clock for about this long after their first use.
const WARM_UP_US: u128 = 300;
/// How much slower than the fastest probe still counts as undisturbed.
const TOLERANCE: f64 = 1.10;

/// The two ways, in the order of [`Figure::ns`].
pub(super) const DIRECTIONS: [&str; 2] = ["seal", "open"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_comes_of_passes_that_were_all_disturbed() {
        let disturbed = Samples { all: 48, ..Samples::default() };
        let restless = disturbed.figure("ring".into(), 1.0).unwrap_err();
        assert_eq!(restless.accepted, (0, 48));
        assert!(restless.to_string().contains("too restless to measure ring"), "{restless}");
        let enough = Samples { quiet: [vec![3e-9, 1e-9, 2e-9], vec![4e-9; 3]], all: 6 };
        let figure = enough.figure("ring".into(), 1.0).unwrap();
        assert!((figure.ns[0] - 2.0).abs() < 1e-9 && (figure.ns[1] - 4.0).abs() < 1e-9);
    }
}
