//! Measures the FieldTrip buffer against the raw path and against the original's way of talking, in one run.
//!
//! Every cell checks its own result: the totals of the buffer and the last block, read back. Cells are shuffled in
//! each round, raw limits among them, because the machine is never the same from minute to minute. What is called
//! `original` is no program of somebody else: it is `original`, which reproduces on the wire, and in its copying,
//! what the reference documents of the C client and server. `--against` measures a server that runs already, such as
//! the original itself where it is installed.

mod cell;
mod documented;
mod fanout;
mod history;
mod original;
mod other;
mod ours;
mod raw;
mod report;
mod targets;
mod wake;

use core::error::Error;
use core::time::Duration;
use std::ffi::OsString;

use cell::{Plan, Shape};
use report::Report;
use schwann_fieldtrip::Address;
pub use targets::{Bound, Verdict};

/// What the command line can say.
pub const USAGE: &str = "\
Measures the FieldTrip buffer against raw memory and sockets, and against the original's way of talking.

  schwann-bench fieldtrip table [OPTIONS]

  --quick              two block sizes and everything else once: a minute
  --seconds S          time of a cell (default 0.2)
  --rounds N           how often each cell is measured (default 3)
  --only WORD          only the cells whose name contains WORD, such as 32x16, Put-Tcp, history, wake, fanout
  --against ADDRESS    also measure the server that runs there; IT LOSES WHAT IT HOLDS
  --json FILE          write every cell of every round

Each promise is printed with its figure, and whether it is met.
";

/// Runs the benchmark with these arguments, and says whether every promise that was measured is kept.
///
/// # Errors
///
/// When the arguments make no sense, a cell cannot be run, or its result is wrong.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<bool, Box<dyn Error>> {
    let Some(arguments) = Arguments::parse(arguments)? else {
        print!("{USAGE}");
        return Ok(true);
    };
    let mut report = Report::default();
    let mut shuffle = Shuffle(0x9E37_79B9_7F4A_7C15);
    for round in 0..arguments.rounds {
        let mut plans: Vec<Plan> = plans().into_iter().filter(|plan| arguments.wants_cell(plan)).collect();
        shuffle.apply(&mut plans);
        for plan in plans {
            let cell = plan.run(arguments.cell, arguments.against.as_ref())?;
            eprintln!("round {round}: {} {}", plan.name(), cell.line(plan.shape));
            report.add(plan, cell);
        }
        for scenario in SCENARIOS {
            if arguments.wants(scenario) {
                report.add_lines(measure_scenario(scenario, arguments.cell)?);
            }
        }
    }
    print!("{}", report.table());
    if let Some(path) = arguments.json {
        std::fs::write(path, report.json())?;
    }
    Ok(targets::verdicts(&report).iter().all(Verdict::is_met))
}

/// What is measured besides blocks of each shape.
pub const SCENARIOS: [&str; 3] = ["fanout", "history", "wake"];

fn measure_scenario(name: &str, cell: Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    match name {
        "fanout" => fanout::run(cell.max(Duration::from_secs(1))),
        "history" => history::run(),
        _ => wake::run(cell),
    }
}

/// A figure that is no cell: its name, and its rounds.
pub type Line = (String, Vec<f64>);

/// Runs one of the [`SCENARIOS`] `rounds` times.
///
/// # Errors
///
/// When it cannot be run, or its result is wrong.
pub fn measure_lines(
    scenario: &str,
    rounds: u32,
    time: Duration,
) -> Result<(Vec<Line>, Vec<Verdict>), Box<dyn Error>> {
    let mut report = Report::default();
    for _ in 0..rounds {
        report.add_lines(measure_scenario(scenario, time)?);
    }
    let lines = report.lines().map(|(name, values)| (name.to_owned(), values.to_vec())).collect();
    Ok((lines, targets::verdicts(&report)))
}

