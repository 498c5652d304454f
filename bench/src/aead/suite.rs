//! The suite of the AEAD engine: what it runs, and what it asserts.

use schwann_aead::Kernel;

use super::{Contender, Engine, Plan, Probe, Workload, agree, goals, measure, mixed, shapes, sweep, workers};
use crate::Reason;
use crate::record::Reading;
use crate::step::Step;
use crate::suite::{Asked, Missing};

type Figures = Result<Vec<Reading>, Reason>;

/// Whether all make the same bytes; sealing and opening, a step per message size; then shapes, mixed lengths, one block in
/// chunks, workers, and allocation.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let sizes = asked
        .effort
        .points(&[64, 264, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536], &[264, 4096, 65_536]);
    let rounds = asked.effort.count(15, 3);
    let cases = asked.effort.count(20_000, 500);
    let mut steps = vec![Step::new("agree", move |step| agreed(step, cases))];
    steps.extend(
        sizes.into_iter().map(|size| Step::new(format!("{size} B"), move |step| at(step, size, rounds))),
    );
    steps.push(Step::new("shapes", move |step| gained(step, rounds)));
    steps.push(Step::new("mixed lengths", move |step| unequal(step, rounds)));
    steps.push(Step::new("128 KiB in chunks", move |step| chunked(step, rounds)));
    steps.push(Step::new("workers", move |step| Ok(scaled(step, rounds))));
    steps.push(Step::new("allocating", |step| Ok(allocating(step))));
    Ok(steps)
}

/// The peers that are built in, and ring a second time: what differs less than these two do is no difference.
fn peers() -> Vec<Box<dyn Contender>> {
    #[cfg(feature = "peers")]
    return super::peers().into_iter().chain([super::ring_again()]).collect();
    #[cfg(not(feature = "peers"))]
    return Vec::new();
}

/// Random messages, sealed and opened by every kernel and every peer: the same bytes, and no forgery is opened.
fn agreed(step: &str, cases: usize) -> Figures {
    let mut contenders = peers();
    for kernel in Kernel::available() {
        contenders.extend([1, 5, 64].map(|batch| Box::new(Engine::new(kernel, batch)) as Box<dyn Contender>));
    }
    let seed = crate::clock::now_ns();
    let count =
        agree(&mut contenders, cases, seed).map_err(|difference| format!("seed {seed}: {difference}"))?;
    Ok(vec![plain(step, "all", "messages on which all agree", "", None, count as f64)])
}

/// Every contender's speed at one size, and what the engine's must be.
fn at(step: &str, size: usize, rounds: usize) -> Figures {
    let mut contenders = peers();
    for kernel in Kernel::available() {
        contenders.extend([1, 8, 16].map(|batch| Box::new(Engine::new(kernel, batch)) as Box<dyn Contender>));
    }
    let mut work = Workload::new((0..(131_072 / size).clamp(16, 256)).map(|_| size), 0);
    let figures = measure(&mut contenders, &mut work, Plan { rounds, passes: 8 }, &mut Probe::new())?;
    let speeds = figures.iter().flat_map(|figure| {
        [("seal", figure.seal), ("open", figure.open)].map(|(name, ns)| {
            let rate = size as f64 * 1e3 / ns;
            Reading {
                low: rate * (1.0 - figure.spread),
                high: rate * (1.0 + figure.spread),
                samples: (figure.accepted.0 / 2) as u64,
                ..plain(step, &figure.name, name, "MB/s", Some(size as f64), rate)
            }
        })
    });
    let goals = goals::goals(size, &figures).into_iter().map(|goal| Reading {
        low: goal.ratio * (1.0 - goal.spread),
        high: goal.ratio * (1.0 + goal.spread),
        criterion: Some(format!(">= {}", goal.at_least)),
        met: Some(goal.is_met()),
        ..plain(step, &goal.subject, &format!("goal: {}", goal.name), "times", None, goal.ratio)
    });
    Ok(speeds.chain(goals).collect())
}

/// What each shape of messages gains over the more general one; below `WORTH_KEEPING` it is not worth its code.
fn gained(step: &str, rounds: usize) -> Figures {
    let of_gain = |gain: shapes::Gain| {
        let reading = |name: &str, share: f64| {
            plain(step, &gain.subject, name, "%", Some(gain.size as f64), 100.0 * share)
        };
        let best = 100.0 * gain.gain[0].max(gain.gain[1]);
        let readings = [
            reading("seal, gain", gain.gain[0]),
            reading("open, gain", gain.gain[1]),
            reading("seal, against itself", gain.control[0]),
            reading("open, against itself", gain.control[1]),
        ];
        let worth = Reading {
            criterion: Some(format!(">= {WORTH_KEEPING}")),
            met: Some(best >= WORTH_KEEPING),
            ..plain(step, &gain.subject, "gain, the larger", "%", Some(gain.size as f64), best)
        };
        readings.into_iter().chain([worth])
    };
    Ok(shapes::gains(rounds)?.into_iter().flat_map(of_gain).collect())
}

