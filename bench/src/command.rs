//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};

use crate::agent;
use crate::measure::{measure, measure_all, subjects};
use crate::record::{Records, unix_time};
use crate::report;
use crate::suite::{AGENT, Depth, Kind, MCU, SUITES, Suite, find};

/// Runs the command that `arguments` (without the program's name) give, and says how the process should end.
///
/// The caller must have called [`crate::run_if_worker`] first: the measuring processes are this program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse(arguments).and_then(execute) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "\
Measures Schwann against the real liblsl, against a raw socket, and against limits, so that it can be believed.

  schwann-bench SUITE [PART] [--quick] [--minutes N] [OPTIONS]
  schwann-bench all [--quick] [--minutes N] [OPTIONS]
                                        every suite, and one report
  schwann-bench agent [--listen ADDRESS] [OPTIONS]
                                        take part in a campaign that runs on another computer
  schwann-bench mcu [IMAGE]             the microcontroller's instruction counts, from the image for QEMU
  schwann-bench report PATH             the full tables of a record, or of a folder of records
  schwann-bench publish FOLDER FILE     what is committed of a record: FILE is docs/benchmarks/SUITE.tsv
  schwann-bench page FOLDER             docs/benchmarks.md, from the published records
  schwann-bench list                    the suites

  --quick          under two minutes: proves that everything works, and the order of magnitude
  --minutes N      makes runs shorter until all of them take about so long
  --blocks N       every subject runs twice per block (default 3, quick 1)
  --only WORD      only the cells whose name contains WORD
  --ours LIBRARY   the library to judge (default: liblsl.so beside this program, or in target/release)
  --vs LIBRARY     the library to compare with (default: the one of the Python package pylsl)
  --zeromq         also measure ZeroMQ (libzmq of the Python package pyzmq, fetched if need be)
  --zenoh          also measure Zenoh (built once from bench/zenoh, in a work tree; takes minutes)
  --no-sealed      do not measure ours with encryption, too (its keys are made for the campaign)
  --no-null        do not measure --vs against itself; then no difference counts as resolved or not
  --agent ADDRESS  with lsl network: measure with the agent there, not with namespaces here
  --token TOKEN    what that agent printed
  --against ADDRESS  with fieldtrip: also measure the server that runs there; IT LOSES WHAT IT HOLDS
  --seed N         the order of runs follows from it (default: the time)
  --trial          keep a record although the tree has changes that are not committed; it cannot be published
  --out FOLDER     results; a folder of an interrupted run is continued (default bench-results/SUITE-TIME)

Ctrl-C keeps what is done: the same command with --out goes on.

Examples:
  schwann-bench lsl latency --quick
  schwann-bench all --minutes 10
";

enum Command {
    Agent(Options),
    All(Options),
    Help,
    List,
    Page(PathBuf),
    Publish(PathBuf, PathBuf),
    Report(PathBuf),
    Run(&'static Suite, Options),
}

/// What a person asked of a campaign.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) ours: Option<PathBuf>,
    pub(crate) opponent: Option<PathBuf>,
    /// The microcontroller's, for QEMU.
    pub(crate) image: Option<PathBuf>,
    pub(crate) depth: Depth,
    pub(crate) minutes: Option<f64>,
    pub(crate) blocks: Option<u32>,
    pub(crate) only: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) out: Option<PathBuf>,
    pub(crate) null: bool,
    pub(crate) sealed: bool,
    /// Whether the tree need not be committed.
    pub(crate) trial: bool,
    pub(crate) zero_mq: bool,
    pub(crate) zenoh: bool,
    /// A FieldTrip server that runs already.
    pub(crate) against: Option<String>,
    /// Where an agent listens, or where to find one.
    pub(crate) agent: Option<String>,
    pub(crate) token: Option<String>,
}

