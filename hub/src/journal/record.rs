//! Records in a file: length (4), checksum (4), bytes. Little-endian.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Makes a file that only this user reads.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).append(true).create_new(true);
    crate::sys::make_private(&mut how);
    how.open(path)
}

/// Appends a record, all or nothing; returns its length in the file.
pub(crate) fn append(file: &mut File, bytes: &[u8]) -> io::Result<u64> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut record = Vec::with_capacity(HEAD + bytes.len());
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    record.extend_from_slice(bytes);
    let before = file.metadata()?.len();
    if let Err(error) = file.write_all(&record) {
        // A full disk takes a part: what follows must not stand behind it.
        file.set_len(before)?;
        return Err(error);
    }
    Ok(record.len() as u64)
}

/// Reads the record at `offset`; nothing if it is torn or damaged.
pub(crate) fn read_at(mut file: &File, offset: u64) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut head = [0; HEAD];
    if !filled(file.read_exact(&mut head))? {
        return Ok(None);
    }
    let (length, sum) = split_head(head);
    // No message is empty: zeros, as a loss of power leaves them, are no records.
    if length == 0 || length > LONGEST {
        return Ok(None);
    }
    let mut bytes = vec![0; length as usize];
    Ok((filled(file.read_exact(&mut bytes))? && crc32fast::hash(&bytes) == sum).then_some(bytes))
}

/// The first `N` bytes of the record at `offset`, and how long its head says that they are; nothing if the file has less.
pub(super) fn begin_at<const N: usize>(mut file: &File, offset: u64) -> io::Result<Option<(u32, [u8; N])>> {
    file.seek(SeekFrom::Start(offset))?;
    let (mut head, mut begin) = ([0; HEAD], [0; N]);
    let is_there = filled(file.read_exact(&mut head))? && filled(file.read_exact(&mut begin))?;
    Ok(is_there.then(|| (split_head(head).0, begin)))
}

/// How long a record of these bytes is in the file.
pub(crate) fn length(bytes: &[u8]) -> u64 {
    (HEAD + bytes.len()) as u64
}

/// All records of a file whose bytes begin with `begins`, but those that are damaged.
///
/// The number says how many places of the file are damaged.
pub(crate) fn read_all(path: &Path, begins: &[u8]) -> io::Result<(Vec<Vec<u8>>, u64)> {
    let (mut records, file) = (Vec::new(), File::open(path)?);
    let scanned = scan(&file, begins, |_, bytes| records.push(bytes))?;
    Ok((records, scanned.damaged))
}

/// What [`scan`] found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Scanned {
    /// Where the last whole record ends. What is behind it is torn.
    pub(crate) end: u64,
    /// Places before that which are damaged. What of a record is left there was stepped over.
    pub(crate) damaged: u64,
}

/// Goes through all whole records whose bytes begin with `begins`. `each` gets their places and bytes.
pub(crate) fn scan(file: &File, begins: &[u8], mut each: impl FnMut(u64, Vec<u8>)) -> io::Result<Scanned> {
    let mut scanned = Scanned::default();
    while let Some((offset, bytes)) = next(file, scanned.end, begins)? {
        scanned.damaged += u64::from(offset > scanned.end);
        scanned.end = offset + length(&bytes);
        each(offset, bytes);
    }
    Ok(scanned)
}

/// As [`scan`], and cuts the torn end off, so that what is appended can be read again. No whole record is cut.
pub(crate) fn restore(file: &File, begins: &[u8], each: impl FnMut(u64, Vec<u8>)) -> io::Result<Scanned> {
    let scanned = scan(file, begins, each)?;
    if file.metadata()?.len() > scanned.end {
        file.set_len(scanned.end)?;
    }
    Ok(scanned)
}

/// The first whole record at `from` or behind it whose bytes begin with `begins`, and where it is.
///
/// A damaged length says nothing of where the next record is. So every place is looked at.
pub(super) fn next(file: &File, from: u64, begins: &[u8]) -> io::Result<Option<(u64, Vec<u8>)>> {
    if let Some(bytes) = read_at(file, from)?.filter(|bytes| bytes.starts_with(begins)) {
        return Ok(Some((from, bytes)));
    }
    let mut at = from;
    loop {
        let window = window_at(file, at)?;
        for (offset, head) in (at..).zip(window.windows(HEAD + begins.len())) {
            if head.get(HEAD..) == Some(begins)
                && let Some(bytes) = read_at(file, offset)?
            {
                return Ok(Some((offset, bytes)));
            }
        }
        if (window.len() as u64) < WINDOW {
            return Ok(None);
        }
        // The last places need bytes of the next window.
        at += WINDOW - (HEAD + begins.len()) as u64 + 1;
    }
}

fn window_at(mut file: &File, offset: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut window = Vec::new();
    file.take(WINDOW).read_to_end(&mut window)?;
    Ok(window)
}

fn split_head(head: [u8; HEAD]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = head;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// Whether a buffer was filled; the end of the file is no error.
fn filled(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// What announcements and wrapped keys begin with.
pub(crate) const WORD: &[u8] = b"SR";
/// What blocks begin with (relay §4).
pub(crate) const BLOCK: &[u8] = b"SRB\x01";
/// Length and checksum.
pub(super) const HEAD: usize = 8;
/// Bytes that are searched at once.
const WINDOW: u64 = 64 << 10;
/// Longest record, in bytes: above every message of the relay.
const LONGEST: u32 = 2 << 20;
/// The same, with its head.
pub(super) const LONGEST_RECORD: u64 = LONGEST as u64 + HEAD as u64;
