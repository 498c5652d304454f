//! The sealed blocks of one run on a recorder's disk, in their order of arrival, and the words that open them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use schwann::security::keys::store;
use schwann_relay::{Block, Place, RunId};

use crate::far::ClockBound;
use crate::journal::record;

pub(super) struct Archive {
    run: RunId,
    blocks: File,
    words: File,
    clocks: File,
    /// When the clock that was kept last was measured.
    clock_measured: f64,
    /// The words and places that were on the disk.
    restored: (Vec<Vec<u8>>, Vec<Place>),
    /// Where each block begins.
    offsets: BTreeMap<u64, u64>,
    bytes: u64,
    samples: u64,
    unsynced: bool,
}

impl Archive {
    pub(super) fn create(folder: &Path, run: RunId) -> io::Result<Self> {
        Ok(Self {
            run,
            blocks: record::create(&folder.join(format!("{run}.blocks")))?,
            words: record::create(&folder.join(format!("{run}.words")))?,
            clocks: record::create(&folder.join(format!("{run}.clocks")))?,
            clock_measured: 0.0,
            restored: Default::default(),
            offsets: BTreeMap::new(),
            bytes: 0,
            samples: 0,
            unsynced: false,
        })
    }

    fn open(folder: &Path, stem: &str) -> io::Result<Option<Self>> {
        let Ok(run) = u128::from_str_radix(stem, 16) else { return Ok(None) };
        let open = |end: &str| {
            let path = folder.join(format!("{stem}.{end}"));
            if path.exists() {
                File::options().read(true).append(true).open(path)
            } else {
                record::create(&path)
            }
        };
        let words = record::read_all(&folder.join(format!("{stem}.words")))?;
        let mut archive = Self {
            run: RunId(run.to_be_bytes()),
            blocks: open("blocks")?,
            words: open("words")?,
            clocks: open("clocks")?,
            clock_measured: 0.0,
            restored: (words, Vec::new()),
            offsets: BTreeMap::new(),
            bytes: 0,
            samples: 0,
            unsynced: true,
        };
        while let Some(bytes) = record::read_at(&archive.blocks, archive.bytes)? {
            if let Ok(block) = Block::parse(&bytes) {
                let place = block.place();
                if archive.note(place.number, u64::from(place.count), archive.bytes) {
                    archive.restored.1.push(place);
                }
            }
            archive.bytes += record::length(&bytes);
        }
        // A torn end is cut off: it was never receipted.
        archive.blocks.set_len(archive.bytes)?;
        Ok(Some(archive))
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

    /// The words that were on the disk, and the places of its blocks.
    pub(super) fn take_restored(&mut self) -> (Vec<Vec<u8>>, Vec<Place>) {
        core::mem::take(&mut self.restored)
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
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(bytes) = record::read_at(&self.clocks, at)? {
            at += record::length(&bytes);
            if let ([measured, offset, bound], []) = bytes.as_chunks::<8>() {
                let [measured, offset, bound] = [*measured, *offset, *bound].map(f64::from_le_bytes);
                all.push(ClockBound { offset, bound, measured, by_wall: None });
            }
        }
        Ok(all)
    }

    pub(super) fn keep(&mut self, number: u64, sealed: &[u8]) -> io::Result<()> {
        if self.offsets.contains_key(&number) {
            return Ok(());
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
        let is_new = self.offsets.insert(number, at).is_none();
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
            Some(at) => record::read_at(&self.blocks, *at),
            None => Ok(None),
        }
    }
}

/// Seconds between two measurements that are kept, as LabRecorder has it.
const CLOCK_EVERY: f64 = 5.0;

/// All archives of a folder.
pub(super) fn read_all(folder: &Path) -> io::Result<Vec<Archive>> {
    let mut archives = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".words")) {
            archives.extend(Archive::open(folder, stem)?);
        }
    }
    Ok(archives)
}

/// When the recording began first, in seconds since 1970; notes it if it begins now.
pub(super) fn begin(path: &Path, now: u64) -> io::Result<u64> {
    if let Some(bytes) = fs::read(path).ok().and_then(|bytes| bytes.try_into().ok()) {
        return Ok(u64::from_le_bytes(bytes));
    }
    store::write_private(path, &now.to_le_bytes()).map_err(io::Error::other)?;
    Ok(now)
}
