use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use schwann_relay::{Before, Moment, Range, Run, RunId, Start, StreamId};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, Roles, Statement, SystemEntropy, UnixSeconds,
};

use super::Journal;

/// A folder of a test, which goes with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("schwann-journal-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// The file of blocks.
    pub(crate) fn blocks(&self) -> PathBuf {
        let mut entries =
            fs::read_dir(&self.0).expect("it is there").map(|entry| entry.expect("readable").path());
        entries.find(|path| path.extension().is_some_and(|end| end == "blocks")).expect("a file of blocks")
    }
}

/// Damages one bit of a file.
fn flip(path: &Path, byte: usize) {
    let mut bytes = fs::read(path).expect("readable");
    bytes[byte] ^= 1;
    fs::write(path, bytes).expect("room");
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// A run of `count` blocks.
pub(crate) fn blocks(count: usize) -> (RunId, Vec<Vec<u8>>) {
    let authority = AuthorityKey::from_seed(&[7; 32]);
    let key = DeviceKey::generate(&mut SystemEntropy).expect("a generator");
    let certificate = authority.certify(Statement {
        device: key.public(),
        flags: Flags::NONE,
        lab: authority.lab().id(),
        name: DeviceName::new("edge").expect("a name"),
        not_after: UnixSeconds(2_000_000_000),
        not_before: UnixSeconds(0),
        roles: Roles::BOTH,
        serial: 1,
    });
    let credentials = Credentials::new(key, certificate, &mut SystemEntropy).expect("its own certificate");
    let mut moment = Moment {
        credentials: &credentials,
        entropy: &mut SystemEntropy,
        list_number: 1,
        now: UnixSeconds(1_000_000_000),
    };
    let start = Start {
        lab: authority.lab().id(),
        stream: StreamId([5; 16]),
        description: b"<info/>".to_vec(),
        before: Before::NONE,
    };
    let mut run = Run::begin(start, &mut moment).expect("it begins");
    let sealed = (0..count).map(|_| run.seal(&[9; 100], 1, &mut moment).expect("room").bytes).collect();
    (run.id(), sealed)
}

/// A journal with a run of `count` blocks.
fn filled(folder: &Path, count: usize) -> (RunId, Vec<Vec<u8>>) {
    let (run, blocks) = blocks(count);
    let mut journal = Journal::open(folder).expect("it opens");
    journal.begin(run).expect("room");
    journal.keep_word(b"SRA word".to_vec()).expect("room");
    for (number, block) in blocks.iter().enumerate() {
        journal.append(number as u64, block).expect("room");
    }
    (run, blocks)
}

#[test]
fn what_was_appended_is_there_after_a_restart() {
    let folder = Folder::new();
    let (run, blocks) = filled(&folder.0, 5);
    let journal = Journal::open(&folder.0).expect("it opens again");
    let kept = &journal.runs()[0];
    assert_eq!((kept.run, &kept.words[..]), (run, &[b"SRA word".to_vec()][..]));
    assert_eq!(kept.held().as_slice(), [Range { first: 0, last: 4 }]);
    for (number, block) in blocks.iter().enumerate() {
        assert_eq!(journal.block(run, number as u64).as_ref(), Some(block));
    }
    assert_eq!(journal.block(run, 5), None);
}

#[test]
fn a_stream_keeps_its_name() {
    let folder = Folder::new();
    let first = Journal::open(&folder.0).expect("it opens").stream();
    assert_eq!(Journal::open(&folder.0).expect("it opens").stream(), first);
}

#[test]
fn one_program_has_it_at_a_time() {
    let folder = Folder::new();
    let journal = Journal::open(&folder.0).expect("it opens");
    assert!(Journal::open(&folder.0).is_err());
    drop(journal);
    assert!(Journal::open(&folder.0).is_ok());
}

#[test]
fn a_torn_end_is_cut_off_wherever_it_is_torn() {
    let folder = Folder::new();
    let (run, blocks) = filled(&folder.0, 3);
    let path = folder.blocks();
    let whole = fs::read(&path).expect("readable");
    let record = whole.len() / 3;
    for length in 2 * record..whole.len() {
        fs::write(&path, &whole[..length]).expect("room");
        let journal = Journal::open(&folder.0).expect("it opens");
        assert_eq!(journal.runs()[0].held().as_slice(), [Range { first: 0, last: 1 }], "{length}");
        assert_eq!(journal.block(run, 1).as_ref(), Some(&blocks[1]));
        drop(journal);
        assert_eq!(fs::metadata(&path).expect("there").len(), 2 * record as u64);
    }
}

#[test]
fn a_file_of_zeros_as_a_loss_of_power_leaves_it_is_no_block() {
    let folder = Folder::new();
    let (run, _) = filled(&folder.0, 2);
    let mut file = OpenOptions::new().append(true).open(folder.blocks()).expect("there");
    file.write_all(&[0; 64]).expect("room");
    let journal = Journal::open(&folder.0).expect("it opens");
    assert!(journal.block(run, 1).is_some());
    assert_eq!(journal.runs()[0].held().as_slice(), [Range { first: 0, last: 1 }]);
}

#[test]
fn a_damaged_block_is_no_block_and_its_neighbours_are() {
    let folder = Folder::new();
    let (run, blocks) = filled(&folder.0, 3);
    let path = folder.blocks();
    let middle = fs::metadata(&path).expect("there").len() as usize / 2;
    flip(&path, middle);
    let journal = Journal::open(&folder.0).expect("it opens");
    assert_eq!(journal.block(run, 1), None);
    assert_eq!(journal.block(run, 0).as_ref(), Some(&blocks[0]));
    assert_eq!(journal.block(run, 2).as_ref(), Some(&blocks[2]));
}

/// Only the run behind a broken one says how far that came; it may itself end before it has a block, or reaches the hub.
#[test]
fn a_run_without_a_block_stays_with_the_one_before_it() {
    let folder = Folder::new();
    let runs =
        || Journal::open(&folder.0).expect("it opens").runs().iter().map(|kept| kept.run).collect::<Vec<_>>();
    let (first, _) = filled(&folder.0, 0);
    assert_eq!(runs(), [first], "the next one names it");
    let (broken, _) = filled(&folder.0, 3);
    assert_eq!(runs(), [broken]);
    let (blank, _) = filled(&folder.0, 0);
    let (last, _) = filled(&folder.0, 2);
    assert_eq!(runs(), [broken, blank, last]);
}

/// It was killed, or its disk was full, before it was announced. Named as the one before, it would hide the run before it.
#[test]
fn a_run_without_a_word_was_never_there() {
    let folder = Folder::new();
    let (broken, _) = filled(&folder.0, 3);
    Journal::open(&folder.0).expect("it opens").begin(blocks(0).0).expect("room");
    let journal = Journal::open(&folder.0).expect("it opens");
    assert_eq!(journal.runs().iter().map(|kept| kept.run).collect::<Vec<_>>(), [broken]);
}

#[test]
fn what_is_forgotten_frees_its_file_once_a_run_is_over() {
    let folder = Folder::new();
    let (old, _) = filled(&folder.0, 3);
    let (new, _) = filled(&folder.0, 2);
    let mut journal = Journal::open(&folder.0).expect("it opens");
    let (present, _) = blocks(0);
    journal.begin(present).expect("room");
    let closed = [(old, Range { first: 0, last: 2 }), (new, Range { first: 0, last: 1 })];
    assert_eq!(journal.closed_files(), closed, "the present run's file grows");
    let before = journal.bytes();
    journal.forget(old, Range { first: 0, last: 1 });
    assert_eq!(journal.bytes(), before, "one block is still wanted");
    journal.forget(old, Range { first: 2, last: 2 });
    assert!(journal.bytes() < before);
    assert!(journal.block(old, 2).is_none() && journal.block(new, 0).is_some());
}

/// Whatever bit of a block's record flips, the blocks before and behind it stay; the damaged one is counted once its head shows it.
#[test]
fn a_flipped_bit_takes_no_other_block() {
    for damaged in [0, 1] {
        let folder = Folder::new();
        let (run, blocks) = filled(&folder.0, 3);
        let path = folder.blocks();
        let whole = fs::read(&path).expect("readable");
        let record = whole.len() / 3;
        for bit in (0..1000).chain((1000..8 * record).step_by(11)) {
            let mut bytes = whole.clone();
            bytes[damaged * record + bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).expect("room");
            let journal = Journal::open(&folder.0).expect("it opens");
            for (number, block) in blocks.iter().enumerate() {
                let kept = journal.block(run, number as u64);
                assert_eq!(kept.as_ref(), (number != damaged).then_some(block), "bit {bit} of {damaged}");
            }
            let is_seen = !journal.runs()[0].held().contains(damaged as u64);
            assert_eq!(journal.damaged(), u64::from(is_seen), "bit {bit}");
            assert!(bit >= 32 || is_seen, "a length was damaged, and bit {bit} of it is not seen");
            drop(journal);
            assert_eq!(fs::metadata(&path).expect("there").len(), whole.len() as u64, "nothing is cut");
        }
    }
}

#[test]
fn a_damaged_word_takes_no_other_word() {
    let folder = Folder::new();
    let words = [b"SRA one".to_vec(), b"SRK two".to_vec(), b"SRA three".to_vec()];
    let path = folder.0.join("some.words");
    let mut file = super::record::create(&path).expect("room");
    for word in &words {
        super::record::append(&mut file, word).expect("room");
    }
    let whole = fs::read(&path).expect("readable");
    for byte in 0..words[0].len() + 8 {
        let mut bytes = whole.clone();
        bytes[byte] ^= 0x80;
        fs::write(&path, bytes).expect("room");
        assert_eq!(super::record::read_all(&path, b"SR").expect("readable").0, words[1..], "{byte}");
    }
}

#[test]
fn damaged_blocks_do_not_keep_a_file_for_ever() {
    let folder = Folder::new();
    let (run, _) = filled(&folder.0, 3);
    let path = folder.blocks();
    flip(&path, 0);
    let mut journal = Journal::open(&folder.0).expect("it opens");
    assert_eq!(journal.runs()[0].held().as_slice(), [Range { first: 1, last: 2 }]);
    journal.forget(run, Range { first: 1, last: 2 });
    assert!(!path.exists());
}

#[test]
fn a_file_of_which_nothing_can_be_read_is_told_and_stays() {
    let folder = Folder::new();
    let _run = filled(&folder.0, 3);
    fs::write(folder.blocks(), vec![0x55; 3 << 20]).expect("room");
    let journal = Journal::open(&folder.0).expect("it opens");
    assert_eq!((journal.damaged(), journal.bytes()), (1, 3 << 20));
    assert!(journal.runs()[0].held().is_empty());
    assert_eq!(fs::metadata(folder.blocks()).expect("there").len(), 3 << 20);
}

/// A record longer than what is searched at once, damaged in its length.
#[test]
fn the_next_record_is_found_however_far_it_is() {
    let folder = Folder::new();
    let path = folder.0.join("some.words");
    let mut file = super::record::create(&path).expect("room");
    for length in [65_536 - 20, 65_536 - 12, 200_000, 10] {
        let long = [b"SR".to_vec(), vec![7; length]].concat();
        super::record::append(&mut file, &long).expect("room");
        super::record::append(&mut file, b"SR short").expect("room");
    }
    let mut bytes = fs::read(&path).expect("readable");
    let mut at = 0;
    for length in [65_536 - 20, 65_536 - 12, 200_000, 10] {
        bytes[at] ^= 0x55;
        at += 10 + length + 16;
    }
    assert_eq!(at, bytes.len());
    fs::write(&path, bytes).expect("room");
    let found = super::record::read_all(&path, b"SR").expect("readable");
    assert_eq!(found.0, vec![b"SR short".to_vec(); 4]);
}
