//! Suites whose measurements compare within themselves, cut into steps that can be resumed.

use std::io::Write;
use std::time::Instant;

use crate::campaign::CampaignError;
use crate::record::{Reading, Records, load, unix_time};
use crate::suite::{Asked, Depth, Missing};
use crate::transfer::interrupted;
use crate::{fieldtrip, mse};

mod aead;
mod mcu;
mod sealed;
mod sensitivity;

pub(crate) use aead::aead;
pub(crate) use mcu::mcu;
pub(crate) use sealed::sealed;
pub(crate) use sensitivity::sensitivity;

/// A part of a suite that is done as a whole or not at all.
pub struct Step {
    /// Unique within the suite; part of the records.
    pub name: String,
    /// Measures. Says what went wrong in words.
    pub run: Box<Measure>,
}

/// Takes the step's name and gives its figures.
pub type Measure = dyn Fn(&str) -> Result<Vec<Reading>, String>;

/// Runs every step that `records` does not hold yet.
///
/// # Errors
///
/// [`CampaignError`], of the first step that failed; what is done is in the records.
pub fn run(steps: &[Step], records: &mut Records, progress: &mut dyn Write) -> Result<(), CampaignError> {
    let done = |records: &Records, step: &Step| records.readings.iter().any(|r| r.step == step.name);
    let todo: Vec<&Step> = steps.iter().filter(|step| !done(records, step)).collect();
    let started = Instant::now();
    let mut failed = None;
    for (number, step) in todo.iter().enumerate() {
        if interrupted() {
            return Err(CampaignError::Interrupted);
        }
        let left =
            started.elapsed().checked_div(number as u32).map(|each| each * (todo.len() - number) as u32);
        let left = left.map_or_else(String::new, |left| format!(", {} s left", left.as_secs()));
        // Progress is a courtesy; the records are what counts.
        let _ = writeln!(progress, "[{}/{}{left}] {}", number + 1, todo.len(), step.name);
        match (step.run)(&step.name) {
            Ok(mut readings) => {
                for reading in &mut readings {
                    (reading.done_at, reading.load) = (unix_time(), load());
                }
                records.add_readings(readings).map_err(CampaignError::Records)?;
            }
            Err(_) if interrupted() => return Err(CampaignError::Interrupted),
            // What one step cannot do, others may.
            Err(reason) => {
                let _ = writeln!(progress, "{}: {reason}", step.name);
                failed.get_or_insert(CampaignError::Subject(
                    "the step".to_owned(),
                    step.name.clone(),
                    reason,
                ));
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn named(name: &str, run: Box<Measure>) -> Step {
    Step { name: name.to_owned(), run }
}

/// A step per scenario of MSE.
pub(crate) fn mse(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let effort = match asked.effort.depth {
        Depth::Full => mse::Effort::Share(asked.effort.scale),
        Depth::Quick => mse::Effort::Quick,
    };
    let step = |name: &'static str| Step {
        name: name.to_owned(),
        run: Box::new(move |step| {
            let outcomes = mse::measure(name, effort).map_err(|error| error.to_string())?;
            Ok(outcomes.iter().map(|outcome| mse_reading(step, outcome)).collect())
        }),
    };
    Ok(mse::scenarios().map(step).collect())
}

fn mse_reading(step: &str, outcome: &serde_json::Value) -> Reading {
    let text = |name: &str| outcome[name].as_str().map(str::to_owned);
    let number = |name: &str| outcome[name].as_f64().unwrap_or(f64::NAN);
    Reading {
        subject: "MSE".to_owned(),
        name: text("name").unwrap_or_default(),
        unit: text("unit").unwrap_or_default(),
        median: number("median"),
        low: number("min"),
        high: number("max"),
        samples: outcome["samples"].as_u64().unwrap_or(0),
        criterion: text("criterion"),
        met: outcome["met"].as_bool(),
        ..Reading::of(step, Vec::new())
    }
}

/// A step per shape of a block, and one per other scenario.
pub(crate) fn fieldtrip(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let effort = asked.effort;
    let shapes = effort.points(
        &[(32, 1), (32, 16), (32, 32), (32, 64), (32, 128), (32, 256), (64, 256), (128, 256), (256, 256)],
        &[(32, 16), (256, 256)],
    );
    let (rounds, time) = (effort.count(3, 1) as u32, effort.time(0.1, 0.05));
    let blocks = |&(channels, samples): &(u32, u32)| Step {
        name: format!("{channels} x {samples}"),
        run: Box::new(move |step| {
            let measured = fieldtrip::measure((channels, samples), rounds, time);
            let (timings, verdicts) = measured.map_err(|error| error.to_string())?;
            let timings = timings.iter().map(|timing| fieldtrip_reading(step, timing));
            Ok(timings.chain(verdicts.iter().map(|verdict| fieldtrip_verdict(step, verdict))).collect())
        }),
    };
    let scenario = |name: &&'static str| {
        let name = *name;
        Step {
            name: name.to_owned(),
            run: Box::new(move |step| {
                let measured = fieldtrip::measure_lines(name, rounds, time);
                let (lines, verdicts) = measured.map_err(|error| error.to_string())?;
                let lines = lines.iter().map(|line| fieldtrip_line(step, line));
                Ok(lines.chain(verdicts.iter().map(|verdict| fieldtrip_verdict(step, verdict))).collect())
            }),
        }
    };
    Ok(shapes.iter().map(blocks).chain(fieldtrip::SCENARIOS.iter().map(scenario)).collect())
}

fn fieldtrip_reading(step: &str, timing: &fieldtrip::Timing) -> Reading {
    let values = f64::from(timing.channels * timing.samples);
    let rates = timing.seconds.iter().map(|seconds| values / seconds / 1e6).collect();
    Reading {
        subject: timing.path.clone(),
        name: timing.direction.to_lowercase(),
        unit: "million values/s".to_owned(),
        at: Some(values),
        ..Reading::of(step, rates)
    }
}

fn fieldtrip_line(step: &str, (name, values): &fieldtrip::Line) -> Reading {
    Reading { subject: "FieldTrip".to_owned(), name: name.clone(), ..Reading::of(step, values.clone()) }
}

fn fieldtrip_verdict(step: &str, verdict: &fieldtrip::Verdict) -> Reading {
    Reading {
        subject: "FieldTrip".to_owned(),
        name: format!("goal: {}", verdict.name),
        unit: verdict.unit().to_owned(),
        ..Reading::of(step, vec![verdict.value]).held_against(verdict.criterion(), Some(verdict.is_met()))
    }
}
