//! Events that a format cannot hold: too many of them, outside of the samples, without a time, too long.

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, go_on};
use schwann_export::{ExportError, Format, Options, export};
use schwann_xdf::{Options as WriterOptions, Writer};

const COUNT: usize = 900_000;
const HEADER: &str = "<?xml version=\"1.0\"?><info><name>Triggers</name><type>Triggers</type><channel_count>1</channel_count>\
    <nominal_srate>0</nominal_srate><channel_format>float32</channel_format><desc/></info>";

fn write_recording(path: &Path) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    let stream = writer.add_stream(HEADER).expect("a stream");
    for part in 0..COUNT / 1000 {
        let stamps: Vec<_> = (0..1000).map(|n| (part * 1000 + n) as f64 / 50.0).collect();
        stream.push(&stamps, &stamps.iter().map(|stamp| *stamp as f32).collect::<Vec<_>>()).expect("room");
    }
    writer.finish().expect("a whole file");
}

#[test]
fn more_events_than_fit_in_memory_are_columns_and_no_annotations() {
    let folder = Folder::new("events");
    let recording = folder.join("many.xdf");
    write_recording(&recording);
    let refused = export(&recording, &Options::new(Format::BrainVision), &mut go_on);
    assert!(matches!(refused, Err(ExportError::Events)), "{refused:?}");
    for format in [Format::Csv, Format::Npz] {
        let report = export(&recording, &Options::new(format), &mut go_on).expect("room for all");
        assert_eq!((report.events, report.files[0].samples), (COUNT as u64, COUNT as u64));
    }
    let lines = fs::read_to_string(folder.join("many.csv")).expect("a table").lines().count();
    assert!(lines > COUNT && lines < COUNT + 9, "{lines}");
}

/// A second of EEG from 100 s on, and markers before, within and after it.
fn write_odd_events(path: &Path) {
    let header = |name: &str, kind: &str, rate: u32, format: &str| {
        HEADER
            .replace("Triggers</name>", &format!("{name}</name>"))
            .replace("Triggers</type>", &format!("{kind}</type>"))
            .replace("<nominal_srate>0", &format!("<nominal_srate>{rate}"))
            .replace("float32", format)
    };
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    let eeg = writer.add_stream(&header("Amp", "EEG", 100, "int16")).expect("a stream");
    let markers = writer.add_stream(&header("Markers", "Markers", 0, "string")).expect("a stream");
    let stamps: Vec<_> = (0..100).map(|n| 100.0 + f64::from(n) / 100.0).collect();
    eeg.push(&stamps, &[7_i16; 100]).expect("room");
    let long = "x".repeat(513);
    let events = [
        (95.0, "before"),
        (100.5, "within"),
        (100.6, &long),
        (102.0, "after"),
        (f64::NAN, "never"),
        (100.7, ""),
        (100.8, " "),
    ];
    events.iter().for_each(|(at, text)| markers.push_text(&[*at], &[text]).expect("room"));
    writer.finish().expect("a whole file");
}

#[test]
fn events_that_a_format_does_not_hold_are_named() {
    let folder = Folder::new("odd-events");
    let recording = folder.join("odd.xdf");
    write_odd_events(&recording);
    let left = |format| {
        let report = export(&recording, &Options::new(format), &mut go_on).expect("a recording");
        let why: Vec<_> = report.left.iter().map(|left| left.why.clone()).collect();
        (report.events, why.join("; "))
    };
    let no_time = "the stamp of 1 of its events is no time, such as NaN";
    let (events, why) = left(Format::BrainVision);
    assert!(why.starts_with(&format!("{no_time}; 2 of its events came before the first sample")), "{why}");
    assert_eq!(events, 4);
    let cut = "the text of 1 of its events is cut to 512 characters";
    let empty = "2 of its events have no text; the file has (empty) there, since it holds no event without";
    assert_eq!(left(Format::Edf), (6, format!("{no_time}; {cut}; {empty}")));
    assert_eq!(left(Format::Csv), (7, String::new()), "a table has each stamp as it is");
}
