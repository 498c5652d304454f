//! Whether this machine finds a push that is 5 % slower on purpose, and finds nothing where nothing is.

use std::path::Path;

use super::{Step, named};
use crate::campaign::{ATTEMPTS, CampaignError};
use crate::judge::Found;
use crate::record::{Reading, Role, Subject};
use crate::scenario::{check, sensitivity};
use crate::suite::{Asked, Effort, Missing};
use crate::transfer::{Ends, TransferError, interrupted, transfer};

/// One step: so many restarts, and what they say together.
pub(crate) fn sensitivity(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let opponent = asked.opponent()?;
    let (effort, scratch) = (asked.effort, asked.scratch.clone());
    let run = move |step: &str| {
        let subject =
            Subject::library("liblsl", Role::Opponent, &opponent).map_err(|error| error.to_string())?;
        let restarts = restarts(&subject, effort, &scratch).map_err(|error| error.to_string())?;
        Ok(readings(step, &restarts))
    };
    Ok(vec![named("push_chunk(100)", Box::new(run))])
}

/// Measures in new processes, again and again.
fn restarts(
    subject: &Subject,
    effort: Effort,
    scratch: &Path,
) -> Result<Vec<sensitivity::Restart>, Box<dyn core::error::Error>> {
    let mut restarts = Vec::new();
    for number in 0..effort.count(24, 8) {
        if interrupted() {
            return Err(CampaignError::Interrupted.into());
        }
        let workload = sensitivity::pushes(effort.time(4.0, 1.5), number as u64 + 1);
        let mut attempts = 0;
        let outcome = loop {
            attempts += 1;
            let outcome = transfer(&workload, subject, scratch, Ends::Here);
            match outcome {
                Err(TransferError::Interrupted) => return Err(CampaignError::Interrupted.into()),
                Err(error) if attempts == ATTEMPTS => return Err(error.into()),
                Err(_) => {}
                Ok(outcome) => break outcome,
            }
        };
        check(&workload, &outcome)?;
        restarts.push(sensitivity::Restart::of(&workload, &outcome));
    }
    Ok(restarts)
}

/// The figures, and whether they say what they must.
fn readings(step: &str, restarts: &[sensitivity::Restart]) -> Vec<Reading> {
    let column = |of: fn(&sensitivity::Restart) -> f64| restarts.iter().map(of).collect::<Vec<f64>>();
    let (equal, planted) = (column(|one| one.equal), column(|one| one.planted));
    let found = Found::of(&equal, &planted);
    let percent = |ratios: &[f64]| ratios.iter().map(|ratio| 100.0 * (ratio - 1.0)).collect::<Vec<f64>>();
    let effect = |ratios: &[f64], name: &str, criterion: &str, met: bool| {
        let spread = found.interval(ratios);
        Reading {
            subject: "liblsl against itself".to_owned(),
            name: name.to_owned(),
            unit: "%".to_owned(),
            low: 100.0 * (spread.low - 1.0),
            high: 100.0 * (spread.high - 1.0),
            ..Reading::of(step, percent(ratios)).held_against(criterion, Some(met))
        }
    };
    vec![
        Reading {
            subject: "liblsl".to_owned(),
            name: "push, lower quartile".to_owned(),
            unit: "µs".to_owned(),
            ..Reading::of(step, column(|one| one.push_us))
        },
        effect(&equal, "an equal push is longer by", Found::EQUAL, found.equals_are_equal()),
        effect(&planted, "a push with a spin of 5 % is longer by", Found::PLANTED, found.planted_is_found()),
    ]
}
