//! The suites that can be run, by name.

use core::time::Duration;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scenario::{Cell, latency, network, throughput};
use crate::step::Step;
use crate::{aead, fieldtrip, gateway, libraries, mcu, mse, scripts, sealed, sensitivity};

/// A named set of measurements.
pub(crate) struct Suite {
    /// What the user types, with a dash for the space.
    pub(crate) name: &'static str,
    /// One line for the list of suites.
    pub(crate) about: &'static str,
    /// What it does.
    pub(crate) kind: Kind,
    /// Its share of the time when all suites run.
    pub(crate) weight: f64,
}

impl Suite {
    /// Its cells; none of a suite of steps.
    pub(crate) fn cells(&self, effort: Effort) -> Vec<Cell> {
        match &self.kind {
            Kind::Remote(cells) | Kind::Transfers(cells) => cells(effort),
            Kind::Steps(..) => Vec::new(),
        }
    }
}

/// How a suite measures.
pub(crate) enum Kind {
    /// As [`Kind::Transfers`], with another computer.
    Remote(fn(Effort) -> Vec<Cell>),
    /// Every subject carries the same samples, in processes of its own.
    Transfers(fn(Effort) -> Vec<Cell>),
    /// Steps that compare within themselves. In full they take about so many minutes.
    Steps(fn(&Asked) -> Result<Vec<Step>, Missing>, f64),
}

/// What steps are given.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// How thorough the measurements are.
    pub(crate) effort: Effort,
    /// The library to judge, if there is one; an absolute path.
    pub(crate) ours: Option<PathBuf>,
    /// The library to compare with, if there is one; an absolute path.
    pub(crate) opponent: Option<PathBuf>,
    /// An earlier library of ours, if there is one; an absolute path.
    pub(crate) before: Option<PathBuf>,
    /// The microcontroller's image for QEMU, if there is one.
    pub(crate) image: Option<PathBuf>,
    /// The address of a running FieldTrip server, if it should be measured, too.
    pub(crate) against: Option<String>,
    /// An existing folder for files of measuring processes; an absolute path.
    pub(crate) scratch: PathBuf,
}

impl Asked {
    /// The library to judge.
    ///
    /// # Errors
    ///
    /// [`Missing`] if there is none.
    pub(crate) fn ours(&self) -> Result<PathBuf, Missing> {
        self.ours.clone().ok_or(Missing(libraries::NO_OURS.to_owned()))
    }

    /// The library to compare with.
    ///
    /// # Errors
    ///
    /// [`Missing`] if there is none.
    pub(crate) fn opponent(&self) -> Result<PathBuf, Missing> {
        self.opponent.clone().ok_or(Missing(libraries::NO_OPPONENT.to_owned()))
    }
}

/// What a suite lacks on this computer, in words: no failure of the others.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Missing(pub String);

/// How thoroughly a suite runs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Effort {
    /// How many cells there are, and how long their runs.
    pub(crate) depth: Depth,
    /// The share of its full time that a run takes, not below the quick form's.
    pub(crate) scale: f64,
}

/// Whether the machine's time or the answer is worth more.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Depth {
    /// Long enough to decide.
    Full,
    /// Short enough for every change: it proves that everything works and what the order of magnitude is.
    Quick,
}

impl Effort {
    /// Blocks per cell unless the user says otherwise; every subject runs twice per block.
    pub(crate) fn blocks(self) -> u32 {
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

/// Finds a suite by name.
pub(crate) fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

/// Every suite.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "lsl",
        about: "the project's goals against liblsl: latency, push cost, throughput, processor time, memory",
        kind: Kind::Transfers(latency::goals),
        weight: 3.0,
    },
    Suite {
        name: "lsl-latency",
        about: "64 channels at 1 kHz, and sweeps over channels, rate and inlets: latency, push, jitter, delivery",
        kind: Kind::Transfers(latency::sweep),
        weight: 5.0,
    },
    Suite {
        name: "lsl-throughput",
        about: "samples and bytes per second by chunk size and channel count, and streams of 30 kHz",
        kind: Kind::Transfers(throughput::sweep),
        weight: 4.0,
    },
    Suite {
        name: "lsl-fanout",
        about: "one outlet to several processes of this computer, 384 and 5,000 channels; --iceoryx2 adds shared memory",
        kind: Kind::Transfers(latency::fan_out),
        weight: 2.0,
    },
    Suite {
        name: "lsl-network",
        about: "between two computers, which are network namespaces here: direct Ethernet and Wi-Fi; needs root",
        kind: Kind::Transfers(network::cells),
        weight: 3.0,
    },
    Suite {
        name: OTHER,
        about: "lsl network --other: to another real computer, and back",
        kind: Kind::Remote(network::other_cells),
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
        kind: Kind::Steps(aead::steps, 2.0),
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
        name: "gateway",
        about: "what `schwann gateway` adds to the latency: a stream through it beside two that go straight; needs root",
        kind: Kind::Steps(gateway::steps, 5.0),
        weight: 1.0,
    },
    Suite {
        name: SEALED,
        about: "what sealing adds: streams side by side in the same processes, the handshake, key stream made ahead, memory, constant time",
        kind: Kind::Steps(sealed::suite::steps, 15.0),
        weight: 2.0,
    },
    Suite {
        name: "python",
        about: "the Python package beside pylsl, mne-lsl and pyxdf: pulls, filters, an event loop, reading recordings",
        kind: Kind::Steps(scripts::python, 6.0),
        weight: 1.0,
    },
    Suite {
        name: "recording",
        about: "recordings beside LabRecorder and pyxdf: cost and loss at 23 MB/s, command to first sample, reading, \
                opening, exporting; in full with files of 10 GB",
        kind: Kind::Steps(scripts::recording, 15.0),
        weight: 1.0,
    },
    Suite {
        name: MCU,
        about: "the microcontroller's own counters: instructions of a push and of serving, plain and sealed, and memory",
        kind: Kind::Steps(mcu::steps, 0.5),
        weight: 0.2,
    },
];

/// The form of `lsl network` that `--other` asks for.
pub(crate) const OTHER: &str = "lsl-other";
/// Whether this machine finds a small effect.
pub(crate) const SENSITIVITY: &str = "sensitivity";
/// What sealing adds.
pub(crate) const SEALED: &str = "sealed";
/// What the microcontroller counts.
pub(crate) const MCU: &str = "mcu";

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
