//! `schwann fake`: its faults are in the stream, and are seen.

use schwann_xdf::{Clocks, Jitter, RecordedStream, Recording, Values};

use crate::harness::{Lab, samples};

/// Sends a fake stream, records it until it has so many samples, and returns it with the recorder's exit code.
fn recorded(lab: &Lab, name: &str, count: u64, arguments: &[&str]) -> (RecordedStream, Option<i32>) {
    let mut fake = lab.start(&[&["fake"], arguments].concat());
    fake.wait_for_line("sending");
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", name]);
    recorder.wait_for(|line| samples(line, name) >= count);
    let (code, _) = recorder.interrupt();
    let recording = Recording::load(lab.path("x.xdf"), Clocks::AsRecorded, Jitter::AsRecorded).unwrap();
    (recording.streams.into_iter().find(|stream| stream.header.name == name).unwrap(), code)
}

fn steps(stream: &RecordedStream) -> impl Iterator<Item = f64> {
    stream.stamps.windows(2).map(|pair| pair[1] - pair[0])
}

#[test]
fn what_is_left_out_is_missing_by_tenths_of_a_second() {
    let lab = Lab::new("fake-dropout");
    let (stream, code) = recorded(&lab, "Fake counter:1@1000", 2_000, &["counter@1000", "--dropout", "0.3"]);
    assert_eq!(code, Some(1), "a recording with gaps is not well");
    let Values::Float32(values) = &stream.values else { panic!("{:?}", stream.values) };
    let lost: Vec<_> =
        values.windows(2).map(|pair| pair[1] - pair[0] - 1.0).filter(|&lost| lost > 0.0).collect();
    assert!(!lost.is_empty() && lost.iter().all(|lost| lost % 100.0 == 0.0), "{lost:?}");
    assert!(
        steps(&stream)
            .zip(values.windows(2))
            .all(|(step, pair)| { (step * 1000.0 - f64::from(pair[1] - pair[0])).abs() < 1e-3 })
    );
}

#[test]
fn drift_is_in_the_stamps() {
    let lab = Lab::new("fake-drift");
    let (stream, code) = recorded(&lab, "Fake counter:1@500", 500, &["counter@500", "--drift-ppm", "-10000"]);
    assert_eq!(code, Some(0));
    assert_eq!(stream.header.nominal_rate, 500.0);
    assert!(steps(&stream).all(|step| (step - 1.0 / (500.0 * 0.99)).abs() < 1e-9));
}

#[test]
fn a_clock_step_happens_once() {
    let lab = Lab::new("fake-step");
    let arguments = ["counter@500", "--clock-step", "-2.5@2"];
    let (stream, _) = recorded(&lab, "Fake counter:1@500", 1_500, &arguments);
    let back: Vec<_> = steps(&stream).filter(|step| *step < 0.0).collect();
    assert!(back.len() == 1 && (back[0] + 2.498).abs() < 1e-6, "{back:?}");
}

#[test]
fn integers_are_sent_as_such() {
    let lab = Lab::new("fake-int16");
    let (stream, code) = recorded(&lab, "Fake counter:3@500/int16", 200, &["counter:3@500/int16"]);
    assert_eq!(code, Some(0));
    let Values::Int16(values) = &stream.values else { panic!("{:?}", stream.values) };
    assert!(values.as_chunks::<3>().0.windows(2).all(|rows| rows[1] == [rows[0][0] + 1; 3]));
}
