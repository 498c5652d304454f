//! What lies on the disk while streams are resampled.

mod common;

use core::ops::ControlFlow;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Folder, go_on};
use schwann_export::{ExportError, Format, Options, export};
use schwann_xdf::{Options as WriterOptions, Writer};

/// Writes streams at 100 Hz that begin then and have so many samples.
fn write_recording(path: &Path, streams: &[(f64, u32)]) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    for (begin, count) in streams {
        let header = format!(
            "<?xml version=\"1.0\"?><info><name>Amp {count}</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>100</nominal_srate><channel_format>int16</channel_format><desc/></info>"
        );
        let stream = writer.add_stream(&header).expect("a stream");
        let stamps: Vec<_> = (0..*count).map(|n| begin + f64::from(n) / 100.0).collect();
        stream.push(&stamps, &vec![7_i16; stamps.len()]).expect("room");
    }
    writer.finish().expect("a whole file");
}

struct Scratch {
    folder: Folder,
    recording: PathBuf,
}

impl Scratch {
    fn new(test: &str, streams: &[(f64, u32)]) -> Self {
        let folder = Folder::new(test);
        let recording = folder.join("session.xdf");
        write_recording(&recording, streams);
        Self { folder, recording }
    }
}

fn at(format: Format, rate: f64) -> Options {
    let mut options = Options::new(format);
    options.resample = Some(rate);
    options
}

#[cfg(unix)]
fn hidden(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
    entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect()
}

#[test]
fn streams_on_their_way_are_for_their_owner_alone_and_go() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::new("private", &[(100.0, 1000)]);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let mut seen = Vec::new();
    export(&scratch.recording, &at(Format::Csv, 50.0), &mut |_, _| {
        for place in hidden(&scratch.folder) {
            let files = fs::read_dir(&place).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
            seen.extend(files.map(|file| (mode(&place), mode(&file))));
        }
        ControlFlow::Continue(())
    })
    .expect("a recording");
    assert!(!seen.is_empty() && seen.iter().all(|modes| *modes == (0o700, 0o600)), "{seen:?}");
    assert_eq!(hidden(&scratch.folder), Vec::<PathBuf>::new());
}

#[test]
fn streams_that_are_shorter_than_a_period_are_named() {
    let scratch = Scratch::new("short", &[(100.0, 1000), (100.3, 10)]);
    for format in [Format::Csv, Format::Edf, Format::Nwb] {
        let report = export(&scratch.recording, &at(format, 2.0), &mut go_on).expect("a recording");
        let (there, gone): (Vec<_>, Vec<_>) = (
            report.files.iter().map(|file| file.stream.as_str()).collect(),
            report.left.iter().map(|left| left.stream.as_str()).collect(),
        );
        assert_eq!((there, gone), (vec!["Amp 1000"], vec!["Amp 10"]), "{report:?}");
        assert_eq!(report.resampled.len(), 1);
    }
}

#[test]
fn a_rate_at_which_no_stream_has_samples_is_refused() {
    let scratch = Scratch::new("none", &[(100.3, 10)]);
    let refused = export(&scratch.recording, &at(Format::Csv, 2.0), &mut go_on);
    assert!(matches!(refused, Err(ExportError::TooSlow(2.0))), "{refused:?}");
    assert_eq!(fs::read_dir(&*scratch.folder).expect("a folder").count(), 1);
}

#[test]
fn what_is_stopped_leaves_no_file() {
    let scratch = Scratch::new("stopped", &[(100.0, 1000), (100.5, 500)]);
    let formats =
        [Format::BrainVision, Format::Edf, Format::Nwb, Format::Mcap, Format::Csv, Format::Npz, Format::Xdfz];
    for (format, rate) in formats.into_iter().flat_map(|format| [(format, None), (format, Some(50.0))]) {
        let mut options = Options::new(format);
        options.resample = rate;
        let whole = count_of_words(&scratch.recording, &options, &scratch.folder);
        for last in 1..=whole {
            let mut calls = 0;
            let stopped = export(&scratch.recording, &options, &mut |_, _| {
                calls += 1;
                if calls == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(matches!(stopped, Err(ExportError::Stopped)), "{format:?}: {stopped:?}");
            assert_eq!(
                fs::read_dir(&*scratch.folder).expect("a folder").count(),
                1,
                "{format:?} after {last}"
            );
        }
        assert!(whole > 1, "{format:?}");
    }
}

/// How often an export says how far it has come; its files are removed.
fn count_of_words(recording: &Path, options: &Options, folder: &Path) -> u32 {
    let (mut count, mut options) = (0, options.clone());
    let output = folder.join("whole");
    fs::create_dir_all(&output).expect("a folder");
    options.output = Some(output.clone());
    let counted = export(recording, &options, &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    });
    counted.expect("a recording");
    fs::remove_dir_all(output).expect("it is there");
    count
}
