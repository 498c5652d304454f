//! `schwann record` and `schwann play`

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use schwann_xdf::{Clocks, Jitter, Options, Recording, Values, Writer};
use serde_json::Value;

use crate::harness::Lab;

/// Writes a recording of half a second with numbers, texts and a stream without samples.
fn write_recording(path: &Path) {
    let writer = Writer::create(path, Options::default()).expect("a file");
    let header = |name: &str, kind: &str, channels: u32, rate: u32, format: &str| {
        format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>{kind}</type><channel_count>{channels}\
             </channel_count><nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format>\
             <source_id>{name}-1</source_id><desc><maker>Müller &amp; Sons</maker></desc></info>"
        )
    };
    let signal = writer.add_stream(&header("Amplifier", "EEG", 3, 500, "int16")).expect("a stream");
    let marks = writer.add_stream(&header("Marks", "Markers", 1, 0, "string")).expect("a stream");
    writer.add_stream(&header("Silent", "Misc", 2, 10, "double64")).expect("a stream");
    let stamps: Vec<_> = (0..250).map(|n| 7000.0 + f64::from(n) / 500.0).collect();
    signal.push(&stamps, &(0..750_i16).map(|n| n * 43 - 16_000).collect::<Vec<_>>()).expect("room");
    marks.push_text(&[7000.1, 7000.2, 7000.2], &["go", "", "ende ✓"]).expect("room");
    writer.finish().expect("a file");
}

/// Reads a recorder's lines until `streams` have so many samples together.
fn wait_for_samples(recorder: &mut Child, count: u64) {
    for line in BufReader::new(recorder.stdout.as_mut().expect("a pipe")).lines() {
        let progress: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let streams = progress["streams"].as_array().expect("a list");
        if streams.iter().filter_map(|stream| stream["sample_count"].as_u64()).sum::<u64>() >= count {
            return;
        }
    }
    panic!("the recorder ended early");
}

#[test]
fn what_is_played_and_recorded_is_what_was_recorded_first() {
    let lab = Lab::new("record-play");
    write_recording(&lab.path("first.xdf"));
    let mut player =
        lab.schwann(&["play", "first.xdf", "--wait"]).stdout(Stdio::null()).spawn().expect("play");
    let mut recorder = lab
        .schwann(&["record", "-o", "second.xdf", "--json", "--wait", "30"])
        .args(["--require", "Amplifier", "--require", "Markers", "--require", "Silent"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("record");
    wait_for_samples(&mut recorder, 253);
    assert!(player.wait().expect("an end").success());
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("a signal");
    // The streams are over, so the required ones are not there at the end.
    assert_eq!(recorder.wait().expect("an end").code(), Some(1));

    let load =
        |name| Recording::load(lab.path(name), Clocks::AsRecorded, Jitter::AsRecorded).expect("a file");
    let (first, second) = (load("first.xdf"), load("second.xdf"));
    let start = second.streams.iter().find(|stream| stream.header.name == "Amplifier").expect("it").stamps[0];
    for stream in &first.streams {
        let again = second.streams.iter().find(|again| again.header.name == stream.header.name).expect("it");
        assert_eq!(again.values, stream.values);
        assert!(again.header.xml.contains("Müller &amp; Sons"), "{}", again.header.xml);
        assert_eq!(
            (again.header.format, again.header.nominal_rate),
            (stream.header.format, stream.header.nominal_rate)
        );
        let moved = again.stamps.iter().zip(&stream.stamps);
        assert!(moved.clone().all(|(again, stamp)| (again - start - (stamp - 7000.0)).abs() < 1e-9));
        assert_eq!(again.stamps.len(), stream.stamps.len());
    }
    let events = second.streams.iter().find(|stream| stream.header.content_type == "RecorderEvents");
    let Values::String(events) = &events.expect("the streams have ended").values else { panic!("text") };
    assert!(events.iter().any(|event| event.starts_with("connection lost: Amplifier")), "{events:?}");
}

#[test]
fn nothing_is_recorded_without_a_required_stream() {
    let lab = Lab::new("record-required");
    let (code, _, err) = lab.run(&["record", "-o", "x.xdf", "--require", "Amplifier", "--wait", "0.2"]);
    assert_eq!(code, 3);
    assert!(err.contains("Amplifier") && err.contains("none at all"), "{err}");
    assert!(!lab.path("x.xdf").exists());
}
