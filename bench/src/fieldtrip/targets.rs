//! What the project promises of the FieldTrip buffer, judged by ratios and times of one run.

use super::Measured;
use super::cell::{Direction, Path, Plan, Shape};
use crate::record::Reading;

/// A promise, and what a run says about it.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    name: String,
    value: f64,
    bound: Bound,
    /// The same figure of a bare peer, in the same run: what the machine permits.
    bare: Option<f64>,
}

/// Where a figure has to lie.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    AtMostMicros(f64),
    AtLeastTimes(f64),
    AtMostTimes(f64),
    /// Nothing of the kind may be there.
    None,
}

impl Promise {
    /// Whether it is kept.
    fn is_kept(&self) -> bool {
        match self.bound {
            Bound::AtLeastTimes(least) => self.value >= least,
            Bound::AtMostMicros(most) | Bound::AtMostTimes(most) => self.value <= most,
            Bound::None => self.value == 0.0,
        }
    }

    /// As a figure of a step, with its limit and what a bare peer reaches.
    pub(super) fn reading(&self, step: &str) -> Reading {
        let (promise, unit) = match self.bound {
            Bound::AtLeastTimes(least) => (format!("at least {least} x"), "x"),
            Bound::AtMostMicros(most) => (format!("at most {most} us"), "us"),
            Bound::AtMostTimes(most) => (format!("at most {most} x"), "x"),
            Bound::None => ("none".to_owned(), ""),
        };
        let bare = self.bare.map(|bare| format!("; a bare peer in this run: {bare:.2} {unit}"));
        let name = format!("goal: {}", self.name);
        Reading::named(step, "FieldTrip", &name, unit, vec![self.value])
            .held_against(promise + &bare.unwrap_or_default(), Some(self.is_kept()))
    }
}

/// Judges everything that was measured.
pub(super) fn promises(measured: &Measured) -> Vec<Promise> {
    let mut promises = Vec::new();
    for &(plan, _) in measured.cells.values() {
        for (other, bound) in promised(plan, measured) {
            let times = measured.times_faster(plan, other);
            let bare = plan.path.bare().filter(|bare| *bare != other);
            let bare = bare.and_then(|path| measured.times_faster(Plan { path, ..plan }, other));
            let Plan { path, direction, shape } = plan;
            let name =
                format!("{direction:?} {}x{}: {path:?} against {other:?}", shape.channels, shape.samples);
            promises.extend(times.map(|value| Promise { name, value, bound, bare }));
        }
    }
    promises.extend(LINES.iter().filter_map(|&(name, bound, bare)| {
        let (value, bare) = (measured.line(name)?, bare.and_then(|bare| measured.line(bare)));
        Some(Promise { name: name.to_owned(), value, bound, bare })
    }));
    promises
}

/// Against what a path is promised to be how fast.
fn promised(plan: Plan, measured: &Measured) -> Vec<(Path, Bound)> {
    let Plan { path, direction, shape } = plan;
    let at_least = Bound::AtLeastTimes;
    match path {
        Path::Tcp => {
            let mut promises = vec![(Path::RawTcp, at_least(0.7))];
            let theirs = measured.typical(Plan { path: Path::OriginalTcp, ..plan });
            if theirs.is_some_and(|seconds| seconds > STALL) {
                promises.push((Path::OriginalTcp, at_least(100.0)));
            }
            promises
        }
        Path::OldClientTcp
            if direction == Direction::Put && shape == (Shape { channels: 32, samples: 16 }) =>
        {
            vec![(Path::OriginalTcp, at_least(500.0))]
        }
        Path::OldClientTcp => vec![(Path::OriginalTcp, at_least(AS_FAST))],
        Path::OldClientUnix => vec![(Path::OriginalUnix, at_least(AS_FAST))],
        Path::TcpStateless => vec![(Path::OriginalStateless, at_least(5.0))],
        Path::Unix => vec![(Path::RawUnix, at_least(0.7)), (Path::OriginalUnix, at_least(1.5))],
        Path::Memory if shape.values() >= 2048 => vec![(Path::RawMemory, at_least(0.8))],
        Path::Memory if shape.values() <= 512 => vec![(Path::OriginalMemory, at_least(2.0))],
        _ => Vec::new(),
    }
}

/// A lab that changes its server alone loses nothing; equals differ by a tenth from run to run.
const AS_FAST: f64 = 0.9;

/// Seconds of a block beyond which its connection stalls: half of the shortest delayed acknowledgement.
const STALL: f64 = 0.02;

/// Promises about single figures, each with the figure of a bare peer.
const LINES: [(&str, Bound, Option<&str>); 8] = [
    ("history old client write p99 us", Bound::AtMostMicros(STALL * 1e6), None),
    ("history old client read p99 us", Bound::AtMostMicros(STALL * 1e6), None),
    ("wake memory p50 us", Bound::AtMostMicros(5.0), Some("wake bare thread p50 us")),
    ("wake tcp p50 us", Bound::AtMostMicros(30.0), Some("wake bare tcp p50 us")),
    (
        "fanout 16 readers, write p99 against none",
        Bound::AtMostTimes(2.0),
        Some("fanout bare 16 readers, write p99 against none"),
    ),
    ("fanout 16 readers, samples missed", Bound::None, None),
    (
        "fanout memory 16 readers, write p99 against none",
        Bound::AtMostTimes(2.0),
        Some("fanout bare memory 16 readers, write p99 against none"),
    ),
    ("fanout memory 16 readers, samples missed", Bound::None, None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_kept_at_its_bound_and_broken_beyond_it() {
        let is_met = |value, bound| Promise { name: String::new(), value, bound, bare: None }.is_kept();
        assert!(is_met(0.7, Bound::AtLeastTimes(0.7)) && !is_met(0.69, Bound::AtLeastTimes(0.7)));
        assert!(is_met(5.0, Bound::AtMostMicros(5.0)) && !is_met(5.1, Bound::AtMostMicros(5.0)));
        assert!(is_met(2.0, Bound::AtMostTimes(2.0)) && !is_met(2.1, Bound::AtMostTimes(2.0)));
        assert!(is_met(0.0, Bound::None) && !is_met(1.0, Bound::None));
        assert!(!is_met(f64::NAN, Bound::AtLeastTimes(0.7)), "what was not measured is not met");
    }
}
