//! The FieldTrip buffer against the bare path and against the original's way of talking, in one run.
//!
//! Every cell checks its own result: the totals of the buffer and the last block, read back. Each round shuffles
//! the cells, bare ones among them, because the machine is never the same from minute to minute. The `original`
//! is no foreign program. Module `original` reproduces, on the wire and in its copying, the C client and server
//! as their reference documents describe them. `--against` measures a server that runs already, such as the
//! original itself where it is installed.

mod cell;
mod fanout;
mod history;
mod original;
mod wake;

use core::time::Duration;
use std::collections::BTreeMap;

use cell::{Direction, PATHS, Peer, Plan, Shape};
use schwann_fieldtrip::wire::{DataType, Header};
use schwann_fieldtrip::{Address, Buffer};

use crate::Reason;
use crate::record::Reading;
use crate::statistics::{Resampler, median, quantile_of_sorted};
use crate::step::Step;
use crate::suite::{Asked, Missing};

/// A step per shape of a block, and one per other scenario.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let effort = asked.effort;
    let shapes = effort.points(
        &[(32, 1), (32, 16), (32, 32), (32, 64), (32, 128), (32, 256), (64, 256), (128, 256), (256, 256)],
        &[(32, 16), (256, 256)],
    );
    let (rounds, time) = (effort.count(3, 1), effort.time(0.1, 0.05));
    let against: Option<Address> = match asked.against.as_deref().map(str::parse).transpose() {
        Ok(address) => address,
        Err(error) => return Err(Missing(format!("--against: {error}"))),
    };
    let blocks = |(channels, samples): (u32, u32)| {
        let against = against.clone();
        Step::new(format!("{channels} x {samples}"), move |step| {
            blocks(step, Shape { channels, samples }, (rounds, time), against.as_ref())
        })
    };
    type Scenario = fn(Duration) -> Result<Figures, Reason>;
    let scenarios: [(&str, Scenario); 3] =
        [("fanout", fanout::run), ("history", history::run), ("wake", wake::run)];
    let others = scenarios.map(|(name, scenario)| {
        Step::new(name, move |step| {
            let mut measured: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for _ in 0..rounds {
                for (figure, value) in scenario(time)? {
                    measured.entry(figure).or_default().push(value);
                }
            }
            Ok(of_scenario(step, &measured))
        })
    });
    Ok(shapes.into_iter().map(blocks).chain(others).collect())
}

/// Figures by name.
type Figures = Vec<(String, f64)>;

/// A buffer of float32 that holds nothing yet.
fn buffer(channels: u32, rate: f32) -> Result<Buffer, Reason> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(channels, rate, DataType::Float32))?;
    Ok(buffer)
}

/// A TCP port of this computer that the system chooses.
fn tcp() -> Address {
    Address::Tcp { host: "127.0.0.1".into(), port: 0 }
}

/// Median, 99 % and maximum of some times, us.
fn spread_us(times: &[Duration]) -> [f64; 3] {
    let mut us: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
    us.sort_by(f64::total_cmp);
    [0.5, 0.99, 1.0].map(|part| quantile_of_sorted(&us, part))
}

/// Runs every path over blocks of one shape, in turn.
fn blocks(
    step: &str,
    shape: Shape,
    (rounds, time): (usize, Duration),
    against: Option<&Address>,
) -> Result<Vec<Reading>, Reason> {
    let paths = PATHS.iter().filter(|path| against.is_some() || path.server != Peer::Named);
    let plans = paths
        .flat_map(|&path| [Direction::Get, Direction::Put].map(|direction| Plan { path, direction, shape }));
    let mut measured: Vec<(Plan, Vec<f64>)> = plans.map(|plan| (plan, Vec::new())).collect();
    let mut order: Vec<usize> = (0..measured.len()).collect();
    let mut random = Resampler::new(0x9E37_79B9_7F4A_7C15);
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &place in &order {
            let (plan, seconds) = &mut measured[place];
            seconds.push(plan.run(time, against)?.median.as_secs_f64());
        }
    }
    let rates = measured.iter().map(|(plan, seconds)| {
        let values = shape.values() as f64;
        let rates = seconds.iter().map(|seconds| values / seconds / 1e6).collect();
        let direction = format!("{:?}", plan.direction).to_lowercase();
        let reading = Reading::named(step, plan.path.name, &direction, "million values/s", rates);
        Reading { at: Some(values), ..reading }
    });
    let promises = measured.iter().flat_map(|(plan, _)| promised(step, *plan, &measured));
    Ok(rates.chain(promises).collect())
}