pub(crate) type Reason = Box<dyn core::error::Error + Send + Sync>;

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Reason> {
    let mut parser = Parser::from_args(arguments);
    let mut words: Vec<String> = Vec::new();
    let mut options = Options {
        ours: None,
        opponent: None,
        image: None,
        depth: Depth::Full,
        minutes: None,
        blocks: None,
        only: Vec::new(),
        seed: unix_time(),
        out: None,
        null: true,
        sealed: true,
        trial: false,
        zero_mq: false,
        zenoh: false,
        against: None,
        agent: None,
        token: None,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Value(word) => words.push(word.string()?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("ours") => options.ours = Some(parser.value()?.into()),
            Arg::Long("vs") => options.opponent = Some(parser.value()?.into()),
            Arg::Long("quick") => options.depth = Depth::Quick,
            Arg::Long("minutes") => options.minutes = Some(parser.value()?.parse()?),
            Arg::Long("blocks") => options.blocks = Some(parser.value()?.parse()?),
            Arg::Long("only") => options.only.push(parser.value()?.string()?),
            Arg::Long("seed") => options.seed = parser.value()?.parse()?,
            Arg::Long("out") => options.out = Some(parser.value()?.into()),
            Arg::Long("no-null") => options.null = false,
            Arg::Long("agent" | "listen") => options.agent = Some(parser.value()?.string()?),
            Arg::Long("against") => options.against = Some(parser.value()?.string()?),
            Arg::Long("token") => options.token = Some(parser.value()?.string()?),
            Arg::Long("trial") => options.trial = true,
            Arg::Long("zeromq") => options.zero_mq = true,
            Arg::Long("zenoh") => options.zenoh = true,
            Arg::Long("no-sealed") => options.sealed = false,
            other => return Err(other.unexpected().into()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        [] => Command::Help,
        ["list"] => Command::List,
        ["agent"] => Command::Agent(options),
        ["all"] => Command::All(options),
        ["lsl", "network"] | ["lsl-network"] if options.agent.is_some() => {
            Command::Run(find(AGENT).expect("it is in the list"), options)
        }
        [MCU, image] => {
            options.image = Some(image.into());
            Command::Run(find(MCU).expect("it is in the list"), options)
        }
        ["report", path] => Command::Report(path.into()),
        ["publish", folder, file] => Command::Publish(folder.into(), file.into()),
        ["page", folder] => Command::Page(folder.into()),
        [suite, part] if find(suite).is_some_and(|suite| matches!(suite.kind, Kind::Steps(..))) => {
            options.only.push((*part).to_owned());
            Command::Run(find(suite).expect("found above"), options)
        }
        name => {
            let name = name.join("-");
            Command::Run(find(&name).ok_or(Unknown(name))?, options)
        }
    })
}

fn execute(command: Command) -> Result<(), Reason> {
    match command {
        Command::Agent(options) => {
            let listen = options.agent.clone().unwrap_or_else(|| format!("0.0.0.0:{}", agent::PORT));
            let listen = listen
                .parse()
                .map_err(|error| format!("--listen takes ADDRESS:PORT, not {listen}: {error}"))?;
            let subjects = subjects(find(AGENT).expect("it is in the list"), &options)?;
            agent::serve(listen, subjects)?;
        }
        Command::Help => print!("{USAGE}"),
        Command::List => {
            for suite in SUITES {
                println!("{:16} {}", suite.name.replacen('-', " ", 1), suite.about);
            }
        }
        Command::Page(folder) => print!("{}", crate::page::page(&Records::all_at(&folder)?)?),
        Command::Publish(folder, file) => publish(&folder, &file)?,
        Command::Report(path) => print!("{}", report::tables(&Records::all_at(&path)?)?),
        Command::Run(suite, options) => {
            let default = || Path::new("bench-results").join(format!("{}-{}", suite.name, unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            measure(suite, &options, &folder)?;
        }
        Command::All(options) => {
            let default = || Path::new("bench-results").join(format!("all-{}", unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            let ended = measure_all(&options, &folder);
            if let Ok(all) = Records::all_at(&folder) {
                std::fs::write(folder.join("report.md"), report::tables(&all)?)?;
            }
            ended?;
        }
    }
    Ok(())
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
