//! A compressed recording, unpacked into a file without a name: so any part of it can be read, in bounded memory.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;

use super::Flaws;
use crate::reader::{Damage, DamageKind, ReadError};

/// What was compressed, and a place in it. Its copies have places of their own, and share the file.
#[derive(Clone, Debug)]
pub(super) struct Unpacked {
    file: Arc<Mutex<File>>,
    flaws: Flaws,
    len: u64,
    at: u64,
}

impl Unpacked {
    /// Unpacks a file as far as it goes, and says what is wrong with the rest.
    ///
    /// - Errors: the file cannot be read, or no disk has room for what is in it.
    pub(super) fn of(file: File, path: &Path, progress: impl FnMut(u64, u64)) -> Result<Self, ReadError> {
        let (content, flaws) = unpacked(file, path, progress)?;
        let len = content.metadata()?.len();
        Ok(Self { file: Arc::new(Mutex::new(content)), flaws, len, at: 0 })
    }

    pub(super) fn flaws(&self) -> Flaws {
        self.flaws.clone()
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(out)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Unpacked {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = super::place(to, self.at, self.len)?;
        Ok(self.at)
    }
}

fn unpacked(file: File, path: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(File, Flaws), ReadError> {
    let packed_bytes = file.metadata()?.len();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The folder of the recording most likely has room, and the same readers; it may be write-protected.
    let mut content =
        tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile()).map_err(ReadError::Unpack)?;
    let mut packed = MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, file));
    let mut buffer = vec![0; READ_BYTES];
    let mut at = 0;
    let kind = loop {
        match packed.read(&mut buffer) {
            Ok(0) => break None,
            Ok(count) => {
                content.write_all(buffer.get(..count).unwrap_or_default()).map_err(ReadError::Unpack)?;
                at += count as u64;
                progress(packed.get_mut().stream_position()?, packed_bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => break Some(DamageKind::PackedTorn),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => break Some(DamageKind::Packed),
                _ => return Err(error.into()),
            },
        }
    };
    Ok((content, Flaws::new(kind.map(|kind| Damage { at, bytes: 0, kind }))))
}

const READ_BYTES: usize = 1 << 18;
