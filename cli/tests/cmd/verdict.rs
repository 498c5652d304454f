//! What is wrong with a stream is said by `schwann`, `record` and `doctor`, and what is sound is not accused.

use serde_json::Value;

use crate::harness::{Lab, stream};
use crate::senders::{Habit, Sender, Stamps};

/// Senders with one fault each, and what is to be said of them. A rate measured for two seconds is off by some tenths of a
/// percent. None of them is near a change of the shown digits.
fn faulty() -> Vec<(Habit, &'static str, &'static str)> {
    let habit = Habit::sound;
    vec![
        (Habit { rate: 97.0, ..habit("Starved", 500.0) }, "RATE -80", "rate"),
        (Habit { loses_one_of: Some(8), ..habit("Lossy", 500.0) }, "RATE -12", "rate"),
        (Habit { ahead: 1_795_459_561.0, ..habit("Unix", 100.0) }, "UNIX TIME", "stamps"),
        (Habit { ahead: -90_000.0, ..habit("Old", 100.0) }, "DEVICE TIME", "stamps"),
        (Habit { rate: 0.0, ..habit("Mute", 250.0) }, "NO SAMPLES", "no-samples"),
        (Habit { source: "twin", ..habit("Pair", 100.0) }, "TWINS", "duplicate-source"),
        (Habit { source: "twin", ..habit("Pair", 100.0) }, "TWINS", "duplicate-source"),
    ]
}

/// Senders without a fault that are unlike the usual one.
fn sound() -> Vec<Habit> {
    let habit = Habit::sound;
    vec![
        habit("Smooth", 500.0),
        Habit { block: 0.4, ..habit("Blocks", 500.0) },
        Habit { block: 0.4, stamps: Stamps::OfTheBlock, ..habit("Stamped by the block", 500.0) },
        habit("Slow", 0.1),
        Habit { nominal: 0.0, rate: 3.0, ..habit("Irregular", 0.0) },
        Habit { nominal: 0.0, rate: 0.0, ..habit("Markers", 0.0) },
        // One device, several streams.
        Habit { source: "headset", ..habit("Headset EEG", 250.0) },
        Habit { source: "headset", ..habit("Headset ACC", 50.0) },
    ]
}

fn start(lab: &Lab, habits: impl IntoIterator<Item = Habit>) -> Vec<Sender> {
    habits.into_iter().map(|habit| Sender::start(lab, habit, None)).collect()
}

fn trouble(answer: &Value, name: &str) -> String {
    stream(answer, name).map_or("(not seen)", |it| it["trouble"].as_str().unwrap_or_default()).to_owned()
}

#[test]
fn every_fault_of_a_stream_is_seen_at_one_look() {
    let lab = Lab::new("verdict-faults");
    let faulty = faulty();
    let _senders = start(&lab, faulty.iter().map(|(habit, ..)| *habit));
    let (code, out, _) = lab.run(&["--json"]);
    let answer = serde_json::from_str(&out).expect("JSON");
    for (Habit { name, .. }, expected, _) in &faulty {
        assert!(trouble(&answer, name).starts_with(expected), "{name}: {out}");
    }
    assert_eq!(code, 1);
    let (_, shown, _) = lab.run(&["--once"]);
    assert!(shown.contains("7 NOT WELL") && shown.contains("20,780 days ahead"), "{shown}");
}

/// Faults that `schwann fake` makes, each with the code that names it. What takes longer than one look to see is judged
/// without a network, in the recorder's own tests.
const MADE: [(&str, &str); 12] = [
    ("unix", "time-base"),
    ("milliseconds", "time-base"),
    ("device-seconds", "time-base"),
    ("drift=150000", "drift"),
    ("step", "clock-step"),
    ("rate", "rate"),
    ("gaps", "gaps"),
    ("jitter", "jitter"),
    ("backward", "backward-stamps"),
    ("duplicates", "duplicate-stamps"),
    ("invalid", "invalid-stamps"),
    ("twin", "twin"),
];

#[test]
fn every_fault_that_can_be_made_up_is_named_at_one_look() {
    let lab = Lab::new("verdict-made");
    let rate = |place: usize| format!("counter:1@{}", 200 + place);
    let fakes: Vec<_> = MADE
        .iter()
        .enumerate()
        .map(|(place, (fault, _))| lab.start(&["fake", &rate(place), "--fault", fault]))
        .collect();
    let mut silent = lab.start(&["fake", "counter:1@100", "--fault", "silence"]);
    silent.wait_for_line("sending");
    // A step or a gap comes once a second. A look on a busy computer may begin too late to see it.
    let is_named = |(place, (_, code)): (usize, &(&str, &str))| {
        let name = format!("Fake {}", rate(place));
        (0..10).any(|_| {
            let (exit, out, _) = lab.run(&["--json"]);
            let answer: Value = serde_json::from_str(&out).expect("JSON");
            let troubles = stream(&answer, &name).and_then(|it| it["troubles"].as_array().cloned());
            exit == 1 && troubles.is_some_and(|all| all.iter().any(|trouble| trouble["code"] == **code))
        })
    };
    for case in MADE.iter().enumerate() {
        assert!(is_named(case), "{case:?}: {}", lab.run(&["--json"]).1);
    }
    drop(fakes);
}

