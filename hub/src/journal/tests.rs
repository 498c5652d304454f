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
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("schwann-journal-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// The file of blocks.
    fn blocks(&self) -> PathBuf {
        let mut entries =
            fs::read_dir(&self.0).expect("it is there").map(|entry| entry.expect("readable").path());
        entries.find(|path| path.extension().is_some_and(|end| end == "blocks")).expect("a file of blocks")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// A run of `count` blocks.
fn blocks(count: usize) -> (RunId, Vec<Vec<u8>>) {
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
    journal.keep_word(b"a word".to_vec()).expect("room");
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
    assert_eq!((kept.run, &kept.words[..]), (run, &[b"a word".to_vec()][..]));
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
    let mut bytes = fs::read(&path).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("room");
    let journal = Journal::open(&folder.0).expect("it opens");
    assert_eq!(journal.block(run, 1), None);
    assert_eq!(journal.block(run, 0).as_ref(), Some(&blocks[0]));
    assert_eq!(journal.block(run, 2).as_ref(), Some(&blocks[2]));
}

#[test]
fn what_is_forgotten_frees_its_file_once_a_run_is_over() {
    let folder = Folder::new();
    let (old, _) = filled(&folder.0, 3);
    let (new, _) = filled(&folder.0, 2);
    let mut journal = Journal::open(&folder.0).expect("it opens");
    let (present, _) = blocks(0);
    journal.begin(present).expect("room");
    let before = journal.bytes();
    journal.forget(old, Range { first: 0, last: 1 });
    assert_eq!(journal.bytes(), before, "one block is still wanted");
    journal.forget(old, Range { first: 2, last: 2 });
    assert!(journal.bytes() < before);
    assert!(journal.block(old, 2).is_none() && journal.block(new, 0).is_some());
}
