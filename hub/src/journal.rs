//! What an edge sealed, on disk before it goes to the hub (relay §8).
//!
//! Each relayed stream has a folder, which holds its name. Each run has a file of words there (announcements and wrapped
//! keys), and segments of blocks. A record is a length, a checksum and the bytes. All of it is sealed or signed: a stolen
//! disk gives ciphertext.
//!
//! A killed process loses nothing that it appended. A machine that loses power loses what was not synced, 200 ms at most. A
//! torn record at the end of a file is cut off when the journal is opened. A damaged one is stepped over: what is behind it
//! stays. Why files of our own: `docs/decisions/edge-journal.md`.

pub(crate) mod record;
mod segment;
mod syncer;

use core::time::Duration;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use schwann::security::keys::store;
use schwann_relay::{Range, Ranges, RunId, StreamId};
use schwann_session::SystemEntropy;

use self::segment::Segment;
use self::syncer::Syncer;

/// The journal of one relayed stream. One process has it at a time.
pub(crate) struct Journal {
    folder: PathBuf,
    stream: StreamId,
    runs: Vec<Kept>,
    /// The words of the present run.
    words: Option<File>,
    syncer: Syncer,
    _lock: File,
}

/// What the journal has of one run.
pub(crate) struct Kept {
    /// The run.
    pub(crate) run: RunId,
    /// Its announcements and wrapped keys, oldest first.
    pub(crate) words: Vec<Vec<u8>>,
    number: u32,
    segments: Vec<Segment>,
    /// Damaged places among the words.
    damaged_words: u64,
}

/// Keeps other processes out of a folder, as long as the file is open.
///
/// - Errors: another process has it, which `in_use` says; or from the file system.
pub(crate) fn hold(folder: &Path, in_use: &str) -> io::Result<File> {
    // Private: another user who may open it could hold it for ever.
    let path = folder.join("lock");
    let lock = match record::create(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).open(path)?
        }
        created => created?,
    };
    lock.try_lock().map_err(|_| io::Error::new(io::ErrorKind::AddrInUse, in_use))?;
    Ok(lock)
}

impl Journal {
    /// Opens the journal in `folder`, or begins one.
    ///
    /// - Errors: another process has it; the disk cannot be read or written.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let lock = hold(folder, IN_USE)?;
        let name = folder.join("stream");
        if !name.exists() {
            let stream = StreamId::draw(&mut SystemEntropy).map_err(io::Error::other)?;
            store::write_private(&name, &stream.0).map_err(io::Error::other)?;
        }
        let bytes = fs::read(&name)?;
        let stream = bytes.try_into().map(StreamId).map_err(|_| io::Error::other("its name is damaged"))?;
        let runs = read_runs(folder)?;
        let folder = folder.to_owned();
        Ok(Self { folder, stream, runs, words: None, syncer: Syncer::start()?, _lock: lock })
    }

    /// What the stream is called at the hub.
    #[must_use]
    pub(crate) fn stream(&self) -> StreamId {
        self.stream
    }

    /// Where it is.
    #[must_use]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is where it was opened.
    pub(crate) fn is_there(&self) -> bool {
        self.folder.join("stream").exists()
    }

    /// All runs that are kept, the present one last.
    #[must_use]
    pub(crate) fn runs(&self) -> &[Kept] {
        &self.runs
    }

    /// How many blocks were found damaged when it was opened.
    #[must_use]
    pub(crate) fn damaged(&self) -> u64 {
        let of_run = |kept: &Kept| {
            // Without its announcement and keys, a block opens for no one.
            let unopened = if kept.words.is_empty() { kept.held().count() } else { kept.damaged_words };
            unopened + kept.segments.iter().map(|segment| segment.damaged().count()).sum::<u64>()
        };
        self.runs.iter().map(of_run).sum()
    }

    /// Bytes of blocks on disk.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().flat_map(|kept| &kept.segments).map(Segment::bytes).sum()
    }

    /// The blocks of each file that does not grow any more, with their run, oldest first. Such a file goes as a whole.
    pub(crate) fn closed_files(&self) -> Vec<(RunId, Range)> {
        let of_run = |kept: &Kept| -> Vec<_> {
            let grows = usize::from(self.grows(kept));
            let closed = kept.segments.iter().take(kept.segments.len().saturating_sub(grows));
            closed.filter_map(|segment| Some((kept.run, segment.range()?))).collect()
        };
        self.runs.iter().flat_map(of_run).collect()
    }

    /// Whether the last file of a run still grows.
    fn grows(&self, kept: &Kept) -> bool {
        self.words.is_some() && self.runs.last().is_some_and(|last| last.run == kept.run)
    }

    /// By run: blocks of a file that nothing was appended to for `age`.
    pub(crate) fn older_than(&self, age: Duration) -> Vec<(RunId, Range)> {
        let of_run = |kept: &Kept| -> Vec<_> {
            let old = kept.segments.iter().filter(|segment| segment.age() > age);
            old.filter_map(|segment| Some((kept.run, segment.range()?))).collect()
        };
        self.runs.iter().flat_map(of_run).collect()
    }

    /// Begins a run: what is appended from now on belongs to it.
    ///
    /// - Errors: the disk.
    pub(crate) fn begin(&mut self, run: RunId) -> io::Result<()> {
        let number = self.runs.last().map_or(1, |kept| kept.number.saturating_add(1));
        self.words = Some(record::create(&self.folder.join(format!("{}.words", stem(number, run))))?);
        self.runs.push(Kept { run, words: Vec::new(), number, segments: Vec::new(), damaged_words: 0 });
        Ok(())
    }

    /// Keeps an announcement or wrapped keys of the present run, on disk when this returns.
    ///
    /// - Errors: the disk.
    pub(crate) fn keep_word(&mut self, word: Vec<u8>) -> io::Result<()> {
        let (Some(file), Some(kept)) = (&mut self.words, self.runs.last_mut()) else { return Err(no_run()) };
        record::append(file, &word)?;
        file.sync_data()?;
        kept.words.push(word);
        Ok(())
    }

    /// Appends the next block of the present run; `number` is its number.
    ///
    /// - Errors: the disk; nothing of the block is kept then.
    pub(crate) fn append(&mut self, number: u64, block: &[u8]) -> io::Result<()> {
        let Some(kept) = self.runs.last_mut() else { return Err(no_run()) };
        if kept.segments.last().is_none_or(Segment::is_full) {
            if let Some(full) = kept.segments.last() {
                self.syncer.sync(full)?;
            }
            let name = format!("{}-{number:016x}.blocks", stem(kept.number, kept.run));
            kept.segments.push(Segment::create(&self.folder.join(name), number)?);
        }
        kept.segments.last_mut().ok_or_else(no_run)?.append(block)
    }

    /// Has everything that was appended by now synced, without waiting for it.
    ///
    /// - Errors: what went wrong with the last time.
    pub(crate) fn sync_soon(&mut self) -> io::Result<()> {
        match self.runs.last().and_then(|kept| kept.segments.last()) {
            Some(segment) => self.syncer.sync(segment),
            None => Ok(()),
        }
    }

    /// Syncs everything that was appended, and waits for it.
    ///
    /// - Errors: the disk.
    pub(crate) fn sync_now(&self) -> io::Result<()> {
        let segment = self.runs.last().and_then(|kept| kept.segments.last());
        segment.map_or(Ok(()), |segment| segment.file().sync_data())
    }

    /// A block; nothing if it is not here, or damaged.
    #[must_use]
    pub(crate) fn block(&self, run: RunId, number: u64) -> Option<Vec<u8>> {
        self.kept(run)?.segments.iter().find_map(|segment| segment.block(number))
    }

    /// Lets blocks go. Their space is free once all of their file is let go.
    pub(crate) fn forget(&mut self, run: RunId, range: Range) {
        let grows = self.kept(run).is_some_and(|kept| self.grows(kept));
        let Some(kept) = self.runs.iter_mut().find(|kept| kept.run == run) else { return };
        // The file that still grows stays.
        let present = if grows { kept.segments.len().checked_sub(1) } else { None };
        let mut at = 0;
        kept.segments.retain_mut(|segment| {
            segment.forget(range);
            let stays = Some(at) == present || !segment.is_forgotten();
            at += 1;
            if !stays {
                segment.remove();
            }
            stays
        });
    }

    fn kept(&self, run: RunId) -> Option<&Kept> {
        self.runs.iter().find(|kept| kept.run == run)
    }
}

