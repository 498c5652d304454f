//! Tells whether this machine finds a push that is 5 % slower on purpose, and finds nothing where nothing is. A
//! library's pushes run against themselves, and against themselves made longer in a spin.
//!
//! On a busy machine, restarts of a process differ by more than that. So do two seconds of one process. Therefore
//! the three kinds take turns within a process, push by push in random order ([`Turns`]). They are compared round
//! by round. A slow moment of the machine slows all three. The unit of replication is the process all the same: one
//! restart, one observation.

use core::time::Duration;
use std::path::Path;

use crate::Reason;
use crate::analysis::{Ratio, ratio};
use crate::campaign::{ATTEMPTS, CampaignError};
use crate::record::{Reading, Role, Subject};
use crate::scenario::{check, latency};
use crate::statistics::{Interval, median, quantile_of_sorted};
use crate::step::Step;
use crate::suite::{Asked, Effort, Missing};
use crate::transfer::{Ends, Outcome, TransferError, interrupted, transfer};
use crate::workload::{Pacing, Pull, Turns, Workload};

/// One step: so many restarts, and what they say together.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let opponent = asked.opponent()?;
    let (effort, scratch) = (asked.effort, asked.scratch.clone());
    let run = move |step: &str| {
        let subject = Subject::library("liblsl", Role::Opponent, &opponent)?;
        Ok(readings(step, &restarts(&subject, effort, &scratch)?))
    };
    Ok(vec![Step::new("push_chunk(100)", run)])
}

/// Measures in new processes, again and again.
fn restarts(subject: &Subject, effort: Effort, scratch: &Path) -> Result<Vec<Restart>, Reason> {
    let mut restarts = Vec::new();
    for number in 0..effort.count(24, 8) {
        if interrupted() {
            return Err(CampaignError::Interrupted.into());
        }
        let workload = pushes(effort.time(4.0, 1.5), number as u64 + 1);
        let mut attempts = 0;
        let outcome = loop {
            attempts += 1;
            let outcome = transfer(&workload, subject, scratch, Ends::Here);
            match outcome {
                Err(TransferError::Interrupted) => return Err(CampaignError::Interrupted.into()),
                Err(error) if attempts == ATTEMPTS => return Err(error.into()),
                Err(_) => {}
                Ok(outcome) => break outcome,
            }
        };
        check(&workload, &outcome)?;
        restarts.push(Restart::of(&workload, &outcome));
    }
    Ok(restarts)
}

/// The figures, and whether they say what they must.
fn readings(step: &str, restarts: &[Restart]) -> Vec<Reading> {
    let column = |of: fn(&Restart) -> f64| restarts.iter().map(of).collect::<Vec<f64>>();
    let (equal, planted) = (column(|one| one.equal), column(|one| one.planted));
    let found = Found::of(&equal, &planted);
    let percent = |ratios: &[f64]| ratios.iter().map(|ratio| 100.0 * (ratio - 1.0)).collect::<Vec<f64>>();
    let effect = |ratios: &[f64], name: &str, criterion: &str, met: bool| {
        let spread = found.interval(ratios);
        Reading {
            low: 100.0 * (spread.low - 1.0),
            high: 100.0 * (spread.high - 1.0),
            ..Reading::named(step, "liblsl against itself", name, "%", percent(ratios))
        }
        .held_against(criterion, Some(met))
    };
    vec![
        Reading::named(step, "liblsl", "push, lower quartile", "µs", column(|one| one.push_us)),
        effect(&equal, "an equal push is longer by", Found::EQUAL, found.equals_are_equal()),
        effect(&planted, "a push with a spin of 5 % is longer by", Found::PLANTED, found.planted_is_found()),
    ]
}

/// Chunks of 100 samples of 64 channels on a schedule that leaves the processor room.
pub(crate) fn pushes(duration: Duration, seed: u64) -> Workload {
    let rate = PUSHES_PER_SECOND * CHUNK as f64;
    Workload {
        chunk: CHUNK,
        pacing: Pacing::Schedule { rate },
        pull: Pull::Chunk { samples: CHUNK, pause: Duration::ZERO },
        turns: Turns { shares: vec![0.0, 0.0, HANDICAP], seed },
        ..latency::single_samples(64, rate, 1, duration)
    }
}

