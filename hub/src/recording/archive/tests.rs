use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::{Archive, read_all};
use crate::far::ClockBound;
use crate::journal::tests::{Folder, blocks};
use crate::recording::archive::record;

/// An archive of `count` blocks with two words and two clocks, as it lies on the disk.
fn filled(folder: &Folder, count: usize) -> Vec<Vec<u8>> {
    let (run, blocks) = blocks(count);
    let mut archive = Archive::create(&folder.0, run, 0).expect("room");
    for word in [b"SRA one", b"SRK two"] {
        archive.keep_word(word).expect("room");
    }
    for measured in [10.0, 20.0] {
        archive.keep_clock(clock(measured)).expect("room");
    }
    for (number, block) in blocks.iter().enumerate() {
        archive.keep(number as u64, block).expect("room");
    }
    blocks
}

fn clock(measured: f64) -> ClockBound {
    ClockBound { offset: 1.0, bound: 0.5, measured, by_wall: None }
}

fn reopened(folder: &Folder) -> Archive {
    let mut all = read_all(&folder.0).expect("readable");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The file of the run with that end.
fn file(folder: &Folder, end: &str) -> std::path::PathBuf {
    folder.blocks().with_extension(end)
}

#[test]
fn a_damaged_block_is_missing_and_those_behind_it_stay() {
    let folder = Folder::new();
    let blocks = filled(&folder, 4);
    let whole = fs::read(folder.blocks()).expect("readable");
    let record = whole.len() / 4;
    // In the length, in the checksum, in the content.
    for byte in [0, 1, 5, 100] {
        let mut bytes = whole.clone();
        bytes[record + byte] ^= 4;
        fs::write(folder.blocks(), bytes).expect("room");
        let mut archive = reopened(&folder);
        let numbers: Vec<_> = archive.restored().places.iter().map(|place| place.number).collect();
        assert_eq!((numbers, archive.restored().damaged), (vec![0, 2, 3], 1), "byte {byte}");
        assert_eq!((archive.blocks(), archive.samples()), (3, 3));
        // It comes again, and is there after the next start.
        archive.keep(1, &blocks[1]).expect("room");
        let archive = reopened(&folder);
        for (number, block) in blocks.iter().enumerate() {
            assert_eq!(archive.block(number as u64).expect("readable").as_ref(), Some(block));
        }
        fs::write(folder.blocks(), &whole).expect("room");
    }
}

#[test]
fn what_is_appended_behind_a_torn_end_is_read_again() {
    let folder = Folder::new();
    let all = filled(&folder, 3);
    for end in ["blocks", "words", "clocks"] {
        let mut torn = OpenOptions::new().append(true).open(file(&folder, end)).expect("there");
        torn.write_all(&[200, 0, 0, 0, 1, 2, 3, 4, b'S', b'R', b'B', 1, 7]).expect("room");
    }
    let mut archive = reopened(&folder);
    assert_eq!((archive.restored().places.len(), archive.restored().damaged), (3, 0));
    archive.keep_word(b"SRK three").expect("room");
    archive.keep_clock(clock(30.0)).expect("room");
    archive.keep(9, &all[0]).expect("room");
    let mut archive = reopened(&folder);
    assert_eq!(archive.restored().words, [&b"SRA one"[..], b"SRK two", b"SRK three"]);
    let clocks = archive.clocks().expect("readable");
    assert_eq!(clocks.iter().map(|clock| clock.measured).collect::<Vec<_>>(), [10.0, 20.0, 30.0]);
    assert_eq!(fs::metadata(folder.blocks()).expect("there").len(), 4 * record::length(&all[0]));
}

#[test]
fn a_damaged_word_or_clock_takes_no_other() {
    let folder = Folder::new();
    filled(&folder, 1);
    for end in ["words", "clocks"] {
        let mut bytes = fs::read(file(&folder, end)).expect("readable");
        bytes[0] ^= 0x80;
        fs::write(file(&folder, end), bytes).expect("room");
    }
    let mut archive = reopened(&folder);
    assert_eq!((archive.restored().damaged, &archive.restored().words[..]), (2, &[b"SRK two".to_vec()][..]));
    assert_eq!(archive.clocks().expect("readable").len(), 1);
}

#[test]
fn the_first_block_that_is_wanted_survives_a_kill() {
    let folder = Folder::new();
    let (run, blocks) = blocks(3);
    let mut archive = Archive::create(&folder.0, run, 0).expect("room");
    archive.keep(2, &blocks[2]).expect("room");
    assert_eq!(reopened(&folder).floor(), Some(0));
    fs::remove_file(file(&folder, "floor")).expect("there");
    assert_eq!(reopened(&folder).floor(), None, "a folder of an earlier version");
}
