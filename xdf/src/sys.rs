//! What differs between systems: who may read a file, and space that is set aside. No other file of this crate asks which system
//! it runs on.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A new file is for its owner alone.
#[cfg(unix)]
pub(crate) fn make_private(how: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(how, 0o600);
}

/// Nothing: a file is as private as its folder.
#[cfg(not(unix))]
pub(crate) fn make_private(_: &mut OpenOptions) {}

/// A user who may not read `other` may not read a new file either.
#[cfg(unix)]
pub(crate) fn be_as_private_as(other: &Path, how: &mut OpenOptions) {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    if let Ok(metadata) = std::fs::metadata(other) {
        how.mode(metadata.permissions().mode() & 0o666);
    }
}

/// Nothing: a file is as private as its folder.
#[cfg(not(unix))]
pub(crate) fn be_as_private_as(_: &Path, _: &mut OpenOptions) {}

/// Options for a new file that only those may read who may read `other`.
#[must_use]
pub fn private_as(other: &Path) -> OpenOptions {
    let mut how = OpenOptions::new();
    be_as_private_as(other, &mut how);
    how
}

/// Asks the file system to set aside space up to `len`, without making the file longer.
#[cfg(target_os = "linux")]
pub(crate) fn allocate(file: &File, len: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, len)?)
}

/// - Errors: always, [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub(crate) fn allocate(_: &File, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
