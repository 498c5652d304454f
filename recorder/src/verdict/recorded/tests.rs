//! Faults that recordings are made with: each is found and named; what is sound is not accused.

use std::io::Cursor;
use std::path::Path;

use schwann_xdf::{Reader, Survey};

use super::{Finding, findings, findings_by, unjudged};
use crate::verdict::Limits;

/// How a stream is made. Times are of the sender's true clock, in seconds.
struct Tape {
    name: &'static str,
    nominal: f64,
    /// How many samples a second are taken.
    rate: f64,
    from: f64,
    to: f64,
    /// The stamps of the sample taken at a time; none if it is lost.
    stamps: Box<dyn Fn(f64) -> Vec<f64>>,
    /// The offset that is measured at a time, with what the sender's clock says then; none if it is not.
    offset: Box<dyn Fn(f64) -> Option<(f64, f64)>>,
}

fn tape(nominal: f64) -> Tape {
    Tape {
        name: "A",
        nominal,
        rate: nominal,
        from: 1000.0,
        to: 1100.0,
        stamps: Box::new(|at| vec![at]),
        offset: Box::new(|at| Some((at, 0.5 - 2e-6 * (at - 1000.0)))),
    }
}

fn stamped(nominal: f64, stamp: impl Fn(f64) -> f64 + 'static) -> Tape {
    Tape { stamps: Box::new(move |at| vec![stamp(at)]), ..tape(nominal) }
}

fn kept(nominal: f64, is_kept: impl Fn(f64) -> bool + 'static) -> Tape {
    Tape { stamps: Box::new(move |at| Vec::from_iter(is_kept(at).then_some(at))), ..tape(nominal) }
}

fn measured(offset: impl Fn(f64) -> Option<(f64, f64)> + 'static) -> Tape {
    Tape { offset: Box::new(offset), ..tape(100.0) }
}

/// A number from -1 to 1 that looks random.
fn noise(at: f64) -> f64 {
    (at * 12.989_8).sin() * 43_758.545_3 % 1.0
}

fn survey(tapes: &[Tape]) -> Survey {
    let mut file = b"XDF:".to_vec();
    for (id, tape) in (1_u32..).zip(tapes) {
        let xml = format!(
            "<?xml version=\"1.0\"?><info><name>{0}</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>{1}</nominal_srate><channel_format>int8</channel_format><source_id>{0}</source_id></info>",
            tape.name, tape.nominal
        );
        chunk(&mut file, 2, id, xml.as_bytes());
        // What is written within half a second, and what is measured every five, as they come.
        let mut taken = 0;
        for half in 0..((tape.to - tape.from) * 2.0) as u32 {
            let end = tape.from + f64::from(half + 1) / 2.0;
            let mut content = Vec::new();
            let mut count = 0_u32;
            while tape.rate > 0.0 && tape.from + f64::from(taken) / tape.rate < end {
                for stamp in (tape.stamps)(tape.from + f64::from(taken) / tape.rate) {
                    content.push(8);
                    content.extend(stamp.to_le_bytes());
                    content.push(7);
                    count += 1;
                }
                taken += 1;
            }
            if count > 0 {
                chunk(&mut file, 3, id, &[&[4][..], &count.to_le_bytes(), &content].concat());
            }
            if half % 10 == 0
                && let Some((collected, offset)) = (tape.offset)(end)
            {
                chunk(&mut file, 4, id, &[collected.to_le_bytes(), offset.to_le_bytes()].concat());
            }
        }
    }
    Survey::read(Reader::new(Cursor::new(file)).expect("a recording"), |_, _| {}).expect("a survey")
}

fn chunk(file: &mut Vec<u8>, tag: u16, id: u32, content: &[u8]) {
    file.push(4);
    file.extend(u32::try_from(content.len() + 6).expect("a short chunk").to_le_bytes());
    file.extend(tag.to_le_bytes());
    file.extend(id.to_le_bytes());
    file.extend(content);
}

fn words(tapes: &[Tape]) -> Vec<&'static str> {
    findings(&survey(tapes)).into_iter().flatten().map(Finding::word).collect()
}

