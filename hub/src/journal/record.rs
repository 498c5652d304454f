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
    if length > LONGEST {
        return Ok(None);
    }
    let mut bytes = vec![0; length as usize];
    Ok((filled(file.read_exact(&mut bytes))? && crc32fast::hash(&bytes) == sum).then_some(bytes))
}

/// The length of the record at `offset`, with its head, if the file has all of it.
pub(super) fn length_at(mut file: &File, offset: u64, end: u64) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut head = [0; HEAD];
    if !filled(file.read_exact(&mut head))? {
        return Ok(None);
    }
    let (length, _) = split_head(head);
    let whole = HEAD as u64 + u64::from(length);
    Ok((length <= LONGEST && offset.checked_add(whole).is_some_and(|behind| behind <= end)).then_some(whole))
}

/// How long a record of these bytes is in the file.
pub(crate) fn length(bytes: &[u8]) -> u64 {
    (HEAD + bytes.len()) as u64
}

/// All records of a file, up to the first that is torn or damaged.
pub(crate) fn read_all(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let file = File::open(path)?;
    let (mut records, mut offset) = (Vec::new(), 0);
    while let Some(bytes) = read_at(&file, offset)? {
        offset += length(&bytes);
        records.push(bytes);
    }
    Ok(records)
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

const HEAD: usize = 8;
/// Longest record, in bytes: above every message of the relay.
const LONGEST: u32 = 2 << 20;
