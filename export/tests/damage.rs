//! What comes of damaged recordings: whole samples or a sentence, in every format. No panic, and no file left behind.
//!
//! `SCHWANN_DAMAGED=10000` asks for as many files; without it there are some hundreds.

mod common;

use std::path::Path;
use std::{env, fs};

use common::{Folder, go_on};
use schwann_export::{Entities, Format, Options, bids, export};
use schwann_xdf::{Options as WriterOptions, Writer};

const FORMATS: [Format; 7] =
    [Format::BrainVision, Format::Edf, Format::Bdf, Format::Nwb, Format::Mcap, Format::Csv, Format::Npz];

fn header(name: &str, kind: &str, channels: usize, rate: u32, format: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><info><name>{name}</name><type>{kind}</type><channel_count>{channels}</channel_count>\
         <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format><desc/></info>"
    )
}

/// Streams of several formats, with a gap, clock offsets and markers.
fn write_recording(path: &Path) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    let eeg = writer.add_stream(&header("Amplifier", "EEG", 2, 100, "int16")).expect("a stream");
    let gaze = writer.add_stream(&header("Gaze", "Gaze", 3, 50, "float32")).expect("a stream");
    let free = writer.add_stream(&header("Free", "Misc", 2, 0, "double64")).expect("a stream");
    let markers = writer.add_stream(&header("Markers", "Markers", 1, 0, "string")).expect("a stream");
    for part in 0..10_u32 {
        let begin = 100.0 + f64::from(part) + if part < 5 { 0.0 } else { 3.0 };
        let stamps: Vec<_> = (0..100).map(|n| begin + f64::from(n) / 100.0).collect();
        let values: Vec<_> = (0..200).map(|n| (part * 200 + n) as i16).collect();
        eeg.push(&stamps, &values).expect("room");
        eeg.clock_offset(begin, 0.5).expect("room");
        let stamps: Vec<_> = (0..50).map(|n| begin + f64::from(n) / 50.0).collect();
        gaze.push(&stamps, &(0..150).map(|n| n as f32 / 7.0).collect::<Vec<_>>()).expect("room");
        free.push(&[begin], &[1.5, -2.5]).expect("room");
        markers.push_text(&[begin + 0.25], &["stimulus, \"left\""]).expect("room");
    }
    writer.finish().expect("a whole file");
}

/// A generator of numbers, the same in every run (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }
}

#[test]
fn every_format_takes_what_it_can_and_says_what_it_cannot() {
    let scratch = Folder::new("formats");
    let path = scratch.join("session.xdf");
    write_recording(&path);
    for format in FORMATS {
        let mut options = Options::new(format);
        options.output = Some(scratch.join(format!("{format:?}")));
        let report = export(&path, &options, &mut go_on).expect("a sound recording");
        let has_stamps = !matches!(format, Format::BrainVision | Format::Edf | Format::Bdf);
        assert_eq!(report.files.len(), if has_stamps { 4 } else { 2 }, "{report:?}");
        assert_eq!(report.left.len(), usize::from(!has_stamps), "{report:?}");
        assert!(report.files.iter().all(|file| file.path.exists()), "{report:?}");
        if !has_stamps {
            assert_eq!(report.files[0].filled, 300, "{report:?}");
            assert_eq!(report.files[0].rate, 100.0, "the gap does not count against the rate: {report:?}");
            assert!(report.files[0].time_error < 0.005, "{report:?}");
            assert_eq!(report.files[0].value_error, 0.0, "{report:?}");
        }
        // What exists is never replaced.
        assert!(export(&path, &options, &mut go_on).is_err());
        assert!(report.files.iter().all(|file| file.path.exists()), "and stays");
    }
    let samples = fs::read(scratch.join("BrainVision_Amplifier.eeg")).expect("the samples");
    let numbers: Vec<_> = samples.as_chunks().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
    assert_eq!(numbers.len(), 2 * 1300);
    assert!(
        (0..1000)
            .all(|n| i32::from(numbers[n]) == n as i32 && i32::from(numbers[n + 1600]) == n as i32 + 1000)
    );
}

#[test]
fn a_dataset_has_the_recording_in_its_source_data_and_counts_the_runs() {
    let scratch = Folder::new("bids");
    let path = scratch.join("session.xdf");
    write_recording(&path);
    let root = scratch.join("study");
    for run in ["001", "002"] {
        let report = bids(&path, &root, &Entities::new("01", "rest"), &mut go_on).expect("a sound recording");
        let name = format!("sub-01/eeg/sub-01_task-rest_run-{run}_eeg.vhdr");
        assert_eq!(report.files[0].path, root.join(&name));
        let source = root.join(format!("sourcedata/sub-01/eeg/sub-01_task-rest_run-{run}_eeg.xdf"));
        assert_eq!(fs::read(source).expect("a copy"), fs::read(&path).expect("the recording"));
    }
    assert_eq!(
        fs::read_to_string(root.join("participants.tsv")).expect("a table"),
        "participant_id\nsub-01\n"
    );
    assert!(bids(&path, &root, &Entities::new("../01", "rest"), &mut go_on).is_err());
}

#[test]
fn no_damaged_recording_makes_it_panic_or_leaves_half_a_file() {
    let scratch = Folder::new("damaged");
    let path = scratch.join("session.xdf");
    write_recording(&path);
    let whole = fs::read(&path).expect("the recording");
    let count = env::var("SCHWANN_DAMAGED").ok().and_then(|count| count.parse().ok()).unwrap_or(140);
    let mut dice = Dice(0x5EED);
    let (damaged, output) = (scratch.join("damaged.xdf"), scratch.join("out"));
    for round in 0..count {
        let mut bytes = whole.clone();
        match dice.below(3) {
            0 => bytes.truncate(dice.below(bytes.len())),
            1 => {
                let (from, to) = (dice.below(bytes.len()), dice.below(bytes.len()));
                drop(bytes.drain(from.min(to)..from.max(to)));
            }
            _ => {}
        }
        for _ in 0..dice.below(20) {
            if bytes.is_empty() {
                break;
            }
            let at = dice.below(bytes.len());
            bytes[at] = dice.below(256) as u8;
        }
        fs::write(&damaged, &bytes).expect("a file");
        fs::create_dir_all(&output).expect("a folder");
        let mut options = Options::new(FORMATS[round % FORMATS.len()]);
        options.output = Some(output.join("x"));
        match export(&damaged, &options, &mut go_on) {
            Ok(report) => assert!(!report.files.is_empty(), "round {round}"),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(fs::read_dir(&output).expect("a folder").count(), 0, "round {round}: {error}");
            }
        }
        fs::remove_dir_all(&output).expect("files of ours");
    }
}
