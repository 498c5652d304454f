//! A file of blocks whose numbers follow each other.

use core::time::Duration;
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
    /// Where each block begins; nothing of one that is damaged.
    offsets: Vec<Option<u32>>,
    bytes: u64,
    damaged: Ranges,
    /// Blocks that are not needed any more, and the damaged ones.
    forgotten: Ranges,
}

impl Segment {
    /// Begins a file whose first block is `first`.
    pub(super) fn create(path: &Path, first: u64) -> io::Result<Self> {
        Ok(Self::of(path, record::create(path)?, first))
    }

    fn of(path: &Path, file: File, first: u64) -> Self {
        let (damaged, forgotten) = Default::default();
        Self { path: path.to_owned(), file, first, offsets: Vec::new(), bytes: 0, damaged, forgotten }
    }

    /// Opens a file whose first block is `first`; a torn end is cut off. Nothing if no block is in it.
    pub(super) fn open(path: &Path, first: u64) -> io::Result<Option<Self>> {
        let file = File::options().read(true).append(true).open(path)?;
        let end = file.metadata()?.len();
        let mut segment = Self::of(path, file, first);
        segment.read(end)?;
        if segment.offsets.is_empty() && end > record::LONGEST_RECORD {
            // More than a torn record, and nothing of it can be read: it stays, and counts as one block at least.
            segment.offsets.push(None);
            segment.bytes = end;
        } else {
            segment.cut_torn_end(end)?;
        }
        if segment.offsets.is_empty() {
            fs::remove_file(path)?;
            return Ok(None);
        }
        let numbered = (first..).zip(&segment.offsets).filter(|(_, at)| at.is_none());
        segment.damaged = numbered.map(|(number, _)| Range::one(number)).collect();
        segment.forgotten = segment.damaged.clone();
        Ok(Some(segment))
    }

    /// Finds all blocks. Where a head is not that of the next block, the next whole block behind it is looked for.
    fn read(&mut self, end: u64) -> io::Result<()> {
        while self.bytes < end {
            let number = self.first.saturating_add(self.offsets.len() as u64);
            let length = match head_at(&self.file, self.bytes, number, end)? {
                Some(length) => length,
                None => match self.step_over(number)? {
                    Some(length) => length,
                    None => return Ok(()),
                },
            };
            self.offsets.push(Some(offset(self.bytes)?));
            self.bytes += length;
        }
        Ok(())
    }

    /// Steps over what is damaged to the next whole block, and returns its length; nothing if there is none.
    fn step_over(&mut self, expected: u64) -> io::Result<Option<u64>> {
        let mut from = self.bytes;
        while let Some((at, bytes)) = record::next(&self.file, from, record::BLOCK)? {
            let length = record::length(&bytes);
            let skipped = Block::parse(&bytes).ok().and_then(|block| block.number().checked_sub(expected));
            // Each block between took room. A file that was put in the place of another has other numbers.
            if let Some(skipped) = skipped.filter(|count| *count <= (at - self.bytes) / SHORTEST) {
                let missing = usize::try_from(skipped).map_err(io::Error::other)?;
                self.offsets.resize(self.offsets.len().saturating_add(missing), None);
                self.bytes = at;
                return Ok(Some(length));
            }
            from = at + length;
        }
        Ok(None)
    }

    /// A loss of power may keep the length of a file and not its content. So anything at the end that is no block is cut off.
    fn cut_torn_end(&mut self, end: u64) -> io::Result<()> {
        while let Some(last) = self.offsets.last().copied() {
            let number = self.first.saturating_add(self.offsets.len() as u64 - 1);
            if last.is_some() && self.block(number).is_some() {
                break;
            }
            self.bytes = last.map_or(self.bytes, u64::from);
            self.offsets.pop();
        }
        if self.bytes < end { self.file.set_len(self.bytes) } else { Ok(()) }
    }

    pub(super) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        let at = offset(self.bytes)?;
        self.bytes += record::append(&mut self.file, block)?;
        self.offsets.push(Some(at));
        Ok(())
    }

    pub(super) fn block(&self, number: u64) -> Option<Vec<u8>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let bytes = record::read_at(&self.file, u64::from((*self.offsets.get(at)?)?)).ok()??;
        // A file that was put in the place of another gives nothing.
        (Block::parse(&bytes).ok()?.number() == number).then_some(bytes)
    }

    /// The blocks in it.
    pub(super) fn held(&self) -> Ranges {
        self.range().map_or_else(Ranges::default, |all| self.damaged.missing(all))
    }

    /// The blocks in it whose heads are damaged.
    pub(super) fn damaged(&self) -> &Ranges {
        &self.damaged
    }

    /// The numbers from its first block to its last.
    pub(super) fn range(&self) -> Option<Range> {
        let count = u64::try_from(self.offsets.len()).ok()?;
        let last = self.first.checked_add(count.checked_sub(1)?)?;
        Some(Range { first: self.first, last })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long ago something was appended; nothing if the wall clock says that is to come.
    pub(super) fn age(&self) -> Duration {
        let written = self.file.metadata().and_then(|about| about.modified());
        written.ok().and_then(|then| then.elapsed().ok()).unwrap_or_default()
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

/// The length of the record at `at`, if it begins as block `number` does and the file has all of it. Its content is not looked at: a
/// journal has gigabytes.
fn head_at(file: &File, at: u64, number: u64, end: u64) -> io::Result<Option<u64>> {
    let Some((length, begin)) = record::begin_at(file, at)? else { return Ok(None) };
    let is_block = Block::head(&begin) == Some((number, length as usize));
    let whole = record::HEAD as u64 + u64::from(length);
    Ok((is_block && at.checked_add(whole).is_some_and(|behind| behind <= end)).then_some(whole))
}

fn offset(bytes: u64) -> io::Result<u32> {
    u32::try_from(bytes).map_err(io::Error::other)
}

/// A segment takes no more blocks beyond this many bytes.
const FULL: u64 = 32 << 20;
/// Shortest record of a block.
const SHORTEST: u64 = (record::HEAD + Block::SHORTEST) as u64;
