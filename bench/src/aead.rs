//! How fast ChaCha20-Poly1305 is here, against the other libraries, in one run.
//!
//! Every contender seals and opens the same [`Workload`] in place, in turns of a few milliseconds. Their
//! order changes every round. A [`Probe`] before and after each timed pass tells whether the core was ours
//! and at full clock. Other passes are thrown away. Every opened pass is compared with the plaintext.

mod agree;
mod contender;
mod goals;
mod measure;
#[cfg(feature = "peers")]
mod peers;
pub(crate) mod workers;
mod workload;

use schwann_aead::Kernel;
use schwann_aead::kernel::Row;

use contender::Engine;
pub(crate) use contender::{Contender, engine};
use measure::{DIRECTIONS, FEWEST, Figure, Probe, Restless, measure};
#[cfg(feature = "peers")]
pub(crate) use peers::peers;
pub(crate) use workload::{KEY, Workload};

use crate::Reason;
use crate::record::Reading;
use crate::step::Step;
use crate::suite::{Asked, Missing};

type Readings = Result<Vec<Reading>, Reason>;

/// First, whether all make the same bytes. Then sealing and opening, a step per message size; then shapes, mixed
/// lengths, one block in chunks, workers, and allocation.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let sizes = asked
        .effort
        .points(&[64, 264, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536], &[264, 4096, 65_536]);
    let rounds = asked.effort.count(15, 3);
    let cases = asked.effort.count(20_000, 500);
    let of_size = |size| Step::new(format!("{size} B"), move |step| at(step, size, rounds));
    let others = [
        Step::new("shapes", move |step| gains(step, rounds)),
        Step::new("mixed lengths", move |step| mixed_lengths(step, rounds)),
        Step::new("128 KiB in chunks", move |step| in_chunks(step, rounds.min(9))),
        Step::new("workers", move |step| Ok(workers::scaling(step, rounds))),
        Step::new("allocating", |step| Ok(workers::allocating(step))),
    ];
    let agree = Step::new("agree", move |step| agreed(step, cases));
    Ok([agree].into_iter().chain(sizes.into_iter().map(of_size)).chain(others).collect())
}

/// The built-in peers, and ring a second time. The difference between the two rings is the noise; a smaller
/// difference is none.
fn contenders(batches: [usize; 3]) -> Vec<Box<dyn Contender>> {
    #[cfg(feature = "peers")]
    let mut contenders: Vec<_> = peers().into_iter().chain([peers::ring_again()]).collect();
    #[cfg(not(feature = "peers"))]
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    for kernel in Kernel::available() {
        contenders.extend(batches.map(|batch| engine(kernel, batch)));
    }
    contenders
}

/// Random messages, sealed and opened by every kernel and every peer: the same bytes, and no forgery is opened.
fn agreed(step: &str, cases: usize) -> Readings {
    let seed = crate::clock::now_ns();
    let count = agree::agree(&mut contenders([1, 5, 64]), cases, seed);
    let count = count.map_err(|difference| format!("seed {seed}: {difference}"))?;
    Ok(vec![Reading::one(step, "all", "messages on which all agree", "", count as f64)])
}

/// Every contender's speed at one size, and what the engine's must be.
fn at(step: &str, size: usize, rounds: usize) -> Readings {
    let figures = measure(&mut contenders([1, 8, 16]), &mut Workload::of(size), rounds, &mut Probe::new())?;
    let speeds = figures.iter().flat_map(|figure| {
        [0, 1].map(|direction| {
            let rate = size as f64 * 1e3 / figure.ns[direction];
            let reading = Reading::one(step, &figure.name, DIRECTIONS[direction], "MB/s", rate);
            let (low, high) = (rate * (1.0 - figure.spread), rate * (1.0 + figure.spread));
            Reading { at: Some(size as f64), low, high, samples: figure.accepted as u64, ..reading }
        })
    });
    Ok(speeds.chain(goals::goals(step, size, &figures)).collect())
}

/// What each shape of messages gains over the more general shape in its place, at every length in the tables. Below
/// [`WORTH_KEEPING`], a shape is not worth its code.
fn gains(step: &str, rounds: usize) -> Readings {
    let (mut probe, mut readings) = (Probe::new(), Vec::new());
    for kernel in Kernel::available() {
        for row in kernel.shapes() {
            for &size in row.measured {
                readings.extend(gain(step, (kernel, row, size), rounds, &mut probe)?);
            }
        }
    }
    Ok(readings)
}

fn gain(
    step: &str,
    (kernel, row, size): (Kernel, &Row, usize),
    rounds: usize,
    probe: &mut Probe,
) -> Result<Vec<Reading>, Restless> {
    let batch = if row.messages == 1 { 1 } else { 8 };
    let mut contenders = [row.shape, row.instead, row.shape]
        .map(|shape| Box::new(Engine::in_shape(kernel, batch, shape)) as Box<dyn Contender>);
    let [own, general, again] = measure(&mut contenders, &mut Workload::of(size), rounds, probe)?
        .try_into()
        .expect("a figure for each contender");
    let subject = format!("{}: {:?} instead of {:?}", kernel.name(), row.shape, row.instead);
    let longer = |other: &Figure, direction: usize| 100.0 * (other.ns[direction] / own.ns[direction] - 1.0);
    let best = longer(&general, 0).max(longer(&general, 1));
    let reading = |name: &str, percent| Reading {
        at: Some(size as f64),
        ..Reading::one(step, &subject, name, "%", percent)
    };
    Ok(vec![
        reading("seal, gain", longer(&general, 0)),
        reading("open, gain", longer(&general, 1)),
        reading("seal, against itself", longer(&again, 0)),
        reading("open, against itself", longer(&again, 1)),
        reading("gain, the larger", best).limited(format!(">= {WORTH_KEEPING}")),
    ])
}

