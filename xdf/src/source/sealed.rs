//! A sealed recording, opened chunk by chunk, in any order.
//!
//! A file that was cut off opens as far as its whole chunks go. A chunk that does not open is a hole. It reads as
//! bytes that begin no sample, and the reader leaves out its neighbourhood.

use core::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use age::stream::StreamReader;
use age::{DecryptError, Decryptor};
use zeroize::Zeroizing;

use super::Flaws;
use crate::reader::{Damage, DamageKind, ReadError};
use crate::sealing::{Identities, Sealed};

/// A sealed file and the chunk that was opened last.
pub(super) struct SealedFile {
    file: Arc<File>,
    identities: Identities,
    stream: StreamReader<Arc<File>>,
    /// Plain bytes in all chunks that are there.
    len: u64,
    at: u64,
    /// The number of the chunk in `plain`.
    opened: Option<u64>,
    plain: Zeroizing<Vec<u8>>,
    flaws: Flaws,
}

impl SealedFile {
    /// Opens the file with the first of the keys that fits.
    ///
    /// - Errors: [`ReadError::Sealed`] without a key, [`ReadError::WrongKey`], [`ReadError::Seal`], [`ReadError::SealCut`].
    pub(super) fn open(file: File, identities: Identities) -> Result<Self, ReadError> {
        if identities.is_empty() {
            return Err(ReadError::Sealed);
        }
        let file = Arc::new(file);
        let mut stream = stream(&file, &identities)?;
        let begin = (&*file).stream_position()?;
        let sealed_bytes = file.metadata()?.len().saturating_sub(begin);
        let (len, end) = match stream.seek(SeekFrom::End(0)) {
            Ok(len) => (len, None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                if sealed_bytes < SEALED_CHUNK_BYTES {
                    return Err(ReadError::SealCut);
                }
                let len = sealed_bytes / SEALED_CHUNK_BYTES * CHUNK_BYTES;
                let end =
                    Damage { at: len, bytes: sealed_bytes % SEALED_CHUNK_BYTES, kind: DamageKind::SealTorn };
                (len, Some(end))
            }
            Err(error) => return Err(error.into()),
        };
        // The look at the end has moved it.
        let stream = self::stream(&file, &identities)?;
        let (plain, flaws) = (Zeroizing::new(Vec::new()), Flaws::new(end));
        Ok(Self { file, identities, stream, len, at: 0, opened: None, plain, flaws })
    }

    pub(super) fn flaws(&self) -> Flaws {
        self.flaws.clone()
    }

    /// Opens the chunk of this number.
    fn load(&mut self, number: u64) -> io::Result<()> {
        let begin = number * CHUNK_BYTES;
        let len = usize::try_from(CHUNK_BYTES.min(self.len - begin)).unwrap_or_default();
        self.plain.resize(len, 0);
        self.opened = None;
        // Not to the chunk's first byte at once. That would need the end of the file, which may be missing.
        let opened = self
            .stream
            .seek(SeekFrom::Start(begin + 1))
            .and_then(|_| self.stream.seek(SeekFrom::Start(begin)))
            .and_then(|_| self.stream.read_exact(&mut self.plain));
        match opened {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.plain.fill(HOLE);
                self.flaws.add_hole(begin..begin + len as u64);
                // After an error it opens nothing any more.
                self.stream = stream(&self.file, &self.identities)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            }
            Err(error) => return Err(error),
        }
        self.opened = Some(number);
        Ok(())
    }
}

impl Read for SealedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.len || out.is_empty() {
            return Ok(0);
        }
        let number = self.at / CHUNK_BYTES;
        if self.opened != Some(number) {
            self.load(number)?;
        }
        let from = usize::try_from(self.at % CHUNK_BYTES).unwrap_or_default();
        let plain = self.plain.get(from..).unwrap_or_default();
        let count = plain.len().min(out.len());
        if let (Some(out), Some(plain)) = (out.get_mut(..count), plain.get(..count)) {
            out.copy_from_slice(plain);
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for SealedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = super::place(to, self.at, self.len)?;
        Ok(self.at)
    }
}

impl fmt::Debug for SealedFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SealedFile").field("len", &self.len).field("at", &self.at).finish_non_exhaustive()
    }
}

/// Reads the header and finds the key of the file.
fn stream(file: &Arc<File>, identities: &Identities) -> Result<StreamReader<Arc<File>>, ReadError> {
    (&**file).rewind()?;
    let opened = Decryptor::new(Arc::clone(file)).and_then(|sealed| sealed.decrypt(identities.each()));
    opened.map_err(|error| match error {
        DecryptError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => ReadError::Seal,
        DecryptError::Io(error) => ReadError::Io(error),
        DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed => ReadError::WrongKey,
        _ => ReadError::Seal,
    })
}

const CHUNK_BYTES: u64 = Sealed::<Vec<u8>>::CHUNK_BYTES;
const SEALED_CHUNK_BYTES: u64 = CHUNK_BYTES + Sealed::<Vec<u8>>::TAG_BYTES;
/// No sample begins with it, and no chunk.
const HOLE: u8 = 0xff;
