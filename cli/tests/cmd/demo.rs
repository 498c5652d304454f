//! `schwann demo`

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use schwann_xdf::Survey;
use serde_json::Value;

use crate::harness::Lab;
use crate::requests::{Request, ask};

#[test]
fn the_demonstration_loses_nothing_and_leaves_a_whole_recording() {
    let lab = Lab::new("demo");
    let (code, out, err) = lab.run(&["demo", "--seconds", "1", "--json"]);
    let verdict: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &verdict["good"], err.as_str()), (0, &Value::Bool(true), ""), "{out}");
    assert!(verdict["samples"]["right"].as_u64() >= Some(1000), "{out}");
    assert_eq!(verdict["recorded"][0], verdict["samples"]["sent"]);

    let path = verdict["recording"].as_str().expect("a path");
    assert!(path.starts_with(lab.path("schwann-recordings").to_str().expect("UTF-8")), "{path}");
    let survey = Survey::of(path, |_, _| {}).expect("a recording");
    assert!(survey.is_sound());
    let eeg = survey.streams.iter().find(|stream| stream.header.content_type == "EEG").expect("an EEG");
    assert_eq!(eeg.header.labels.len(), 64);
    assert!(survey.streams.iter().all(|stream| stream.clock.offset_count > 0));
}

#[test]
fn ctrl_c_ends_the_demonstration_with_a_verdict() {
    let lab = Lab::new("demo-interrupted");
    let mut demo = lab
        .schwann(&["demo", "--no-dash", "-o", "here.xdf"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut out = BufReader::new(demo.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("samples") {
        line.clear();
        assert!(out.read_line(&mut line).expect("text") > 0, "it ended early");
    }
    ask(&demo, Request::Interrupt);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert!(demo.wait().expect("an end").success(), "{rest}");
    assert!(rest.contains("GOOD") && rest.contains("here.xdf"), "{rest}");
    assert!(Survey::of(lab.path("here.xdf"), |_, _| {}).expect("a recording").is_sound());
}

#[test]
fn a_recording_is_never_replaced() {
    let lab = Lab::new("demo-replace");
    std::fs::write(lab.path("precious.xdf"), "data").expect("a file");
    let (code, _, err) = lab.run(&["demo", "--seconds", "1", "-o", "precious.xdf"]);
    assert_eq!(code, 3);
    assert!(err.contains("precious.xdf") && err.contains("exists"), "{err}");
    assert_eq!(std::fs::read(lab.path("precious.xdf")).expect("a file"), b"data");
}