/// The promise for a path: at least so many times as fast as another, where the promise holds for its blocks.
fn promised(step: &str, plan: Plan, measured: &[(Plan, Vec<f64>)]) -> Vec<Reading> {
    let typical = |path: &str| {
        let same =
            |(other, _): &&(Plan, Vec<f64>)| (other.path.name, other.direction) == (path, plan.direction);
        measured.iter().find(same).map(|(_, seconds)| median(seconds))
    };
    let Shape { channels, samples } = plan.shape;
    let mut readings = Vec::new();
    for (path, other, least, holds) in &PROMISES {
        let (Some(ours), Some(theirs)) = (typical(path), typical(other)) else { continue };
        if *path != plan.path.name || !holds(&plan, theirs) {
            continue;
        }
        let bare = plan.path.bare().filter(|bare| bare.name != *other).and_then(|bare| typical(bare.name));
        let name = format!("{:?} {channels}x{samples}: {path} against {other}", plan.direction);
        readings.push(promise(
            step,
            &name,
            theirs / ours,
            &format!(">= {least} x"),
            bare.map(|bare| theirs / bare),
        ));
    }
    readings
}

type Promise = (&'static str, &'static str, f64, fn(&Plan, f64) -> bool);

/// The figures of a scenario, and what is promised of them.
fn of_scenario(step: &str, measured: &BTreeMap<String, Vec<f64>>) -> Vec<Reading> {
    let figures =
        measured.iter().map(|(name, values)| Reading::named(step, "FieldTrip", name, "", values.clone()));
    let typical = |name: &str| measured.get(name).map(|values| median(values));
    let limits = LIMITS.iter().filter_map(|&(name, most, bare)| {
        Some(promise(step, name, typical(name)?, most, bare.and_then(typical)))
    });
    figures.chain(limits).collect()
}

/// A promise as a figure, with its limit, whose last word is the unit. A bare peer's figure of the same run shows what
/// the machine permits.
fn promise(step: &str, name: &str, value: f64, limit: &str, bare: Option<f64>) -> Reading {
    let unit = limit.rsplit(' ').next().unwrap_or_default();
    let bare = bare.map_or_else(String::new, |bare| format!("; a bare peer in this run: {bare:.2} {unit}"));
    Reading::one(step, "FieldTrip", &format!("goal: {name}"), unit, value).limited(format!("{limit}{bare}"))
}

/// Promises about single figures, each with the figure of a bare peer.
const LIMITS: [(&str, &str, Option<&str>); 8] = [
    ("history old client write p99 us", "<= 20000 us", None),
    ("history old client read p99 us", "<= 20000 us", None),
    ("wake memory p50 us", "<= 5 us", Some("wake bare thread p50 us")),
    ("wake tcp p50 us", "<= 30 us", Some("wake bare tcp p50 us")),
    (
        "fanout 16 readers, write p99 against none",
        "<= 2 x",
        Some("fanout bare 16 readers, write p99 against none"),
    ),
    ("fanout 16 readers, samples missed", "<= 0 x", None),
    (
        "fanout memory 16 readers, write p99 against none",
        "<= 2 x",
        Some("fanout bare memory 16 readers, write p99 against none"),
    ),
    ("fanout memory 16 readers, samples missed", "<= 0 x", None),
];

/// A path, its opponent, how many times as fast it must be, and for which plans. These get the opponent's time, in
/// seconds.
const PROMISES: [Promise; 10] = [
    ("Tcp", "RawTcp", 0.7, |_, _| true),
    // Half of the shortest delayed acknowledgement: beyond it the other's connection stalls.
    ("Tcp", "OriginalTcp", 100.0, |_, theirs| theirs > STALL),
    ("OldClientTcp", "OriginalTcp", 500.0, |plan, _| plan.is_headline()),
    ("OldClientTcp", "OriginalTcp", AS_FAST, |plan, _| !plan.is_headline()),
    ("OldClientUnix", "OriginalUnix", AS_FAST, |_, _| true),
    ("TcpStateless", "OriginalStateless", 5.0, |_, _| true),
    ("Unix", "RawUnix", 0.7, |_, _| true),
    ("Unix", "OriginalUnix", 1.5, |_, _| true),
    ("Memory", "RawMemory", 0.8, |plan, _| plan.shape.values() >= 2048),
    ("Memory", "OriginalMemory", 2.0, |plan, _| plan.shape.values() <= 512),
];

/// A lab that changes its server alone loses nothing; equals differ by a tenth from run to run.
const AS_FAST: f64 = 0.9;
/// Seconds.
const STALL: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promise_is_about_paths_that_there_are() {
        let is_there = |name: &str| PATHS.iter().any(|path| path.name == name);
        assert!(PROMISES.iter().all(|(path, other, ..)| is_there(path) && is_there(other)));
    }

    #[test]
    fn a_path_is_held_against_the_bare_one_over_the_same_link() {
        let bare = |name: &str| {
            let path = PATHS.iter().find(|path| path.name == name).expect("a path");
            path.bare().map(|bare| bare.name)
        };
        assert_eq!((bare("OldClientTcp"), bare("TcpStateless")), (Some("RawTcp"), Some("RawStateless")));
        assert_eq!((bare("Memory"), bare("OriginalUnix")), (Some("RawMemory"), None));
    }
}
