//! Which streams are exported, and what their files are called.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Folder, go_on};
use schwann_export::{ExportError, Format, Options, Report, export};
use schwann_xdf::{Options as WriterOptions, Writer};

/// A folder with a recording of streams of these names, a second each.
struct Scratch {
    folder: Folder,
    recording: PathBuf,
}

impl Scratch {
    fn new(test: &str, names: &[&str]) -> Self {
        let folder = Folder::new(test);
        let recording = folder.join("session.xdf");
        write_recording(&recording, names);
        Self { folder, recording }
    }

    fn export(&self, format: Format, names: &[&str]) -> Result<Report, ExportError> {
        let mut options = Options::new(format);
        options.streams = names.iter().map(|name| (*name).to_owned()).collect();
        export(&self.recording, &options, &mut go_on)
    }
}

/// Writes streams of these names; one of the name `Empty` has no samples.
fn write_recording(path: &Path, names: &[&str]) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    for (number, name) in names.iter().enumerate() {
        let header = format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>100</nominal_srate><channel_format>int16</channel_format><desc/></info>"
        );
        let stream = writer.add_stream(&header).expect("a stream");
        if *name == "Empty" {
            continue;
        }
        let stamps: Vec<_> = (0..100).map(|n| 100.0 + f64::from(n) / 100.0).collect();
        stream.push(&stamps, &[number as i16; 100]).expect("room");
    }
    writer.finish().expect("a whole file");
}

fn names(report: &Report) -> Vec<&str> {
    report.files.iter().map(|file| file.stream.as_str()).collect()
}

#[test]
fn a_copy_names_every_stream_that_it_has() {
    let scratch = Scratch::new("copy", &["A", "B"]);
    let report = scratch.export(Format::Xdf, &["A"]);
    assert!(matches!(report, Err(ExportError::Write(..))), "beside the recording, it would be the recording");
    assert_eq!(names(&scratch.export(Format::Xdfz, &["A"]).expect("a recording")), ["A", "B"]);
}

#[test]
fn a_name_that_no_stream_has_is_refused() {
    let scratch = Scratch::new("names", &["A", "B"]);
    let error = scratch.export(Format::Csv, &["A", "nosuch"]).expect_err("no such stream").to_string();
    assert!(error.contains("the name or type nosuch; the streams are: A, B"), "{error}");
    assert_eq!(fs::read_dir(&*scratch.folder).expect("a folder").count(), 1, "and no file is made");
    assert_eq!(names(&scratch.export(Format::Csv, &["B", "EEG"]).expect("a name and a type")), ["A", "B"]);
}

#[test]
fn no_two_streams_have_one_name_of_a_file() {
    for format in [Format::Csv, Format::Npz, Format::Nwb, Format::Mcap, Format::Edf] {
        let scratch = Scratch::new(&format!("{format:?}"), &["X-3", "X", "X", "x"]);
        let report = scratch.export(format, &[]).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(names(&report), ["X-3", "X", "X", "x"]);
        if matches!(format, Format::Csv | Format::Edf) {
            let mut paths: Vec<_> =
                report.files.iter().map(|file| file.path.to_string_lossy().to_lowercase()).collect();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), 4, "{paths:?}");
        }
    }
}

#[test]
fn a_folder_that_exists_gets_files_with_the_name_of_the_recording() {
    let scratch = Scratch::new("folder", &["A"]);
    let folder = scratch.folder.join("results");
    fs::create_dir_all(&folder).expect("a folder");
    for (format, folder) in [(Format::Edf, folder.clone()), (Format::Csv, folder.join(""))] {
        let mut options = Options::new(format);
        options.output = Some(folder);
        options.resample = Some(50.0);
        export(&scratch.recording, &options, &mut go_on).expect("a recording");
    }
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["session.csv", "session.edf"]);
}

#[test]
fn streams_without_samples_are_named_or_all_there_is() {
    let scratch = Scratch::new("empty", &["A", "Empty"]);
    for format in [Format::Nwb, Format::Edf] {
        let report = scratch.export(format, &[]).expect("a recording");
        assert_eq!((names(&report), report.left.len()), (vec!["A"], 1), "{report:?}");
        assert_eq!(
            (report.left[0].stream.as_str(), report.left[0].why.as_str()),
            ("Empty", "it has no samples")
        );
    }
    for (test, streams) in [("no-streams", &[][..]), ("no-samples", &["Empty"])] {
        let scratch = Scratch::new(test, streams);
        for format in [Format::Csv, Format::Npz, Format::Mcap, Format::Nwb, Format::Edf] {
            let takes_it = !streams.is_empty() && matches!(format, Format::Csv | Format::Npz | Format::Mcap);
            let result = scratch.export(format, &[]);
            assert!(takes_it == result.is_ok(), "{format:?}: {result:?}");
            assert!(takes_it || matches!(result, Err(ExportError::Empty)), "{format:?}: {result:?}");
        }
    }
}
