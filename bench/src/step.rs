//! Suites whose measurements compare within themselves, cut into steps that can be resumed.

use std::io::Write;
use std::time::Instant;

use crate::Reason;
use crate::campaign::CampaignError;
use crate::record::{Reading, Records, load, unix_time};
use crate::transfer::interrupted;

/// A part of a suite that is done as a whole or not at all.
pub(crate) struct Step {
    /// Unique within the suite; part of the records.
    pub(crate) name: String,
    /// Measures. Says what went wrong in words.
    pub(crate) run: Box<Measure>,
}

/// Takes the step's name and gives its figures.
pub(crate) type Measure = dyn Fn(&str) -> Result<Vec<Reading>, Reason>;

impl Step {
    /// A step of this name.
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl Fn(&str) -> Result<Vec<Reading>, Reason> + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// Runs every step that `records` does not hold yet.
///
/// # Errors
///
/// [`CampaignError`], of the first step that failed; what is done is in the records.
pub(crate) fn run(
    steps: &[Step],
    records: &mut Records,
    progress: &mut dyn Write,
) -> Result<(), CampaignError> {
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
                records.add(readings).map_err(CampaignError::Records)?;
            }
            Err(_) if interrupted() => return Err(CampaignError::Interrupted),
            // What one step cannot do, others may.
            Err(reason) => {
                let _ = writeln!(progress, "{}: {reason}", step.name);
                failed.get_or_insert(CampaignError::Subject(
                    "the step".to_owned(),
                    step.name.clone(),
                    reason.to_string(),
                ));
            }
        }
    }
    failed.map_or(Ok(()), Err)
}
