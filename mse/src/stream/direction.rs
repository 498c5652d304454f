//! The state of each direction, apart from any transport: blocking and asynchronous streams share it.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};

use alloc::vec::Vec;

use crate::cipher::Cipher;
use crate::method::Method;

/// What is left to do with the bytes of the receiving direction.
#[derive(Debug)]
pub struct Incoming {
    cipher: Cipher,
    /// Payload that came along with the handshake, in the clear, and how much of it has been read.
    early: Vec<u8>,
    read: usize,
    total: u64,
}

impl Incoming {
    /// `first` is in the clear already; `rest` is as it came.
    pub(crate) fn new(mut cipher: Cipher, first: Vec<u8>, rest: &[u8]) -> Self {
        let mut early = first;
        let start = early.len();
        early.extend_from_slice(rest);
        cipher.apply(early.get_mut(start..).unwrap_or_default());
        let total = early.len() as u64;
        Self { cipher, early, read: 0, total }
    }

    pub(crate) fn method(&self) -> Method {
        self.cipher.method()
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Copies early payload out; `None` once there is none left.
    pub(crate) fn take_early(&mut self, out: &mut [u8]) -> Option<usize> {
        let left = self.early.get(self.read..).filter(|left| !left.is_empty())?;
        let len = left.len().min(out.len());
        for (slot, byte) in out.iter_mut().zip(left) {
            *slot = *byte;
        }
        self.read += len;
        if self.read == self.early.len() {
            self.early = Vec::new();
            self.read = 0;
        }
        Some(len)
    }

    /// Decrypts bytes that the transport has written to a buffer.
    pub(crate) fn open(&mut self, bytes: &mut [u8]) {
        self.cipher.apply(bytes);
        self.total += bytes.len() as u64;
    }

    pub(super) fn read(&mut self, from: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
        if let Some(len) = self.take_early(out) {
            return Ok(len);
        }
        let len = from.read(out)?;
        self.open(out.get_mut(..len).unwrap_or_default());
        Ok(len)
    }

    pub(super) fn read_vectored(
        &mut self,
        from: &mut impl Read,
        out: &mut [IoSliceMut<'_>],
    ) -> io::Result<usize> {
        if !self.early.is_empty() {
            let first = out.iter_mut().find(|slice| !slice.is_empty());
            return Ok(first.and_then(|slice| self.take_early(slice)).unwrap_or(0));
        }
        let len = from.read_vectored(out)?;
        self.open_vectored(out, len);
        Ok(len)
    }

    /// Decrypts `len` bytes that the transport has written over several buffers.
    pub(crate) fn open_vectored(&mut self, out: &mut [IoSliceMut<'_>], len: usize) {
        let mut left = len;
        for slice in out {
            let part = left.min(slice.len());
            self.open(slice.get_mut(..part).unwrap_or_default());
            left -= part;
        }
    }
}

/// What is left to do with the bytes of the sending direction.
#[derive(Debug)]
pub struct Outgoing {
    cipher: Cipher,
    /// Encrypted bytes that were accepted but not yet taken by the transport, and how many of them were.
    pending: Vec<u8>,
    sent: usize,
    total: u64,
}

impl Outgoing {
    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, pending: Vec::new(), sent: 0, total: 0 }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Encrypted bytes that must go before any others.
    pub(crate) fn pending(&self) -> &[u8] {
        self.pending.get(self.sent..).unwrap_or_default()
    }

    /// Notes that the transport took `count` pending bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.pending.len() {
            // Freed, not kept: an idle connection costs its cipher states and nothing else.
            self.pending = Vec::new();
            self.sent = 0;
        }
    }

    /// Encrypts bytes that will be sent from where they lie.
    pub(crate) fn seal(&mut self, bytes: &mut [u8]) {
        self.cipher.apply(bytes);
        self.total += bytes.len() as u64;
    }

    /// Keeps encrypted bytes that the transport did not take.
    pub(crate) fn keep(&mut self, sealed: &[u8]) {
        self.pending.extend_from_slice(sealed);
    }

    pub(super) fn write(&mut self, to: &mut impl Write, plain: &[u8]) -> io::Result<usize> {
        self.write_vectored(to, &[IoSlice::new(plain)])
    }

    /// Encrypts up to [`BLOCK`] bytes on the stack and offers them to the transport once.
    pub(super) fn write_vectored(&mut self, to: &mut impl Write, plain: &[IoSlice<'_>]) -> io::Result<usize> {
        self.drain(to)?;
        let mut block = [0; BLOCK];
        let sealed = self.gather(&mut block, plain);
        self.offer(to, sealed)?;
        Ok(sealed.len())
    }

    /// Fills `block` from `plain` and encrypts it; returns the part that was filled.
    pub(crate) fn gather<'b>(&mut self, block: &'b mut [u8; BLOCK], plain: &[IoSlice<'_>]) -> &'b [u8] {
        let mut len = 0;
        for slice in plain {
            let part = slice.len().min(BLOCK - len);
            if let (Some(to), Some(from)) = (block.get_mut(len..len + part), slice.get(..part)) {
                to.copy_from_slice(from);
            }
            len += part;
        }
        let filled = block.get_mut(..len).unwrap_or_default();
        self.seal(filled);
        filled
    }

    pub(super) fn write_in_place(&mut self, to: &mut impl Write, data: &mut [u8]) -> io::Result<()> {
        self.drain(to)?;
        self.seal(data);
        self.offer(to, data)
    }

    pub(super) fn flush(&mut self, to: &mut impl Write) -> io::Result<()> {
        self.drain(to)?;
        to.flush()
    }

    /// Writes encrypted bytes until the transport has no more room, and keeps the rest.
    fn offer(&mut self, to: &mut impl Write, sealed: &[u8]) -> io::Result<()> {
        let mut left = sealed;
        while !left.is_empty() {
            match to.write(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => left = left.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) => {
                    self.keep(left);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what is pending. Only then may new bytes be accepted.
    fn drain(&mut self, to: &mut impl Write) -> io::Result<()> {
        while !self.pending().is_empty() {
            match to.write(self.pending()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.advance(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A non-blocking socket without room, or a blocking one whose time-out passed.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Payload encrypted at a time by a copying write: the block that BitTorrent transfers are made of.
pub(crate) const BLOCK: usize = 16 * 1024;
