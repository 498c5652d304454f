//! `schwann ft`

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use schwann_fieldtrip::wire::Event;
use schwann_xdf::Writer;

use crate::harness::Lab;
use crate::requests::{Request, ask};
use crate::served::Running;

impl Running {
    /// Ends it as Ctrl-C does; returns its exit code and what else it printed.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        ask(&self.child, Request::Interrupt);
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("an end").code(), rest)
    }
}

#[test]
fn what_is_put_and_recorded_is_what_is_played_and_got() {
    let lab = Lab::new("ft-files");
    let recording = lab.path("recording");
    let folder = recording.to_str().expect("UTF-8");
    std::fs::write(lab.path("in.txt"), "0.1 -2\n3,4.5\n1e-7\t6\n").expect("a file");
    let first = Running::start(&lab, &["ft", "serve", "localhost:0", "--record", folder]);
    let at = first.address.as_str();
    let put = ["ft", "put", at, "--file", "in.txt", "--rate", "250", "--labels", "Fz,Cz"];
    assert_eq!(lab.run(&put), (0, "3 samples\n".into(), String::new()));
    assert_eq!(lab.run(&["ft", "events", at, "--put", "trigger=7", "--sample", "1"]).0, 0);
    assert_eq!(lab.run(&["ft", "wait", at, "--samples", "4", "--timeout", "0"]).0, 1);
    assert_eq!(first.end().0, Some(0));

    let second = Running::start(&lab, &["ft", "serve", "localhost:0"]);
    let at = second.address.as_str();
    let (code, _, err) = lab.run(&["ft", "playback", folder, at, "--speed", "inf"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let (code, out, _) = lab.run(&["ft", "get", at]);
    assert_eq!((code, out.as_str()), (0, "2 channels of float32 at 250 Hz: Fz, Cz\n3 samples, 1 event\n"));
    let (_, out, _) = lab.run(&["ft", "get", at, "--samples", "0:2"]);
    assert_eq!(out, "0.1\t-2\n3\t4.5\n0.0000001\t6\n");
    assert_eq!(lab.run(&["ft", "events", at]).1, "sample 1: trigger = 7\n");
    let (_, out, _) = lab.run(&["ft", "dump", at, "--oldest", "--samples", "3"]);
    assert!(out.contains("# samples 0 to 2"), "{out}");
    second.end();
}

#[test]
fn a_buffer_that_is_not_there_is_named() {
    let lab = Lab::new("ft-nobody");
    let (code, _, err) = lab.run(&["ft", "get", "localhost:9"]);
    assert_eq!(code, 3);
    assert!(err.contains("buffer://localhost:9"), "{err}");
}

/// A stream of 500 Hz with labels, and three markers beside its samples 10, 20 and 200.
pub(crate) fn write_recording(path: &Path) {
    let writer = Writer::create(path, schwann_xdf::Options::default()).expect("a file");
    let signal = writer.add_stream(
        "<?xml version=\"1.0\"?><info><name>Amplifier</name><type>EEG</type><channel_count>2</channel_count>\
         <nominal_srate>500</nominal_srate><channel_format>int16</channel_format><source_id>a</source_id>\
         <desc><channels><channel><label>Fz</label></channel><channel><label>Cz</label></channel></channels>\
         </desc></info>",
    );
    let marks = writer.add_stream(
        "<?xml version=\"1.0\"?><info><name>Marks</name><type>Markers</type><channel_count>1</channel_count>\
         <nominal_srate>0</nominal_srate><channel_format>string</channel_format><source_id>m</source_id>\
         <desc/></info>",
    );
    let stamps: Vec<_> = (0..250).map(|sample| 7000.0 + f64::from(sample) / 500.0).collect();
    let values: Vec<_> = (0..500_i16).map(|value| value * 60 - 15_000).collect();
    signal.expect("a stream").push(&stamps, &values).expect("room");
    let times = [7000.0202, 7000.0395, 7000.4];
    marks.expect("a stream").push_text(&times, &["go", "stop ✓", "end"]).expect("room");
    writer.finish().expect("a file");
}

#[test]
fn a_mirrored_stream_has_its_labels_its_samples_and_its_markers_in_place() {
    let lab = Lab::new("ft-mirror");
    write_recording(&lab.path("stream.xdf"));
    let mirror = Running::start(&lab, &["ft", "mirror", "Amplifier", "localhost:0"]);
    let mut play =
        lab.schwann(&["play", "stream.xdf", "--wait"]).stdout(Stdio::null()).spawn().expect("play");
    let at = mirror.address.as_str();
    assert_eq!(lab.run(&["ft", "wait", at, "--samples", "250", "--timeout", "60"]).0, 0);
    assert_eq!(lab.run(&["ft", "wait", at, "--events", "3", "--timeout", "60"]).0, 0);
    assert!(play.wait().expect("an end").success());

    let mut client = mirror.client();
    let (header, _) = client.header().expect("a header");
    assert_eq!((header.rate, header.channel_names()), (500.0, vec!["Fz".to_owned(), "Cz".to_owned()]));
    let block = client.samples(0, 249).expect("samples");
    let wanted: Vec<_> = (0..500_i16).map(|value| value * 60 - 15_000).collect();
    assert_eq!(block.numbers::<i16>().as_deref(), Some(&wanted[..]));
    let events = client.all_events().expect("events");
    let expected = [(10, "go"), (20, "stop ✓"), (200, "end")];
    assert_eq!(events, expected.map(|(sample, value)| Event::text(sample, "Marks", value)));
    drop(client);
    let (code, rest) = mirror.end();
    assert_eq!(code, Some(0));
    assert!(rest.ends_with("250 samples, 3 events\n"), "{rest}");
}
