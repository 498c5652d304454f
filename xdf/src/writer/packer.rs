//! What compresses a recording while it is written, in the format of gzip (RFC 1952).
//!
//! Everything appended leaves it at once, so a killed process loses no more than with a plain file.

use core::fmt;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses what is appended.
pub(super) struct Packer(GzEncoder<Vec<u8>>);

impl Packer {
    pub(super) fn new() -> Self {
        // Recorders must not fall behind; more effort saves a few percent of such data.
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// Takes in plain bytes.
    pub(super) fn pack(&mut self, plain: &[u8]) -> io::Result<()> {
        self.0.write_all(plain)
    }

    /// Ends a block, so that a reader finds all that was taken in.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// The most bytes of a file that so many plain ones take, with those that wait. Bytes that do not compress are stored
    /// in blocks (RFC 1951 §3.2.4).
    pub(super) fn bytes_max(&self, plain: u64) -> u64 {
        let blocks = (plain / BLOCK_BYTES_MIN).saturating_add(2);
        plain
            .saturating_add(blocks.saturating_mul(BLOCK_OVERHEAD))
            .saturating_add(self.outgoing().len() as u64)
    }

    /// What goes into the file next; [`Packer::sent`] says that it is there.
    pub(super) fn outgoing(&self) -> &[u8] {
        self.0.get_ref()
    }

    pub(super) fn sent(&mut self) {
        self.0.get_mut().clear();
    }

    /// The end of the file.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        self.0.finish()
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Stored blocks are no shorter than this, but the last.
const BLOCK_BYTES_MIN: u64 = 8 << 10;
/// Heads of blocks, and of the file.
const BLOCK_OVERHEAD: u64 = 32;
