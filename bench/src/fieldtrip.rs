//! The FieldTrip buffer against the raw path and against the original's way of talking, in one run.
//!
//! Every cell checks its own result: the totals of the buffer and the last block, read back. Cells are shuffled in
//! each round, raw limits among them, because the machine is never the same from minute to minute. What is called
//! `original` is no foreign program: it is `original`, which reproduces on the wire, and in its copying,
//! what the reference documents of the C client and server. `--against` measures a server that runs already, such as
//! the original itself where it is installed.

mod cell;
mod client;
mod fanout;
mod history;
mod original;
mod ours;
mod raw;
mod targets;
mod wake;

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeMap;

use cell::{Path, Plan, Shape};
use schwann_fieldtrip::Address;

use crate::record::Reading;
use crate::statistics::{Resampler, median};
use crate::step::Step;
use crate::suite::{Asked, Missing};

/// A step per shape of a block, and one per other scenario.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let effort = asked.effort;
    let shapes = effort.points(
        &[(32, 1), (32, 16), (32, 32), (32, 64), (32, 128), (32, 256), (64, 256), (128, 256), (256, 256)],
        &[(32, 16), (256, 256)],
    );
    let (rounds, time) = (effort.count(3, 1), effort.time(0.1, 0.05));
    let against: Option<Address> = match asked.against.as_deref().map(str::parse).transpose() {
        Ok(address) => address,
        Err(error) => return Err(Missing(format!("--against: {error}"))),
    };
    let blocks = |(channels, samples): (u32, u32)| {
        let against = against.clone();
        Step::new(format!("{channels} x {samples}"), move |step| {
            said(blocks(step, Shape { channels, samples }, (rounds, time), against.as_ref()))
        })
    };
    type Scenario = fn(Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>>;
    let scenarios: [(&str, Scenario); 3] =
        [("fanout", fanout::run), ("history", history::run), ("wake", wake::run)];
    let lines = scenarios.map(|(name, scenario)| {
        Step::new(name, move |step| {
            said((|| {
                let mut measured = Measured::default();
                for _ in 0..rounds {
                    for (line, value) in scenario(time)? {
                        measured.lines.entry(line).or_default().push(value);
                    }
                }
                Ok(measured.readings(step))
            })())
        })
    });
    Ok(shapes.into_iter().map(blocks).chain(lines).collect())
}

/// Errors of this suite say their reason, and are not sent to other threads.
fn said(outcome: Result<Vec<Reading>, Box<dyn Error>>) -> Result<Vec<Reading>, crate::mse::Error> {
    outcome.map_err(|error| error.to_string().into())
}

/// Runs every path over blocks of one shape, in turn.
fn blocks(
    step: &str,
    shape: Shape,
    (rounds, time): (usize, Duration),
    against: Option<&Address>,
) -> Result<Vec<Reading>, Box<dyn Error>> {
    let paths = cell::PATHS.into_iter().filter(|path| against.is_some() || !path.is_other());
    let mut plans: Vec<Plan> =
        paths.flat_map(|path| cell::DIRECTIONS.map(|direction| Plan { path, direction, shape })).collect();
    let mut measured = Measured::default();
    let mut random = Resampler::new(0x9E37_79B9_7F4A_7C15);
    for _ in 0..rounds {
        random.shuffle(&mut plans);
        for plan in &plans {
            let seconds = plan.run(time, against)?.median.as_secs_f64();
            measured.cells.entry(plan.name()).or_insert((*plan, Vec::new())).1.push(seconds);
        }
    }
    Ok(measured.readings(step))
}

/// What all rounds measured.
#[derive(Default)]
struct Measured {
    /// Seconds that a block takes, by round.
    cells: BTreeMap<String, (Plan, Vec<f64>)>,
    /// Figures that are no cells, by round.
    lines: BTreeMap<String, Vec<f64>>,
}

impl Measured {
    /// Seconds that a block takes: the median over the rounds of each round's median.
    fn typical(&self, plan: Plan) -> Option<f64> {
        self.cells.get(&plan.name()).map(|(_, seconds)| median(seconds))
    }

    /// How many times as fast a cell is as another path is with the same blocks.
    fn times_faster(&self, plan: Plan, other: Path) -> Option<f64> {
        Some(self.typical(Plan { path: other, ..plan })? / self.typical(plan)?)
    }

    fn line(&self, name: &str) -> Option<f64> {
        self.lines.get(name).map(|values| median(values))
    }

    /// All figures, and what the project promises of them.
    fn readings(&self, step: &str) -> Vec<Reading> {
        let cells = self.cells.values().map(|(plan, seconds)| {
            let values = plan.shape.values() as f64;
            let rates = seconds.iter().map(|seconds| values / seconds / 1e6).collect();
            let (path, direction) =
                (format!("{:?}", plan.path), format!("{:?}", plan.direction).to_lowercase());
            Reading { at: Some(values), ..Reading::named(step, &path, &direction, "million values/s", rates) }
        });
        let lines = self
            .lines
            .iter()
            .map(|(name, values)| Reading::named(step, "FieldTrip", name, "", values.clone()));
        cells
            .chain(lines)
            .chain(targets::promises(self).into_iter().map(|promise| promise.reading(step)))
            .collect()
    }
}