/// Mixed lengths against equal ones.
fn unequal(step: &str, rounds: usize) -> Figures {
    let of_share = |share: mixed::Mixed| {
        let reading = |direction: &str, shares: &[f64]| {
            let percent = shares.iter().map(|share| 100.0 * share).collect();
            let reading = Reading::of(step, percent);
            let judged = share.is_judged();
            Reading {
                subject: share.subject.clone(),
                name: format!("{direction}, headers of {} B, of equal lengths' speed", share.aad),
                unit: "%".to_owned(),
                criterion: judged.then(|| format!(">= {}", 100.0 * mixed::AT_LEAST)),
                met: judged.then_some(reading.median >= 100.0 * mixed::AT_LEAST),
                ..reading
            }
        };
        [reading("seal", &share.seal), reading("open", &share.open)]
    };
    Ok(mixed::shares(Kernel::best(), rounds)?.into_iter().flat_map(of_share).collect())
}

/// Shares of the peak by size of chunk, and what a call costs.
fn chunked(step: &str, rounds: usize) -> Figures {
    let of_line = |line: &sweep::Line| {
        let speeds = line.speeds.iter().flat_map(|&(size, speed)| {
            let shares = [
                Some(("seal in chunks", "MB/s", speed)),
                Some(("seal in chunks, of the own peak", "%", 100.0 * speed / line.peak())),
                line.best_peer
                    .map(|best| ("seal in chunks, of the best peer's peak", "%", 100.0 * speed / best)),
            ];
            let at = Some(size as f64);
            shares
                .into_iter()
                .flatten()
                .map(move |(name, unit, value)| plain(step, &line.name, name, unit, at, value))
        });
        let fit = [("cost of a call", "ns", line.call_ns), ("cost of a byte", "ns", line.byte_ns)]
            .map(|(name, unit, value)| plain(step, &line.name, name, unit, None, value));
        speeds.chain(fit).collect::<Vec<_>>()
    };
    Ok(sweep::lines(rounds.min(9))?.iter().flat_map(of_line).collect())
}

/// Efficiency and slowdown by strategy and number of workers.
fn scaled(step: &str, rounds: usize) -> Vec<Reading> {
    let of_scaling = |scaling: workers::Scaling| {
        let (efficiency, slowdown) = (100.0 * scaling.efficiency, scaling.slowdown);
        let least = 100.0 * workers::GOALS.0;
        let readings = [
            ("seal and open", "MB/s", scaling.rate, None),
            ("efficiency", "%", efficiency, Some((format!(">= {least}"), efficiency >= least))),
            (
                "slowdown",
                "times",
                slowdown,
                Some((format!("<= {}", workers::GOALS.1), slowdown <= workers::GOALS.1)),
            ),
            ("slowdown of processor time", "times", scaling.slowdown_of_processor, None),
        ];
        let disturbed = if scaling.accepted.0 == 0 { ", of disturbed rounds" } else { "" };
        readings.map(|(name, unit, value, goal)| {
            let name = format!("{} workers: {name}{disturbed}", scaling.workers);
            let goal = goal.filter(|_| scaling.is_judged());
            Reading {
                samples: scaling.accepted.0 as u64,
                met: goal.as_ref().map(|goal| goal.1),
                criterion: goal.map(|goal| goal.0),
                ..plain(step, scaling.strategy, &name, unit, None, value)
            }
        })
    };
    workers::scaling(rounds).into_iter().flat_map(of_scaling).collect()
}

/// Direct buffers against an interface that allocates.
fn allocating(step: &str) -> Vec<Reading> {
    let (direct, fresh) = workers::allocating();
    vec![
        plain(step, "in place", "seal 512 B", "ns", None, direct),
        plain(step, "new vector per message", "seal 512 B", "ns", None, fresh),
    ]
}

/// A reading of one value.
fn plain(step: &str, subject: &str, name: &str, unit: &str, at: Option<f64>, value: f64) -> Reading {
    Reading { at, ..Reading::named(step, subject, name, unit, vec![value]) }
}

/// Percent of the time that a shape must save somewhere.
const WORTH_KEEPING: f64 = 5.0;
