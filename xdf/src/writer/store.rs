//! The file: whole chunks appended, and room kept for the footers.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use std::time::Instant;

use super::Failure;
use super::wrapper::Wrapper;
use crate::checksum::{Checksum, Ledger, Proof};
use crate::sys;

/// A file that only ever holds whole chunks, as far as we can help it.
#[derive(Debug)]
pub(super) struct Store {
    file: Arc<File>,
    /// Bytes of whole chunks of the recording.
    len: u64,
    /// Bytes in the file; as many, unless it is sealed or compressed.
    file_bytes: u64,
    wrapper: Option<Wrapper>,
    /// Bytes up to which the file system has promised space.
    promised: u64,
    promises: Promises,
    ledger: Ledger,
}

/// Whether the file system promises space.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Promises {
    Kept,
    Unsupported,
}

impl Store {
    pub(super) fn new(file: File, wrapper: Option<Wrapper>) -> Self {
        Self {
            file: Arc::new(file),
            len: 0,
            file_bytes: 0,
            wrapper,
            promised: 0,
            promises: Promises::Kept,
            ledger: Ledger::default(),
        }
    }

    /// Appends whole chunks, leaving `reserve` bytes free for [`Store::append_reserved`].
    ///
    /// - Errors: [`Failure`]; the file is then cut back to where it was.
    pub(super) fn append(&mut self, pieces: &[&[u8]], reserve: u64) -> Result<(), Failure> {
        self.send()?;
        let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        let needed = bytes.saturating_add(reserve);
        let needed = self.wrapper.as_ref().map_or(needed, |wrapper| wrapper.bytes_max(needed));
        // If this fails, what was promised before stays ours: the footers need it.
        self.promise(needed)?;
        self.write_whole(pieces, bytes)
    }

    /// Appends whole chunks into the room that was left.
    pub(super) fn append_reserved(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.write_whole(&[piece], piece.len() as u64)
    }

    /// Appends a chunk that stands for nothing, if samples have waited in memory for long because the file is sealed.
    pub(super) fn push_out(&mut self, reserve: u64) -> Result<(), Failure> {
        let Some(filler) = self.wrapper.as_ref().and_then(|wrapper| wrapper.filler(Instant::now())) else {
            return Ok(());
        };
        self.append(&[&filler], reserve)?;
        self.wrapper.iter_mut().for_each(Wrapper::filled);
        Ok(())
    }

    /// Ends what is sealed or compressed; nothing is appended after it.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        self.send()?;
        let Some(wrapper) = self.wrapper.take() else { return Ok(()) };
        let last = wrapper.finish()?;
        self.write_to_file(&[&last], last.len() as u64)
    }

    /// Gives back what was promised and not used.
    pub(super) fn trim(&mut self) {
        self.cut();
    }

    /// Waits until the file is on the disk.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.file.sync_all().map_err(Failure::from)
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) const fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    fn write_whole(&mut self, pieces: &[&[u8]], bytes: u64) -> Result<(), Failure> {
        match &mut self.wrapper {
            None => self.write_to_file(pieces, bytes)?,
            Some(wrapper) => wrapper.take_in(pieces)?,
        }
        self.len += bytes;
        pieces.iter().for_each(|piece| self.ledger.take_in(piece));
        // What was taken in cannot be taken back, only sent later: the next call tries again, and says so.
        let _ = self.send();
        Ok(())
    }

    /// Writes what has been wrapped and is not in the file.
    fn send(&mut self) -> Result<(), Failure> {
        let Some(mut wrapper) = self.wrapper.take() else { return Ok(()) };
        let sent = wrapper.with_outgoing(|bytes| match bytes {
            [] => Ok(()),
            bytes => self.write_to_file(&[bytes], bytes.len() as u64),
        });
        if sent.is_ok() {
            wrapper.sent();
        }
        self.wrapper = Some(wrapper);
        sent
    }

    fn write_to_file(&mut self, pieces: &[&[u8]], bytes: u64) -> Result<(), Failure> {
        if let Err(error) = self.write(pieces) {
            self.cut();
            return Err(Failure::from(error));
        }
        self.file_bytes += bytes;
        Ok(())
    }

    /// Whether a checksum is due, by the bytes since the last.
    pub(super) const fn is_checksum_due(&self) -> bool {
        self.ledger.is_due()
    }

    /// Appends the checksum of what came since the last one, into the room that was left.
    pub(super) fn append_checksum(&mut self) -> Result<(), Failure> {
        // The piece ends even if its checksum cannot be written: then the file has no more of them.
        let Some(checksum) = self.ledger.end_piece() else { return Ok(()) };
        let mut chunk = Vec::with_capacity(Checksum::CHUNK_BYTES);
        checksum.put(&mut chunk);
        self.write_whole(&[&chunk], chunk.len() as u64)
    }

    /// The hashes of the file and its pieces.
    pub(super) fn proof(self) -> Proof {
        self.ledger.finish()
    }

    fn write(&self, pieces: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut slices = slices.as_mut_slice();
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match (&*self.file).write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut slices, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Cuts off what is not a whole chunk, and the space promised beyond it.
    fn cut(&mut self) {
        use std::io::Seek as _;
        // If even this fails, a torn chunk stays at the end, which every reader skips.
        let end = self.file_bytes;
        let _ = self.file.set_len(end).and_then(|()| (&*self.file).seek(io::SeekFrom::Start(end)));
        self.promised = end;
    }

    fn promise(&mut self, bytes: u64) -> io::Result<()> {
        let needed = self.file_bytes.saturating_add(bytes);
        if self.promises == Promises::Unsupported || needed <= self.promised {
            return Ok(());
        }
        // Reserves ahead in large steps; if the disk has less left, exactly the needed
        // bytes.
        let ahead = needed.saturating_add(PROMISE_STEP);
        let promised = match sys::allocate(&self.file, ahead) {
            Ok(()) => Ok(ahead),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                sys::allocate(&self.file, needed).map(|()| needed)
            }
            Err(error) => Err(error),
        };
        match promised {
            Ok(promised) => self.promised = promised,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            // The file system makes no promises, or it has another limit, which a write will report.
            Err(_) => self.promises = Promises::Unsupported,
        }
        Ok(())
    }
}

/// Space promised ahead in one step.
const PROMISE_STEP: u64 = 8 << 20;