/// Each fault with its word; in some, another word is true as well.
fn faults() -> Vec<(&'static str, Vec<Tape>, &'static str, &'static [&'static str])> {
    let one = |tape: Tape| vec![tape];
    let reset = |by: f64| move |at: f64| if at < 1050.0 { (at, 0.5) } else { (at + by, 0.5 - by) };
    let with_reset = |by: f64| Tape {
        stamps: Box::new(move |at| vec![reset(by)(at).0]),
        offset: Box::new(move |at| Some(reset(by)(at))),
        ..tape(100.0)
    };
    let step = |by: f64| stamped(100.0, move |at| if at < 1050.0 { at } else { at + by });
    let block = |seconds: f64| stamped(100.0, move |at| (at / seconds).floor() * seconds + seconds);
    vec![
        ("Unix time", one(stamped(100.0, |at| at + 1.795e9)), "time-base", &[]),
        (
            "Unix milliseconds",
            one(stamped(100.0, |at| (at + 1.795e9) * 1e3)),
            "time-base",
            &["gaps", "rate", "jitter", "drift"],
        ),
        (
            "milliseconds",
            one(stamped(100.0, |at| at * 1e3)),
            "time-base",
            &["gaps", "rate", "jitter", "drift", "stopped"],
        ),
        (
            "microseconds",
            one(stamped(100.0, |at| at * 1e6)),
            "time-base",
            &["gaps", "rate", "jitter", "drift", "stopped"],
        ),
        (
            "device milliseconds",
            one(stamped(100.0, |at| (at - 990.0) * 1e3)),
            "time-base",
            &["gaps", "rate", "jitter", "drift", "stopped"],
        ),
        ("device seconds", one(stamped(100.0, |at| at + 700_000.0)), "time-base", &[]),
        ("events in Unix time", one(Tape { rate: 0.2, ..stamped(0.0, |at| at + 1.795e9) }), "time-base", &[]),
        ("events in milliseconds", one(Tape { rate: 0.2, ..stamped(0.0, |at| at * 1e3) }), "time-base", &[]),
        (
            "Unix time without offsets",
            one(Tape { offset: Box::new(|_| None), ..stamped(100.0, |at| at + 1.795e9) }),
            "time-base",
            &["no-clock-offsets"],
        ),
        ("a fast clock", one(measured(|at| Some((at, -800e-6 * at)))), "drift", &[]),
        ("a slow clock", one(measured(|at| Some((at, 500e-6 * at + 1e-5 * noise(at))))), "drift", &[]),
        ("stamps that run fast", one(stamped(100.0, |at| at + 0.02 * (at - 1000.0))), "drift", &[]),
        ("stamps that run slow", one(stamped(100.0, |at| at - 0.03 * (at - 1000.0))), "drift", &["stopped"]),
        ("a clock set back", one(with_reset(-600.0)), "clock-resets", &[]),
        ("a clock set ahead", one(with_reset(86_400.0)), "clock-resets", &[]),
        ("stamps that jump ahead", one(step(2.5)), "clock-step", &[]),
        ("stamps that jump back", one(step(-40.0)), "clock-step", &["stopped"]),
        ("no offset", one(measured(|_| None)), "no-clock-offsets", &[]),
        (
            "no offset in the middle",
            one(measured(|at| (!(1030.0..1070.0).contains(&at)).then_some((at, 0.5)))),
            "no-clock-offsets",
            &[],
        ),
        (
            "no offset at the end",
            one(measured(|at| (at < 1050.0).then_some((at, 0.5)))),
            "no-clock-offsets",
            &[],
        ),
        (
            "no offset at the beginning",
            one(measured(|at| (at > 1050.0).then_some((at, 0.5)))),
            "no-clock-offsets",
            &[],
        ),
        ("too slow", one(Tape { rate: 80.0, ..tape(100.0) }), "rate", &[]),
        ("too fast", one(Tape { rate: 110.0, ..tape(100.0) }), "rate", &[]),
        (
            "one of ten lost after a reset",
            one(Tape {
                stamps: Box::new(move |at| {
                    if at < 1050.0 {
                        vec![at]
                    } else {
                        Vec::from_iter(
                            (!((at * 100.0).round() as u64).is_multiple_of(10)).then_some(at - 600.0),
                        )
                    }
                }),
                ..with_reset(-600.0)
            }),
            "rate",
            &["clock-resets", "gaps"],
        ),
        (
            "one sample late",
            one(stamped(100.0, |at| if (1049.995..1050.005).contains(&at) { at - 0.03 } else { at })),
            "backward-stamps",
            &[],
        ),
        (
            "blocks out of order",
            one(stamped(100.0, |at| if at % 2.0 < 1.0 { at + 0.2 } else { at })),
            "backward-stamps",
            &["gaps", "rate"],
        ),
        (
            "one sample twice",
            one(Tape {
                stamps: Box::new(|at| vec![at; if (1049.995..1050.005).contains(&at) { 2 } else { 1 }]),
                ..tape(100.0)
            }),
            "duplicate-stamps",
            &[],
        ),
        (
            "many samples twice",
            one(Tape {
                stamps: Box::new(|at| vec![at; if at % 1.0 < 0.015 { 2 } else { 1 }]),
                ..tape(100.0)
            }),
            "duplicate-stamps",
            &[],
        ),
        (
            "stamped when it may be",
            one(stamped(100.0, |at| at + 0.2 * noise(at).abs())),
            "jitter",
            &["backward-stamps", "gaps", "rate"],
        ),
        ("long blocks", one(block(5.0)), "bursts", &["gaps", "rate"]),
        ("silence", one(kept(100.0, |at| at < 1050.0)), "stopped", &[]),
        ("nothing", one(kept(100.0, |_| false)), "no-samples", &[]),
        ("a gap", one(kept(100.0, |at| !(1050.0..1053.0).contains(&at))), "gaps", &[]),
        ("many gaps", one(kept(100.0, |at| at % 10.0 > 0.5)), "gaps", &[]),
        ("twins", vec![tape(100.0), tape(100.0)], "twin", &[]),
    ]
}

