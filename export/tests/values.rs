//! Values and labels that a format cannot hold.

use std::path::PathBuf;
use std::{env, fs, process};

use schwann_export::{ExportError, Format, Options, Report, export};
use schwann_xdf::{Options as WriterOptions, Writer};

/// A folder with a recording of one stream of doubles at 100 Hz, with these channels.
struct Scratch {
    folder: PathBuf,
    recording: PathBuf,
}

impl Scratch {
    fn new(test: &str, labels: &[&str], values: &[f64]) -> Self {
        let folder = env::temp_dir().join(format!("schwann-values-{}-{test}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
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
        export(&self.recording, &Options::new(format), &mut |_, _| {})
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn values_that_are_no_number_are_counted_where_a_format_has_none() {
    let mut values = [1.5; 200];
    (values[3], values[5], values[150]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
    let scratch = Scratch::new("nan", &["A"], &values);
    for format in [Format::Edf, Format::Bdf] {
        let report = scratch.export(format).expect("a recording");
        let why: Vec<_> = report.left.iter().map(|left| left.why.as_str()).collect();
        assert!(why.len() == 1 && why[0].starts_with("3 of its values are infinite or no number"), "{why:?}");
    }
    assert!(scratch.export(Format::BrainVision).expect("a recording").left.is_empty());
}

#[test]
fn numbers_beyond_what_a_format_holds_are_refused() {
    let scratch = Scratch::new("large", &["A"], &[1.0, -1e39, 2.0]);
    let refused = scratch.export(Format::BrainVision);
    assert!(matches!(refused, Err(ExportError::Range(_))), "{refused:?}");
    assert_eq!(fs::read_dir(&scratch.folder).expect("a folder").count(), 1, "and no file is left");
}
