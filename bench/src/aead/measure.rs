//! Turns, gates and medians.

use std::time::Instant;

use super::{Contender, Probe, Workload};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Turns each contender gets.
    pub(crate) rounds: usize,
    /// Timed passes of sealing, and of opening, in a turn.
    pub(crate) passes: usize,
}

/// What one contender needed, in nanoseconds per message.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Name of the contender.
    pub(crate) name: String,
    /// Median over the accepted passes of sealing.
    pub(crate) seal: f64,
    /// Median over the accepted passes of opening.
    pub(crate) open: f64,
    /// Half the interquartile range of sealing, as a share of its median.
    pub(crate) spread: f64,
    /// Accepted passes, and all passes.
    pub(crate) accepted: (usize, usize),
}

/// The machine was never left to us for long enough: there is no figure.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the machine is too restless to measure {subject}: {} of {} passes were undisturbed; end what else runs on it, or take \
     more rounds",
    accepted.0, accepted.1
)]
pub(crate) struct Restless {
    /// What could not be measured.
    pub(crate) subject: String,
    /// Undisturbed passes, or rounds, and all of them.
    pub(crate) accepted: (usize, usize),
}

/// Measures all contenders on one workload, in turns.
///
/// # Errors
///
/// [`Restless`] if there are too few undisturbed passes of one.
///
/// # Panics
///
/// If a contender's result is wrong: its time would mean nothing.
pub(crate) fn measure(
    contenders: &mut [Box<dyn Contender>],
    work: &mut Workload,
    plan: Plan,
    probe: &mut Probe,
) -> Result<Vec<Figure>, Restless> {
    let mut samples = vec![Samples::default(); contenders.len()];
    for round in 0..plan.rounds {
        for turn in 0..contenders.len() {
            let index = (turn + round) % contenders.len();
            samples[index].turn(contenders[index].as_mut(), work, plan, probe);
        }
    }
    let count = work.places.len() as f64;
    contenders
        .iter()
        .zip(samples)
        .map(|(contender, samples)| samples.figure(contender.name(), count))
        .collect()
}

/// Accepted times of one contender, in seconds per pass.
#[derive(Clone, Default)]
struct Samples {
    seal: Vec<f64>,
    open: Vec<f64>,
    all: usize,
}

impl Samples {
    /// Warms up, then times sealing and opening pass by pass.
    fn turn(&mut self, contender: &mut dyn Contender, work: &mut Workload, plan: Plan, probe: &mut Probe) {
        let warm_up = Instant::now();
        while warm_up.elapsed().as_micros() < WARM_UP_US {
            contender.seal(work);
            assert!(contender.open(work), "{} did not open what it sealed", contender.name());
        }
        for _ in 0..plan.passes {
            let before = probe.quiet();
            let start = Instant::now();
            contender.seal(work);
            let sealed = start.elapsed();
            let between = probe.quiet();
            let start = Instant::now();
            let verified = contender.open(work);
            let opened = start.elapsed();
            let after = probe.quiet();
            assert!(verified, "{} did not open what it sealed", contender.name());
            if before && between {
                self.seal.push(sealed.as_secs_f64());
            }
            if between && after {
                self.open.push(opened.as_secs_f64());
            }
            self.all += 2;
        }
        assert!(work.is_plain(), "{} does not give back the plaintext", contender.name());
    }

    fn figure(mut self, name: String, count: f64) -> Result<Figure, Restless> {
        let accepted = (self.seal.len() + self.open.len(), self.all);
        if self.seal.len().min(self.open.len()) < FEWEST {
            return Err(Restless { subject: name, accepted });
        }
        self.seal.sort_by(f64::total_cmp);
        self.open.sort_by(f64::total_cmp);
        let seal = quantile(&self.seal, 0.5);
        let spread = (quantile(&self.seal, 0.75) - quantile(&self.seal, 0.25)) / 2.0 / seal;
        let open = quantile(&self.open, 0.5);
        Ok(Figure { name, seal: seal * 1e9 / count, open: open * 1e9 / count, spread, accepted })
    }
}

/// The value below which `share` of the sorted samples lie, of which there is one at least.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[(sorted.len() as f64 * share) as usize]
}

/// Of fewer passes a median says nothing.
const FEWEST: usize = 3;

/// Wide vector units change the clock for about this long after their first use.
const WARM_UP_US: u128 = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_comes_of_passes_that_were_all_disturbed() {
        let disturbed = Samples { all: 48, ..Samples::default() };
        let restless = disturbed.figure("ring".into(), 1.0).unwrap_err();
        assert_eq!(restless.accepted, (0, 48));
        assert!(restless.to_string().contains("too restless to measure ring"), "{restless}");
        let enough = Samples { seal: vec![3e-9, 1e-9, 2e-9], open: vec![4e-9; 3], all: 6 };
        let figure = enough.figure("ring".into(), 1.0).unwrap();
        assert!((figure.seal - 2.0).abs() < 1e-9 && (figure.open - 4.0).abs() < 1e-9);
    }
}
