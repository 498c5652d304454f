//! Runs a suite: all subjects alternate in mirrored random blocks, each run in fresh processes.
//!
//! In a block every subject runs once in a random order and then once in the reverse order (ABBA for two), so
//! that whatever drifts steadily hits all alike.

use core::fmt;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use crate::agent::Agent;
use crate::line::{Carried, Line};
use crate::record::{Manifest, Place, Records, Role, Run, Subject, load, unix_time};
use crate::scenario::{Cell, CheckFailure, Figures, NullRuns, RawBaseline, Route, check, check_drift};
use crate::statistics::Resampler;
use crate::transfer::{Ends, Outcome, TransferError, interrupted, transfer};

/// Why a campaign ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum CampaignError {
    /// The user stopped it; the same command continues it.
    Interrupted,
    /// Results could not be written.
    Records(io::Error),
    /// A subject delivered something else than was sent, or ours failed again and again: its label, the cell, and
    /// the reason.
    Subject(String, String, String),
}

impl fmt::Display for CampaignError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("interrupted; the same command continues"),
            Self::Records(error) => write!(formatter, "results: {error}"),
            Self::Subject(label, cell, reason) => write!(formatter, "{label} failed in {cell}: {reason}"),
        }
    }
}

impl core::error::Error for CampaignError {}

/// Runs every run of `cells` that `records` does not hold yet, with the agent that some of them may need.
///
/// # Errors
///
/// [`CampaignError`]; what is done is in the records.
pub fn run(
    cells: &[Cell],
    records: &mut Records,
    mut agent: Option<&mut Agent>,
    progress: &mut dyn Write,
) -> Result<(), CampaignError> {
    let scratch = records.folder().join("scratch");
    std::fs::create_dir_all(&scratch).map_err(CampaignError::Records)?;
    let manifest = records.manifest.clone();
    let plan = plan(cells, &manifest);
    let todo = plan.iter().filter(|(_, place, _)| !records.has(place)).count();
    let started = Instant::now();
    let mut done = 0;
    for (cell, place, subject) in &plan {
        if records.has(place) {
            continue;
        }
        if interrupted() {
            return Err(CampaignError::Interrupted);
        }
        let left = started.elapsed().checked_div(done).map(|each| each * (todo as u32 - done));
        announce(progress, (done + 1, todo), place, subject, left.map(|left| left.as_secs()));
        let run = run_once(cell, place, subject, (&scratch, manifest.seed), agent.as_deref_mut())?;
        records.add(run).map_err(CampaignError::Records)?;
        done += 1;
    }
    let _ = writeln!(progress, "{done} runs in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Every run in the order that the manifest's seed gives.
fn plan<'a>(cells: &'a [Cell], manifest: &'a Manifest) -> Vec<(&'a Cell, Place, &'a Subject)> {
    let mut random = Resampler::new(manifest.seed);
    let mut plan = Vec::new();
    // Blocks outermost: a disturbance of some minutes does not fall on one cell alone.
    for block in 0..manifest.blocks {
        for cell in cells {
            let mut order: Vec<&Subject> =
                manifest.subjects.iter().filter(|subject| takes_part(subject.role, cell)).collect();
            random.shuffle(&mut order);
            let mirrored = order.iter().rev();
            for (position, subject) in order.iter().chain(mirrored).enumerate() {
                let pass = u32::from(position >= order.len());
                let place = Place { cell: cell.name.clone(), block, position: position as u32, pass };
                plan.push((cell, place, *subject));
            }
        }
    }
    plan
}

/// Says whether a cell measures subjects of this role.
#[must_use]
pub fn takes_part(role: Role, cell: &Cell) -> bool {
    match role {
        Role::Raw | Role::ZeroMq | Role::Zenoh => cell.raw_baseline == RawBaseline::Measured,
        Role::Null => cell.null == NullRuns::Measured,
        Role::Schwann | Role::Sealed | Role::Opponent => true,
    }
}

/// Makes a run, again if it fails; the last failure is kept as a run with a fault, so that it shows.
fn run_once(
    cell: &Cell,
    place: &Place,
    subject: &Subject,
    (scratch, seed): (&Path, u64),
    mut agent: Option<&mut Agent>,
) -> Result<Run, CampaignError> {
    let give_up = |reason: String| CampaignError::Subject(subject.label.clone(), place.cell.clone(), reason);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (started_at, load) = (unix_time(), load());
        let run = |figures, fault| Run {
            place: place.clone(),
            subject: subject.label.clone(),
            started_at,
            load,
            figures,
            fault,
        };
        // All subjects of a pass have the same line; one that failed on it is not tried on the same again.
        let seed = seed ^ u64::from(place.block) << 32 ^ u64::from(place.pass) << 16 ^ u64::from(attempt);
        let (figures, reason) = match carry(cell, subject, scratch, seed, agent.as_deref_mut()) {
            Ok((outcome, line)) => {
                let mut figures = (cell.take)(&cell.workload, &outcome);
                figures.add_line(line.as_ref());
                match check(&cell.workload, &outcome).and_then(|()| check_drift(&figures)) {
                    Ok(()) => return Ok(run(figures, None)),
                    // Wrong data is wrong however often one tries again.
                    Err(failure @ (CheckFailure::Corrupt(_) | CheckFailure::Disordered(_))) => {
                        return Err(give_up(failure.to_string()));
                    }
                    Err(failure) => (figures, failure.to_string()),
                }
            }
            Err(TransferError::Interrupted) => return Err(CampaignError::Interrupted),
            Err(_) if interrupted() => return Err(CampaignError::Interrupted),
            // A run that cannot be made at all gives nothing to keep.
            Err(error) if attempt == ATTEMPTS => return Err(give_up(error.to_string())),
            Err(error) => (Figures::default(), error.to_string()),
        };
        if attempt == ATTEMPTS {
            return Ok(run(figures, Some(reason)));
        }
    }
}

