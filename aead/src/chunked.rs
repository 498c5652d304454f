//! Large blocks cut into chunks, each sealed on its own, side by side.
//!
//! A sealer and its opener count chunks from zero on, in step. The count is the nonce. Every tag covers the
//! length of the whole block and the chunk's index in it. So chunks that were changed, exchanged, left out,
//! repeated, or cut off at a chunk's border do not open. A transport that loses or reorders blocks needs
//! another layer above or a key per block.

use core::array;
use core::fmt;

use crate::kernel::Kernel;
use crate::{Key, MAX_MESSAGE, Message, Nonce, Tag};

/// Length of a chunk: from 512 bytes to 64 KiB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ChunkSize(usize);

impl ChunkSize {
    /// Shortest chunk, in bytes.
    pub const MIN: usize = 512;
    /// Longest chunk, in bytes.
    pub const MAX: usize = 65_536;

    /// A length within the limits, else nothing.
    #[must_use]
    pub const fn new(bytes: usize) -> Option<Self> {
        if bytes < Self::MIN || bytes > Self::MAX { None } else { Some(Self(bytes)) }
    }

    /// The length in bytes.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }

    /// How many chunks, and so tags, a block of `bytes` has; even an empty one has one.
    #[must_use]
    pub const fn count(self, bytes: usize) -> usize {
        if bytes == 0 { 1 } else { bytes.div_ceil(self.0) }
    }
}

/// Seals blocks in chunks, with nonces from its own counter.
pub struct ChunkedSealer(Chunks);

impl ChunkedSealer {
    /// Starts at chunk zero. The key must be new: nothing else may seal with it.
    #[must_use]
    pub fn new(key: Key, size: ChunkSize) -> Self {
        Self::with_kernel(Kernel::best(), key, size)
    }

    /// As [`ChunkedSealer::new`], with a kernel of the caller's choice.
    #[must_use]
    pub fn with_kernel(kernel: Kernel, key: Key, size: ChunkSize) -> Self {
        Self(Chunks { kernel, key, size, next: 0 })
    }

    /// Encrypts `block` in place and writes a tag per chunk.
    ///
    /// - Shape: `tags` has [`ChunkSize::count`] entries.
    /// - Errors: see [`ChunkedError`]; nothing was changed.
    pub fn seal(&mut self, block: &mut [u8], tags: &mut [Tag]) -> Result<(), ChunkedError> {
        let work = self.0.begin(block.len(), tags.len())?;
        for (index, (block, tags)) in work.tiles(block).zip(tags.chunks_mut(TILE)).enumerate() {
            work.seal_tile(index, block, tags);
        }
        self.0.next = work.end;
        Ok(())
    }

    /// As [`ChunkedSealer::seal`], with `workers` helping if the block is long enough to pay.
    #[cfg(feature = "std")]
    pub fn seal_parallel(
        &mut self,
        workers: &mut crate::parallel::Workers,
        block: &mut [u8],
        tags: &mut [Tag],
    ) -> Result<(), ChunkedError> {
        let work = self.0.begin(block.len(), tags.len())?;
        let length = block.len();
        workers.for_each(length, work.tiles(block).zip(tags.chunks_mut(TILE)), |index, (block, tags)| {
            work.seal_tile(index, block, tags);
        });
        self.0.next = work.end;
        Ok(())
    }
}

/// Opens what a [`ChunkedSealer`] with the same key and chunk size sealed, block by block, in order.
pub struct ChunkedOpener(Chunks);

impl ChunkedOpener {
    /// Starts at chunk zero.
    #[must_use]
    pub fn new(key: Key, size: ChunkSize) -> Self {
        Self::with_kernel(Kernel::best(), key, size)
    }

    /// As [`ChunkedOpener::new`], with a kernel of the caller's choice.
    #[must_use]
    pub fn with_kernel(kernel: Kernel, key: Key, size: ChunkSize) -> Self {
        Self(Chunks { kernel, key, size, next: 0 })
    }

    /// Checks every tag and decrypts `block` in place.
    ///
    /// - Shape: `tags` has [`ChunkSize::count`] entries.
    /// - Errors: [`ChunkedError::Forged`] if any chunk does not verify. The whole block is then zeros, and
    ///   the opener still expects this block. All others: nothing was changed.
    pub fn open(&mut self, block: &mut [u8], tags: &[Tag]) -> Result<(), ChunkedError> {
        let work = self.0.begin(block.len(), tags.len())?;
        let mut verified = true;
        for (index, (block, tags)) in work.tiles(block).zip(tags.chunks(TILE)).enumerate() {
            verified &= work.open_tile(index, block, tags);
        }
        let end = work.end;
        self.end(end, block, verified)
    }

    /// As [`ChunkedOpener::open`], with `workers` helping if the block is long enough to pay.
    #[cfg(feature = "std")]
    pub fn open_parallel(
        &mut self,
        workers: &mut crate::parallel::Workers,
        block: &mut [u8],
        tags: &[Tag],
    ) -> Result<(), ChunkedError> {
        use core::sync::atomic::{AtomicBool, Ordering};

        let work = self.0.begin(block.len(), tags.len())?;
        let verified = AtomicBool::new(true);
        let length = block.len();
        workers.for_each(length, work.tiles(block).zip(tags.chunks(TILE)), |index, (block, tags)| {
            if !work.open_tile(index, block, tags) {
                verified.store(false, Ordering::Relaxed);
            }
        });
        let (end, verified) = (work.end, verified.into_inner());
        self.end(end, block, verified)
    }

