//! The sealed blocks of one run on a recorder's disk, in their order of arrival, and the words that open them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;

use schwann::{local_clock, security::keys::store};
use schwann_relay::{Block, BlockPlace, Range, Ranges, RunId};

use crate::far::ClockBound;
use crate::journal::record;

pub(super) struct Archive {
    run: RunId,
    /// The first block that is wanted; nothing if the disk does not say it.
    floor: Option<u64>,
    blocks: File,
    words: File,
    clocks: File,
    /// When the clock that was kept last was measured.
    clock_measured: f64,
    restored: Restored,
    /// Where each block begins, and its count of samples.
    offsets: BTreeMap<u64, (u64, u64)>,
    bytes: u64,
    samples: u64,
    /// When a block came that is newer than all before, in seconds on the local clock.
    rose: f64,
    /// Blocks that the disk gave back damaged.
    damaged: Ranges,
    unsynced: bool,
}

/// What was on the disk.
#[derive(Default)]
pub(super) struct Restored {
    /// Announcements and wrapped keys.
    pub(super) words: Vec<Vec<u8>>,
    /// The places of the blocks.
    pub(super) places: Vec<BlockPlace>,
    /// Places of the files that are damaged: a block there counts as missing.
    pub(super) damaged: u64,
}

impl Archive {
    /// Begins with a run of which blocks from `floor` on are wanted.
    pub(super) fn create(folder: &Path, run: RunId, floor: u64) -> io::Result<Self> {
        // Without it, a recorder that goes on would not know of a hole below its lowest block.
        store::write_private(&folder.join(format!("{run}.{FLOOR}")), &floor.to_le_bytes())
            .map_err(io::Error::other)?;
        let create = |end: &str| record::create(&folder.join(format!("{run}.{end}")));
        Ok(Self::of(run, Some(floor), [create("blocks")?, create("words")?, create("clocks")?]))
    }

    fn of(run: RunId, floor: Option<u64>, [blocks, words, clocks]: [File; 3]) -> Self {
        Self {
            run,
            floor,
            blocks,
            words,
            clocks,
            clock_measured: 0.0,
            restored: Restored::default(),
            offsets: BTreeMap::new(),
            bytes: 0,
            samples: 0,
            rose: local_clock(),
            damaged: Ranges::default(),
            unsynced: false,
        }
    }

    fn open(folder: &Path, run: RunId) -> io::Result<Self> {
        let path = |end: &str| folder.join(format!("{run}.{end}"));
        let open = |end: &str| match File::options().read(true).append(true).open(path(end)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => record::create(&path(end)),
            opened => opened,
        };
        let floor =
            fs::read(path(FLOOR)).ok().and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let mut archive = Self::of(run, floor, [open("blocks")?, open("words")?, open("clocks")?]);
        archive.read()?;
        Ok(archive)
    }

