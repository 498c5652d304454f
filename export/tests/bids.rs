//! What a BIDS dataset has of others' files, and of several streams.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Folder, go_on};
use schwann_export::{Entities, Report, bids};
use schwann_xdf::{Options as WriterOptions, Writer};

/// A folder with a recording of streams of EEG with these electrodes, at a place of its own each.
struct Scratch {
    folder: Folder,
}

impl Scratch {
    fn new(test: &str) -> Self {
        let folder = Folder::new(test);
        fs::create_dir_all(folder.join("study")).expect("a folder");
        Self { folder }
    }

    fn study(&self, file: &str) -> PathBuf {
        self.folder.join("study").join(file)
    }

    fn add(&self, subject: &str, electrodes: &[&str]) -> Report {
        let recording = self.folder.join(format!("{}.xdf", electrodes.concat()));
        if !recording.exists() {
            write_recording(&recording, electrodes);
        }
        bids(&recording, &self.study(""), &Entities::new(subject, "rest"), &mut go_on).expect("a recording")
    }
}

fn write_recording(path: &Path, electrodes: &[&str]) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    for (number, electrode) in electrodes.iter().enumerate() {
        let header = format!(
            "<?xml version=\"1.0\"?><info><name>Amp {electrode}</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>100</nominal_srate><channel_format>int16</channel_format><desc><channels><channel>\
             <label>{electrode}</label><location><X>{number}</X><Y>2</Y><Z>3</Z></location></channel></channels></desc></info>"
        );
        let stream = writer.add_stream(&header).expect("a stream");
        let stamps: Vec<_> = (0..100).map(|n| 100.0 + f64::from(n) / 100.0).collect();
        stream.push(&stamps, &[7_i16; 100]).expect("room");
    }
    writer.finish().expect("a whole file");
}

#[test]
fn a_table_of_participants_keeps_its_lines_its_coding_and_its_line_ends() {
    for (test, before, added) in [
        ("none", &b""[..], &b"participant_id\nsub-02\n"[..]),
        ("cut", b"participant_id\tage\nsub-01\t30", b"\nsub-02\tn/a\n"),
        ("windows", b"participant_id\tsex\tage\r\nsub-01\tf\t30\r\n", b"sub-02\tn/a\tn/a\r\n"),
        ("there", b"participant_id\r\nsub-02\r\n", b""),
        ("latin", b"participant_id\tname\nsub-01\tM\xfcller\n", b"sub-02\tn/a\n"),
    ] {
        let scratch = Scratch::new(test);
        let table = scratch.study("participants.tsv");
        if !before.is_empty() {
            fs::write(&table, before).expect("a table");
        }
        scratch.add("02", &["Cz"]);
        let after = fs::read(&table).expect("a table");
        assert_eq!(after, [before, added].concat(), "{test}: {}", String::from_utf8_lossy(&after));
    }
}

#[test]
fn each_stream_has_its_electrodes_or_is_named() {
    let scratch = Scratch::new("electrodes");
    assert!(scratch.add("01", &["Cz", "Oz"]).left.is_empty());
    for (acquisition, electrode) in [("AmpCz1", "Cz\t0\t2\t3"), ("AmpOz2", "Oz\t1\t2\t3")] {
        let table = scratch.study(&format!("sub-01/eeg/sub-01_acq-{acquisition}_electrodes.tsv"));
        assert_eq!(fs::read_to_string(table).expect("a table"), format!("name\tx\ty\tz\n{electrode}\n"));
    }
    assert!(scratch.add("02", &["Cz"]).left.is_empty());
    assert!(scratch.add("02", &["Cz"]).left.is_empty(), "another run with the same electrodes");
    let report = scratch.add("02", &["Oz"]);
    assert_eq!(report.left.len(), 1, "{report:?}");
    assert_eq!(
        report.left[0].why,
        "its electrodes are not those of sub-02_electrodes.tsv, which stays as it is"
    );
}