    /// Moves on to the chunk `end`, or wipes the block.
    fn end(&mut self, end: u64, block: &mut [u8], verified: bool) -> Result<(), ChunkedError> {
        if !verified {
            block.fill(0);
            return Err(ChunkedError::Forged);
        }
        self.0.next = end;
        Ok(())
    }
}

/// Why a block was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChunkedError {
    /// All nonces of this key have been used: agree on a new key.
    Exhausted,
    /// A chunk did not verify: damage, an attack, or not the block that is next.
    Forged,
    /// The caller's slice of tags is not as long as the block has chunks.
    TagCount,
}

impl fmt::Display for ChunkedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "the key has sealed as many chunks as it may",
            Self::Forged => "a chunk did not verify",
            Self::TagCount => "there must be one tag per chunk",
        })
    }
}

impl core::error::Error for ChunkedError {}

/// What sealer and opener have in common.
struct Chunks {
    kernel: Kernel,
    key: Key,
    size: ChunkSize,
    /// Counter of the next chunk.
    next: u64,
}

impl Chunks {
    /// Checks the call and reserves its counters.
    fn begin(&self, bytes: usize, tags: usize) -> Result<Work<'_>, ChunkedError> {
        let count = self.size.count(bytes);
        if tags != count {
            return Err(ChunkedError::TagCount);
        }
        let end = self.next.checked_add(count as u64).ok_or(ChunkedError::Exhausted)?;
        Ok(Work {
            kernel: self.kernel,
            key: &self.key,
            size: self.size,
            first: self.next,
            end,
            bytes: bytes as u64,
        })
    }
}

/// One block being sealed or opened, tile by tile: a tile is what one kernel call takes.
#[derive(Clone, Copy)]
struct Work<'a> {
    kernel: Kernel,
    key: &'a Key,
    size: ChunkSize,
    first: u64,
    end: u64,
    bytes: u64,
}

impl Work<'_> {
    /// Cuts a block into tiles.
    fn tiles<'b>(&self, block: &'b mut [u8]) -> impl Iterator<Item = &'b mut [u8]> + use<'b> {
        // An empty block has a tag but yields no bytes: an empty tile stands for it.
        let nothing: Option<&mut [u8]> = if block.is_empty() { Some(&mut []) } else { None };
        block.chunks_mut(self.size.0 * TILE).chain(nothing)
    }

    fn seal_tile(&self, tile: usize, block: &mut [u8], tags: &mut [Tag]) {
        self.with_messages(tile, block, tags.len(), |messages| {
            self.kernel.seal_batch(messages).expect("no chunk is longer than a message may be");
            for (tag, message) in tags.iter_mut().zip(messages) {
                *tag = message.tag;
            }
        });
    }

    fn open_tile(&self, tile: usize, block: &mut [u8], tags: &[Tag]) -> bool {
        self.with_messages(tile, block, tags.len(), |messages| {
            for (tag, message) in tags.iter().zip(&mut *messages) {
                message.tag = *tag;
            }
            self.kernel.open_batch(messages).is_ok()
        })
    }

    /// Calls `each` on the tile's chunks as messages.
    fn with_messages<R>(
        &self,
        tile: usize,
        block: &mut [u8],
        count: usize,
        each: impl FnOnce(&mut [Message<'_>]) -> R,
    ) -> R {
        let start = (tile * TILE) as u64;
        let aads: [[u8; 16]; TILE] = array::from_fn(|i| {
            let mut aad = [0; 16];
            aad[..8].copy_from_slice(&self.bytes.to_le_bytes());
            aad[8..].copy_from_slice(&(start + i as u64).to_le_bytes());
            aad
        });
        let mut chunks = block.chunks_mut(self.size.0);
        let mut messages: [Message<'_>; TILE] = array::from_fn(|i| {
            let mut nonce = [0; Nonce::LEN];
            // Places after the last chunk may wrap; they are not used.
            nonce[4..].copy_from_slice(&self.first.wrapping_add(start + i as u64).to_le_bytes());
            Message::plain(self.key, Nonce(nonce), &aads[i], chunks.next().unwrap_or_default())
        });
        each(&mut messages[..count])
    }
}

/// Chunks that one kernel call takes.
const TILE: usize = 16;
const _: () = assert!(ChunkSize::MAX as u64 <= MAX_MESSAGE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_counters_are_refused_before_a_nonce_repeats() {
        let size = ChunkSize(512);
        let mut sealer = ChunkedSealer::new(Key::new(&[1; 32]), size);
        sealer.0.next = u64::MAX - 2;
        let mut block = [7; 1536];
        let mut tags = [Tag([0; 16]); 3];
        assert_eq!(sealer.seal(&mut block, &mut tags), Err(ChunkedError::Exhausted));
        assert_eq!(block, [7; 1536]);
        assert_eq!(sealer.seal(&mut block[..1024], &mut tags[..2]), Ok(()));
        assert_eq!(sealer.seal(&mut [], &mut tags[..1]), Err(ChunkedError::Exhausted));
    }
}
