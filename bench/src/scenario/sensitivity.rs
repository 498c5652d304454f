//! Whether a small effect would be found here: a library's pushes against themselves, and against themselves made 5 %
//! longer in a spin.
//!
//! Restarts of a process differ by more than that on a busy machine, and so do two seconds of one process. Therefore the
//! three kinds take turns within a process, push by push in random order ([`Turns`]), and are compared round by round: what
//! slows the machine slows all three. The unit of replication is the process all the same: one restart, one observation.

use core::time::Duration;

use super::latency;
use crate::statistics::{median, quantile_of_sorted};
use crate::transfer::Outcome;
use crate::workload::{Pacing, Pull, Turns, Workload};

/// By how much pushes are made longer.
pub const HANDICAP: f64 = 0.05;

/// Chunks of 100 samples of 64 channels on a schedule that leaves the processor room.
#[must_use]
pub fn pushes(duration: Duration, seed: u64) -> Workload {
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
pub struct Restart {
    /// The lower quartile of a round's plain pushes, us; the median over the rounds.
    pub push_us: f64,
    /// The same kind of push over this one: the median over the rounds.
    pub equal: f64,
    /// A push that is longer on purpose over this one.
    pub planted: f64,
}

impl Restart {
    /// Compares the rounds of a restart; the first are left out.
    #[must_use]
    pub fn of(workload: &Workload, outcome: &Outcome) -> Self {
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

const CHUNK: usize = 100;
const PUSHES_PER_SECOND: f64 = 400.0;
/// Caches, the allocator and the scheduler get to know the stream.
const WARM_UP_ROUNDS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Resampler;

    /// Pushes of 20 us on a machine that slows them by up to a half, differently in every round, and holds up every fifth.
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
}
