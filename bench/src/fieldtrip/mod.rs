//! Measures the FieldTrip buffer against the raw path and against the original's way of talking, in one run.
//!
//! ```text
//! fieldtrip-bench [--seconds S] [--rounds N] [--only WORD] [--json FILE]
//! ```
//!
//! Every cell checks its own result: the totals of the buffer and the last block, read back. Cells are shuffled in
//! each round, raw limits among them, because the machine is never the same from minute to minute. What is called
//! `original` is no program of somebody else: it is `original`, which reproduces on the wire, and in its copying,
//! what the reference documents of the C client and server.

mod cell;
mod documented;
mod fanout;
mod history;
mod original;
mod ours;
mod raw;
mod report;
mod wake;

use core::error::Error;
use core::time::Duration;

use cell::{Plan, Shape};
use report::Report;

/// Runs the program `fieldtrip-bench` with the process's arguments.
///
/// # Errors
///
/// When a cell cannot be run, or its result is wrong.
pub fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let mut report = Report::default();
    let mut shuffle = Shuffle(0x9E37_79B9_7F4A_7C15);
    for round in 0..arguments.rounds {
        let mut plans: Vec<Plan> = plans().into_iter().filter(|plan| arguments.wants(&plan.name())).collect();
        shuffle.apply(&mut plans);
        for plan in plans {
            let cell = plan.run(arguments.cell)?;
            eprintln!("round {round}: {} {}", plan.name(), cell.line(plan.shape));
            report.add(plan, cell);
        }
        if arguments.wants("history") {
            report.add_lines(history::run()?);
        }
        if arguments.wants("wake") {
            report.add_lines(wake::run(arguments.cell)?);
        }
        if arguments.wants("fanout") {
            report.add_lines(fanout::run(arguments.cell.max(Duration::from_secs(2)))?);
        }
    }
    print!("{}", report.table());
    if let Some(path) = arguments.json {
        std::fs::write(path, report.json())?;
    }
    Ok(())
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
) -> Result<Vec<Timing>, Box<dyn Error>> {
    let shape = Shape { channels, samples };
    let mut plans: Vec<Plan> = plans().into_iter().filter(|plan| plan.shape == shape).collect();
    let mut timings: Vec<(Plan, Vec<f64>)> = plans.iter().map(|plan| (*plan, Vec::new())).collect();
    let mut shuffle = Shuffle(0x9E37_79B9_7F4A_7C15);
    for _ in 0..rounds {
        shuffle.apply(&mut plans);
        for plan in &plans {
            let cell = plan.run(time)?;
            if let Some((_, seconds)) = timings.iter_mut().find(|(other, _)| other == plan) {
                seconds.push(cell.typical());
            }
        }
    }
    Ok(timings
        .into_iter()
        .map(|(plan, seconds)| Timing {
            direction: format!("{:?}", plan.direction),
            path: format!("{:?}", plan.path),
            channels,
            samples,
            seconds,
        })
        .collect())
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
    json: Option<String>,
}

impl Arguments {
    fn parse() -> Result<Self, lexopt::Error> {
        use lexopt::prelude::{Long, ValueExt};
        let mut arguments =
            Self { cell: Duration::from_millis(200), rounds: 3, only: Vec::new(), json: None };
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("seconds") => {
                    arguments.cell =
                        Duration::from_secs_f64(parser.value()?.parse::<f64>()?.clamp(0.001, 60.0));
                }
                Long("rounds") => arguments.rounds = parser.value()?.parse()?,
                Long("only") => arguments.only.push(parser.value()?.string()?),
                Long("json") => arguments.json = Some(parser.value()?.string()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(arguments)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }
}

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
