//! Records: one file for a suite. Its first line says where and how as JSON, each further line holds a [`Reading`].
//!
//! Lines are only ever added. All lines of a run or a step are written in one go when it is done. So an interrupted
//! campaign goes on where it stopped. A record names the commit that it was made from. From a tree with changes,
//! none is made unless it is called a trial, and a trial is never published.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::ffi::iceoryx2::Iceoryx2;
use crate::ffi::{LoadError, Lsl, Pushes};
pub(crate) use crate::reading::{Reading, Verdict};
use crate::scenario::Cell;
use crate::workload::Transport;

/// The circumstances of a campaign.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Manifest {
    /// The suite's name.
    pub(crate) suite: String,
    /// Whether it was the quick form.
    pub(crate) quick: bool,
    /// The share of its full time that a run takes.
    #[serde(default = "whole")]
    pub(crate) scale: f64,
    /// What was compared, in no order.
    pub(crate) subjects: Vec<Subject>,
    /// The order of all runs follows from it.
    pub(crate) seed: u64,
    /// Blocks per cell.
    pub(crate) blocks: u32,
    /// Seconds since 1970, UTC.
    pub(crate) started_at: u64,
    /// Where it ran.
    pub(crate) machine: Machine,
    /// The other computer and the commit of its program, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<(Machine, String)>,
    /// The commit of the tree that it was made of, as `git` names it.
    pub(crate) commit: String,
    /// Whether that commit is all of the tree.
    pub(crate) tree: Tree,
}

/// What a record was made of.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Tree {
    /// Its commit, and nothing else.
    Committed,
    /// A commit that is not in this repository.
    Foreign,
    /// Its commit and changes that were never committed, or no tree at all: a trial.
    Uncommitted,
}

fn whole() -> f64 {
    1.0
}

/// One thing that is measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Subject {
    /// What the tables call it.
    pub(crate) label: String,
    /// Its part in comparisons.
    pub(crate) role: Role,
    /// What carries its samples.
    pub(crate) transport: Transport,
    /// What it says about itself.
    pub(crate) version: String,
    /// Environment variables of its processes: whether it seals, and with which keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) environment: BTreeMap<String, String>,
}

/// A subject's part in comparisons.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) enum Role {
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
    /// The opponent in its own zero-copy mode.
    ZeroCopy,
    /// What else one might use on one computer: iceoryx2, in shared memory, with a few lines of one's own around it.
    Iceoryx2,
}

impl Subject {
    fn new(label: &str, role: Role, transport: Transport, version: String) -> Self {
        Self { label: label.to_owned(), role, transport, version, environment: BTreeMap::new() }
    }

    /// Makes a subject from a library, which is loaded once to ask for its version.
    pub(crate) fn library(label: &str, role: Role, path: &Path) -> Result<Self, LoadError> {
        let library = Lsl::load(path)?;
        let transport = Transport::Lsl { library: path.to_owned(), pushes: Pushes::default() };
        Ok(Self::new(label, role, transport, library.description()))
    }

    /// Makes the opponent in its zero-copy mode, if it has one.
    pub(crate) fn zero_copy(path: &Path) -> Result<Option<Self>, LoadError> {
        let transport = Transport::Lsl { library: path.to_owned(), pushes: Pushes::Write };
        let subject = Self { transport, ..Self::library("liblsl-zero-copy", Role::ZeroCopy, path)? };
        Ok((Lsl::load(path)?.version() >= Lsl::FIRST_WITH_ZERO_COPY).then_some(subject))
    }

    /// Makes ours in the clear, regardless of the user's keys.
    pub(crate) fn plain(path: &Path) -> Result<Self, LoadError> {
        Ok(Self::library("schwann", Role::Schwann, path)?.with([("SCHWANN_SECURITY", "off")]))
    }

    /// Makes ours sealed, with the keys in the folder [`KEYS`] beside its measuring processes.
    pub(crate) fn sealed(path: &Path) -> Result<Self, LoadError> {
        let clear = Self::library("schwann-sealed", Role::Sealed, path)?;
        // This process has no keys, so the library says here that it does not seal. Its processes check that it
        // does.
        let build = clear.version.split("/security:").next().unwrap_or_default();
        let version = format!("{build}/security:require");
        Ok(Self { version, ..clear }.with([("SCHWANN_SECURITY", "require"), ("SCHWANN_KEYS", KEYS)]))
    }

