//! The cost of sealing, by streams side by side. It is too small to be seen between runs, because the machine
//! changes between them.
//!
//! Two processes hold three streams at once: two in the clear and a sealed one. In every period each has one push,
//! in random order and a third of a period apart. So a slow moment of the machine slows all three. A restart of the
//! two processes is one observation: the difference of the medians. The two streams in the clear tell what such a
//! difference is worth.

use core::time::Duration;
use std::path::{Path, PathBuf};

use crate::Reason;
use crate::campaign::CampaignError;
use crate::ffi::Pushes;
use crate::record::Reading;
use crate::scenario::latency;
use crate::statistics::{equivalence, mean, paired_t};
use crate::transfer::interrupted;
use crate::workload::{Transport, Turns, Workload};

pub(crate) mod bare;
mod restart;

pub(crate) use bare::{FORWARDED, forward};
pub(crate) use restart::{Restart, Setting, Side, environment, run};

/// What carries the streams.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// Sockets and nothing else; records are sealed by the cipher of this name.
    Bare(String),
    /// A library with liblsl's C interface.
    Library(PathBuf),
}

impl Subject {
    /// Sockets, and our own cipher.
    pub(crate) fn least() -> Self {
        let [least, ..] = bare::ours();
        Self::Bare(least.name())
    }

    /// What carries one of the streams.
    pub(crate) fn transport(&self, stream: usize) -> Transport {
        match self {
            Self::Bare(cipher) => Transport::Bare { cipher: (stream == CARRIED).then(|| cipher.clone()) },
            Self::Library(path) => Transport::Lsl { library: path.clone(), pushes: Pushes::default() },
        }
    }
}

/// One condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) channels: usize,
    pub(crate) rate: f64,
    pub(crate) inlets: usize,
}

impl Cell {
    /// As in `64ch-500hz-2in`.
    pub(crate) fn name(&self) -> String {
        format!("{}ch-{}hz-{}in", self.channels, self.rate, self.inlets)
    }

    /// What becomes of each stream in a restart; the order of the pushes follows from `seed`.
    fn workload(&self, seconds: f64, seed: u64) -> Workload {
        let samples =
            latency::single_samples(self.channels, self.rate, self.inlets, Duration::from_secs_f64(seconds));
        Workload { warmup: Duration::ZERO, turns: Turns { seed, ..Turns::default() }, ..samples }
    }
}

/// The conditions, or two of them.
fn cells(quick: bool) -> Vec<Cell> {
    let cell = |channels, rate, inlets| Cell { channels, rate, inlets };
    if quick {
        return vec![cell(8, 1000.0, 1), cell(64, 500.0, 2)];
    }
    let channels = [8, 32, 64, 128, 256].map(|channels| cell(channels, 1000.0, 1));
    let rates = [250.0, 500.0, 2000.0].map(|rate| cell(64, rate, 1));
    let inlets = [2, 4, 16].map(|inlets| cell(64, 500.0, inlets));
    channels.into_iter().chain(rates).chain(inlets).collect()
}

/// What is measured, and what is to stand in the records for it.
pub(crate) struct Condition {
    pub(crate) name: String,
    cell: Cell,
    subject: Subject,
}

/// How many restarts a condition has, and of how many seconds each. Restarts differ by more than pushes of one
/// restart leave open, so many short ones say more than few long ones.
pub(crate) const fn extent(quick: bool) -> (usize, f64) {
    if quick { (4, 1.0) } else { (72, 0.75) }
}

/// All measurements, in groups whose members take turns, restart by restart, so that they can be compared. A group
/// has a cell with our library, and the least cost of any sealing, with each cipher. If there is an earlier library,
/// it is in the place of the ciphers.
pub(crate) fn conditions(quick: bool, ours: &Path, before: Option<&Path>) -> Vec<Vec<Condition>> {
    let library = |cell: Cell, path: &Path, behind: &str| Condition {
        name: cell.name() + behind,
        cell,
        subject: Subject::Library(path.to_owned()),
    };
    let group = |cell: Cell| {
        let others = match before {
            Some(before) => vec![library(cell, before, BEFORE)],
            None => bare::names().into_iter().map(|cipher| bare(cell, cipher)).collect(),
        };
        core::iter::once(library(cell, ours, "")).chain(others).collect()
    };
    cells(quick).into_iter().map(group).collect()
}

fn bare(cell: Cell, cipher: String) -> Condition {
    let word = cipher.split(' ').next().unwrap_or_default();
    Condition { name: format!("{}-bare-{word}", cell.name()), cell, subject: Subject::Bare(cipher) }
}

/// Restarts the processes of each condition in turn, so many times, for so long each. Says for each what sealing
/// adds, and whether that is within its limit.
///
/// - `scratch`: a folder with the lab's keys, for the processes' files.
pub(crate) fn measure(
    group: &[Condition],
    (restarts, seconds): (usize, f64),
    scratch: &Path,
) -> Result<Vec<Vec<Reading>>, Reason> {
    let mut observed: Vec<Vec<Restart>> = group.iter().map(|_| Vec::new()).collect();
    for number in 0..restarts {
        let mut turns: Vec<_> = group.iter().zip(&mut observed).collect();
        // Behind another's processes the caches are others.
        if number % 2 == 1 {
            turns.reverse();
        }
        for (Condition { cell, subject, .. }, observed) in turns {
            if interrupted() {
                return Err(CampaignError::Interrupted.into());
            }
            observed.push(run(cell, seconds, number as u64, &Setting::sealed(subject), scratch)?);
        }
    }
    let change = match (group, observed.as_slice()) {
        ([ours, before, ..], [now, then, ..]) if before.name.ends_with(BEFORE) => {
            vec![change(&ours.name, then, now)]
        }
        _ => Vec::new(),
    };
    let judge = |(condition, observed): (&Condition, Vec<Restart>)| {
        judge(&condition.name, &condition.subject, &observed)
    };
    Ok(group.iter().zip(observed).map(judge).chain([change]).collect())
}

