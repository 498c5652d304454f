//! Another real computer, on which this program runs as well.
//!
//! `--other` holds the words that run a command there, such as `ssh lab2`. The worker protocol goes over the standard
//! streams of that command. The other computer has this program and the libraries at the same places. Two wall clocks
//! are never subtracted: latency is that of the way there and back, and the receiver alone counts throughput.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::Reason;
use crate::ffi::Lsl;
use crate::record::{BUILT_FROM, KEYS, Machine, Role, Subject};
use crate::transfer::{Placement, Process, TransferError};
use crate::worker::{Event, Job, MARK, Task};
use crate::workload::Transport;

/// The way to another computer.
pub(crate) struct Other {
    words: Vec<OsString>,
    /// The address of this computer, as the other one reaches it.
    pub(crate) here: Ipv4Addr,
    /// The other one's address.
    pub(crate) there: Ipv4Addr,
}

/// What a computer says of itself.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Introduction {
    pub(crate) machine: Machine,
    /// The commit that its program was built from.
    pub(crate) commit: String,
    /// What each library says of its build.
    versions: Vec<String>,
}

/// A transfer's end on the other computer, with the files that it needs.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Errand {
    task: Task,
    config: String,
    /// Of the keys' folder; empty where nothing is sealed.
    keys: Vec<(String, Vec<u8>)>,
}

impl Other {
    /// The computer that `words` lead to, and its address.
    pub(crate) fn new(words: &str, (here, there): (Ipv4Addr, Ipv4Addr)) -> Self {
        Self { words: words.split_whitespace().map(OsString::from).collect(), here, there }
    }

    /// Lets the other computer introduce itself, and checks that it has the same program and the same libraries.
    ///
    /// # Errors
    ///
    /// In words, with what differs.
    pub(crate) fn meet(&self, subjects: &[Subject]) -> Result<Introduction, Reason> {
        let libraries = subjects.iter().filter_map(library).map(Path::to_owned).collect();
        let said = self
            .run(&Job::Introduce(libraries), &BTreeMap::new(), INTRODUCTION_TIMEOUT)
            .and_then(|mut one| one.hear());
        let Event::Introduced(introduction) = said.map_err(|error| format!("{error}; {REMEDY}"))? else {
            return Err("the other computer spoke out of turn".into());
        };
        if introduction.commit != BUILT_FROM {
            return Err(format!(
                "the program there is of commit {}, not of {BUILT_FROM}",
                introduction.commit
            )
            .into());
        }
        for (subject, theirs) in
            subjects.iter().filter(|one| library(one).is_some()).zip(&introduction.versions)
        {
            if build(theirs) != build(&subject.version) {
                let (label, ours) = (&subject.label, &subject.version);
                return Err(format!(
                    "{label} is {ours:?} here and {theirs:?} there; install the same on both"
                )
                .into());
            }
        }
        Ok(introduction)
    }

    /// Starts an end of a transfer there. The keys of a sealed one lie in `scratch`.
    pub(crate) fn start(
        &self,
        (subject, task): (&Subject, Task),
        config: String,
        scratch: &Path,
        patience: Duration,
    ) -> Result<Process, TransferError> {
        let seals = subject.role == Role::Sealed;
        let keys = if seals { files(&scratch.join(KEYS)).map_err(TransferError::Setup)? } else { Vec::new() };
        self.run(&Job::Errand(Box::new(Errand { task, config, keys })), &subject.environment, patience)
    }

    fn run(
        &self,
        job: &Job,
        environment: &BTreeMap<String, String>,
        patience: Duration,
    ) -> Result<Process, TransferError> {
        let mut enter = self.words.clone();
        enter.extend(["env".into(), format!("{MARK}=1").into(), format!("LSLAPICFG={CONFIG}").into()]);
        enter.extend(environment.iter().map(|(name, value)| format!("{name}={value}").into()));
        Process::start(job, &Placement { enter: &enter, ..Placement::default() }, patience)
    }
}

/// What this computer is, and has.
pub(crate) fn introduce(libraries: &[PathBuf]) -> Result<Introduction, Reason> {
    let version = |path: &PathBuf| Ok(Lsl::load(path)?.description());
    let versions = libraries.iter().map(version).collect::<Result<_, Reason>>()?;
    Ok(Introduction { machine: Machine::here(), commit: BUILT_FROM.to_owned(), versions })
}

impl Errand {
    /// Puts the files into a folder of this process alone, goes there, and says what is to be done.
    pub(crate) fn unpack(self) -> Result<Task, Reason> {
        let folder = std::env::temp_dir().join(format!("schwann-bench-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        std::env::set_current_dir(FOLDER.get_or_init(|| folder))?;
        std::fs::write(CONFIG, self.config)?;
        std::fs::create_dir(KEYS)?;
        for (name, bytes) in self.keys {
            let mut to = std::fs::OpenOptions::new();
            to.create_new(true)
                .write(true)
                .mode(0o600)
                .open(Path::new(KEYS).join(name))?
                .write_all(&bytes)?;
        }
        Ok(self.task)
    }
}

/// Removes what [`Errand::unpack`] made in this process.
pub(crate) fn clear() {
    // What is left has no secret that outlives the campaign.
    let _ = FOLDER.get().map(std::fs::remove_dir_all);
}

fn files(folder: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let named = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?))
    };
    std::fs::read_dir(folder)?.map(named).collect()
}

fn library(subject: &Subject) -> Option<&Path> {
    match &subject.transport {
        Transport::Lsl { library, .. } => Some(library),
        Transport::Bare { .. } | Transport::Iceoryx2 { .. } | Transport::Tcp => None,
    }
}

/// A version without what it says of its keys, which depends on the process.
fn build(version: &str) -> &str {
    version.split("/security:").next().unwrap_or_default()
}

/// Where an end on another computer finds its library's settings, in its own folder.
const CONFIG: &str = "lsl_api.cfg";
/// A program there introduces itself in this time.
const INTRODUCTION_TIMEOUT: Duration = Duration::from_secs(30);
const REMEDY: &str = "--other takes the words that run a command on the other computer, such as \"ssh lab2\"; this program and the \
                      libraries lie at the same places there";

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