impl Kept {
    /// A run without blocks.
    #[cfg(test)]
    pub(crate) fn of_words(run: RunId, words: Vec<Vec<u8>>) -> Self {
        Self { run, words, number: 0, segments: Vec::new(), damaged_words: 0 }
    }

    /// The blocks that are here.
    #[must_use]
    pub(crate) fn held(&self) -> Ranges {
        self.segments.iter().flat_map(|segment| segment.held().as_slice().to_vec()).collect()
    }
}

/// Reads what the folder has, run by run.
fn read_runs(folder: &Path) -> io::Result<Vec<Kept>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".words") || name.ends_with(".blocks"))
        .collect();
    // Numbers of one length: the order of names is that of time.
    names.sort();
    let mut runs: Vec<Kept> = Vec::new();
    for name in &names {
        let Some((number, run)) = parse_stem(name) else { continue };
        if runs.last().is_none_or(|kept| kept.run != run) {
            runs.push(Kept { run, words: Vec::new(), number, segments: Vec::new(), damaged_words: 0 });
        }
        let Some(kept) = runs.last_mut() else { continue };
        let path = folder.join(name);
        if name.ends_with(".words") {
            (kept.words, kept.damaged_words) = record::read_all(&path, record::WORD)?;
        } else if let Some(segment) =
            parse_first(name).map(|first| Segment::open(&path, first)).transpose()?.flatten()
        {
            kept.segments.push(segment);
        }
    }
    let_blank_go(folder, &mut runs);
    Ok(runs)
}

/// Lets runs go that say nothing. One without a block says how far the run before it came, so it stays with that one. The last one
/// is named by the next; but one without a word was never announced.
fn let_blank_go(folder: &Path, runs: &mut Vec<Kept>) {
    let (count, mut at, mut follows_blocks) = (runs.len(), 0, false);
    runs.retain(|kept| {
        at += 1;
        let has_blocks = !kept.segments.is_empty();
        let stays = has_blocks || (!kept.words.is_empty() && (follows_blocks || at == count));
        follows_blocks |= has_blocks;
        if !stays {
            // It is found again at the next start.
            let _ = fs::remove_file(folder.join(format!("{}.words", stem(kept.number, kept.run))));
        }
        stays
    });
}

fn stem(number: u32, run: RunId) -> String {
    format!("{number:08}-{run}")
}

fn parse_stem(name: &str) -> Option<(u32, RunId)> {
    let (number, rest) = name.split_once('-')?;
    let digits = rest.get(..32)?;
    let run = u128::from_str_radix(digits, 16).ok()?.to_be_bytes();
    Some((number.parse().ok()?, RunId(run)))
}

/// The number of a file's first block, which its name says.
fn parse_first(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_suffix(".blocks")?.rsplit_once('-')?.1, 16).ok()
}

fn no_run() -> io::Error {
    io::Error::other("no run has begun")
}

const IN_USE: &str = "another program relays this stream already; end it first";

#[cfg(test)]
pub(crate) mod tests;