/// What one restart says of the quiet end of its pushes, which other programs disturb least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Restart {
    /// The lower quartile of a round's plain pushes, us; the median over the rounds.
    pub(crate) push_us: f64,
    /// The same kind of push over this one: the median over the rounds.
    pub(crate) equal: f64,
    /// A push that is longer on purpose over this one.
    pub(crate) planted: f64,
}

impl Restart {
    /// Compares the rounds of a restart; the first are left out.
    pub(crate) fn of(workload: &Workload, outcome: &Outcome) -> Self {
        let pushes = &outcome.sender.pushes;
        let took: Vec<f64> = pushes.iter().map(|push| (push.done - push.begun) as f64 / 1e3).collect();
        Self::of_pushes(&took, &workload.turns.order(took.len()))
    }

    fn of_pushes(took_us: &[f64], order: &[usize]) -> Self {
        let of_round = 3 * Turns::EACH;
        let rounds: Vec<[f64; 3]> = took_us
            .chunks_exact(of_round)
            .zip(order.chunks_exact(of_round))
            .skip(WARM_UP_ROUNDS)
            .map(|(took, order)| [0, 1, 2].map(|place| quiet(took, order, place)))
            .collect();
        let over = |ratio: fn(&[f64; 3]) -> f64| median(&rounds.iter().map(ratio).collect::<Vec<_>>());
        Self {
            push_us: over(|round| round[0]),
            equal: over(|round| round[1] / round[0]),
            planted: over(|round| round[2] / f64::midpoint(round[0], round[1])),
        }
    }
}

/// The lower quartile of the pushes of one kind in a round.
fn quiet(took_us: &[f64], order: &[usize], place: usize) -> f64 {
    let mut pushes: Vec<f64> =
        took_us.iter().zip(order).filter(|(_, turn)| **turn == place).map(|(took, _)| *took).collect();
    pushes.sort_by(f64::total_cmp);
    quantile_of_sorted(&pushes, 0.25)
}

/// What restarts say about equal pushes and about deliberately longer ones, as ratios to plain ones.
pub(crate) struct Found {
    equal: Option<Ratio>,
    planted: Option<Ratio>,
}

impl Found {
    /// What [`Found::equals_are_equal`] asks.
    pub(crate) const EQUAL: &str = "the interval within 2.5 % of 0";
    /// What [`Found::planted_is_found`] asks.
    pub(crate) const PLANTED: &str = "2.5 to 10 %, the interval without 0, and beyond what equals differ by";

    /// A ratio for every restart.
    pub(crate) fn of(equal: &[f64], planted: &[f64]) -> Self {
        let ones = vec![1.0; equal.len()];
        Self { equal: ratio(equal, &ones, None), planted: ratio(planted, &ones, Some((equal, &ones))) }
    }

    /// Where nothing was planted, nothing is found.
    pub(crate) fn equals_are_equal(&self) -> bool {
        let least = HANDICAP / 2.0;
        let equal = |Interval { low, high }: Interval| low > 1.0 - least && high < 1.0 + least;
        self.equal.as_ref().is_some_and(|ratio| equal(ratio.spread))
    }

    /// What was planted is found, and with its size.
    pub(crate) fn planted_is_found(&self) -> bool {
        let sizes = HANDICAP / 2.0..=HANDICAP * 2.0;
        self.planted.as_ref().is_some_and(|ratio| ratio.resolved && sizes.contains(&(ratio.median - 1.0)))
    }

    /// The interval of the median of these ratios.
    pub(crate) fn interval(&self, ratios: &[f64]) -> Interval {
        ratio(ratios, &vec![1.0; ratios.len()], None)
            .map_or(Interval { low: f64::NAN, high: f64::NAN }, |ratio| ratio.spread)
    }
}

/// A machine that does not find what was planted, or finds what was not, must be told so.
///
/// # Errors
///
/// [`Restless`]: what was found instead.
pub(crate) fn judge(readings: &[Reading]) -> Result<(), Restless> {
    let missed: Vec<String> = readings
        .iter()
        .filter(|reading| reading.met == Some(false))
        .map(|r| format!("{} {:+.1} % [{:+.1}, {:+.1}]", r.name, r.median, r.low, r.high))
        .collect();
    if missed.is_empty() {
        return Ok(());
    }
    Err(Restless(missed.join("; ")))
}

