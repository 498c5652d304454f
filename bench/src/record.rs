//! Results on disk: `manifest.json` says where and how, `runs.jsonl` holds one line per run.
//!
//! Lines are only ever added, and a run is written when it is done, so an interrupted campaign goes on where
//! it stopped.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ffi::Lsl;
use crate::ffi::zmq::ZeroMq;
use crate::scenario::Figures;
use crate::workload::Transport;

mod reading;

pub use reading::{Reading, Verdict};

/// The circumstances of a campaign.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Manifest {
    /// The suite's name.
    pub suite: String,
    /// Whether it was the quick form.
    pub quick: bool,
    /// The share of its full time that a run takes.
    #[serde(default = "whole")]
    pub scale: f64,
    /// What was compared, in no order.
    pub subjects: Vec<Subject>,
    /// From which the order of all runs follows.
    pub seed: u64,
    /// Blocks per cell.
    pub blocks: u32,
    /// Seconds since 1970, UTC.
    pub started_at: u64,
    /// Where it ran.
    pub machine: Machine,
    /// The other computer and its agent's program, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<(Machine, String)>,
    /// The version of this program and, if it was built in a work tree, its commit.
    pub program: String,
}

fn whole() -> f64 {
    1.0
}

/// One thing that is measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Subject {
    /// What the tables call it.
    pub label: String,
    /// Its part in comparisons.
    pub role: Role,
    /// What carries its samples.
    pub transport: Transport,
    /// What it says about itself.
    pub version: String,
    /// Environment variables of its processes: whether it seals, and with which keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// A subject's part in comparisons.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Role {
    /// Ours, in the clear.
    Schwann,
    /// Ours, sealed.
    Sealed,
    /// What ours is compared with.
    Opponent,
    /// The opponent once more: what a difference between equals looks like here.
    Null,
    /// The raw socket.
    Raw,
    /// What else one might use: ZeroMQ, with a few lines of one's own around it.
    ZeroMq,
    /// As [`Self::ZeroMq`]: Zenoh.
    Zenoh,
}

impl Subject {
    /// Makes a subject from a library, which is loaded once to ask for its version.
    ///
    /// # Errors
    ///
    /// [`crate::ffi::LoadError`] when the library cannot be used.
    pub fn library(label: &str, role: Role, path: &Path) -> Result<Self, crate::ffi::LoadError> {
        let library = Lsl::load(path)?;
        Ok(Self {
            label: label.to_owned(),
            role,
            transport: Transport::Lsl { library: path.to_owned() },
            version: format!("{} {}", library.version(), library.info()),
            environment: BTreeMap::new(),
        })
    }

    /// Makes ours in the clear, whatever keys the user has.
    ///
    /// # Errors
    ///
    /// [`crate::ffi::LoadError`] when the library cannot be used.
    pub fn plain(path: &Path) -> Result<Self, crate::ffi::LoadError> {
        let environment =
            [("SCHWANN_SECURITY", "off")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self { environment: environment.into(), ..Self::library("schwann", Role::Schwann, path)? })
    }

    /// Makes ours sealed, with the keys in the folder [`KEYS`] beside its measuring processes.
    ///
    /// # Errors
    ///
    /// [`crate::ffi::LoadError`] when the library cannot be used.
    pub fn sealed(path: &Path) -> Result<Self, crate::ffi::LoadError> {
        let environment = [("SCHWANN_SECURITY", "require"), ("SCHWANN_KEYS", KEYS)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let clear = Self::library("schwann-sealed", Role::Sealed, path)?;
        // Asked here, where there are no keys, it says that it does not seal; its processes check that it does.
        let build = clear.version.split("/security:").next().unwrap_or_default();
        let version = format!("{build}/security:require");
        Ok(Self { environment: environment.into(), version, ..clear })
    }

    /// Makes ZeroMQ from its library.
    ///
    /// # Errors
    ///
    /// [`crate::ffi::LoadError`] when the library cannot be used.
    pub fn zero_mq(path: &Path) -> Result<Self, crate::ffi::LoadError> {
        Ok(Self {
            label: "zeromq".to_owned(),
            role: Role::ZeroMq,
            transport: Transport::ZeroMq { library: path.to_owned() },
            version: ZeroMq::load(path)?.version(),
            environment: BTreeMap::new(),
        })
    }

    /// Makes Zenoh from the library in `bench/zenoh`, which is called as ZeroMQ's is.
    ///
    /// # Errors
    ///
    /// [`crate::ffi::LoadError`] when the library cannot be used.
    pub fn zenoh(path: &Path) -> Result<Self, crate::ffi::LoadError> {
        Ok(Self { label: "zenoh".to_owned(), role: Role::Zenoh, ..Self::zero_mq(path)? })
    }

    /// The raw socket.
    #[must_use]
    pub fn raw() -> Self {
        Self {
            label: "raw-tcp".to_owned(),
            role: Role::Raw,
            transport: Transport::Tcp,
            version: String::new(),
            environment: BTreeMap::new(),
        }
    }
}

/// What the figures depend on besides the code.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Machine {
    /// Processor's name.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Frequency governor of the first core, if the kernel tells.
    pub governor: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Total memory.
    pub memory: String,
}

