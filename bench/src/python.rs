//! The Python package beside pylsl, mne-lsl and pyxdf, in their own language: `bench/src/python/worker.py`.
//!
//! The interpreter is `python3`, or what `SCHWANN_PYTHON` names: one in which all four packages are.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Reason;
use crate::record::Reading;
use crate::step::Step;
use crate::suite::{Asked, Effort, Missing};

/// What the worker prints of one figure.
#[derive(Deserialize)]
struct Figure {
    name: String,
    unit: String,
    samples: Vec<f64>,
    /// What the median is held against, such as `<= 2`; empty if nothing.
    criterion: String,
}

/// A step per scenario.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let has_packages = python().args(["-c", "import schwann, pylsl, pyxdf"]).stderr(Stdio::null()).status();
    if !has_packages.is_ok_and(|status| status.success()) {
        let message = "no Python with schwann, pylsl and pyxdf: `pip install ./python pylsl pyxdf`, and name the interpreter in SCHWANN_PYTHON";
        return Err(Missing(String::from(message)));
    }
    let (effort, scratch) = (asked.effort, asked.scratch.clone());
    let step = |name: &'static str| {
        let scratch = scratch.clone();
        Step::new(name, move |step| measure(name, step, effort, &scratch))
    };
    Ok(["chunks", "singles", "filters", "loop", "recordings"].map(step).into())
}

fn python() -> Command {
    Command::new(std::env::var_os("SCHWANN_PYTHON").unwrap_or_else(|| OsString::from("python3")))
}

fn measure(name: &str, step: &str, effort: Effort, scratch: &Path) -> Result<Vec<Reading>, Reason> {
    let scale = effort.count(1000, 30) as f64 / 1000.0;
    let worker = concat!(env!("CARGO_MANIFEST_DIR"), "/src/python/worker.py");
    let done = python()
        .arg(worker)
        .arg(name)
        .arg(scale.to_string())
        .arg(scratch)
        .stderr(Stdio::inherit())
        .output()?;
    if !done.status.success() {
        return Err(format!("the worker ended with {}", done.status).into());
    }
    let lines = String::from_utf8(done.stdout)?;
    lines.lines().map(|line| Ok(reading(step, serde_json::from_str(line)?))).collect()
}

fn reading(step: &str, figure: Figure) -> Reading {
    let Figure { name, unit, samples, criterion } = figure;
    let reading = Reading::named(step, "Python", &name, &unit, samples);
    match is_met(&criterion, reading.median) {
        None => reading,
        is_met => reading.held_against(criterion, is_met),
    }
}

/// Whether a criterion is met; nothing if there is none.
fn is_met(criterion: &str, median: f64) -> Option<bool> {
    let (relation, limit) = criterion.split_once(' ')?;
    let limit: f64 = limit.parse().ok()?;
    match relation {
        "<=" => Some(median <= limit),
        ">=" => Some(median >= limit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_is_a_relation_and_a_limit() {
        let cases = [
            ("<= 0.2", 0.2, Some(true)),
            ("<= 0.2", 0.3, Some(false)),
            (">= 5", 5.1, Some(true)),
            ("", 1.0, None),
        ];
        for (criterion, median, expected) in cases {
            assert_eq!(is_met(criterion, median), expected, "{criterion}");
        }
    }
}
