//! The command line, shared by `schwann bench` and `lsl-bench`.

use core::fmt;
use std::ffi::OsString;
use std::io::stderr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};

use crate::agent::{self, Agent, Token};
use crate::campaign::{self, takes_part};
use crate::judge;
use crate::libraries;
use crate::line::{Line, LineError};
use crate::record::{KEYS, Machine, Manifest, Records, Role, Subject, program, unix_time};
use crate::report::table;
use crate::scenario::{Cell, Route, sensitivity};
use crate::sealed::lab;
use crate::step;
use crate::suite::{AGENT, Depth, Effort, Kind, SUITES, Suite, find};
use crate::transfer::stop_on_interrupt;

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

  schwann bench SUITE [--quick] [--minutes N] [OPTIONS]
  schwann bench all [--quick] [--minutes N] [OPTIONS]
  schwann bench agent [--listen ADDRESS] [OPTIONS]
                                        take part in a campaign that runs on another computer
  schwann bench mcu IMAGE               the microcontroller's instruction counts, from the image for QEMU
  schwann bench report FOLDER           the page (report.html) and the summary (report.md) of results
  schwann bench list                    the suites

  --quick          under two minutes: proves that everything works, and the order of magnitude
  --minutes N      makes runs shorter until all of them take about so long
  --blocks N       every subject runs twice per block (default 3, quick 1)
  --only WORD      only the cells whose name contains WORD
  --ours LIBRARY   the library to judge (default: liblsl.so beside this program, or in target/release)
  --vs LIBRARY     the library to compare with (default: the one of the Python package pylsl)
  --zeromq         also measure ZeroMQ (libzmq of the Python package pyzmq, fetched if need be)
  --no-sealed      do not measure ours with encryption, too (its keys are made for the campaign)
  --no-null        do not measure --vs against itself; then no difference counts as resolved or not
  --agent ADDRESS  with lsl network: measure with the agent there, not with namespaces here
  --token TOKEN    what that agent printed
  --seed N         the order of runs follows from it (default: the time)
  --out FOLDER     results; a folder of an interrupted run is continued (default bench-results/SUITE-TIME)

Ctrl-C keeps what is done: the same command with --out goes on.

Examples:
  schwann bench lsl latency --quick
  schwann bench all --minutes 10
";

