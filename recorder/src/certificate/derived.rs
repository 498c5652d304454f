//! The certificate of a file that was made from a recording: by a repair, or in another format.
//!
//! Source: certificate §3, `replaces`.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann::security::Member;
use schwann_xdf::Proof;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::envelope::hex;
use super::{Certificate, Events, Facts, certificate_path, content_name, write_beside};

/// Writes the certificate of the file at `made`, whose content is `content`, and names the recording at `from` in it.
///
/// Nothing is written if `from` has no certificate: then there is nothing to go on from. `is_whole` says whether that recording is
/// what its certificate says.
///
/// - Errors: from the file system.
pub fn derive(
    from: &Path,
    made: &Path,
    mut content: impl Read,
    how: &str,
    is_whole: bool,
    member: Option<&Member>,
) -> io::Result<Option<PathBuf>> {
    let old = match fs::File::open(certificate_path(from)) {
        Ok(file) => text(file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut events = Events::default();
    events.note(how);
    let facts = Facts {
        name: content_name(made),
        sealed_to: None,
        proof: Proof::of(&mut content, [], |_| {})?,
        wall_clock: [now, now],
        streams: Vec::new(),
        events: events.list(),
        replaces: Some(replaced(from, &old, is_whole)),
    };
    write_beside(made, &Certificate::encode(&facts.statement(member), member)).map(Some)
}

/// What the old certificate is, and what it says that its recording is.
fn replaced(from: &Path, old: &[u8], is_whole: bool) -> Value {
    let subject =
        Certificate::parse(old, None).ok().map(|old| old.statement["subject"][0]["digest"]["sha256"].clone());
    json!({
        "name": content_name(from),
        "sha256": subject,
        "certificate_sha256": hex(&Sha256::digest(old).into()),
        "accepted": subject.is_some() && is_whole,
    })
}

fn text(file: fs::File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(super::BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}
