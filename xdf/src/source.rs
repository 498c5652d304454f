//! The bytes of a recording whose file is plain, compressed, or sealed.
//!
//! What a file is, its first bytes say, and not its name.

mod flaws;
mod packed;
mod sealed;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use flaws::Flaws;
use packed::Unpacked;
use sealed::SealedFile;

use crate::reader::{ReadError, Reader};
use crate::sealing::Identities;

/// Where a recording lies, and the keys that open it if it is sealed.
#[derive(Clone)]
pub struct Location {
    path: PathBuf,
    identities: Identities,
    /// What was compressed, once it has been unpacked: all that open this location read it there.
    unpacked: Arc<Mutex<Option<Unpacked>>>,
}

impl Location {
    /// A recording that these keys open.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, identities: Identities) -> Self {
        Self { path: path.into(), identities, unpacked: Arc::default() }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What wraps the recording, by the first bytes of its file.
    ///
    /// - Errors: from the file system.
    pub fn wrapping(&self) -> io::Result<Wrapping> {
        wrapping(&mut opened(&self.path)?)
    }

    /// Opens it.
    ///
    /// - Errors: [`ReadError`]: [`ReadError::Sealed`], [`ReadError::WrongKey`], [`ReadError::Seal`] and
    ///   [`ReadError::SealCut`] if it is sealed and does not open.
    pub fn open(&self) -> Result<Source, ReadError> {
        let mut file = opened(&self.path)?;
        Ok(match wrapping(&mut file)? {
            Wrapping::None => Source(Inner::Plain(file)),
            Wrapping::Gzip => Source(Inner::Packed(self.unpacked_once(file, |_, _| {})?)),
            Wrapping::Age => {
                Source(Inner::Sealed(Box::new(SealedFile::open(file, self.identities.clone())?)))
            }
        })
    }

    /// Unpacks it if it is compressed, so that opening it takes no more time. `progress` is told how many bytes of the
    /// file are unpacked, and how many it has.
    ///
    /// - Errors: the file cannot be read, or no disk has room for what is in it.
    pub fn unpack(&self, progress: impl FnMut(u64, u64)) -> Result<(), ReadError> {
        let mut file = opened(&self.path)?;
        if wrapping(&mut file)? == Wrapping::Gzip {
            self.unpacked_once(file, progress)?;
        }
        Ok(())
    }

    fn unpacked_once(&self, file: File, progress: impl FnMut(u64, u64)) -> Result<Unpacked, ReadError> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match unpacked.as_ref() {
            Some(content) => content.clone(),
            None => unpacked.insert(Unpacked::of(file, &self.path, progress)?).clone(),
        })
    }

    /// Opens it and begins to read.
    ///
    /// - Errors: as [`Location::open`] and [`Reader::new`].
    pub fn reader(&self) -> Result<Reader<Source>, ReadError> {
        Reader::of(self.open()?)
    }
}

/// Opens a file. A pipe would wait for its other end, and no recording can be read out of order from it.
fn opened(path: &Path) -> io::Result<File> {
    let there = std::fs::metadata(path)?;
    if !there.is_file() && !there.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no file; copy what it gives to one first",
        ));
    }
    File::open(path)
}

/// A recording that is not sealed.
impl<P: AsRef<Path>> From<P> for Location {
    fn from(path: P) -> Self {
        Self::new(path.as_ref(), Identities::none())
    }
}

/// What is around a recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wrapping {
    /// It is sealed, in the format of age.
    Age,
    /// It is compressed, in the format of gzip: `.xdfz`.
    Gzip,
    /// Nothing.
    None,
}

/// The bytes of a recording, in any order.
#[derive(Debug)]
pub struct Source(Inner);

#[derive(Debug)]
enum Inner {
    Plain(File),
    /// What was compressed.
    Packed(Unpacked),
    Sealed(Box<SealedFile>),
}

impl Source {
    /// What is wrong with what is around the recording.
    pub(crate) fn flaws(&self) -> Flaws {
        match &self.0 {
            Inner::Plain(_) => Flaws::default(),
            Inner::Packed(unpacked) => unpacked.flaws(),
            Inner::Sealed(sealed) => sealed.flaws(),
        }
    }
}

impl Read for Source {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(file) => file.read(bytes),
            Inner::Packed(unpacked) => unpacked.read(bytes),
            Inner::Sealed(sealed) => sealed.read(bytes),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Inner::Plain(file) => file.seek(to),
            Inner::Packed(unpacked) => unpacked.seek(to),
            Inner::Sealed(sealed) => sealed.seek(to),
        }
    }
}

/// Where a seek leads in `len` bytes from the place `at`.
fn place(to: SeekFrom, at: u64, len: u64) -> io::Result<u64> {
    let to = match to {
        SeekFrom::Start(at) => Some(at),
        SeekFrom::End(by) => len.checked_add_signed(by),
        SeekFrom::Current(by) => at.checked_add_signed(by),
    };
    to.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// What a file begins with; it is at its beginning afterwards.
fn wrapping(file: &mut File) -> io::Result<Wrapping> {
    let mut begin = Vec::new();
    Read::take(&mut *file, AGE.len() as u64).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(match begin.as_slice() {
        begin if begin == AGE => Wrapping::Age,
        begin if begin.starts_with(&GZIP) => Wrapping::Gzip,
        _ => Wrapping::None,
    })
}

/// How a file begins that gzip has written. Source: RFC 1952 §2.3.1.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How a sealed file begins. Source: C2SP `age.md`, "Header".
pub(crate) const AGE: &[u8] = b"age-encryption.org/v1\n";

#[cfg(test)]
mod tests;
