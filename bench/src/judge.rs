//! What makes a campaign fail besides what stops it: samples that ours lost, and a machine that finds no known effect.

use crate::analysis::{Comparison, Verdict, compare};
use crate::campaign::CampaignError;
use crate::record::{Records, Role};
use crate::scenario::{Cell, sensitivity};

type Reason = Box<dyn core::error::Error + Send + Sync>;

/// The planted effect must be found, with its size, and equals must not differ. Says in words what was found.
///
/// - Errors: the machine is too restless for that; what to do.
pub(crate) fn sensitivity(records: &Records, cells: &[Cell]) -> Result<String, Reason> {
    let comparisons = compare(records, cells);
    let of = |role| {
        let mut found =
            comparisons.iter().filter(|c| c.subject == role && c.metric.name == sensitivity::METRIC);
        found.next().ok_or("the campaign has no such runs")
    };
    let (null, planted) = (of(Role::Null)?, of(Role::Planted)?);
    let words = format!(
        "a push that is 5 % longer measures {:+.1} %, an equal one {:+.1} %; effects below {:.1} % are not resolved here",
        100.0 * effect(planted),
        100.0 * effect(null),
        100.0 * null.ratio.spread.high.ln().abs().max(null.ratio.spread.low.ln().abs()),
    );
    let restless = |what: &str| Err(format!("{words}: {what}; try again on an idle machine").into());
    if effect(null).abs() > sensitivity::HANDICAP / 2.0 || null.verdict() == Verdict::Different {
        return restless("the machine is too restless, equals differ");
    }
    if planted.verdict() != Verdict::Different {
        return restless("the machine is too restless to find an effect of 5 %");
    }
    if !(sensitivity::HANDICAP / 2.0..=sensitivity::HANDICAP * 2.0).contains(&effect(planted)) {
        return restless("what was found is not what was planted");
    }
    Ok(words)
}

/// By which share a subject's figure is greater than its base's.
fn effect(comparison: &Comparison) -> f64 {
    comparison.ratio.median - 1.0
}

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
    use core::time::Duration;
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::record::{Machine, Manifest, Place, Run, Subject};
    use crate::scenario::Figures;
    use crate::statistics::Resampler;
    use crate::workload::Transport;

    /// What is said of made-up runs: how long the planted pushes and the equal ones take, as ratios, and the scatter of each
    /// run around that.
    fn judged(name: &str, planted: f64, equal: f64, scatter: f64) -> Result<String, Reason> {
        let folder = std::env::temp_dir().join(format!("schwann-judge-{name}-{}", std::process::id()));
        let subjects = [("liblsl", Role::Opponent), ("liblsl-2", Role::Null), ("liblsl+5%", Role::Planted)];
        let mut records = Records::begin_or_continue(&folder, manifest(&subjects)).expect("a new folder");
        let cells = [sensitivity::pushes(Duration::from_secs(1))];
        for (seed, ((label, _), ratio)) in (1..).zip(subjects.iter().zip([1.0, equal, planted])) {
            // From -1 to 1, evenly, each subject in an order of its own.
            let mut strays: Vec<f64> = (0..20).map(|number| f64::from(number) / 9.5 - 1.0).collect();
            Resampler::new(seed).shuffle(&mut strays);
            for (number, stray) in (0..).zip(strays) {
                let mut figures = Figures::default();
                figures.values.insert(sensitivity::METRIC.to_owned(), 20.0 * ratio * (1.0 + scatter * stray));
                let (block, pass) = (number / 2, number % 2);
                let place = Place { cell: cells[0].name.clone(), block, position: 0, pass };
                let run = Run {
                    place,
                    subject: (*label).to_owned(),
                    started_at: 0,
                    load: 0.0,
                    figures,
                    fault: None,
                };
                records.add(run).expect("written");
            }
        }
        let judged = sensitivity(&records, &cells);
        fs::remove_dir_all(&folder).expect("removed");
        judged
    }

    fn manifest(subjects: &[(&str, Role)]) -> Manifest {
        let subject = |&(label, role): &(&str, Role)| Subject {
            label: label.to_owned(),
            role,
            transport: Transport::Tcp,
            version: String::new(),
            environment: BTreeMap::new(),
            handicap: 0.0,
        };
        Manifest {
            suite: "sensitivity".to_owned(),
            quick: false,
            scale: 1.0,
            subjects: subjects.iter().map(subject).collect(),
            seed: 1,
            blocks: 10,
            started_at: 0,
            machine: Machine::here(),
            other: None,
            program: String::new(),
        }
    }

    #[test]
    fn a_planted_slow_down_of_5_percent_is_found_and_equals_do_not_differ() {
        let words = judged("found", 1.05, 1.0, 0.01).expect("found");
        assert!(words.contains("5 % longer measures +5."), "{words}");
    }

    #[test]
    fn an_effect_that_is_not_there_is_not_found() {
        assert!(judged("absent", 1.0, 1.0, 0.01).is_err());
    }

    #[test]
    fn a_restless_machine_is_told_so() {
        let reason = judged("restless", 1.05, 1.0, 0.3).expect_err("nothing is resolved").to_string();
        assert!(reason.contains("too restless"), "{reason}");
    }

    #[test]
    fn equals_that_differ_and_effects_of_another_size_are_no_proof() {
        assert!(judged("equals", 1.05, 1.03, 0.002).is_err());
        assert!(judged("size", 1.2, 1.0, 0.01).is_err());
        assert!(judged("sign", 0.95, 1.0, 0.01).is_err());
    }
}
