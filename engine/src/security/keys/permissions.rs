//! Who else may read or replace the files of the key folder.

use std::path::Path;

use super::TrustError;
use super::store::{AUTHORITY, CERTIFICATE, DEVICE_KEY, DISCOVERY, FORMER, LAB, REVOKED};

/// Refuses a private key that others can read.
///
/// - Errors: it can be read by others, or not be looked at; the text says what to do.
#[cfg(unix)]
pub(super) fn check_private(path: &Path) -> Result<(), TrustError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).map_err(|error| super::store::unreadable(path, &error))?;
    if metadata.permissions().mode() & OTHERS == 0 {
        return Ok(());
    }
    let reason = format!("others can read this private key; run `chmod 600 {}`", path.display());
    Err(TrustError::File(path.to_path_buf(), reason))
}

#[cfg(not(unix))]
pub(super) fn check_private(_: &Path) -> Result<(), TrustError> {
    Ok(())
}

/// What in the key folder others may read or replace although they must not: a sentence each, with what mends it.
///
/// A user who may write the folder can replace the lab's and the device's files. A reader of the discovery
/// key finds the lab's streams.
#[cfg(unix)]
pub fn weaknesses(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = weakness(folder, OTHERS_WRITE, "700").into_iter().collect();
    for (name, unwanted) in FILES {
        found.extend(weakness(&folder.join(name), unwanted, "600"));
    }
    found
}

#[cfg(not(unix))]
pub fn weaknesses(_: &Path) -> Vec<String> {
    Vec::new()
}

#[cfg(unix)]
fn weakness(path: &Path, unwanted: u32, mode: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let path = path.display();
    // Root may replace everything anyway.
    if owner != user && owner != 0 {
        return Some(format!(
            "{path} belongs to another user (number {owner}); run `chown {user} {path}` as root"
        ));
    }
    let what = match metadata.mode() & unwanted {
        0 => return None,
        bits if bits & OTHERS_WRITE != 0 => "replace or change",
        _ => "read",
    };
    Some(format!("others can {what} {path}; run `chmod {mode} {path}`"))
}

#[cfg(unix)]
const OTHERS: u32 = 0o077;
#[cfg(unix)]
const OTHERS_WRITE: u32 = 0o022;
/// The files, and what others must not do with them.
#[cfg(unix)]
const FILES: [(&str, u32); 7] = [
    (AUTHORITY, OTHERS),
    (CERTIFICATE, OTHERS_WRITE),
    (DEVICE_KEY, OTHERS),
    (DISCOVERY, OTHERS),
    (FORMER, OTHERS),
    (LAB, OTHERS_WRITE),
    (REVOKED, OTHERS_WRITE),
];
