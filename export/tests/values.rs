//! Values and labels that a format cannot hold.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Folder, go_on};
use schwann_export::{ExportError, Format, Options, Report, export};
use schwann_xdf::{Options as WriterOptions, Writer};

/// A folder with a recording of one stream of doubles at 100 Hz, with these channels.
struct Scratch {
    folder: Folder,
    recording: PathBuf,
}

impl Scratch {
    fn new(test: &str, labels: &[&str], values: &[f64]) -> Self {
        let folder = Folder::new(test);
        let recording = folder.join("session.xdf");
        let channels: String =
            labels.iter().map(|label| format!("<channel><label>{label}</label></channel>")).collect();
        let header = format!(
            "<?xml version=\"1.0\"?><info><name>Amp</name><type>EEG</type><channel_count>{}</channel_count>\
             <nominal_srate>100</nominal_srate><channel_format>double64</channel_format>\
             <desc><channels>{channels}</channels></desc></info>",
            labels.len()
        );
        let writer = Writer::create(&recording, WriterOptions::default()).expect("a file");
        let stream = writer.add_stream(&header).expect("a stream");
        let stamps: Vec<_> = (0..values.len() / labels.len()).map(|n| 100.0 + n as f64 / 100.0).collect();
        stream.push(&stamps, values).expect("room");
        writer.finish().expect("a whole file");
        Self { folder, recording }
    }

    fn export(&self, format: Format) -> Result<Report, ExportError> {
        export(&self.recording, &Options::new(format), &mut go_on)
    }
}

#[test]
fn values_that_are_no_number_are_counted_where_a_format_has_none() {
    let mut values = [1.5; 200];
    (values[3], values[5], values[150]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
    let scratch = Scratch::new("nan", &["A"], &values);
    for format in [Format::Edf, Format::Bdf, Format::Mcap] {
        let report = scratch.export(format).expect("a recording");
        let why: Vec<_> = report.left.iter().map(|left| left.why.as_str()).collect();
        assert!(why.len() == 1 && why[0].starts_with("3 of its values are infinite or no number"), "{why:?}");
    }
    for format in [Format::BrainVision, Format::Csv, Format::Npz] {
        assert!(scratch.export(format).expect("a recording").left.is_empty());
    }
}

#[test]
fn numbers_beyond_what_a_format_holds_are_refused() {
    let scratch = Scratch::new("large", &["A"], &[1.0, -1e39, 2.0]);
    let refused = scratch.export(Format::BrainVision);
    assert!(matches!(refused, Err(ExportError::Range(_))), "{refused:?}");
    assert_eq!(fs::read_dir(&*scratch.folder).expect("a folder").count(), 1, "and no file is left");
}

#[test]
fn labels_that_a_format_changes_differ_and_are_counted() {
    let labels = ["Frontal left electrode", "Frontal left electrode 2", "µ", "EDF Annotations", "Cz"];
    let scratch = Scratch::new("labels", &labels, &[1.0; 10]);
    let report = scratch.export(Format::Edf).expect("a recording");
    assert_eq!(report.files[0].changed_labels, 4, "{report:?}");
    let bytes = fs::read(&report.files[0].path).expect("a file");
    let written: Vec<_> = bytes[256..256 + 6 * 16].chunks(16).map(String::from_utf8_lossy).collect();
    let trimmed: Vec<_> = written.iter().map(|label| label.trim_end()).collect();
    let wanted = ["Frontal left ele", "Frontal left e-2", "u", "EDF Annotation-4", "Cz", "EDF Annotations"];
    assert_eq!(trimmed, wanted);
    assert_eq!(scratch.export(Format::BrainVision).expect("a recording").files[0].changed_labels, 0);
}

#[test]
fn more_channels_than_a_format_counts_are_refused() {
    let labels: Vec<_> = (0..9_999).map(|number| number.to_string()).collect();
    let labels: Vec<_> = labels.iter().map(String::as_str).collect();
    let scratch = Scratch::new("channels", &labels, &vec![1.0; 2 * labels.len()]);
    let refused = scratch.export(Format::Edf);
    assert!(matches!(refused, Err(ExportError::Channels { count: 9_999, most: 9_998, .. })), "{refused:?}");
}
