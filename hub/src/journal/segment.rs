//! A file of blocks whose numbers follow each other.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use schwann_relay::{Block, Range, Ranges};

use super::record;

/// Some blocks of one run in one file.
pub(super) struct Segment {
    path: PathBuf,
    file: File,
    first: u64,
    /// Where each block begins.
    offsets: Vec<u32>,
    bytes: u64,
    forgotten: Ranges,
}

impl Segment {
    /// Begins a file whose first block is `first`.
    pub(super) fn create(path: &Path, first: u64) -> io::Result<Self> {
        let file = record::create(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            first,
            offsets: Vec::new(),
            bytes: 0,
            forgotten: Ranges::default(),
        })
    }

    /// Opens a file; a torn end is cut off. Nothing if no block is in it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::options().read(true).append(true).open(path)?;
        let end = file.metadata()?.len();
        let Some(first) =
            record::read_at(&file, 0)?.and_then(|bytes| Some(Block::parse(&bytes).ok()?.number()))
        else {
            fs::remove_file(path)?;
            return Ok(None);
        };
        let (mut offsets, mut bytes) = (Vec::new(), 0);
        while let Some(length) = record::length_at(&file, bytes, end)? {
            offsets.push(offset(bytes)?);
            bytes += length;
        }
        // A loss of power may keep the length of a file and not its content. So anything at the end that is no block
        // is cut off.
        let is_block = |at: u32, number: u64| -> io::Result<bool> {
            let bytes = record::read_at(&file, u64::from(at))?;
            Ok(bytes.is_some_and(|bytes| Block::parse(&bytes).is_ok_and(|block| block.number() == number)))
        };
        while let Some(last) = offsets.last().copied()
            && !is_block(last, first.saturating_add(offsets.len() as u64 - 1))?
        {
            bytes = u64::from(last);
            offsets.pop();
        }
        if bytes < end {
            file.set_len(bytes)?;
        }
        Ok(Some(Self { path: path.to_owned(), file, first, offsets, bytes, forgotten: Ranges::default() }))
    }

    pub(super) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        let at = offset(self.bytes)?;
        self.bytes += record::append(&mut self.file, block)?;
        self.offsets.push(at);
        Ok(())
    }

    pub(super) fn block(&self, number: u64) -> Option<Vec<u8>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let bytes = record::read_at(&self.file, u64::from(*self.offsets.get(at)?)).ok()??;
        // A file that was put in the place of another gives nothing.
        (Block::parse(&bytes).ok()?.number() == number).then_some(bytes)
    }

    /// The numbers in it.
    pub(super) fn range(&self) -> Option<Range> {
        let count = u64::try_from(self.offsets.len()).ok()?;
        let last = self.first.checked_add(count.checked_sub(1)?)?;
        Some(Range { first: self.first, last })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= FULL
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Notes that these blocks are not needed any more.
    pub(super) fn forget(&mut self, range: Range) {
        let Some(own) = self.range() else { return };
        let (first, last) = (range.first.max(own.first), range.last.min(own.last));
        if first <= last {
            self.forgotten.insert(Range { first, last });
        }
    }

    /// Whether none of its blocks is needed any more.
    pub(super) fn is_forgotten(&self) -> bool {
        self.range().is_none_or(|own| self.forgotten.missing(own).is_empty())
    }

    pub(super) fn remove(&self) {
        // A file that stays takes space and is found again at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

fn offset(bytes: u64) -> io::Result<u32> {
    u32::try_from(bytes).map_err(io::Error::other)
}

/// A segment takes no more blocks beyond this many bytes.
const FULL: u64 = 32 << 20;