/// A cell's typical time, from a part of the tables.
#[derive(Clone, Debug)]
pub struct Timing {
    /// `Put` or `Get`.
    pub direction: String,
    /// Who talks to whom.
    pub path: String,
    /// Channels per block.
    pub channels: u32,
    /// Samples per block.
    pub samples: u32,
    /// Seconds per block, one per round.
    pub seconds: Vec<f64>,
}

/// Runs every path over blocks of one shape, in turn, `rounds` times.
///
/// # Errors
///
/// When a cell cannot be run, or its result is wrong.
pub fn measure(
    (channels, samples): (u32, u32),
    rounds: u32,
    time: Duration,
) -> Result<(Vec<Timing>, Vec<Verdict>), Box<dyn Error>> {
    let shape = Shape { channels, samples };
    let mut plans: Vec<Plan> =
        plans().into_iter().filter(|plan| plan.shape == shape && !plan.is_other()).collect();
    let mut report = Report::default();
    let mut shuffle = Shuffle(0x9E37_79B9_7F4A_7C15);
    for _ in 0..rounds {
        shuffle.apply(&mut plans);
        for plan in &plans {
            report.add(*plan, plan.run(time, None)?);
        }
    }
    let timing = |plan: Plan| Timing {
        direction: format!("{:?}", plan.direction),
        path: format!("{:?}", plan.path),
        channels,
        samples,
        seconds: report.rounds(plan),
    };
    let timings = report.plans().into_iter().map(timing).collect();
    Ok((timings, targets::verdicts(&report)))
}

/// Every cell of the tables: who talks to whom, which way, in which blocks.
fn plans() -> Vec<Plan> {
    let shapes = [
        (1, 1),
        (1, 32),
        (1, 256),
        (1, 1024),
        (32, 1),
        (32, 16),
        (32, 32),
        (32, 64),
        (32, 128),
        (32, 256),
        (64, 256),
        (128, 256),
        (256, 256),
        (1000, 1),
    ];
    let mut plans = Vec::new();
    for (channels, samples) in shapes {
        let shape = Shape { channels, samples };
        for path in cell::PATHS {
            plans.extend(cell::DIRECTIONS.map(|direction| Plan { path, direction, shape }));
        }
    }
    plans
}

struct Arguments {
    cell: Duration,
    rounds: u32,
    only: Vec<String>,
    quick: bool,
    against: Option<Address>,
    json: Option<String>,
}

impl Arguments {
    /// Reads the command line; nothing if it asks for help.
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, Box<dyn Error>> {
        use lexopt::prelude::{Long, Short, ValueExt};
        let mut parsed = Self {
            cell: Duration::from_millis(200),
            rounds: 3,
            only: Vec::new(),
            quick: false,
            against: None,
            json: None,
        };
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("quick") => {
                    parsed.quick = true;
                    (parsed.cell, parsed.rounds) = (Duration::from_millis(50), 1);
                }
                Long("seconds") => {
                    parsed.cell = Duration::from_secs_f64(parser.value()?.parse::<f64>()?.clamp(0.001, 60.0));
                }
                Long("rounds") => parsed.rounds = parser.value()?.parse()?,
                Long("only") => parsed.only.push(parser.value()?.string()?),
                Long("against") => parsed.against = Some(parser.value()?.string()?.parse()?),
                Long("json") => parsed.json = Some(parser.value()?.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Some(parsed))
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }

    fn wants_cell(&self, plan: &Plan) -> bool {
        let is_named = self.against.is_some() || !plan.is_other();
        let is_quick = !self.quick || QUICK.contains(&(plan.shape.channels, plan.shape.samples));
        is_named && is_quick && self.wants(&plan.name())
    }
}

/// The smallest and the largest block of the published tables.
const QUICK: [(u32, u32); 2] = [(32, 16), (256, 256)];

struct Shuffle(u64);

impl Shuffle {
    fn apply<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            items.swap(last, (self.0 % (last as u64 + 1)) as usize);
        }
    }
}
