//! `schwann play`: how a recording is played.

use std::path::Path;

use schwann_xdf::{Clocks, Jitter, Options, RecordedStream, Recording, Values, Writer};

use crate::harness::{Lab, Running, samples};

/// Writes a recording of half a second: a counter at 500 Hz and two markers.
fn write_recording(path: &Path) {
    let writer = Writer::create(path, Options::default()).unwrap();
    let header = |name: &str, kind: &str, rate: u32, format: &str| {
        format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>{kind}</type><channel_count>1</channel_count>\
             <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format>\
             <source_id>{name}-1</source_id><desc /></info>"
        )
    };
    let signal = writer.add_stream(&header("Amplifier", "EEG", 500, "int16")).unwrap();
    let marks = writer.add_stream(&header("Marks", "Markers", 0, "string")).unwrap();
    let stamps: Vec<_> = (0..250).map(|n| 7000.0 + f64::from(n) / 500.0).collect();
    signal.push(&stamps, &(0..250).collect::<Vec<i16>>()).unwrap();
    marks.push_text(&[7000.1, 7000.2], &["go", "end"]).unwrap();
    writer.finish().unwrap();
}

fn recorder(lab: &Lab, require: &[&str]) -> Running {
    let mut arguments = vec!["record", "-o", "again.xdf", "--json", "--wait", "30"];
    arguments.extend(require.iter().flat_map(|name| ["--require", name]));
    lab.start(&arguments)
}

fn stream(lab: &Lab, name: &str) -> RecordedStream {
    let recording = Recording::load(lab.path("again.xdf"), Clocks::AsRecorded, Jitter::AsRecorded).unwrap();
    recording.streams.into_iter().find(|stream| stream.header.name == name).unwrap()
}

#[test]
fn rounds_follow_each_other_as_samples_do() {
    let lab = Lab::new("play-loop");
    write_recording(&lab.path("first.xdf"));
    let player = lab.start(&["play", "first.xdf", "--wait", "--loop"]);
    let mut recorder = recorder(&lab, &["Amplifier", "Marks"]);
    recorder.wait_for(|line| samples(line, "Amplifier") > 700 && samples(line, "Marks") > 4);
    let (code, said) = recorder.interrupt();
    assert_eq!(player.interrupt().0, Some(0), "Ctrl-C ends it in good order");
    let signal = stream(&lab, "Amplifier");
    let Values::Int16(values) = &signal.values else { panic!("{:?}", signal.values) };
    assert!(values.iter().zip(0..).all(|(&value, n)| value == n % 250), "{values:?}");
    let step = |n: usize| signal.stamps[n] - signal.stamps[n - 1];
    let uneven: Vec<_> = (1..values.len()).filter(|&n| (step(n) - 0.002).abs() > 1e-9).collect();
    // A computer that stands still for a second begins the next round anew; the recorder sees a gap there.
    assert!(uneven.iter().all(|&n| values[n] == 0 && step(n) > 0.9), "{:?}", signal.stamps);
    assert_eq!(code, Some(i32::from(!uneven.is_empty())), "{said}");
}

#[test]
fn speed_and_name_are_as_wished_and_the_source_stays() {
    let lab = Lab::new("play-speed");
    write_recording(&lab.path("first.xdf"));
    let mut player = lab.start(&["play", "first.xdf", "--wait", "--speed", "0.25", "--as", "Rehearsal"]);
    let mut recorder = recorder(&lab, &["Rehearsal Amplifier", "Rehearsal Marks"]);
    recorder.wait_for(|line| {
        samples(line, "Rehearsal Amplifier") == 250 && samples(line, "Rehearsal Marks") == 2
    });
    recorder.interrupt();
    assert!(player.process.wait().unwrap().success());
    let (signal, marks) = (stream(&lab, "Rehearsal Amplifier"), stream(&lab, "Rehearsal Marks"));
    assert_eq!((signal.header.nominal_rate, signal.header.source_id.as_str()), (125.0, "Amplifier-1"));
    assert!(signal.stamps.windows(2).all(|pair| (pair[1] - pair[0] - 0.008).abs() < 1e-9));
    assert!((marks.stamps[1] - marks.stamps[0] - 0.4).abs() < 1e-9, "markers keep their distance");
    assert!((marks.stamps[0] - signal.stamps[0] - 0.4).abs() < 1e-9, "also from the samples");
}

