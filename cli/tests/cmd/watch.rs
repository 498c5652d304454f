//! `schwann watch`

use crate::harness::Lab;
use crate::senders::{Habit, Sender};

#[test]
fn samples_are_printed_as_csv_with_the_labels_of_the_channels() {
    let lab = Lab::new("watch");
    let mut fake = lab.start(&["fake", "eeg:3@250"]);
    fake.wait_for_line("sending");
    let (code, out, _) = lab.run(&["watch", "EEG", "--csv", "--count", "20"]);
    assert_eq!(code, 0);
    let rows: Vec<Vec<_>> = out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), &rows[0]), (21, &vec!["time", "Fp1", "Fp2", "F7"]));
    let stamps: Vec<f64> = rows[1..].iter().map(|row| row[0].parse().expect("a number")).collect();
    assert!(stamps.windows(2).all(|pair| (pair[1] - pair[0] - 0.004).abs() < 2e-6), "{stamps:?}");
}

#[test]
fn the_latest_samples_are_printed_and_what_was_skipped_is_told() {
    let lab = Lab::new("watch-latest");
    let mut fake = lab.start(&["fake", "eeg:3@250"]);
    fake.wait_for_line("sending");
    let (code, out, err) = lab.run(&["watch", "EEG", "--latest=20", "--alert=20", "--count", "20"]);
    assert_eq!((code, out.lines().count()), (0, 20), "{err}");
    assert!(err.contains(": 0 samples skipped"), "{err}");
    let (code, _, err) = lab.run(&["watch", "EEG", "--latest=nothing"]);
    assert!(code == 2 && err.contains("above 0"), "{err}");
}

#[test]
fn samples_that_are_old_are_told_and_found() {
    let lab = Lab::new("watch-alert");
    let mut fake = lab.start(&["fake", "eeg:3@250"]);
    fake.wait_for_line("sending");
    // No sample is so new.
    let (code, _, err) = lab.run(&["watch", "EEG", "--alert=0.000001", "--clock", "local", "--count", "400"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(": behind by"), "{err}");
}

#[test]
fn a_stream_that_is_not_there_is_said_to_be_absent() {
    let lab = Lab::new("watch-absent");
    let (code, out, err) = lab.run(&["watch", "Nobody", "--wait", "0.2"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("Nobody"), "{err}");
}

#[test]
fn what_is_wrong_with_the_stream_is_said_beside_its_samples() {
    let lab = Lab::new("watch-verdict");
    let habit = Habit { ahead: 100.0, ..Habit::sound("Ahead", 200.0) };
    let _sender = Sender::start(&lab, habit, None);
    let (code, out, err) = lab.run(&["watch", "Ahead", "--count", "600"]);
    assert_eq!((code, out.lines().count()), (0, 600));
    assert!(err.contains("Ahead stamps its samples 100.0 s ahead of its own clock"), "{err}");
}
