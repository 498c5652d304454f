//! Files of a journal with any content: none panics, what is whole stays, and what is appended is read again.
#![no_main]

#[allow(dead_code, reason = "the hub uses all of it")]
#[path = "../../hub/src/journal/record.rs"]
mod record;
#[allow(dead_code, reason = "the hub uses all of it")]
#[path = "../../hub/src/journal/segment.rs"]
mod segment;

/// What these files need of the crate `hub`.
mod sys {
    pub(crate) fn make_private(_: &mut std::fs::OpenOptions) {}
}

use std::fs::{self, File};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use segment::Segment;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("schwann-fuzz-journal-{}", std::process::id()));
    words(&path, bytes);
    blocks(&path, bytes);
    fs::remove_file(&path).unwrap_or_default();
});

/// As a recorder goes on with its file.
fn words(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("room");
    let mut file = File::options().read(true).append(true).open(path).expect("it is there");
    let before = scanned(&file);
    record::restore(&file, record::WORD, |_, _| {}).expect("a disk");
    assert_eq!(scanned(&file), before);
    record::append(&mut file, b"SR appended").expect("room");
    let after = scanned(&file);
    assert_eq!(after.split_last(), Some((&b"SR appended".to_vec(), &before[..])));
}

fn scanned(file: &File) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    record::scan(file, record::WORD, |_, bytes| found.push(bytes)).expect("a disk");
    found
}

/// As an edge opens its journal again.
fn blocks(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("room");
    let Some(first) = Segment::open(path, 0).expect("a disk") else { return };
    let left = fs::read(path).expect("it is there");
    assert!(bytes.starts_with(&left));
    let again = Segment::open(path, 0).expect("a disk").expect("it was opened before");
    assert_eq!((first.held(), first.damaged()), (again.held(), again.damaged()));
    let last = first.held().highest();
    assert!(last.is_none_or(|last| first.block(last).is_some()));
}