/// Batches of 16 messages of different lengths, without and with a header of 13 bytes. In percent of the speed of
/// equal ones with as many bytes and no header. Equal and mixed lengths take turns.
fn mixed_lengths(step: &str, rounds: usize) -> Readings {
    let mut engines = [engine(Kernel::best(), 16)];
    // From 64 to 1,500 bytes, in no order; any 16 of them differ.
    let lengths: Vec<usize> = (0..192).map(|i| 64 + i * 911 % 1437).collect();
    let mean = lengths.iter().sum::<usize>() / lengths.len();
    let mut equal = Workload::new(lengths.iter().map(|_| mean), 0);
    let mut mixed =
        [0, 13].map(|aad| (Workload::new(lengths.iter().copied(), aad), [Vec::new(), Vec::new()]));
    let mut probe = Probe::new();
    for _ in 0..rounds {
        let Ok(base) = measure(&mut engines, &mut equal, 1, &mut probe) else { continue };
        for (work, shares) in &mut mixed {
            let Ok(figure) = measure(&mut engines, work, 1, &mut probe) else { continue };
            let bytes = work.bytes() as f64 / equal.bytes() as f64;
            for (direction, shares) in shares.iter_mut().enumerate() {
                shares.push(100.0 * bytes * base[0].ns[direction] / figure[0].ns[direction]);
            }
        }
    }
    let mut readings = Vec::new();
    for (work, shares) in mixed {
        for (direction, shares) in DIRECTIONS.into_iter().zip(shares) {
            let subject = engines[0].name();
            if shares.is_empty() {
                let subject = format!("{subject} with mixed lengths");
                return Err(Restless { subject, accepted: (0, rounds) }.into());
            }
            let name = format!("{direction}, headers of {} B, of equal lengths' speed", work.aad.len());
            let is_judged = !work.aad.is_empty() && shares.len() >= FEWEST;
            let reading = Reading::named(step, &subject, &name, "%", shares);
            readings.push(match is_judged {
                true => reading.limited(format!(">= {LEAST_MIXED}")),
                false => reading,
            });
        }
    }
    Ok(readings)
}

/// One block, whole and in chunks: MB/s, and shares of its own peak and of the best peer's. A linear fit gives the
/// cost of a call and of a byte.
fn in_chunks(step: &str, rounds: usize) -> Readings {
    #[cfg(feature = "peers")]
    let mut contenders = peers();
    #[cfg(not(feature = "peers"))]
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    contenders.extend([1, 16, 256].map(|batch| engine(Kernel::best(), batch)));
    let mut probe = Probe::new();
    let of_size = |&size: &usize| {
        let mut work = Workload::new((0..BLOCK / size).map(|_| size), 0);
        measure(&mut contenders, &mut work, rounds, &mut probe)
    };
    let columns = CHUNKS.iter().map(of_size).collect::<Result<Vec<_>, _>>()?;
    let speed = |column: usize, line: usize| CHUNKS[column] as f64 * 1e3 / columns[column][line].ns[0];
    let whole = CHUNKS.len() - 1;
    let names = || columns[whole].iter().map(|figure| &figure.name).enumerate();
    let peaks = names().filter(|(_, name)| !name.starts_with("schwann")).map(|(line, _)| speed(whole, line));
    let best_peer = peaks.reduce(f64::max);
    let mut readings = Vec::new();
    for (line, name) in names() {
        for (column, size) in CHUNKS.into_iter().enumerate() {
            let of_peak = |peak: f64| 100.0 * speed(column, line) / peak;
            let shares = [
                Some(("seal in chunks", "MB/s", speed(column, line))),
                Some(("seal in chunks, of the own peak", "%", of_peak(speed(whole, line)))),
                best_peer.map(|peak| ("seal in chunks, of the best peer's peak", "%", of_peak(peak))),
            ];
            readings.extend(shares.into_iter().flatten().map(|(figure, unit, value)| Reading {
                at: Some(size as f64),
                ..Reading::one(step, name, figure, unit, value)
            }));
        }
        let points = CHUNKS.into_iter().zip(&columns).map(|(size, column)| (size as f64, column[line].ns[0]));
        let (call, byte) = fit(&points.collect::<Vec<_>>());
        readings.push(Reading::one(step, name, "cost of a call", "ns", call));
        readings.push(Reading::one(step, name, "cost of a byte", "ns", byte));
    }
    Ok(readings)
}

/// The line through the points, weighted so that every size counts by its share: intercept and slope.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let sum = |term: fn(f64, f64) -> f64| points.iter().map(|&(x, y)| term(x, y) / (x * x)).sum::<f64>();
    let (w, wx, wy) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
    let slope = (w * sum(|x, y| x * y) - wx * wy) / (w * sum(|x, _| x * x) - wx * wx);
    ((wy - slope * wx) / w, slope)
}

/// Percent of the time that a shape must save somewhere.
const WORTH_KEEPING: f64 = 5.0;
/// Percent of the speed of equal lengths that mixed lengths with a header must reach.
const LEAST_MIXED: f64 = 85.0;
const BLOCK: usize = 131_072;
const CHUNKS: [usize; 9] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, BLOCK];

#[cfg(test)]
mod tests {
    #[test]
    fn the_fit_finds_a_line() {
        let points: Vec<(f64, f64)> =
            [512.0, 4096.0, 65_536.0].iter().map(|&x| (x, 20.0 + 0.2 * x)).collect();
        let (fixed, per_byte) = super::fit(&points);
        assert!((fixed - 20.0).abs() < 1e-6 && (per_byte - 0.2).abs() < 1e-9);
    }
}