/// What sealing adds more than with the earlier library.
fn change(step: &str, then: &[Restart], now: &[Restart]) -> Reading {
    let added = |restarts: &[Restart]| restarts.iter().map(Restart::added_us).collect::<Vec<f64>>();
    let (then, now) = (added(then), added(now));
    let margin = f64::max(0.1, 0.03 * mean(&then));
    let met = is_below(&then, &now, margin);
    Reading {
        subject: "Schwann".to_owned(),
        name: "since before".to_owned(),
        unit: "µs".to_owned(),
        ..difference(step, &then, &now)
    }
    .held_against(format!("<= {margin:.2}: the larger of 0.1 µs and 3 %"), met)
}

/// Whether `second - first` is below the margin; `None` if that is not resolved.
fn is_below(first: &[f64], second: &[f64], margin: f64) -> Option<bool> {
    equivalence(first, second, margin).and_then(|added| {
        // One-sided: what is below the margin may also be below zero.
        if added.p_high < LEVEL { Some(true) } else { (1.0 - added.p_high < LEVEL).then_some(false) }
    })
}

/// What the restarts of a cell say: the streams' medians, what sealing adds, and what equals differ by.
fn judge(step: &str, who: &Subject, observed: &[Restart]) -> Vec<Reading> {
    let column = |stream: usize| observed.iter().map(|one| one.p50_us[stream]).collect::<Vec<f64>>();
    let [first, second, sealed] = [column(0), column(1), column(2)];
    let plain: Vec<f64> = first.iter().zip(&second).map(|(a, b)| f64::midpoint(*a, *b)).collect();
    let margin = f64::max(1.0, 0.01 * mean(&plain));
    let met = is_below(&plain, &sealed, margin);
    let figure = |subject: &str, values: &[f64]| Reading {
        subject: subject.to_owned(),
        name: "median from push to pull".to_owned(),
        unit: "µs".to_owned(),
        ..Reading::of(step, values.to_vec())
    };
    let whose = match who {
        Subject::Bare(cipher) => format!("{cipher}, bare"),
        Subject::Library(_) => "Schwann".to_owned(),
    };
    let name = |name: &str, reading: Reading| Reading {
        subject: whose.clone(),
        name: name.to_owned(),
        unit: "µs".to_owned(),
        ..reading
    };
    let added = name("sealed - in the clear", difference(step, &plain, &sealed));
    let added = match who {
        // The least that any sealing costs has no goal to meet.
        Subject::Bare(_) => added,
        Subject::Library(_) => added.held_against(format!("<= {margin:.2}: the larger of 1 µs and 1 %"), met),
    };
    vec![
        figure("in the clear", &plain),
        figure("sealed", &sealed),
        name("in the clear, the second - the first", difference(step, &first, &second)),
        added,
    ]
}

/// The mean difference over restarts, with the 95 % interval of Student's t.
fn difference(step: &str, first: &[f64], second: &[f64]) -> Reading {
    let each = first.iter().zip(second).map(|(first, second)| second - first).collect();
    let reading = Reading::of(step, each);
    match paired_t(first, second, 0.95) {
        Some(t) => Reading { median: t.difference, low: t.interval.low, high: t.interval.high, ..reading },
        None => reading,
    }
}

/// Which of the streams is sealed, or goes through the gateway.
pub(crate) const CARRIED: usize = 2;
/// How the name of a condition with the earlier library ends.
const BEFORE: &str = "-before";
const LEVEL: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn restarts(added: f64) -> Vec<Restart> {
        // Restarts that differ by far more than sealing adds, and streams of one that differ little.
        let noise = [0.0, 0.2, -0.1, 0.1, -0.2, 0.05];
        let one = |(number, noise): (usize, &f64)| {
            let level = 40.0 + 7.0 * number as f64;
            Restart { p50_us: [level, level + noise, level + added - noise] }
        };
        noise.iter().enumerate().map(one).collect()
    }

    fn met(observed: &[Restart]) -> Option<bool> {
        let readings = judge("8ch", &Subject::Library(PathBuf::new()), observed);
        readings.iter().find(|reading| reading.criterion.is_some()).expect("one has a limit").met
    }

    #[test]
    fn what_runs_differ_in_does_not_hide_what_sealing_adds() {
        for (added, expected) in
            [(0.1, Some(true)), (-3.0, Some(true)), (1.0, None), (1.5, Some(false)), (3.0, Some(false))]
        {
            assert_eq!(met(&restarts(added)), expected, "{added}");
        }
        assert_eq!(met(&restarts(0.1)[..1]), None, "one restart resolves nothing");
    }

    #[test]
    fn a_dearer_library_is_told_from_an_equal_one() {
        let mut then = restarts(1.0);
        then.reverse();
        for (more, expected) in [(-1.0, Some(true)), (0.1, None), (1.5, Some(false))] {
            let found = change("8ch", &then, &restarts(1.0 + more));
            assert_eq!(found.met, expected, "{more}: {found:?}");
        }
    }

    #[test]
    fn the_difference_is_a_mean_with_its_interval() {
        let readings = judge("8ch", &Subject::Library(PathBuf::new()), &restarts(3.0));
        let added = readings.last().expect("four figures");
        assert!(added.low < added.median && added.median < added.high, "{added:?}");
        assert!((added.median - 3.0).abs() < 0.1 && added.values.len() == 6, "{added:?}");
    }
}