#[test]
fn samples_without_a_time_are_played_and_hold_up_none() {
    let lab = Lab::new("play-odd");
    let writer = Writer::create(lab.path("odd.xdf"), Options::default()).unwrap();
    let header = |name: &str| {
        format!(
            "<info><name>{name}</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>500</nominal_srate><channel_format>int16</channel_format></info>"
        )
    };
    let time = |n: i16| 7000.0 + f64::from(n) / 500.0;
    let odd = [f64::NAN, f64::INFINITY, 1e308];
    let stamps: [&dyn Fn(i16) -> f64; 3] =
        [&time, &|n| if n % 10 == 0 { odd[n as usize / 10 % 3] } else { time(n) }, &|_| f64::NAN];
    for (name, stamp) in ["Sound", "Odd", "Timeless"].into_iter().zip(stamps) {
        let stamps: Vec<_> = (0..250).map(stamp).collect();
        let stream = writer.add_stream(&header(name)).unwrap();
        stream.push(&stamps, &(0..250).collect::<Vec<i16>>()).unwrap();
    }
    writer.finish().unwrap();
    let (code, shown, _) = lab.run(&["play", "odd.xdf"]);
    assert_eq!(code, 0);
    assert!(shown.contains("750 of 750 samples"), "{shown}");
}

#[test]
fn a_recording_is_played_to_its_end_though_no_program_reads_the_output() {
    let lab = Lab::new("play-unread");
    write_recording(&lab.path("first.xdf"));
    let (reader, unread) = std::io::pipe().unwrap();
    drop(reader);
    let mut player = lab.schwann(&["play", "first.xdf", "--wait"]).stdout(unread).spawn().unwrap();
    let mut recorder = recorder(&lab, &["Amplifier"]);
    recorder.wait_for(|line| samples(line, "Amplifier") == 250);
    recorder.interrupt();
    assert!(player.wait().unwrap().success());
}

#[test]
fn an_impossible_speed_is_refused() {
    let lab = Lab::new("play-impossible");
    for speed in ["0", "-1", "NaN", "1e9"] {
        let (code, _, err) = lab.run(&["play", "first.xdf", &format!("--speed={speed}")]);
        assert!(code == 2 && err.contains("0.001 to 1000"), "{speed}: {err}");
    }
}

#[test]
fn a_stretch_is_played_alone_and_an_empty_one_is_refused() {
    let lab = Lab::new("play-stretch");
    write_recording(&lab.path("first.xdf"));
    play_stretch(&lab);
}

#[test]
fn a_recording_whose_index_is_damaged_is_read_through_and_played_as_well() {
    let lab = Lab::new("play-unindexed");
    write_recording(&lab.path("first.xdf"));
    let mut bytes = std::fs::read(lab.path("first.xdf")).unwrap();
    let at = bytes.len() - 150;
    bytes[at] ^= 4;
    std::fs::write(lab.path("first.xdf"), bytes).unwrap();
    play_stretch(&lab);
}

#[test]
fn playing_a_damaged_recording_ends_with_a_found_problem() {
    let lab = Lab::new("play-damaged");
    write_recording(&lab.path("first.xdf"));
    let mut bytes = std::fs::read(lab.path("first.xdf")).unwrap();
    // The first chunk of samples of the first stream: its content begins with the number of samples.
    let chunk = [3, 0, 1, 0, 0, 0];
    let at = bytes.windows(chunk.len()).position(|part| part == chunk).unwrap() + chunk.len();
    bytes[at..at + 9].fill(0xff);
    std::fs::write(lab.path("first.xdf"), bytes).unwrap();
    let (code, out, err) = lab.run(&["play", "first.xdf"]);
    assert!(code == 1 && out.contains("the recording is DAMAGED in 1 place; what is whole"), "{out}{err}");
}

/// Plays a fifth of a second, and compares what arrives.
fn play_stretch(lab: &Lab) {
    let mut player = lab.start(&["play", "first.xdf", "--wait", "--from", "0.15", "--until", "0:0.35"]);
    let mut recorder = recorder(lab, &["Amplifier", "Marks"]);
    recorder.wait_for(|line| samples(line, "Amplifier") == 100 && samples(line, "Marks") == 1);
    recorder.interrupt();
    assert!(player.process.wait().unwrap().success());
    let (signal, marks) = (stream(lab, "Amplifier"), stream(lab, "Marks"));
    assert_eq!(signal.values, Values::Int16((75..175).collect()));
    assert_eq!(marks.values, Values::String(vec!["end".to_owned()]));
    assert!((marks.stamps[0] - signal.stamps[0] - 0.05).abs() < 1e-9, "the marker keeps its place");
    let (code, _, err) = lab.run(&["play", "first.xdf", "--from", "9"]);
    assert!(code == 3 && err.contains("--from"), "{err}");
    let (code, _, err) = lab.run(&["play", "first.xdf", "--from", "half"]);
    assert!(code == 2 && err.contains("0:01:30"), "{err}");
}