    fn with<const N: usize>(self, environment: [(&str, &str); N]) -> Self {
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { environment, ..self }
    }

    /// Makes iceoryx2 from the library of `bench/opponents`.
    pub(crate) fn iceoryx2(path: &Path) -> Result<Self, LoadError> {
        let transport = Transport::Iceoryx2 { library: path.to_owned() };
        Ok(Self::new("iceoryx2", Role::Iceoryx2, transport, Iceoryx2::load(path)?.version()))
    }

    /// The raw socket.
    pub(crate) fn raw() -> Self {
        Self::new("raw-tcp", Role::Raw, Transport::Tcp, String::new())
    }
}

/// What the figures depend on besides the code.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Machine {
    /// Processor's name.
    pub(crate) processor: String,
    /// Cores that this process may use.
    pub(crate) cores: usize,
    /// Frequency governor of the first core, if the kernel tells.
    pub(crate) governor: String,
    /// Kernel name and release.
    pub(crate) kernel: String,
    /// Total memory.
    pub(crate) memory: String,
}

impl Machine {
    /// Asks the running machine.
    pub(crate) fn here() -> Self {
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

/// A record on disk.
pub(crate) struct Records {
    path: PathBuf,
    /// The circumstances.
    pub(crate) manifest: Manifest,
    /// The figures so far.
    pub(crate) readings: Vec<Reading>,
}

impl Records {
    /// Opens the record of `folder` to continue it, or begins it with `manifest`.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, holds something unreadable, or belongs to another campaign.
    pub(crate) fn begin_or_continue(folder: &Path, manifest: Manifest) -> io::Result<Self> {
        let path = folder.join(RECORD);
        if path.exists() {
            let records = Self::open(&path)?;
            let key = |m: &Manifest| {
                (m.suite.clone(), m.quick, m.scale.to_bits(), m.subjects.clone(), m.blocks, m.commit.clone())
            };
            return if key(&records.manifest) == key(&manifest) {
                Ok(records)
            } else {
                Err(io::Error::other("the folder holds a record of another campaign, or of another commit"))
            };
        }
        fs::create_dir_all(folder)?;
        let records = Self { path, manifest, readings: Vec::new() };
        records.save()?;
        Ok(records)
    }

    /// Reads a record. A line without its step belongs to the step of the line before. A last line that was cut off
    /// by a crash is left out.
    ///
    /// # Errors
    ///
    /// When it is missing or unreadable.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let manifest = serde_json::from_str(lines.next().unwrap_or_default())?;
        let mut readings = Vec::new();
        let (mut step, mut subject) = ("", "");
        for line in lines {
            let mut fields = line.splitn(3, '\t');
            let [Some(first), Some(second), Some(rest)] = [fields.next(), fields.next(), fields.next()]
            else {
                continue;
            };
            step = if first.is_empty() { step } else { first };
            subject = if second == DITTO { subject } else { second };
            readings.extend(Reading::parse(&format!("{step}\t{subject}\t{rest}")));
        }
        Ok(Self { path: path.to_owned(), manifest, readings })
    }

    /// The records at a path, in the order of their start. The path is a file, a folder with one, or a folder of
    /// either.
    ///
    /// # Errors
    ///
    /// If it is missing or unreadable.
    pub(crate) fn all_at(path: &Path) -> io::Result<Vec<Self>> {
        let paths = if path.is_file() {
            vec![path.to_owned()]
        } else if path.join(RECORD).exists() {
            vec![path.join(RECORD)]
        } else {
            let entries = fs::read_dir(path)?.filter_map(|entry| Some(entry.ok()?.path()));
            let inner = entries.map(|path| if path.is_dir() { path.join(RECORD) } else { path });
            inner.filter(|path| path.extension().is_some_and(|end| end == "tsv") && path.exists()).collect()
        };
        let mut records = paths.iter().map(|path| Self::open(path)).collect::<io::Result<Vec<_>>>()?;
        if records.is_empty() {
            return Err(io::Error::other(format!("{} holds no record", path.display())));
        }
        records.sort_by_key(|records| records.manifest.started_at);
        Ok(records)
    }

    /// Adds the figures of a run or a step, on disk first, and all in one write. So they are there or they
    /// are not.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(crate) fn add(&mut self, readings: Vec<Reading>) -> io::Result<()> {
        let text: String = readings.iter().map(|reading| reading.line() + "\n").collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(text.as_bytes())?;
        self.readings.extend(readings);
        Ok(())
    }

