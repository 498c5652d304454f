//! The suites that can be run, by name.

use core::time::Duration;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scenario::{Cell, agent, latency, memory, network, throughput};
use crate::step::Step;
use crate::{aead, fieldtrip, libraries, mcu, mse, sealed, sensitivity};

/// A named set of measurements.
pub struct Suite {
    /// What the user types, with a dash for the space.
    pub name: &'static str,
    /// One line for the list of suites.
    pub about: &'static str,
    /// What it does.
    pub kind: Kind,
    /// Its share of the time when all suites run.
    pub weight: f64,
}

impl Suite {
    /// Its cells; none of a suite of steps.
    #[must_use]
    pub fn cells(&self, effort: Effort) -> Vec<Cell> {
        match &self.kind {
            Kind::Remote(cells) | Kind::Transfers(cells) => cells(effort),
            Kind::Steps(..) => Vec::new(),
        }
    }
}

/// How a suite measures.
pub enum Kind {
    /// As [`Kind::Transfers`], with another computer on which an agent runs.
    Remote(fn(Effort) -> Vec<Cell>),
    /// Every subject carries the same samples, in processes of its own.
    Transfers(fn(Effort) -> Vec<Cell>),
    /// Steps that compare within themselves. In full they take about so many minutes.
    Steps(fn(&Asked) -> Result<Vec<Step>, Missing>, f64),
}

/// What steps are given.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How thorough they are to be.
    pub effort: Effort,
    /// The library to judge, if there is one; an absolute path.
    pub ours: Option<PathBuf>,
    /// The library to compare with, if there is one; an absolute path.
    pub opponent: Option<PathBuf>,
    /// The microcontroller's image for QEMU, if there is one.
    pub image: Option<PathBuf>,
    /// The address of a FieldTrip server that runs already, if it is to be measured, too.
    pub against: Option<String>,
    /// An existing folder for files of measuring processes; an absolute path.
    pub scratch: PathBuf,
}

impl Asked {
    /// The library to judge.
    ///
    /// # Errors
    ///
    /// [`Missing`] if there is none.
    pub fn ours(&self) -> Result<PathBuf, Missing> {
        self.ours.clone().ok_or(Missing(libraries::NO_OURS.to_owned()))
    }

    /// The library to compare with.
    ///
    /// # Errors
    ///
    /// [`Missing`] if there is none.
    pub fn opponent(&self) -> Result<PathBuf, Missing> {
        self.opponent.clone().ok_or(Missing(libraries::NO_OPPONENT.to_owned()))
    }
}

/// What a suite lacks on this computer, in words: no failure of the others.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// How thoroughly a suite runs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Effort {
    /// How many cells there are, and how long their runs.
    pub depth: Depth,
    /// The share of its full time that a run takes, not below the quick form's.
    pub scale: f64,
}

/// Whether the machine's time or the answer is worth more.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Depth {
    /// Long enough to decide.
    Full,
    /// Short enough for every change: it proves that everything works and what the order of magnitude is.
    Quick,
}

impl Effort {
    /// Short enough for every change.
    pub const QUICK: Self = Self { depth: Depth::Quick, scale: 1.0 };

    /// Blocks per cell unless the user says otherwise; every subject runs twice per block.
    #[must_use]
    pub fn blocks(self) -> u32 {
        match self.depth {
            Depth::Full => 3,
            Depth::Quick => 1,
        }
    }

    /// `full`, or its share of that, but `quick` at least; `quick` in the quick form.
    pub(crate) fn count(self, full: usize, quick: usize) -> usize {
        match self.depth {
            Depth::Full => ((full as f64 * self.scale).round() as usize).max(quick),
            Depth::Quick => quick,
        }
    }

    /// [`Effort::count`] for times in seconds.
    pub(crate) fn time(self, full_s: f64, quick_s: f64) -> Duration {
        let seconds = match self.depth {
            Depth::Full => (full_s * self.scale).max(quick_s),
            Depth::Quick => quick_s,
        };
        Duration::from_millis((seconds * 1e3) as u64)
    }

    /// The points of a sweep.
    pub(crate) fn points<T: Copy>(self, full: &[T], quick: &[T]) -> Vec<T> {
        match self.depth {
            Depth::Full => full.to_vec(),
            Depth::Quick => quick.to_vec(),
        }
    }
}