enum Command {
    Agent(Options),
    All(Options),
    Help,
    List,
    Microcontroller(PathBuf),
    Report(PathBuf),
    Run(&'static Suite, Options),
}

#[derive(Clone)]
struct Options {
    ours: Option<PathBuf>,
    opponent: Option<PathBuf>,
    depth: Depth,
    minutes: Option<f64>,
    blocks: Option<u32>,
    only: Vec<String>,
    seed: u64,
    out: Option<PathBuf>,
    null: bool,
    sealed: bool,
    zero_mq: bool,
    /// Where an agent listens, or where to find one.
    agent: Option<String>,
    token: Option<String>,
}

type Reason = Box<dyn core::error::Error + Send + Sync>;

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Reason> {
    let mut parser = Parser::from_args(arguments);
    let mut words: Vec<String> = Vec::new();
    let mut options = Options {
        ours: None,
        opponent: None,
        depth: Depth::Full,
        minutes: None,
        blocks: None,
        only: Vec::new(),
        seed: unix_time(),
        out: None,
        null: true,
        sealed: true,
        zero_mq: false,
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
        ["mcu", image] => Command::Microcontroller(image.into()),
        ["mcu"] => {
            return Err(
                "schwann bench mcu needs the image for QEMU; firmware/README.md says how to build it".into(),
            );
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
        Command::Microcontroller(image) => print!("{}", crate::mcu::run(&image)?),
        Command::Report(folder) => crate::page::write(&folder)?,
        Command::Run(suite, options) => {
            let default = || Path::new("bench-results").join(format!("{}-{}", suite.name, unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            measure(suite, &options, &folder)?;
            crate::page::write(&folder)?;
        }
        Command::All(options) => {
            let default = || Path::new("bench-results").join(format!("all-{}", unix_time()));
            let folder = options.out.clone().unwrap_or_else(default);
            measure_all(&options, &folder)?;
            crate::page::write(&folder)?;
        }
    }
    Ok(())
}

/// Every suite into a folder of its own. A suite that cannot run here is said and left out.
fn measure_all(options: &Options, folder: &Path) -> Result<(), Reason> {
    let weights: f64 = SUITES.iter().map(|suite| suite.weight).sum();
    let mut failed = Vec::new();
    for suite in SUITES {
        let minutes = options.minutes.map(|minutes| minutes * suite.weight / weights);
        let options = Options { minutes, ..options.clone() };
        if matches!(suite.kind, Kind::Remote(_)) {
            // It has a command of its own, and needs another computer.
            continue;
        }
        eprintln!("== {}", suite.name);
        match measure(suite, &options, &folder.join(suite.name)) {
            Ok(()) => {}
            Err(reason) if crate::transfer::interrupted() => return Err(reason),
            // What this computer cannot do is no failure of the rest.
            Err(reason) if reason.is::<LineError>() => {
                eprintln!("bench: {} is left out: {reason}", suite.name)
            }
            Err(reason) => {
                eprintln!("bench: {}: {reason}", suite.name);
                failed.push(suite.name);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

fn measure(suite: &Suite, options: &Options, folder: &Path) -> Result<(), Reason> {
    let subjects = subjects(suite, options)?;
    let mut agent = agent_for(suite, options, &subjects)?;
    let mut manifest = Manifest {
        suite: suite.name.to_owned(),
        quick: options.depth == Depth::Quick,
        scale: 1.0,
        subjects,
        seed: options.seed,
        blocks: options.blocks.unwrap_or_else(|| Effort { depth: options.depth, scale: 1.0 }.blocks()),
        started_at: unix_time(),
        machine: Machine::here(),
        other: agent.as_ref().map(|agent| (agent.machine().0.clone(), agent.machine().1.to_owned())),
        program: program(),
    };
    if let Some(minutes) = options.minutes {
        fit(&mut manifest, suite, minutes * 60.0);
    }
    let mut records = Records::begin_or_continue(folder, manifest)?;
    stop_on_interrupt();
    let effort = effort(&records.manifest);
    let outcome = match &suite.kind {
        Kind::Remote(cells) | Kind::Transfers(cells) => {
            let mut cells = cells(effort);
            cells.retain(|cell| wanted(&options.only, &cell.name));
            possible(&cells)?;
            install_keys(&records, agent.as_ref())?;
            let outcome = campaign::run(&cells, &mut records, agent.as_mut(), &mut stderr());
            print!("{}", table(&records, &cells));
            if suite.name == "sensitivity" && outcome.is_ok() {
                println!("\n{}", judge::sensitivity(&records, &cells)?);
            }
            outcome
        }
        Kind::Steps(steps) => {
            let mut steps = steps(effort);
            steps.retain(|step| wanted(&options.only, &step.name));
            let outcome = step::run(&steps, &mut records, &mut stderr());
            print_readings(&records);
            outcome
        }
    };
    eprintln!("results in {}", folder.display());
    outcome?;
    judge::faults(&records)
}

/// The agent that a suite needs, connected, with the same libraries.
fn agent_for(suite: &Suite, options: &Options, subjects: &[Subject]) -> Result<Option<Agent>, Reason> {
    if !matches!(suite.kind, Kind::Remote(_)) {
        return Ok(None);
    }
    let (Some(address), Some(token)) = (&options.agent, &options.token) else {
        return Err(
            "start `schwann bench agent` on the other computer; it prints the command for this one".into()
        );
    };
    let token =
        Token::parse(token).ok_or("--token is not what an agent prints: four groups of 13 letters")?;
    let agent = Agent::connect(address, token)?;
    agent.check(subjects)?;
    Ok(Some(agent))
}

/// Says what is missing before anything is measured.
fn possible(cells: &[Cell]) -> Result<(), LineError> {
    let line = cells.iter().find_map(|cell| match cell.route {
        Route::Line(profile) => Some(profile),
        Route::Agent | Route::Loopback => None,
    });
    line.map_or(Ok(()), |profile| Line::lay(profile, 0).map(drop))
}

/// Makes the keys of a lab for this campaign, or those of the agent's lab, where some subject seals.
fn install_keys(records: &Records, agent: Option<&Agent>) -> Result<(), Reason> {
    let folder = records.folder().join("scratch").join(KEYS);
    let seals = records.manifest.subjects.iter().any(|subject| subject.role == Role::Sealed);
    match agent {
        _ if !seals => Ok(()),
        // A campaign that goes on has another agent, with another lab.
        Some(agent) => {
            let _ = std::fs::remove_dir_all(&folder);
            agent.install_keys(&folder)
        }
        None if folder.exists() => Ok(()),
        None => lab::install_keys(&folder),
    }
}

fn wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|word| name.contains(word.as_str()))
}

/// The effort that a campaign was made with.
pub(crate) fn effort(manifest: &Manifest) -> Effort {
    Effort { depth: if manifest.quick { Depth::Quick } else { Depth::Full }, scale: manifest.scale }
}

/// Shortens the runs of a campaign, and then drops blocks, until it takes about `seconds`.
fn fit(manifest: &mut Manifest, suite: &Suite, seconds: f64) {
    let (Kind::Remote(cells) | Kind::Transfers(cells)) = &suite.kind else { return };
    let depth = effort(manifest).depth;
    let took = |scale: f64, blocks: u32, subjects: &[Subject]| {
        let runs = |cell: &Cell| {
            let count = subjects.iter().filter(|subject| takes_part(subject.role, cell)).count();
            let overhead = RUN_OVERHEAD_S + INLET_OVERHEAD_S * cell.workload.consumers as f64;
            (2 * blocks) as f64 * count as f64 * (cell.workload.duration.as_secs_f64() + overhead)
        };
        cells(Effort { depth, scale }).iter().map(runs).sum::<f64>()
    };
    loop {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if took(middle, manifest.blocks, &manifest.subjects) > seconds {
                high = middle
            } else {
                low = middle
            }
        }
        manifest.scale = (low * 1e3_f64).round() / 1e3;
        if manifest.blocks == 1 || took(manifest.scale, manifest.blocks, &manifest.subjects) <= seconds * 1.1
        {
            return;
        }
        manifest.blocks -= 1;
    }
}

/// What starting, finding and ending the processes of a run takes.
const RUN_OVERHEAD_S: f64 = 0.7;
const INLET_OVERHEAD_S: f64 = 0.06;

fn subjects(suite: &Suite, options: &Options) -> Result<Vec<Subject>, Reason> {
    if matches!(suite.kind, Kind::Steps(_)) {
        return Ok(Vec::new());
    }
    let opponent = options.opponent.clone().or_else(libraries::opponent).ok_or(libraries::NO_OPPONENT)?;
    // Absolute: the measuring processes run elsewhere.
    let opponent = opponent.canonicalize()?;
    let mut subjects = vec![Subject::library("liblsl", Role::Opponent, &opponent)?, Subject::raw()];
    if options.null {
        subjects.push(Subject::library("liblsl-2", Role::Null, &opponent)?);
    }
    if suite.name == "sensitivity" {
        let mut planted = Subject::library("liblsl+5%", Role::Planted, &opponent)?;
        planted.handicap = sensitivity::HANDICAP;
        subjects.push(planted);
        return Ok(subjects);
    }
    let ours =
        options.ours.clone().or_else(libraries::ours).ok_or("name the library to judge with --ours")?;
    let ours = ours.canonicalize()?;
    subjects.push(Subject::plain(&ours)?);
    if options.sealed {
        subjects.push(Subject::sealed(&ours)?);
    }
    if options.zero_mq {
        subjects.push(Subject::zero_mq(&libraries::zero_mq()?)?);
    }
    Ok(subjects)
}

fn print_readings(records: &Records) {
    for reading in &records.readings {
        let verdict = match (&reading.criterion, reading.met) {
            (Some(criterion), Some(true)) => format!("  met: {criterion}"),
            (Some(criterion), _) => format!("  NOT MET: {criterion}"),
            _ => String::new(),
        };
        println!(
            "{:14} {:26} {:36} {:>12} {} ({} to {}, n {}){verdict}",
            reading.step,
            reading.subject,
            reading.name,
            crate::report::number(reading.median),
            reading.unit,
            crate::report::number(reading.low),
            crate::report::number(reading.high),
            reading.samples,
        );
    }
}

#[derive(Debug)]
struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no suite is called {:?}; `schwann bench list` shows them", self.0)
    }
}

impl core::error::Error for Unknown {}
