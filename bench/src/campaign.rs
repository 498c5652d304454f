//! Runs a suite: all subjects alternate in mirrored random blocks, each run in fresh processes.
//!
//! In a block, every subject runs once in a random order and then once in the reverse order (ABBA for two).
//! So a steady drift hits all alike.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use crate::line::{Carried, Line};
use crate::other::Other;
use crate::record::{Manifest, Reading, Records, Role, Subject, load, unix_time};
use crate::scenario::drift::check_drift;
use crate::scenario::{Cell, CheckFailure, Route, check};
use crate::statistics::Resampler;
use crate::transfer::{Ends, Outcome, TransferError, interrupted, transfer};

/// Why a campaign ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CampaignError {
    /// The user stopped it; the same command continues it.
    #[error("interrupted; the same command continues")]
    Interrupted,
    /// Results could not be written.
    #[error("results: {0}")]
    Records(io::Error),
    /// A subject delivered something else than was sent, or ours failed again and again. Holds its label, the
    /// cell, and the reason.
    #[error("{0} failed in {1}: {2}")]
    Subject(String, String, String),
}

/// Runs every run of `cells` that is not in `records` yet, with another computer if some of them need it.
///
/// # Errors
///
/// [`CampaignError`]; what is done is in the records.
pub(crate) fn run(
    cells: &[Cell],
    records: &mut Records,
    other: Option<&Other>,
    progress: &mut dyn Write,
) -> Result<(), CampaignError> {
    let scratch = records.folder().join("scratch");
    std::fs::create_dir_all(&scratch).map_err(CampaignError::Records)?;
    let manifest = records.manifest.clone();
    let mut plan = plan(cells, &manifest);
    plan.retain(|run| !records.has(&run.cell.name, &run.subject.label, run.number()));
    let started = Instant::now();
    for (done, run) in (0_u32..).zip(&plan) {
        if interrupted() {
            return Err(CampaignError::Interrupted);
        }
        let left = started.elapsed().checked_div(done).map(|each| each * (plan.len() as u32 - done));
        let left = left.map_or_else(String::new, |left| format!(", {} s left", left.as_secs()));
        // Progress is a courtesy; the records are what counts.
        let Run { cell, block, subject, .. } = run;
        let _ = writeln!(
            progress,
            "[{}/{}{left}] {} block {block} {}",
            done + 1,
            plan.len(),
            cell.name,
            subject.label
        );
        let readings = run.measure((&scratch, manifest.seed), other)?;
        records.add(readings).map_err(CampaignError::Records)?;
    }
    let _ = writeln!(progress, "{} runs in {:.0} s", plan.len(), started.elapsed().as_secs_f64());
    Ok(())
}

/// One run and its place: in each block every subject runs once in some order, and once in the reverse.
struct Run<'a> {
    cell: &'a Cell,
    subject: &'a Subject,
    block: u32,
    /// First or second pass of the block; runs of one pass are pairs.
    pass: u32,
}

/// Every run in the order that the manifest's seed gives.
fn plan<'a>(cells: &'a [Cell], manifest: &'a Manifest) -> Vec<Run<'a>> {
    let mut random = Resampler::new(manifest.seed);
    let mut plan = Vec::new();
    // Blocks outermost: a disturbance of some minutes does not fall on one cell alone.
    for block in 0..manifest.blocks {
        for cell in cells {
            let mut order: Vec<&Subject> =
                manifest.subjects.iter().filter(|subject| takes_part(subject.role, cell)).collect();
            random.shuffle(&mut order);
            plan.extend(order.iter().map(|subject| Run { cell, subject, block, pass: 0 }));
            plan.extend(order.iter().rev().map(|subject| Run { cell, subject, block, pass: 1 }));
        }
    }
    plan
}

/// Says whether a cell measures subjects of this role.
pub(crate) fn takes_part(role: Role, cell: &Cell) -> bool {
    match role {
        Role::Raw => cell.is_raw_measured,
        Role::Null => cell.is_null_measured,
        // In shared memory there is no way to another computer.
        Role::Iceoryx2 => cell.is_raw_measured && cell.route == Route::Loopback,
        // A push would wait for a receiver that pulls slowly on purpose.
        Role::ZeroCopy => !cell.workload.pauses(),
        Role::Schwann | Role::Sealed | Role::Opponent => true,
    }
}