/// Makes a cell's transfer on its route.
fn carry(
    cell: &Cell,
    subject: &Subject,
    scratch: &Path,
    seed: u64,
    agent: Option<&mut Agent>,
) -> Result<(Outcome, Option<Carried>), TransferError> {
    match cell.route {
        Route::Agent => {
            let agent = agent.ok_or_else(|| TransferError::Agent("there is none".to_owned()))?;
            Ok((transfer(&cell.workload, subject, scratch, Ends::Agent(agent))?, None))
        }
        Route::Loopback => Ok((transfer(&cell.workload, subject, scratch, Ends::Here)?, None)),
        Route::Line(profile) => {
            let line = Line::lay(profile, seed).map_err(TransferError::Line)?;
            let outcome = transfer(&cell.workload, subject, scratch, Ends::Line(&line))?;
            Ok((outcome, Some(line.end())))
        }
    }
}

fn announce(
    out: &mut dyn Write,
    (number, todo): (u32, usize),
    place: &Place,
    subject: &Subject,
    left: Option<u64>,
) {
    let left = left.map_or_else(String::new, |left| format!(", {left} s left"));
    // Progress is a courtesy; the records are what counts.
    let _ = writeln!(out, "[{number}/{todo}{left}] {} block {} {}", place.cell, place.block, subject.label);
}

/// Returns, for one cell and metric, the values per subject in pairs: the same index is the same pass of the
/// same block. Passes that are not complete are left out.
#[must_use]
pub fn paired_values(records: &Records, cell: &str, metric: &str) -> BTreeMap<String, Vec<f64>> {
    let mut passes: BTreeMap<(u32, u32), BTreeMap<&str, f64>> = BTreeMap::new();
    for run in records.believed(cell) {
        if let Some(&value) = run.figures.values.get(metric) {
            passes.entry((run.place.block, run.place.pass)).or_default().insert(&run.subject, value);
        }
    }
    let complete = passes.values().map(BTreeMap::len).max().unwrap_or(0);
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for pass in passes.values().filter(|pass| pass.len() == complete) {
        for (subject, value) in pass {
            values.entry((*subject).to_owned()).or_default().push(*value);
        }
    }
    values
}

/// A run that could not be made, or that lost samples, is tried so often: a busy machine may be the reason.
pub(crate) const ATTEMPTS: u32 = 3;