#[test]
fn each_fault_is_found_and_named() {
    let faults = faults();
    assert!(faults.len() >= 30);
    for (what, tapes, word, besides) in faults {
        let found = words(&tapes);
        assert!(found.contains(&word), "{what}: {found:?}");
        let is_true = |other: &&str| *other == word || besides.contains(other);
        assert!(found.iter().all(is_true), "{what} alone: {found:?}");
    }
}

#[test]
fn a_sound_recording_is_not_accused() {
    let named = |name, tape: Tape| Tape { name, ..tape };
    let block = |seconds: f64| stamped(250.0, move |at| (at / seconds).floor() * seconds + seconds);
    let sound: [(&str, Vec<Tape>); 20] = [
        ("usual", vec![tape(250.0)]),
        ("fast", vec![Tape { to: 1020.0, ..tape(30_000.0) }]),
        ("0.1 Hz", vec![Tape { to: 1200.0, ..tape(0.1) }]),
        ("1 Hz", vec![tape(1.0)]),
        ("markers", vec![Tape { rate: 0.05, ..tape(0.0) }]),
        ("no marker", vec![Tape { rate: 0.0, ..tape(0.0) }]),
        ("irregular", vec![Tape { rate: 7.0, ..stamped(0.0, |at| at + 0.1 * noise(at).abs()) }]),
        ("two events at a time", vec![Tape { rate: 0.5, stamps: Box::new(|at| vec![at; 2]), ..tape(0.0) }]),
        ("blocks of half a second", vec![block(0.5)]),
        ("blocks of two seconds", vec![block(2.0)]),
        ("some percent slow", vec![Tape { rate: 96.0, ..tape(100.0) }]),
        ("short, without offsets", vec![Tape { to: 1008.0, ..measured(|_| None) }]),
        ("stamped on arrival", vec![stamped(100.0, |at| at + 0.004 * noise(at).abs())]),
        ("a crystal", vec![measured(|at| Some((at, -60e-6 * at)))]),
        ("unsteady measurements", vec![measured(|at| Some((at, 0.5 + 0.002 * noise(at))))]),
        ("far clocks", vec![measured(|at| Some((at, -652_340.28)))]),
        ("delayed by filters", vec![stamped(100.0, |at| at - 2.0)]),
        ("events found late", vec![Tape { rate: 0.1, ..stamped(0.0, |at| at - 600.0) }]),
        ("two devices", vec![named("A", tape(100.0)), named("B", tape(500.0))]),
        (
            "one device, two streams",
            vec![tape(100.0), Tape { nominal: 0.0, rate: 0.3, name: "C", ..tape(1.0) }],
        ),
    ];
    for (what, tapes) in sound {
        assert_eq!(words(&tapes), [""; 0], "{what}");
    }
}