#[test]
fn every_fault_that_can_be_made_up_is_named_in_a_recording() {
    let lab = Lab::new("verdict-recorded");
    for (fault, code) in MADE.iter().copied().chain([
        ("no-offsets", "no-clock-offsets"),
        ("silence=30", "stopped"),
        ("drift=-30000", "drift"),
    ]) {
        let file = format!("{fault}.xdf");
        let made = lab.run(&["fake", "counter:1@100", "--seconds", "60", "--fault", fault, "-o", &file]);
        assert_eq!(made.0, 0, "{made:?}");
        let (exit, out, _) = lab.run(&["verify", "--json", &file]);
        let answer: Value = serde_json::from_str(&out).expect("JSON");
        let found = answer["streams"][0]["findings"].as_array().expect("a list");
        assert!(found.iter().any(|one| one["what"] == code), "{fault}: {out}");
        assert_eq!(exit, 0, "what was measured is whole: {fault}");
    }
}

#[test]
fn a_profile_of_ones_own_sets_the_limits() {
    let lab = Lab::new("verdict-profile");
    std::fs::write(lab.path("strict.toml"), "[limits]\nrate_percent = 0.1\n").expect("a profile");
    lab.run(&["fake", "counter:1@100", "--seconds", "60", "--fault", "rate=-2", "-o", "x.xdf"]);
    let named = |limits: &[&str]| lab.run(&[&["verify", "x.xdf"], limits].concat()).1.contains("says 100 Hz");
    assert!(!named(&[]) && named(&["--limits", "strict.toml"]) && named(&["--limits", "eeg"]));
    let (code, _, err) = lab.run(&["verify", "x.xdf", "--limits", "none.toml"]);
    assert!(code == 2 && err.contains("eeg and markers"), "{err}");
}

#[test]
fn every_fault_of_a_stream_is_a_finding_of_the_doctor() {
    let lab = Lab::new("verdict-doctor");
    let faulty = faulty();
    let _senders = start(&lab, faulty.iter().map(|(habit, ..)| *habit));
    let (_, out, err) = lab.run(&["doctor", "--json"]);
    assert_eq!(err, "", "no log of the library before the answer");
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let findings = answer["findings"].as_array().expect("a list");
    for (Habit { name, .. }, _, code) in &faulty {
        let is_it = |finding: &Value| {
            finding["code"] == *code && finding["what"].as_str().is_some_and(|it| it.contains(name))
        };
        assert!(findings.iter().any(is_it), "{name}: {out}");
    }
}

