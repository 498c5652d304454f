//! What a certificate says of each rule is what the verdict says, for streams of every kind.

use schwann_xdf::Drift;

use super::*;
use crate::arrivals::Arrivals;
use crate::course::MeasuredRate;
use crate::meter::Meter;
use crate::timing::Steps;
use crate::verdict::Limits;

/// A number that looks random, from 0 to 1.
fn chance(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// A stream that was looked at until [`NOW`], in which each thing is wrong, right or not known by chance.
fn evidence(state: &mut u64) -> Evidence {
    let mut pick = |from: &[f64]| from[(chance(state) * from.len() as f64) as usize];
    let known = |number: f64| Some(number).filter(|number| number.is_finite());
    let none = f64::NAN;
    let (nominal_rate, pause) = (pick(&[0.0, 0.1, 100.0, 500.0]), pick(&[0.02, 0.5, 4.0, 70.0]));
    let mut arrivals = Arrivals::default();
    if let Some(age) = known(pick(&[none, 0.0, 1.4, 1.6, 400.0])) {
        (0..10).for_each(|n| arrivals.add(NOW - age - pause * f64::from(9 - n)));
    }
    let broken = [Reach::Connecting, Reach::Away, Reach::Gone, Reach::Refused];
    let rate = known(pick(&[none, 0.7, 0.96, 1.0, 1.3])).map(|share| MeasuredRate {
        hz: share * nominal_rate,
        seconds: pick(&[0.5, 5.0]),
        uncertainty: pick(&[0.0, 0.1]),
    });
    Evidence {
        nominal_rate,
        reach: *broken
            .get(pick(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) as usize)
            .unwrap_or(&Reach::Connected),
        since: NOW - pick(&[1.0, 500.0]),
        rate,
        arrivals,
        lag: known(pick(&[none, 0.01, 9.0, 12.0, 4_000.0, -0.5, -2.0, -90.0, -1.8e9])),
        gap_count: pick(&[0.0, 1.0]) as u64,
        missing: 1,
        has_twin: pick(&[0.0, 1.0]) > 0.5,
        newest: arrivals.last(),
        jitter: known(pick(&[none, 0.01, 0.2, 40.0])).map(|p99| [p99 / 2.0, p99]),
        duplicates: pick(&[0.0, 3.0]) as u64,
        backward: known(pick(&[none, 2.0])).map(|count| (count as u64, 0.5)),
        invalid_stamps: pick(&[0.0, 3.0]) as u64,
        steps: known(pick(&[none, -3.0, 3.0])).map(|seconds| Steps { count: 1, seconds, after: 5.0 }),
        drift: known(pick(&[none, 100.0, 210.0, -900.0])).map(|ppm| Drift { ppm, plus_minus: 20.0 }),
        clock: pick_clock(pick(&[0.0, 1.0, 2.0, 3.0, 4.0])),
        limits: if pick(&[0.0, 1.0]) > 0.5 { Limits::USUAL } else { Limits::EEG },
    }
}

fn pick_clock(number: f64) -> ClockSeen {
    match number {
        0.0 => ClockSeen::NotAsked,
        1.0 => ClockSeen::Never(1.0),
        2.0 => ClockSeen::Never(4.0),
        3.0 => ClockSeen::Ago(1.0),
        _ => ClockSeen::Ago(31.0),
    }
}

#[test]
fn every_rule_is_listed_and_says_what_the_verdict_says() {
    let mut state = 1;
    let mut seen = std::collections::BTreeMap::<_, [u32; 3]>::new();
    for round in 0..20_000 {
        let evidence = evidence(&mut state);
        let rules = Rule::all(&evidence, NOW);
        let failed = |code: &str| rules.iter().any(|rule| rule.code == code && rule.passed == Some(false));
        for trouble in troubles(&evidence, NOW) {
            assert!(failed(trouble.code()), "round {round}: {trouble:?} is not in {rules:#?}");
        }
        for rule in &rules {
            let place = rule.passed.map_or(2, usize::from);
            seen.entry(rule.code).or_default()[place] += 1;
            assert_eq!(rule.says.is_some(), rule.passed == Some(false), "round {round}: {rule:?}");
            // A time base is told by its step, too: how far off it is does not decide alone.
            let (Some(mark), Some(passed)) = (rule.mark, rule.passed) else { continue };
            let is_within = mark.number.abs() <= mark.limit;
            assert!(
                is_within == passed || rule.code == "time-base",
                "round {round}: {rule:?} of {evidence:#?}"
            );
        }
    }
    assert_eq!(seen.len(), 20);
    for (code, [failed, passed, _]) in &seen {
        assert!(*failed > 0 && *passed > 0, "{code}: {failed} failed, {passed} passed");
    }
}

#[test]
fn what_nobody_could_look_at_has_not_passed() {
    let unseen = Meter::new(100.0).reading(NOW).evidence(Reach::Connected, NOW);
    let passed = |evidence: &Evidence| -> Vec<_> {
        let rules = Rule::all(evidence, NOW).into_iter();
        rules.filter(|rule| rule.passed == Some(true)).map(|rule| rule.code).collect()
    };
    assert_eq!(passed(&unseen), ["refused", "not-connected", "connection-lost", "gone", "twin"]);
    let gone = Evidence { reach: Reach::Gone, ..unseen };
    assert_eq!(passed(&gone), ["refused", "not-connected", "connection-lost"]);
}

/// On the local clock, in seconds.
const NOW: f64 = 50_000.0;
