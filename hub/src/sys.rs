//! What differs between systems: who may read a file. No other file of this crate asks which system it runs on.

use std::fs::OpenOptions;

/// A new file is for its owner alone.
#[cfg(unix)]
pub(crate) fn make_private(how: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(how, 0o600);
}

/// Nothing: a file is as private as its folder.
#[cfg(not(unix))]
pub(crate) fn make_private(_: &mut OpenOptions) {}
