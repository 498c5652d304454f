//! The certificate of a recording: what was recorded, by whom, how well, and a hash of every piece of it.
//!
//! `FILE.cert.json` lies beside `FILE`. It is an in-toto statement in a DSSE envelope. A member of a lab signs it
//! with the device's key.
//!
//! Source: certificate §1.

mod account;
mod compare;
mod derived;
mod envelope;
mod events;
mod rules;
mod statement;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub use account::{Gathered, Sender, StreamAccount};
pub use compare::{Standing, compare};
pub use derived::derive;
pub(crate) use envelope::hex;
pub use envelope::{Certificate, CertificateError, Endorsement, LabStanding, Signer};
pub use events::Events;
pub use rules::Rule;
pub use statement::Facts;

use crate::naming::SEALED;

/// The most bytes of a certificate that are read. Source: certificate §5.
pub const BYTES_MAX: u64 = 64 << 20;

/// Where the certificate of the recording at `path` lies.
///
/// It certifies what is in the file: so `x.xdf`, `x.xdfz` and `x.xdf.age` have the same one.
pub fn certificate_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.cert.json", content_name(path)))
}

/// The name that the recording at `path` has when it is neither sealed nor compressed: the one that its certificate states.
pub fn content_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(SEALED).unwrap_or(&name);
    name.strip_suffix(".xdfz").map_or_else(|| name.to_owned(), |stem| format!("{stem}.xdf"))
}

/// Writes a certificate beside the recording at `path`, readable by the same users: all of it, or nothing.
///
/// One of an earlier recording of this name stays, under a name with the number of this second.
///
/// - Errors: from the file system.
pub fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    // A file that was deleted while it was recorded needs none.
    fs::metadata(path)?;
    let (at, new) = (certificate_path(path), write_new(path, bytes)?);
    if at.exists() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut names = (now..).map(|second| at.with_extension(format!("{second}.json")));
        let free = names.find(|name| !name.exists()).ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(&at, free)?;
    }
    fs::rename(&new, &at)?;
    Ok(at)
}

/// Replaces the certificate beside the recording at `path`. The old one stays whole until the new one is.
///
/// - Errors: from the file system.
pub fn replace_beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let (at, new) = (certificate_path(path), write_new(path, bytes)?);
    fs::rename(&new, &at)?;
    Ok(at)
}

/// Writes a certificate under a name of its own, onto the disk; what does not fit there leaves nothing.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let new = certificate_path(path).with_extension("json.new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // Nothing is there, or what a program left that was killed.
        _ => {}
    }
    let mut how = schwann_xdf::private_as(path);
    how.write(true).create_new(true);
    let written = how.open(&new).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    if let Err(error) = written {
        // It says no more than the error does.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    Ok(new)
}
