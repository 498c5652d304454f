//! What the files say of the times of samples and events.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Folder, go_on};
use schwann_export::{Format, Options, Report, export};
use schwann_xdf::{Options as WriterOptions, Survey, Writer};

/// A folder with a recording of a stream at 100 Hz with these stamps, and of markers at those.
struct Scratch {
    folder: Folder,
    recording: PathBuf,
}

impl Scratch {
    fn new(test: &str, stamps: &[f64], markers: &[f64]) -> Self {
        let folder = Folder::new(test);
        let recording = folder.join("session.xdf");
        let header = |name: &str, rate: u32, format: &str| {
            format!(
                "<?xml version=\"1.0\"?><info><name>{name}</name><type>{name}</type><channel_count>1</channel_count>\
                 <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format><desc/></info>"
            )
        };
        let writer = Writer::create(&recording, WriterOptions::default()).expect("a file");
        let eeg = writer.add_stream(&header("EEG", 100, "int16")).expect("a stream");
        eeg.push(stamps, &vec![7_i16; stamps.len()]).expect("room");
        let texts = writer.add_stream(&header("Markers", 0, "string")).expect("a stream");
        markers.iter().for_each(|at| texts.push_text(&[*at], &["go"]).expect("room"));
        writer.finish().expect("a whole file");
        Self { folder, recording }
    }

    fn export(&self, format: Format) -> Report {
        export(&self.recording, &Options::new(format), &mut go_on).expect("a recording")
    }
}

fn even(count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(|n| 100.0 + f64::from(n) / 100.0)
}

#[test]
fn short_gaps_are_those_that_a_survey_finds_and_times_are_right() {
    let stamps: Vec<_> = even(4000).enumerate().filter(|(n, _)| n % 100 < 95).map(|(_, at)| at).collect();
    let scratch = Scratch::new("holes", &stamps, &[]);
    let survey = Survey::of(&scratch.recording, |_, _| {}).expect("a recording");
    let missing: u64 = survey.streams[0].gaps.iter().map(|gap| gap.missing).sum();
    for format in [Format::BrainVision, Format::Edf] {
        let file = &scratch.export(format).files[0];
        assert_eq!((file.rate, file.filled), (100.0, missing));
        assert!(file.time_error < 1e-6, "{}", file.time_error);
    }
    let table = fs::read_to_string({
        scratch.export(Format::Csv);
        scratch.folder.join("session_EEG.csv")
    });
    let table = table.expect("a table");
    let times = table.lines().skip(1).filter_map(|line| line.split(',').next()?.parse::<f64>().ok());
    assert!(times.zip(&stamps).all(|(time, stamp)| (time - stamp).abs() < 1e-6));
}

#[test]
fn the_error_of_times_is_that_of_the_stamp_that_is_furthest_off() {
    let mut stamps: Vec<_> = even(4000).collect();
    stamps[1000] += 0.04;
    let scratch = Scratch::new("late", &stamps, &[101.0]);
    let report = scratch.export(Format::BrainVision);
    assert!((report.files[0].time_error - 0.04).abs() < 1e-3, "{report:?}");
    assert!(report.left.is_empty(), "{report:?}");
}

#[test]
fn samples_that_are_moved_by_a_wrong_stamp_are_named() {
    let mut stamps: Vec<_> = even(4000).collect();
    stamps[1000] += 3600.0;
    let scratch = Scratch::new("ahead", &stamps, &[101.0]);
    for format in [Format::BrainVision, Format::Edf] {
        let report = scratch.export(format);
        let why: Vec<_> = report.left.iter().map(|left| left.why.as_str()).collect();
        assert!(
            why.len() == 1 && why[0].starts_with("its samples are up to 3600.0 s from their times"),
            "{why:?}"
        );
    }
}

#[test]
fn samples_of_a_block_with_one_stamp_are_where_they_belong() {
    let stamps: Vec<_> = (0..4000).map(|n| 100.0 + f64::from(n / 100)).collect();
    let report = Scratch::new("blocks", &stamps, &[101.0]).export(Format::BrainVision);
    assert!(report.left.is_empty() && report.files[0].time_error > 0.4, "{report:?}");
}

#[test]
fn events_of_another_clock_are_named() {
    let scratch = Scratch::new("clock", &even(4000).collect::<Vec<_>>(), &[101.0, 1.7e9, 1.7e9]);
    for format in [Format::Edf, Format::Nwb] {
        let report = scratch.export(format);
        let why: Vec<_> = report.left.iter().map(|left| left.why.as_str()).collect();
        assert_eq!(why, ["2 of its events are more than a day from all samples; schwann verify says why"]);
    }
}

#[test]
fn a_format_with_a_time_per_sample_says_how_far_these_are_from_the_stamps() {
    // 70 ms are lost every half second: too short for gaps, and too much jitter to tell them apart.
    let late = |n: u32| 0.07 * f64::from(n / 43) + 0.004 * f64::from(n * 7919 % 11) / 11.0;
    let lossy = |until: u32| (0..2 * until).map(move |n| 100.0 + f64::from(n) / 100.0 + late(n.min(until)));
    for (until, least, is_named) in [(2600, 0.3, false), (10_000, 2.1, true)] {
        let scratch = Scratch::new("lossy", &lossy(until).collect::<Vec<_>>(), &[101.0]);
        for format in [Format::Csv, Format::Nwb, Format::Npz, Format::Mcap] {
            let report = scratch.export(format);
            let errors: Vec<_> = report.files.iter().map(|file| file.time_error).collect();
            assert!(errors.len() == 2 && errors[0] > least && errors[1] == 0.0, "{format:?}: {errors:?}");
            assert_eq!(report.left.len(), usize::from(is_named), "{format:?}: {report:?}");
        }
    }
}

#[test]
fn times_that_no_message_can_have_are_counted() {
    let scratch = Scratch::new("early", &even(100).collect::<Vec<_>>(), &[-5.0, 0.0, 101.0, f64::NAN, 1e11]);
    let left = scratch.export(Format::Mcap).left;
    let is_told = |why: &str| why.starts_with("3 of its times are before 0, too late to count, or none");
    assert!(left.len() == 1 && left[0].stream == "Markers" && is_told(&left[0].why), "{left:?}");
    assert!(scratch.export(Format::Csv).left.is_empty());
}