impl Machine {
    /// Asks the running machine.
    #[must_use]
    pub fn here() -> Self {
        let system = rustix::system::uname();
        Self {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            governor: fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
            kernel: format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
            memory: field("/proc/meminfo", "MemTotal"),
        }
    }
}

/// One run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    /// Where it stands in the campaign.
    pub place: Place,
    /// Label of the subject.
    pub subject: String,
    /// Seconds since 1970, UTC.
    pub started_at: u64,
    /// Load average of the last minute before the run, all processes of the machine.
    pub load: f64,
    /// What it gave.
    pub figures: Figures,
    /// Why it is not believed, if it is not; it then takes no part in comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A run's place: in each block every subject runs once in some order and once in the reverse.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Place {
    /// The cell's name.
    pub cell: String,
    /// Number of the block within the cell.
    pub block: u32,
    /// Number of the run within the block.
    pub position: u32,
    /// First or second pass of the block; runs of one pass are pairs.
    pub pass: u32,
}

/// A results folder.
pub struct Records {
    folder: PathBuf,
    /// The circumstances.
    pub manifest: Manifest,
    /// The runs done so far.
    pub runs: Vec<Run>,
    /// The figures of the steps done so far.
    pub readings: Vec<Reading>,
}

impl Records {
    /// Says whether `folder` holds results.
    #[must_use]
    pub fn is_at(folder: &Path) -> bool {
        folder.join(MANIFEST).exists()
    }

    /// Opens `folder` to continue it, or begins it with `manifest`.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, holds something unreadable, or belongs to another campaign.
    pub fn begin_or_continue(folder: &Path, manifest: Manifest) -> io::Result<Self> {
        if Self::is_at(folder) {
            let records = Self::open(folder)?;
            let old = &records.manifest;
            let same = (&old.suite, old.quick, old.scale, &old.subjects, old.blocks)
                == (&manifest.suite, manifest.quick, manifest.scale, &manifest.subjects, manifest.blocks);
            return if same {
                Ok(records)
            } else {
                Err(io::Error::other("the folder holds another campaign"))
            };
        }
        fs::create_dir_all(folder)?;
        let text = serde_json::to_string_pretty(&manifest)?;
        fs::write(folder.join(MANIFEST), text)?;
        Ok(Self { folder: folder.to_owned(), manifest, runs: Vec::new(), readings: Vec::new() })
    }

    /// Reads a results folder.
    ///
    /// # Errors
    ///
    /// When it is missing or unreadable. A last line that was cut off by a crash is left out.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let manifest = serde_json::from_str(&fs::read_to_string(folder.join(MANIFEST))?)?;
        let (runs, readings) = (lines(&folder.join(RUNS))?, lines(&folder.join(READINGS))?);
        Ok(Self { folder: folder.to_owned(), manifest, runs, readings })
    }

    /// Adds a run, on disk first.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add(&mut self, run: Run) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join(RUNS))?;
        writeln!(file, "{}", serde_json::to_string(&run)?)?;
        self.runs.push(run);
        Ok(())
    }

    /// Adds the figures of a step, on disk first, and all in one write: a step is there or it is not.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn add_readings(&mut self, readings: Vec<Reading>) -> io::Result<()> {
        let mut text = String::new();
        for reading in &readings {
            text += &serde_json::to_string(reading)?;
            text.push('\n');
        }
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join(READINGS))?;
        file.write_all(text.as_bytes())?;
        self.readings.extend(readings);
        Ok(())
    }

    /// The runs of a cell that passed their own checks, in the order in which they ran.
    pub fn believed<'a>(&'a self, cell: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.place.cell == cell && run.fault.is_none())
    }

    /// Says whether the run at `place` is done.
    #[must_use]
    pub fn has(&self, place: &Place) -> bool {
        self.runs.iter().any(|run| run.place == *place)
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Seconds since 1970, UTC.
#[must_use]
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The records of a file of lines; none if there is no file. What a crash cut off is left out.
fn lines<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let mut records = Vec::new();
    if let Ok(file) = File::open(path) {
        for line in BufReader::new(file).lines() {
            records.extend(serde_json::from_str(&line?).ok());
        }
    }
    Ok(records)
}

/// The load average of the last minute.
#[must_use]
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}

/// This program's version and, in a work tree, its commit.
#[must_use]
pub fn program() -> String {
    let commit = Command::new("git").args(["describe", "--always", "--dirty"]).output().ok();
    let commit =
        commit.filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    format!("{} {}", env!("CARGO_PKG_VERSION"), String::from_utf8_lossy(&commit).trim()).trim().to_owned()
}

fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// Where measuring processes find the keys of a lab that lives for one campaign.
pub const KEYS: &str = "keys";
const MANIFEST: &str = "manifest.json";
const RUNS: &str = "runs.jsonl";
const READINGS: &str = "readings.jsonl";
