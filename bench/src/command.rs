//! The command line.

use core::net::Ipv4Addr;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory as _, Parser as _};

use crate::Reason;
use crate::measure::{measure, measure_all};
use crate::record::{Records, unix_time};
use crate::report;
use crate::suite::{Depth, Kind, MCU, OTHER, SUITES, Suite, find};

/// Runs the command that `arguments` (without the program's name) give, and says how the process should end.
///
/// The caller must have called [`crate::worker::run_if_worker`] first: the measuring processes are this program.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = [OsString::from("schwann-bench")].into_iter().chain(arguments);
    match execute(Options::parse_from(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Measures Schwann against the real liblsl, against a raw socket, and against limits, so that it can be believed.
#[derive(Clone, clap::Parser)]
#[command(name = "schwann-bench", version, after_help = COMMANDS)]
pub(crate) struct Options {
    /// What to do.
    #[arg(value_name = "COMMAND")]
    pub(crate) words: Vec<String>,
    /// Under two minutes: proves that everything works, and the order of magnitude.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Make runs shorter until all of them take about so long.
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<f64>,
    /// Every subject runs twice per block [default: 3, quick: 1].
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Only the cells or steps whose name contains WORD; may be given again.
    #[arg(long, value_name = "WORD")]
    pub(crate) only: Vec<String>,
    /// The library to judge [default: liblsl.so beside this program, or in target/release].
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) ours: Option<PathBuf>,
    /// The library to compare with [default: the one of the Python package pylsl].
    #[arg(long = "vs", value_name = "LIBRARY")]
    pub(crate) opponent: Option<PathBuf>,
    /// With `sealed paired`: an earlier build of ours, which takes turns with this one.
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) before: Option<PathBuf>,
    /// Also measure iceoryx2, on this computer (built once from bench/opponents, in a work tree; needs libclang and minutes).
    #[arg(long)]
    pub(crate) iceoryx2: bool,
    /// Do not measure ours with encryption, too (its keys are made for the campaign).
    #[arg(long = "no-sealed", action = ArgAction::SetFalse)]
    pub(crate) sealed: bool,
    /// Do not measure --vs against itself; then no difference counts as resolved or not.
    #[arg(long = "no-null", action = ArgAction::SetFalse)]
    pub(crate) null: bool,
    /// With `lsl network`: the words that run a command on another computer, such as "ssh lab2".
    #[arg(long, value_name = "WORDS", requires = "between")]
    pub(crate) other: Option<String>,
    /// With `--other`: this computer's address, and that one's.
    #[arg(long, num_args = 2, value_names = ["HERE", "THERE"])]
    pub(crate) between: Vec<Ipv4Addr>,
    /// With `fieldtrip`: also measure the server that runs there; IT LOSES WHAT IT HOLDS.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) against: Option<String>,
    /// The order of runs follows from it.
    #[arg(long, value_name = "N", default_value_t = unix_time(), hide_default_value = true)]
    pub(crate) seed: u64,
    /// Keep a record although the tree has changes that are not committed; it cannot be published.
    #[arg(long)]
    pub(crate) trial: bool,
    /// Results; a folder of an interrupted run is continued [default: bench-results/SUITE-TIME].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// The microcontroller's, for QEMU.
    #[arg(skip)]
    pub(crate) image: Option<PathBuf>,
}

impl Options {
    /// How many cells there are, and how long their runs.
    pub(crate) fn depth(&self) -> Depth {
        if self.quick { Depth::Quick } else { Depth::Full }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let default = || Path::new("bench-results").join(format!("{name}-{}", unix_time()));
        self.out.clone().unwrap_or_else(default)
    }
}

fn execute(mut options: Options) -> Result<(), Reason> {
    let words = core::mem::take(&mut options.words);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Options::command().print_help()?,
        ["list"] => {
            for suite in SUITES {
                println!("{:16} {}", suite.name.replacen('-', " ", 1), suite.about);
            }
        }
        ["page", folder] => print!("{}", crate::page::page(&Records::all_at(folder.as_ref())?)?),
        ["publish", folder, file] => publish(folder.as_ref(), file.as_ref())?,
        ["report", path] => print!("{}", report::tables(&Records::all_at(path.as_ref())?)?),
        ["all"] => {
            let folder = options.folder("all");
            let ended = measure_all(&options, &folder);
            if let Ok(all) = Records::all_at(&folder) {
                std::fs::write(folder.join("report.md"), report::tables(&all)?)?;
            }
            ended?;
        }
        ["lsl", "network"] | ["lsl-network"] if options.other.is_some() => one(OTHER, &options)?,
        [MCU, image] => one(MCU, &Options { image: Some(image.into()), ..options })?,
        [suite, part] if matches!(find(suite), Some(Suite { kind: Kind::Steps(..), .. })) => {
            options.only.push((*part).to_owned());
            one(suite, &options)?;
        }
        name => one(&name.join("-"), &options)?,
    }
    Ok(())
}

fn one(name: &str, options: &Options) -> Result<(), Reason> {
    measure(named(name)?, options, &options.folder(name))
}

fn named(name: &str) -> Result<&'static Suite, Unknown> {
    find(name).ok_or_else(|| Unknown(name.to_owned()))
}

/// Writes what tables show of the record in a folder.
fn publish(folder: &Path, file: &Path) -> Result<(), Reason> {
    for records in Records::all_at(folder)? {
        let cells =
            find(&records.manifest.suite).map(|suite| suite.cells(crate::measure::effort(&records.manifest)));
        let cells = cells.ok_or_else(|| Unknown(records.manifest.suite.clone()))?;
        records.publish(&cells, file)?;
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("no suite is called {0:?}; `schwann-bench list` shows them")]
struct Unknown(String);

const COMMANDS: &str = "\
Commands:
  SUITE [PART]             a suite, such as lsl, `lsl latency` or sealed; a part of it, such as `sealed paired`
  all                      every suite, and one report
  list                     the suites
  mcu [IMAGE]              the microcontroller's instruction counts, from the image for QEMU
  report PATH              the full tables of a record, or of a folder of records
  publish FOLDER FILE      what is committed of a record: FILE is docs/benchmarks/SUITE.tsv
  page FOLDER              docs/benchmarks.md, from the published records

Ctrl-C keeps what is done: the same command with --out goes on.

Examples:
  schwann-bench lsl latency --quick
  schwann-bench all --minutes 10";