impl Run<'_> {
    /// The number of its pass in the whole campaign.
    fn number(&self) -> u32 {
        2 * self.block + self.pass
    }

    /// Makes the run, again if it fails; the last failure is kept with its fault, so that it shows.
    fn measure(
        &self,
        (scratch, seed): (&Path, u64),
        other: Option<&Other>,
    ) -> Result<Vec<Reading>, CampaignError> {
        let Self { cell, subject, block, pass } = *self;
        let give_up =
            |reason: String| CampaignError::Subject(subject.label.clone(), cell.name.clone(), reason);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (done_at, load) = (unix_time(), load());
            // All subjects of a pass have the same line. One that failed on it is not tried on the same again.
            let seed = seed ^ u64::from(block) << 32 ^ u64::from(pass) << 16 ^ u64::from(attempt);
            let carried = match carry(cell, subject, scratch, seed, other) {
                Err(TransferError::Interrupted) => return Err(CampaignError::Interrupted),
                Err(_) if interrupted() => return Err(CampaignError::Interrupted),
                // A run that cannot be made at all gives nothing to keep.
                Err(error) if attempt == ATTEMPTS => return Err(give_up(error.to_string())),
                Err(_) => continue,
                Ok(carried) => carried,
            };
            let (outcome, line) = carried;
            let mut figures = (cell.take)(&cell.workload, &outcome);
            figures.extend(line.iter().flat_map(Carried::figures));
            let fault = match check(&cell.workload, &outcome).and_then(|()| check_drift(&figures)) {
                Ok(()) => None,
                // Wrong data is wrong however often one tries again.
                Err(failure @ (CheckFailure::Corrupt(_) | CheckFailure::Disordered(_))) => {
                    return Err(give_up(failure.to_string()));
                }
                Err(_) if attempt < ATTEMPTS => continue,
                Err(failure) => Some(failure.to_string()),
            };
            let reading = |(name, value): (&String, &f64)| {
                let reading = Reading::of_pass(&cell.name, &subject.label, name, (self.number(), *value));
                Reading { done_at, load, fault: fault.clone(), ..reading }
            };
            return Ok(figures.iter().filter(|(_, value)| value.is_finite()).map(reading).collect());
        }
    }
}

/// Makes a cell's transfer on its route.
fn carry(
    cell: &Cell,
    subject: &Subject,
    scratch: &Path,
    seed: u64,
    other: Option<&Other>,
) -> Result<(Outcome, Option<Carried>), TransferError> {
    match cell.route {
        Route::Loopback => Ok((transfer(&cell.workload, subject, scratch, Ends::Here)?, None)),
        Route::Line(profile) => {
            let line = Line::lay(profile, seed).map_err(TransferError::Line)?;
            let outcome = transfer(&cell.workload, subject, scratch, Ends::Line(&line))?;
            Ok((outcome, Some(line.end())))
        }
        Route::Other => {
            let other =
                other.ok_or_else(|| TransferError::Worker("there is no other computer".to_owned()))?;
            Ok((transfer(&cell.workload, subject, scratch, Ends::Other(other))?, None))
        }
    }
}

/// Ours must not lose samples in any run.
///
/// # Errors
///
/// The first loss.
pub(crate) fn faults(records: &Records) -> Result<(), CampaignError> {
    let ours = |label: &str| {
        let subject = records.manifest.subjects.iter().find(|subject| subject.label == label);
        subject.is_some_and(|subject| matches!(subject.role, Role::Schwann | Role::Sealed))
    };
    let faults = records.readings.iter().filter(|reading| ours(&reading.subject));
    let lost: Vec<String> =
        faults.filter_map(|reading| Some(format!("{}: {}", reading.step, reading.fault.as_ref()?))).collect();
    // What drifts is the machine's fault, and the run takes no part; what loses samples is ours.
    match lost.iter().find(|fault| !fault.contains("drifted")) {
        None => Ok(()),
        Some(fault) => Err(CampaignError::Subject("schwann".to_owned(), "a cell".to_owned(), fault.clone())),
    }
}

/// A run that failed or lost samples is tried this often: a busy machine may be the reason.
pub(crate) const ATTEMPTS: u32 = 3;
