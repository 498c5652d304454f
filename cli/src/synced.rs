//! Files that are on the disk before they take another's place: else a loss of power would leave an empty one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file, down to the disk.
///
/// - Errors: from the file system.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