/// Every suite.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "lsl",
        about: "the project's goals against liblsl: latency, push cost, throughput, processor time, memory",
        kind: Kind::Transfers(goals),
        weight: 3.0,
    },
    Suite {
        name: "lsl-latency",
        about: "64 channels at 1 kHz, and sweeps over channels, rate and inlets: latency, push, jitter, delivery",
        kind: Kind::Transfers(latencies),
        weight: 5.0,
    },
    Suite {
        name: "lsl-throughput",
        about: "samples and bytes per second by chunk size and channel count, and streams of 30 kHz",
        kind: Kind::Transfers(throughputs),
        weight: 4.0,
    },
    Suite {
        name: "lsl-fanout",
        about: "one outlet to several processes of this computer, 384 and 5,000 channels; --iceoryx2 adds shared memory",
        kind: Kind::Transfers(fan_outs),
        weight: 2.0,
    },
    Suite {
        name: "lsl-network",
        about: "between two computers, which are network namespaces here: direct Ethernet and Wi-Fi; needs root",
        kind: Kind::Transfers(networks),
        weight: 3.0,
    },
    Suite {
        name: AGENT,
        about: "lsl network --agent: to another real computer, on which `schwann-bench agent` runs, and back",
        kind: Kind::Remote(agents),
        weight: 1.0,
    },
    Suite {
        name: SENSITIVITY,
        about: "whether this machine finds a push that is 5 % slower on purpose, and finds nothing where nothing is",
        kind: Kind::Steps(sensitivity::steps, 2.0),
        weight: 1.0,
    },
    Suite {
        name: "aead",
        about: "sealing and opening by message size, every kernel, against the other libraries that are built in",
        kind: Kind::Steps(aead::suite::steps, 2.0),
        weight: 1.0,
    },
    Suite {
        name: "mse",
        about: "MSE's handshake, ciphers, transfer and success, each against its limit",
        kind: Kind::Steps(mse::steps, 2.0),
        weight: 1.0,
    },
    Suite {
        name: "fieldtrip",
        about: "the FieldTrip buffer: writing and reading blocks, against the raw path and a stand-in for the original's programs. \
                The rows Tcp and Unix have our client as well as our server; what an unmodified program gains by our \
                server alone is OldClient against Original",
        kind: Kind::Steps(fieldtrip::steps, 3.0),
        weight: 1.0,
    },
    Suite {
        name: SEALED,
        about: "what sealing adds: streams side by side in the same processes, the handshake, memory, constant time",
        kind: Kind::Steps(sealed::suite::steps, 15.0),
        weight: 2.0,
    },
    Suite {
        name: MCU,
        about: "the microcontroller's own counters: instructions of a push and of serving, plain and sealed, and memory",
        kind: Kind::Steps(mcu::steps, 0.5),
        weight: 0.2,
    },
];

/// The form of `lsl network` that `--agent` asks for.
pub const AGENT: &str = "lsl-agent";
/// Whether this machine finds a small effect.
pub const SENSITIVITY: &str = "sensitivity";
/// What sealing adds.
pub const SEALED: &str = "sealed";
/// What the microcontroller counts.
pub const MCU: &str = "mcu";

/// Finds a suite by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

fn goals(effort: Effort) -> Vec<Cell> {
    let timed = effort.time(10.0, 2.0);
    let flat_out = effort.time(3.0, 0.4);
    let filling = effort.time(8.0, 2.0);
    let mut cells = vec![latency::one_kilohertz(timed)];
    cells.extend(throughput::goals(flat_out));
    cells.extend(memory::cells(filling));
    cells
}

fn latencies(effort: Effort) -> Vec<Cell> {
    latency::sweep(
        &effort.points(&[8, 32, 64, 128, 256], &[8, 64]),
        &effort.points(&[250.0, 500.0, 1000.0, 2000.0], &[250.0, 1000.0]),
        &effort.points(&[1, 2, 4, 16, 64], &[1, 4]),
        effort.time(30.0, 2.0),
        effort.time(10.0, 1.5),
    )
}

fn throughputs(effort: Effort) -> Vec<Cell> {
    let mut cells = throughput::sweep(
        &effort.points(&[1, 4, 16, 64, 256, 1024, 4096], &[1, 256]),
        &effort.points(&[1, 8, 64, 256, 1000, 5000], &[1, 64, 1000]),
        effort.time(2.0, 0.3),
    );
    for channel_count in effort.points(&[64, 384, 1000], &[384]) {
        cells.push(throughput::thirty_kilohertz(channel_count, effort.time(4.0, 1.0)));
    }
    cells
}

fn fan_outs(effort: Effort) -> Vec<Cell> {
    let inlets = effort.points(&[1, 4, 16], &[4]);
    latency::fan_out(&[(384, 1000.0), (5000, 500.0)], &inlets, effort.time(10.0, 1.0))
}

fn networks(effort: Effort) -> Vec<Cell> {
    network::cells(
        &effort.points(&[(8, 1000.0), (256, 1000.0), (64, 250.0)], &[]),
        effort.time(30.0, 1.5),
        effort.time(10.0, 1.5),
        effort.time(4.0, 0.5),
    )
}

fn agents(effort: Effort) -> Vec<Cell> {
    agent::cells(
        &effort.points(&[(64, 1000.0), (8, 1000.0), (256, 1000.0), (64, 250.0)], &[(64, 1000.0)]),
        effort.time(30.0, 1.5),
        effort.time(4.0, 0.5),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_names_are_unique_because_records_refer_to_them() {
        for suite in SUITES {
            let cells = suite.cells(Effort { depth: Depth::Full, scale: 1.0 });
            let mut names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), cells.len(), "{}", suite.name);
        }
    }
}