#[test]
fn what_had_nothing_to_judge_by_is_named() {
    let once = |nominal| kept(nominal, |at| at == 1000.0);
    let unmeasured = |tape: Tape| Tape { offset: Box::new(|_| None), ..tape };
    let cases: [(Tape, &[&str]); 5] = [
        (tape(100.0), &[]),
        (once(100.0), &["gaps", "rate", "jitter"]),
        (unmeasured(tape(100.0)), &["stopped", "time-base", "drift", "no-clock-offsets"]),
        (unmeasured(once(0.0)), &["time-base", "drift", "no-clock-offsets"]),
        (
            Tape { to: 1000.5, ..unmeasured(tape(100.0)) },
            &["rate", "stopped", "time-base", "drift", "no-clock-offsets"],
        ),
    ];
    for (tape, words) in cases {
        let survey = survey(&[tape]);
        assert_eq!(unjudged(&survey.streams[0]), words);
    }
}

#[test]
fn a_finding_has_its_number_its_limit_and_what_to_do() {
    for (what, tapes, word, _) in faults() {
        for found in findings(&survey(&tapes)).concat().into_iter().filter(|found| found.word() == word) {
            let mark = found.mark(&Limits::USUAL);
            let has_none =
                matches!(found, Finding::NoSamples | Finding::Twin | Finding::TimeBase { seconds: None, .. });
            assert_eq!(mark.is_none(), has_none, "{what}");
            let is_over = mark.is_none_or(|mark| mark.number.abs() > mark.limit && mark.number.is_finite());
            assert!(is_over && found.to_string().contains(": "), "{what}: {found} {mark:?}");
        }
    }
}

#[test]
fn limits_of_ones_own_accuse_what_the_usual_ones_let_pass() {
    let slow = survey(&[Tape { rate: 97.0, ..tape(100.0) }]);
    assert_eq!(findings(&slow), [[]]);
    let found = findings_by(&slow, &Limits::EEG);
    assert!(matches!(found.concat()[..], [Finding::Rate { .. }]), "{found:?}");
}

/// Only where the recording lies beside the project: it is not ours to copy.
#[test]
fn a_real_recording_with_a_clock_reset_is_judged_as_a_person_would() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(2);
    let Some(path) =
        beside.map(|folder| folder.join("shared/data/clock_resets.xdf")).find(|path| path.exists())
    else {
        return;
    };
    let survey = Survey::of(path, |_, _| {}).expect("a recording");
    let [markers, eeg] = &findings(&survey)[..] else { panic!("two streams") };
    let is_the_reset = |found: &Finding| {
        matches!(*found, Finding::ClockResets { count: 1, at, seconds }
            if (653_150.0..653_580.0).contains(&at) && (seconds + 653_461.45).abs() < 1.0)
    };
    assert!(markers.iter().all(is_the_reset) && !markers.is_empty(), "{markers:?}");
    // Its computer was restarted; before and after, its program slept between samples, and ran seven percent slow.
    assert!(eeg.iter().any(is_the_reset), "{eeg:?}");
    assert!(
        eeg.iter()
            .any(|found| matches!(found, Finding::Rate { measured, .. } if (92.5..92.7).contains(measured)))
    );
    assert_eq!(eeg.len(), 2, "{eeg:?}");
}
