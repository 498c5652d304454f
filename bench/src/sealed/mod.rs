//! What sealing costs: latency and processor time against plain Schwann and against plain liblsl, the handshake, and the
//! state of a connection.
//!
//! Each part prints its figures, what they are held against, and whether that is met; a target that is missed ends
//! the program with the code 3. All but one are steps of the suite `sealed`, too, which keeps records. The samples' part
//! uses the same campaign as `schwann-bench`: fresh processes, alternating subjects, pairs of runs. The opponent runs as it is,
//! in the clear.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};

use crate::libraries;
use crate::record::{KEYS, Reading, Verdict, unix_time};
use crate::report;
use crate::transfer::stop_on_interrupt;

pub(crate) mod handshake;
pub(crate) mod lab;
mod latency;
mod link;
pub(crate) mod paired;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod timing;

pub(crate) type Reason = Box<dyn core::error::Error + Send + Sync>;

const USAGE: &str = "\
Measures what sealing costs.

  schwann-bench sealed latency [OPTIONS]    samples: sealed against plain against the real liblsl
  schwann-bench sealed paired [OPTIONS]     samples: what sealing adds, by streams side by side in the same two processes
  schwann-bench sealed handshake            processor time a side, and wall time on loopback and over a slow line
  schwann-bench sealed state                what a connection holds in memory
  schwann-bench sealed timing               whether a refusal's time tells where the bytes differ

  --quick          few cells, short runs
  --seconds S      length of a run (default 5, quick 1.5; paired: 2.5, quick 1)
  --blocks N       every subject runs twice per block (default 3, quick 1); paired: restarts (default 24, quick 4)
  --only WORD      only the cells whose name contains WORD, or is WORD if that ends with a full stop
  --ours LIBRARY   the library to judge (default: liblsl.so beside this program, or in target/release)
  --vs LIBRARY     the library to compare with (default: the one of the Python package pylsl)
  --out FOLDER     results; a folder of an interrupted run is continued
  --json           figures as lines of JSON (not latency)
";

/// What the command line asks for.
#[derive(Default)]
struct Options {
    quick: bool,
    seconds: Option<f64>,
    blocks: Option<u32>,
    only: Vec<String>,
    ours: Option<PathBuf>,
    opponent: Option<PathBuf>,
    out: Option<PathBuf>,
    json: bool,
}

/// Whether every target of a part was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Targets {
    Met,
    Missed,
}

impl Targets {
    fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }

    fn and(self, other: Self) -> Self {
        Self::of(self == Self::Met && other == Self::Met)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "NOT MET",
        }
    }
}

/// The exit code for a target that was missed: the measurement itself went well.
const MISSED: u8 = 3;

/// Turns this process into a measuring process of [`run`]'s if it was started as one, and then does not return.
pub(crate) fn run_if_worker() {
    paired::run_if_worker();
}

/// Runs the command that `arguments` (without the program's name) give, and says how the process should end.
///
/// The caller must have called [`crate::run_if_worker`] first: the measuring processes are this program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match execute(arguments) {
        Ok(Targets::Met) => ExitCode::SUCCESS,
        Ok(Targets::Missed) => {
            eprintln!("schwann-bench sealed: a target was missed");
            ExitCode::from(MISSED)
        }
        Err(reason) => {
            eprintln!("schwann-bench sealed: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn execute(arguments: impl IntoIterator<Item = OsString>) -> Result<Targets, Reason> {
    let mut parser = Parser::from_args(arguments);
    let (mut part, mut options) = (String::new(), Options::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Value(word) if part.is_empty() => part = word.string()?,
            Arg::Long("quick") => options.quick = true,
            Arg::Long("seconds") => options.seconds = Some(parser.value()?.parse()?),
            Arg::Long("blocks") => options.blocks = Some(parser.value()?.parse()?),
            Arg::Long("only") => options.only.push(parser.value()?.string()?),
            Arg::Long("ours") => options.ours = Some(parser.value()?.into()),
            Arg::Long("vs") => options.opponent = Some(parser.value()?.into()),
            Arg::Long("json") => options.json = true,
            Arg::Long("out") => options.out = Some(parser.value()?.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    match part.as_str() {
        "latency" => latency::measure(&options),
        "paired" => options.paired(),
        "handshake" => options.print(&handshake::measure(&part, if options.quick { 50 } else { 1000 })?),
        "state" => options.print(&state::measure(&part)?),
        "timing" => options.print(&timing::measure(&part)?),
        _ => {
            print!("{USAGE}");
            Ok(Targets::Met)
        }
    }
}

impl Options {
    /// Prints figures, and says whether all keep their limits.
    fn print(&self, readings: &[Reading]) -> Result<Targets, Reason> {
        for reading in readings {
            if self.json {
                println!("{}", serde_json::to_string(reading)?);
            } else {
                println!("{}", report::reading(reading));
            }
        }
        let kept = |reading: &Reading| matches!(reading.verdict(), None | Some(Verdict::Met));
        Ok(Targets::of(readings.iter().all(kept)))
    }

    /// Measures all cells of streams side by side, and prints each when it is done.
    fn paired(&self) -> Result<Targets, Reason> {
        let ours = self.ours.clone().or_else(libraries::ours).ok_or(libraries::NO_OURS)?;
        let (ours, folder) = (ours.canonicalize()?, self.folder());
        std::fs::create_dir_all(&folder)?;
        let scratch = folder.canonicalize()?;
        if !scratch.join(KEYS).exists() {
            lab::install_keys(&scratch.join(KEYS))?;
        }
        stop_on_interrupt();
        let (restarts, seconds) = paired::extent(self.quick);
        let restarts = self.blocks.map_or(restarts, |blocks| blocks as usize);
        let seconds = self.seconds.unwrap_or(seconds);
        let mut all = Targets::Met;
        for mut group in paired::conditions(self.quick, &ours) {
            group.retain(|condition| self.wants(&condition.name));
            for readings in paired::measure(&group, (restarts, seconds), &scratch)? {
                all = all.and(self.print(&readings)?);
            }
        }
        Ok(all)
    }

    fn wants(&self, name: &str) -> bool {
        let matches = |word: &String| match word.strip_suffix('.') {
            Some(whole) => name == whole,
            None => name.contains(word.as_str()),
        };
        self.only.is_empty() || self.only.iter().any(matches)
    }

    /// Absolute: the measuring processes run elsewhere.
    fn libraries(&self) -> Result<(PathBuf, PathBuf), Reason> {
        let ours = self.ours.clone().or_else(libraries::ours).ok_or(libraries::NO_OURS)?;
        let opponent = self.opponent.clone().or_else(libraries::opponent).ok_or(libraries::NO_OPPONENT)?;
        Ok((ours.canonicalize()?, opponent.canonicalize()?))
    }

    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("bench-results/sealed-{}", unix_time())))
    }
}
