//! The others who may read or replace files of the key folder.

use std::path::Path;

use super::TrustError;
use super::store::{AUTHORITY, CERTIFICATE, DEVICE_KEY, DISCOVERY, FORMER, LAB, REVOKED};
use crate::sys::files::{self, Access};

/// Refuses a private key that others can read.
///
/// - Errors: it can be read by others, or not be looked at; the text says what to do.
pub(super) fn check_private(path: &Path) -> Result<(), TrustError> {
    let checked = files::check_private(path).map_err(|error| super::store::unreadable(path, &error))?;
    checked.map_err(|reason| TrustError::File(path.to_path_buf(), reason))
}

/// What others may wrongly read or replace in the key folder: a sentence each, with the remedy.
///
/// A user who may write the folder can replace the lab's and the device's files. A reader of the discovery
/// key finds the lab's streams.
pub fn weaknesses(folder: &Path) -> Vec<String> {
    files::weaknesses(folder, &FILES)
}

/// The files, and who may do what with them.
const FILES: [(&str, Access); 7] = [
    (AUTHORITY, Access::Owner),
    (CERTIFICATE, Access::Readable),
    (DEVICE_KEY, Access::Owner),
    (DISCOVERY, Access::Owner),
    (FORMER, Access::Owner),
    (LAB, Access::Readable),
    (REVOKED, Access::Readable),
];