#[test]
fn what_is_sound_is_accused_by_nothing() {
    let lab = Lab::new("verdict-sound");
    let sound = sound();
    let _senders = start(&lab, sound.iter().copied());
    let (code, out, _) = lab.run(&["--json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    for Habit { name, .. } in &sound {
        assert_eq!(trouble(&answer, name), "", "{name}: {out}");
    }
    assert_eq!(code, 0, "{out}");
    let (_, out, _) = lab.run(&["doctor", "--json"]);
    let about_streams = ["rate", "stamps", "no-samples", "gaps", "duplicate-source"];
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let findings = answer["findings"].as_array().expect("a list");
    let accused =
        findings.iter().filter(|one| about_streams.contains(&one["code"].as_str().unwrap_or_default()));
    assert_eq!(accused.count(), 0, "{out}");
}

#[test]
fn a_recording_of_a_faulty_stream_says_so_and_is_not_good() {
    let lab = Lab::new("verdict-record");
    let _senders = start(&lab, [Habit { rate: 97.0, ..Habit::sound("Starved", 500.0) }]);
    let mut recorder =
        lab.start(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", "Starved"]);
    recorder.wait_for(|line| trouble(line, "Starved").starts_with("RATE -80"));
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(1), "{rest}");
}

#[test]
fn a_recording_obeys_the_limits_of_its_profile() {
    let lab = Lab::new("verdict-record-profile");
    let _senders = start(&lab, [Habit { rate: 97.0, ..Habit::sound("Slowish", 100.0) }]);
    std::fs::write(
        lab.path("strict.toml"),
        "[record]\nrequire = [\"Slowish\"]\n[limits]\nrate_percent = 0.5\n",
    )
    .expect("a profile");
    let record = |name, profile: &[&str]| {
        let words = ["record", "-o", name, "--json", "--wait", "60", "--require", "Slowish"];
        lab.start(&[&words, profile].concat())
    };
    let mut strict = record("strict.xdf", &["--profile", "strict.toml"]);
    strict.wait_for(|line| trouble(line, "Slowish").starts_with("RATE -3"));
    assert_eq!(strict.interrupt().0, Some(1));
    let mut usual = record("usual.xdf", &[]);
    let goes_on =
        |line: &Value| stream(line, "Slowish").and_then(|it| it["sample_count"].as_u64()) > Some(300);
    usual.wait_for(goes_on);
    let (code, rest) = usual.interrupt();
    assert_eq!(code, Some(0), "{rest}");
}

#[test]
fn a_stream_of_another_session_is_not_called_refused() {
    let lab = Lab::new("verdict-session");
    let _sender = Sender::start(&lab, Habit::sound("Elsewhere", 100.0), Some("another-room"));
    let (_, out, _) = lab.run(&["--once"]);
    assert!(!out.contains("REFUSED") && !out.contains("clocks"), "{out}");
    let told = out.lines().filter(|line| line.contains("Elsewhere") && line.contains("\"another-room\""));
    assert_eq!(told.count(), 1, "{out}");
}

/// A member of a lab whose streams must be sealed.
fn member(lab: &Lab, arguments: &[&str]) -> (i32, String, String) {
    let mut command = lab.schwann(arguments);
    command.env("SCHWANN_KEYS", lab.path("keys")).env("SCHWANN_SECURITY", "require");
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("an end"), text(output.stdout), text(output.stderr))
}

#[test]
fn a_plain_stream_that_keys_hide_is_named_with_what_admits_it() {
    let lab = Lab::new("verdict-hidden");
    let (code, _, err) = member(&lab, &["keys", "init", "--unprotected"]);
    assert_eq!(code, 0, "{err}");
    let _sender = Sender::start(&lab, Habit::sound("Plain", 100.0), None);
    let admits = "`schwann keys admit Plain`";
    let (_, out, _) = member(&lab, &["--once"]);
    assert!(out.contains("1 NOT SEEN") && out.contains(admits), "{out}");
    let (_, out, _) = member(&lab, &["record", "-o", "x.xdf", "--seconds", "2"]);
    assert!(out.contains("not recorded: Plain of") && out.contains(admits), "{out}");
    let (code, out, err) = member(&lab, &["doctor"]);
    assert!(out.contains(admits) && !out.contains("nothing on this computer explains it"), "{out}");
    assert_eq!((code, err.as_str()), (1, ""));
    let (_, _, err) = member(&lab, &["keys", "status"]);
    assert_eq!(err, "", "no log of the library before the answer");
}

#[test]
fn an_expired_certificate_of_ones_own_is_the_one_finding() {
    let lab = Lab::new("verdict-expired");
    assert_eq!(member(&lab, &["keys", "init", "--unprotected"]).0, 0);
    let certificate = lab.path("keys").join("device.certificate");
    // A certificate that does not verify stands for one that is over: neither is the network's fault.
    let mut bytes = std::fs::read(&certificate).expect("a file");
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&certificate, bytes).expect("a file");
    let _sender = Sender::start(&lab, Habit::sound("Plain", 100.0), None);
    let (code, out, _) = member(&lab, &["doctor", "127.0.0.1"]);
    assert_eq!(code, 1);
    assert!(out.contains("No stream can be sealed on this computer"), "{out}");
    assert!(!out.contains("iptables") && !out.contains("firewall blocks"), "{out}");
}

#[test]
fn many_streams_are_shown_within_two_seconds_and_all_are_counted() {
    let lab = Lab::with_ports("verdict-many", 256);
    let _senders: Vec<_> = (0..70)
        .map(|n| {
            let name: &'static str = format!("Many {n}").leak();
            Sender::start(&lab, Habit { block: 0.1, ..Habit::sound(name, 10.0) }, None)
        })
        .collect();
    let (_, out, _) = lab.run(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["streams"], 70, "{out}");
    // A busy machine holds up one run, but not each of three.
    let runs = core::array::from_fn::<_, 3, _>(|_| {
        let began = std::time::Instant::now();
        let (_, out, _) = lab.run(&["--json"]);
        let answer: Value = serde_json::from_str(&out).expect("JSON");
        let shown = answer["seconds"].as_f64().expect("a time");
        (shown, began.elapsed().as_secs_f64() - shown)
    });
    let least = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    assert!(least(|run| run.0) < 3.0 && least(|run| run.1) < 2.0, "shown after, and ended after: {runs:?}");
}