    /// Reads what the files have. A torn end is cut off: it was never receipted.
    fn read(&mut self) -> io::Result<()> {
        let (mut words, mut found) = (Vec::new(), Vec::new());
        let of_words = record::restore(&self.words, record::WORD, |_, word| words.push(word))?;
        let of_clocks = record::restore(&self.clocks, b"", |_, _| {})?;
        let of_blocks = record::restore(&self.blocks, record::BLOCK, |at, bytes| {
            found.extend(Block::parse(&bytes).ok().map(|block| (at, block.place())));
        })?;
        found.retain(|(at, place)| self.note(place.number, u64::from(place.count), *at));
        self.bytes = of_blocks.end;
        self.unsynced = true;
        let damaged = [of_words, of_clocks, of_blocks].iter().map(|scanned| scanned.damaged).sum();
        let places = found.into_iter().map(|(_, place)| place).collect();
        self.restored = Restored { words, places, damaged };
        Ok(())
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn blocks(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// When a block came that is newer than all before, in seconds on the local clock; or when this archive was opened.
    pub(super) fn rose(&self) -> f64 {
        self.rose
    }

    /// Blocks that the disk gave back damaged: they are missing.
    pub(super) fn damaged(&self) -> &Ranges {
        &self.damaged
    }

    /// A block cannot be read any more.
    pub(super) fn lose(&mut self, number: u64) {
        if let Some((_, samples)) = self.offsets.remove(&number) {
            self.samples -= samples;
            self.damaged.insert(Range::one(number));
        }
    }

    /// The first block that is wanted; nothing if the disk does not say it.
    pub(super) fn floor(&self) -> Option<u64> {
        self.floor
    }

    /// What was on the disk, for the one who goes on with it.
    pub(super) fn restored(&mut self) -> &mut Restored {
        &mut self.restored
    }

    pub(super) fn keep_word(&mut self, word: &[u8]) -> io::Result<()> {
        record::append(&mut self.words, word)?;
        self.unsynced = true;
        Ok(())
    }

    /// Keeps a measurement of the stream's clock, one every [`CLOCK_EVERY`] seconds.
    pub(super) fn keep_clock(&mut self, clock: ClockBound) -> io::Result<()> {
        if (clock.measured - self.clock_measured).abs() < CLOCK_EVERY {
            return Ok(());
        }
        self.clock_measured = clock.measured;
        let record = [clock.measured, clock.offset, clock.bound].map(f64::to_le_bytes).concat();
        record::append(&mut self.clocks, &record).map(drop)
    }

    /// All measurements.
    pub(super) fn clocks(&self) -> io::Result<Vec<ClockBound>> {
        let mut all = Vec::new();
        record::scan(&self.clocks, b"", |_, bytes| {
            if let ([measured, offset, bound], []) = bytes.as_chunks::<8>() {
                let [measured, offset, bound] = [*measured, *offset, *bound].map(f64::from_le_bytes);
                all.push(ClockBound { offset, bound, measured, by_wall: None });
            }
        })?;
        Ok(all)
    }

    pub(super) fn keep(&mut self, number: u64, sealed: &[u8]) -> io::Result<()> {
        if self.offsets.contains_key(&number) {
            return Ok(());
        }
        if self.offsets.last_key_value().is_none_or(|(newest, _)| number > *newest) {
            self.rose = local_clock();
        }
        let at = self.bytes;
        self.bytes += record::append(&mut self.blocks, sealed)?;
        let count = Block::parse(sealed).map_or(0, |block| u64::from(block.place().count));
        self.note(number, count, at);
        self.unsynced = true;
        Ok(())
    }

    /// Notes where a block is; says whether it is new.
    fn note(&mut self, number: u64, samples: u64, at: u64) -> bool {
        let is_new = self.offsets.insert(number, (at, samples)).is_none();
        self.samples += if is_new { samples } else { 0 };
        is_new
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        if core::mem::take(&mut self.unsynced) {
            // Without its words a block cannot be opened again.
            self.words.sync_data()?;
            self.blocks.sync_data()?;
        }
        Ok(())
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.offsets.keys().copied()
    }

    pub(super) fn block(&self, number: u64) -> io::Result<Option<Vec<u8>>> {
        match self.offsets.get(&number) {
            Some((at, _)) => record::read_at(&self.blocks, *at),
            None => Ok(None),
        }
    }
}

/// All archives of a folder.
pub(super) fn read_all(folder: &Path) -> io::Result<Vec<Archive>> {
    let mut runs = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_of_run = path.extension().is_some_and(|end| end == "words" || end == "blocks");
        let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_of_run);
        runs.extend(stem.and_then(|stem| u128::from_str_radix(stem, 16).ok()));
    }
    runs.into_iter().map(|run| Archive::open(folder, RunId(run.to_be_bytes()))).collect()
}

/// When the recording began first, in seconds since 1970; notes it if it begins now.
pub(super) fn begin(path: &Path, now: u64) -> io::Result<u64> {
    if let Some(bytes) = fs::read(path).ok().and_then(|bytes| bytes.try_into().ok()) {
        return Ok(u64::from_le_bytes(bytes));
    }
    store::write_private(path, &now.to_le_bytes()).map_err(io::Error::other)?;
    Ok(now)
}

/// Seconds between two measurements that are kept, as LabRecorder has it.
const CLOCK_EVERY: f64 = 5.0;
/// The end of the name of the file that says which block is the first that is wanted.
const FLOOR: &str = "floor";

#[cfg(test)]
mod tests;