    /// Writes the published part, with as many digits as tables show. A cell has a line for each subject and shown
    /// figure with all passes. A step has its figures without their samples.
    ///
    /// # Errors
    ///
    /// When it is a trial, or the file cannot be written.
    pub(crate) fn publish(mut self, cells: &[Cell], path: &Path) -> io::Result<()> {
        if self.manifest.tree == Tree::Uncommitted {
            return Err(io::Error::other(
                "a trial is not published: commit what was changed, build, and measure again",
            ));
        }
        for subject in &mut self.manifest.subjects {
            // The place of the library on the measuring computer does not matter.
            if let Transport::Lsl { library, .. } | Transport::Iceoryx2 { library } = &mut subject.transport {
                *library = library.file_name().unwrap_or_default().into();
            }
        }
        let mut all: Vec<Reading> = Vec::new();
        for mut reading in self.readings.drain(..) {
            let Some(cell) = cells.iter().find(|cell| cell.name == reading.step) else {
                reading.values.clear();
                all.push(reading);
                continue;
            };
            let is_shown = cell.metrics.iter().any(|metric| metric.name == reading.name);
            let is_same = |other: &&mut Reading| {
                (&other.step, &other.subject, &other.name, &other.fault)
                    == (&reading.step, &reading.subject, &reading.name, &reading.fault)
            };
            match all.iter_mut().find(is_same) {
                Some(other) => other.join(&reading),
                None if is_shown || reading.name.starts_with("line_late_") => all.push(reading),
                None => {}
            }
        }
        all.iter_mut().for_each(Reading::round);
        Self { path: path.to_owned(), manifest: self.manifest, readings: all }.save()
    }

    fn save(&self) -> io::Result<()> {
        let mut text = serde_json::to_string(&self.manifest)? + "\n";
        let (mut step, mut subject) = ("", "");
        for reading in &self.readings {
            let mut line = reading.line() + "\n";
            if !subject.is_empty() && reading.subject == subject {
                line.replace_range(reading.step.len() + 1..reading.step.len() + 1 + subject.len(), DITTO);
            }
            text += if reading.step == step { &line[step.len()..] } else { &line };
            (step, subject) = (&reading.step, &reading.subject);
        }
        fs::write(&self.path, text)
    }

    /// Says whether a subject has had this pass of a cell.
    pub(crate) fn has(&self, step: &str, subject: &str, pass: u32) -> bool {
        let is_pass =
            |reading: &&Reading| reading.values.get(pass as usize).is_some_and(|value| !value.is_nan());
        let of_both = |reading: &&Reading| reading.step == step && reading.subject == subject;
        self.readings.iter().filter(is_pass).any(|reading| of_both(&reading))
    }

    /// The folder of a record that is being made.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// Seconds since 1970, UTC.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The load average of the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}

/// The commit of the tree around, and whether it is all of the tree.
pub(crate) fn tree() -> (String, Tree) {
    let git = |words: &[&str]| {
        let output =
            Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let is_clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    let tree = if commit.is_some() && is_clean { Tree::Committed } else { Tree::Uncommitted };
    (commit.unwrap_or_else(|| format!("none, version {}", env!("CARGO_PKG_VERSION"))), tree)
}

fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// The commit that this program was built from.
pub(crate) const BUILT_FROM: &str = env!("SCHWANN_BUILT_FROM");
/// Where measuring processes find the keys of a lab that lives for one campaign.
pub(crate) const KEYS: &str = "keys";
const RECORD: &str = "record.tsv";
/// Stands for the subject of the line before.
const DITTO: &str = "\"";
