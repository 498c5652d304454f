//! The command line.

use core::fmt;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};

use crate::agent;
use crate::measure::{measure, measure_all, subjects};
use crate::record::unix_time;
use crate::suite::{AGENT, Depth, MCU, SUITES, Suite, find};

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

  schwann-bench SUITE [--quick] [--minutes N] [OPTIONS]
  schwann-bench all [--quick] [--minutes N] [OPTIONS]
                                        every suite, and one report
  schwann-bench agent [--listen ADDRESS] [OPTIONS]
                                        take part in a campaign that runs on another computer
  schwann-bench mcu [IMAGE]             the microcontroller's instruction counts, from the image for QEMU
  schwann-bench report FOLDER           the page (report.html) and the summary (report.md) of results
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
  --seed N         the order of runs follows from it (default: the time)
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
    pub(crate) zero_mq: bool,
    pub(crate) zenoh: bool,
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
        zero_mq: false,
        zenoh: false,
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
            Arg::Long("token") => options.token = Some(parser.value()?.string()?),
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
        ["report", folder] => Command::Report(folder.into()),
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
        Command::Report(folder) => crate::page::write(&folder)?,
        Command::Run(suite, options) => {
            let default = || Path::new("bench-results").join(format!("{}-{}", suite.name, unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            reported(&folder, measure(suite, &options, &folder))?;
        }
        Command::All(options) => {
            let default = || Path::new("bench-results").join(format!("all-{}", unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            reported(&folder, measure_all(&options, &folder))?;
        }
    }
    Ok(())
}

/// Writes the report of what there is, however the measuring ended.
fn reported(folder: &Path, ended: Result<(), Reason>) -> Result<(), Reason> {
    let written = crate::page::write(folder);
    if written.is_ok() {
        eprintln!("report in {}", folder.join("report.html").display());
    }
    ended.and(written.map_err(Reason::from))
}

#[derive(Debug)]
struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no suite is called {:?}; `schwann-bench list` shows them", self.0)
    }
}

impl core::error::Error for Unknown {}