/// The machine does not find an effect of known size, or finds one where there is none. Holds its finding.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the machine is too restless to find an effect of 5 %: {0}; try again on an idle one")]
pub(crate) struct Restless(String);

const CHUNK: usize = 100;
const PUSHES_PER_SECOND: f64 = 400.0;
/// Caches, the allocator and the scheduler get to know the stream.
const WARM_UP_ROUNDS: usize = 3;

/// By how much pushes are made longer.
pub(crate) const HANDICAP: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Resampler;

    /// Pushes of 20 us on a disturbed machine. It slows them by up to a half, differently in every round, and holds
    /// up every fifth.
    fn on_a_busy_machine(shares: &[f64; 3]) -> Restart {
        let turns = Turns { shares: shares.to_vec(), seed: 7 };
        let order = turns.order(100 * 3 * Turns::EACH);
        let mut levels: Vec<f64> = (0..100).map(|round| 1.0 + 0.005 * f64::from(round)).collect();
        Resampler::new(3).shuffle(&mut levels);
        let took: Vec<f64> = order
            .iter()
            .enumerate()
            .map(|(push, &place)| {
                let held_up = if push % 5 == 0 { 90.0 } else { 0.0 };
                20.0 * levels[push / (3 * Turns::EACH)] * (1.0 + shares[place]) + held_up
            })
            .collect();
        Restart::of_pushes(&took, &order)
    }

    #[test]
    fn what_slows_the_machine_does_not_hide_what_was_planted() {
        let restart = on_a_busy_machine(&[0.0, 0.0, HANDICAP]);
        assert!((restart.planted - 1.05).abs() < 1e-6 && (restart.equal - 1.0).abs() < 1e-6, "{restart:?}");
        let nothing = on_a_busy_machine(&[0.0; 3]);
        assert!((nothing.planted - 1.0).abs() < 1e-6, "{nothing:?}");
    }

    #[test]
    fn every_round_has_as_many_pushes_of_each_kind() {
        let turns = Turns { shares: vec![0.0, 0.0, HANDICAP], seed: 1 };
        let order = turns.order(10 * 3 * Turns::EACH + 5);
        assert_eq!(order.len(), 245);
        for round in order.chunks_exact(3 * Turns::EACH) {
            for place in 0..3 {
                assert_eq!(round.iter().filter(|turn| **turn == place).count(), Turns::EACH);
            }
        }
    }

    /// The result of made-up restarts. The ratios are the times of planted and equal pushes; each restart scatters
    /// around them. Whether the planted effect is found, and whether equals are equal.
    fn found(planted: f64, equal: f64, scatter: f64) -> (bool, bool) {
        let restarts = |seed, level: f64| {
            // From -1 to 1, evenly, in an order of its own.
            let mut strays: Vec<f64> = (0..20).map(|number| f64::from(number) / 9.5 - 1.0).collect();
            Resampler::new(seed).shuffle(&mut strays);
            strays.into_iter().map(|stray| level * (1.0 + scatter * stray)).collect::<Vec<f64>>()
        };
        let found = Found::of(&restarts(1, equal), &restarts(2, planted));
        (found.planted_is_found(), found.equals_are_equal())
    }

    #[test]
    fn a_planted_slow_down_of_5_percent_is_found_and_equals_do_not_differ() {
        assert_eq!(found(1.05, 1.0, 0.01), (true, true));
    }

    #[test]
    fn an_effect_that_is_not_there_is_not_found() {
        assert_eq!(found(1.0, 1.0, 0.01), (false, true));
    }

    #[test]
    fn a_restless_machine_finds_nothing() {
        assert_eq!(found(1.05, 1.0, 0.3), (false, false));
    }

    #[test]
    fn equals_that_differ_and_effects_of_another_size_are_no_proof() {
        assert!(!found(1.05, 1.03, 0.002).1);
        assert!(!found(1.2, 1.0, 0.01).0);
        assert!(!found(0.95, 1.0, 0.01).0);
    }
}
