//! What makes a campaign fail besides what stops it: samples that ours lost, and a machine that finds no known effect.

use core::fmt;

use crate::campaign::CampaignError;
use crate::record::{Reading, Records, Role};
use crate::report::{Ratio, ratio};
use crate::scenario::sensitivity::HANDICAP;
use crate::statistics::Interval;

type Reason = Box<dyn core::error::Error + Send + Sync>;

/// What restarts say about equal pushes and about those that are longer on purpose, as ratios to plain ones.
pub(crate) struct Found {
    equal: Option<Ratio>,
    planted: Option<Ratio>,
}

impl Found {
    /// What [`Found::equals_are_equal`] asks.
    pub(crate) const EQUAL: &str = "the interval within 2.5 % of 0";
    /// What [`Found::planted_is_found`] asks.
    pub(crate) const PLANTED: &str = "2.5 to 10 %, the interval without 0, and beyond what equals differ by";

    /// A ratio for every restart.
    pub(crate) fn of(equal: &[f64], planted: &[f64]) -> Self {
        let ones = vec![1.0; equal.len()];
        Self { equal: ratio(equal, &ones, None), planted: ratio(planted, &ones, Some((equal, &ones))) }
    }

    /// Where nothing was planted, nothing is found.
    pub(crate) fn equals_are_equal(&self) -> bool {
        let least = HANDICAP / 2.0;
        let equal = |Interval { low, high }: Interval| low > 1.0 - least && high < 1.0 + least;
        self.equal.as_ref().is_some_and(|ratio| equal(ratio.spread))
    }

    /// What was planted is found, and with its size.
    pub(crate) fn planted_is_found(&self) -> bool {
        let sizes = HANDICAP / 2.0..=HANDICAP * 2.0;
        self.planted.as_ref().is_some_and(|ratio| ratio.resolved && sizes.contains(&(ratio.median - 1.0)))
    }

    /// The interval of the median of these ratios.
    pub(crate) fn interval(&self, ratios: &[f64]) -> Interval {
        ratio(ratios, &vec![1.0; ratios.len()], None)
            .map_or(Interval { low: f64::NAN, high: f64::NAN }, |ratio| ratio.spread)
    }
}

/// A machine that does not find what was planted, or finds what was not, must be told so.
///
/// # Errors
///
/// [`Restless`]: what was found instead.
pub(crate) fn sensitivity(readings: &[Reading]) -> Result<(), Restless> {
    let missed: Vec<String> = readings
        .iter()
        .filter(|reading| reading.met == Some(false))
        .map(|r| format!("{} {:+.1} % [{:+.1}, {:+.1}]", r.name, r.median, r.low, r.high))
        .collect();
    if missed.is_empty() {
        return Ok(());
    }
    Err(Restless(missed.join("; ")))
}

/// The machine does not find an effect of known size, or finds one where there is none: what it found instead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Restless(String);

impl fmt::Display for Restless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the machine is too restless to find an effect of 5 %: {}; try again on an idle one",
            self.0
        )
    }
}

impl core::error::Error for Restless {}

/// Ours must not lose samples in any run.
///
/// - Errors: the first loss.
pub(crate) fn faults(records: &Records) -> Result<(), Reason> {
    let ours = |label: &str| {
        let subject = records.manifest.subjects.iter().find(|subject| subject.label == label);
        subject.is_some_and(|subject| matches!(subject.role, Role::Schwann | Role::Sealed))
    };
    let faults = records.runs.iter().filter(|run| run.fault.is_some() && ours(&run.subject));
    let lost: Vec<String> = faults
        .map(|run| format!("{}: {}", run.place.cell, run.fault.as_deref().unwrap_or_default()))
        .collect();
    // What drifts is the machine's fault, and the run takes no part; what loses samples is ours.
    match lost.iter().find(|fault| !fault.contains("drifted")) {
        None => Ok(()),
        Some(fault) => {
            Err(CampaignError::Subject("schwann".to_owned(), "a cell".to_owned(), fault.clone()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Resampler;

    /// What is found in made-up restarts: how long the planted pushes and the equal ones take, as ratios, and the scatter
    /// of each restart around that. Whether the planted effect is found, and whether equals are equal.
    fn found(planted: f64, equal: f64, scatter: f64) -> (bool, bool) {
        let restarts = |seed, level: f64| {
            // From -1 to 1, evenly, in an order of its own.
            let mut strays: Vec<f64> = (0..20).map(|number| f64::from(number) / 9.5 - 1.0).collect();
            Resampler::new(seed).shuffle(&mut strays);
            strays.into_iter().map(|stray| level * (1.0 + scatter * stray)).collect::<Vec<f64>>()
        };
        let found = Found::of(&restarts(1, equal), &restarts(2, planted));
        (found.planted_is_found(), found.equals_are_equal())
    }

    #[test]
    fn a_planted_slow_down_of_5_percent_is_found_and_equals_do_not_differ() {
        assert_eq!(found(1.05, 1.0, 0.01), (true, true));
    }

    #[test]
    fn an_effect_that_is_not_there_is_not_found() {
        assert_eq!(found(1.0, 1.0, 0.01), (false, true));
    }

    #[test]
    fn a_restless_machine_finds_nothing() {
        assert_eq!(found(1.05, 1.0, 0.3), (false, false));
    }

    #[test]
    fn equals_that_differ_and_effects_of_another_size_are_no_proof() {
        assert!(!found(1.05, 1.03, 0.002).1);
        assert!(!found(1.2, 1.0, 0.01).0);
        assert!(!found(0.95, 1.0, 0.01).0);
    }
}
