//! `schwann` without a command

use std::fs::{self, File};

use serde_json::Value;

use crate::harness::{Lab, Running};

#[test]
fn an_empty_lab_is_said_to_be_empty() {
    let lab = Lab::new("look-empty");
    let (code, out, err) = lab.run(&["--once"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("NO STREAM"), "{out}");
}

#[test]
fn every_stream_is_shown_with_its_condition() {
    let lab = Lab::new("look");
    let mut fake = lab.start(&["fake", "eeg:16@250", "counter:2@100"]);
    fake.wait_for_line("sending");
    let (_, out, _) = lab.run(&["--json"]);
    let seen: Value = serde_json::from_str(&out).expect("JSON");
    let streams = seen["streams"].as_array().expect("a list");
    assert_eq!(streams.len(), 3, "{out}");
    let eeg = streams.iter().find(|stream| stream["type"] == "EEG").expect("the EEG");
    assert_eq!((&eeg["channel_count"], &eeg["nominal_rate"]), (&16.into(), &250.0.into()));
    assert!(eeg["clock_offset"].as_f64().expect("known").abs() < 0.1, "{out}");
    assert!(eeg["clock_uncertainty"].as_f64().expect("known") < 0.1, "{out}");
    assert_eq!((&eeg["sealed"], &eeg["gap_count"]), (&false.into(), &0.into()));
    assert!(seen["seconds"].as_f64().expect("a time") > 0.0, "{out}");
}

#[test]
fn a_look_at_sealed_streams_alarms_no_one() {
    let lab = Lab::new("look-sealed");
    let sealed = |arguments: &[&str]| {
        let mut command = lab.schwann(arguments);
        command.env("SCHWANN_KEYS", lab.path("keys")).env("SCHWANN_SECURITY", "require");
        command
    };
    let founded = sealed(&["keys", "init", "--unprotected"]).output().expect("it runs");
    assert!(founded.status.success());
    let mut sender = sealed(&["fake", "eeg:4@250"]);
    sender.stderr(File::create(lab.path("sender.txt")).expect("a file"));
    let mut fake = Running::of(sender);
    fake.wait_for_line("sending");
    // Only a second search of a stranger, a while after the first, is told.
    sealed(&["--once"]).output().expect("it runs");
    let looked = sealed(&["--once"]).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(looked.stdout), text(looked.stderr));
    assert!(looked.status.success() && out.contains("2 streams, all well"), "{out}{err}");
    assert_eq!(err, "");
    assert_eq!(
        fs::read_to_string(lab.path("sender.txt")).expect("text"),
        "",
        "it also looks for plain streams"
    );
}
