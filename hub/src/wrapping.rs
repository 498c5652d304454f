//! This member's wrapping keys: made every 30 days, kept while the history under them is wanted, then wiped (relay §6.1).
//!
//! On disk is a salt for each key. The key follows from it and from the device's key. So a stolen disk gives nothing while a
//! passphrase protects the device's key. Without its salt the key cannot be made again.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schwann::security::keys::store;
use schwann_relay::{WRAPPING_LIFETIME, WrappingKey};
use schwann_session::{Purpose, UnixSeconds};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::access::{Access, now};
use crate::history::History;

/// The keys that this member can open with, the present one last.
pub(crate) struct WrappingKeys {
    keys: Vec<(UnixSeconds, WrappingKey)>,
    /// The present one, as edges are told of it.
    publication: Vec<u8>,
    made: UnixSeconds,
}

impl WrappingKeys {
    /// Reads the keys of this user, makes a new one if it is time, and wipes those that no history needs.
    ///
    /// - Errors: the key folder cannot be read or written.
    pub(crate) fn open(access: &Access, history: History) -> io::Result<Self> {
        let folder = store::folder().join("relay");
        let now = now();
        let mut salts = read_salts(&folder)?;
        for (path, ..) in salts.extract_if(.., |(_, made, _)| is_past(*made, now, history)) {
            wipe(&path)?;
        }
        if salts.last().is_none_or(|(_, made, _)| now.abs_diff(*made) >= RENEWED_AFTER) {
            salts.push(new_salt(&folder, now)?);
        }
        let keys: Vec<_> = salts.iter().map(|(_, made, salt)| (*made, derive(access, salt))).collect();
        let Some((made, present)) = keys.last() else { return Err(io::Error::other("no key was made")) };
        let publication = access.sealing(|moment| {
            // An edge whose calendar is behind would not serve a key that is not valid yet.
            let from = UnixSeconds(moment.now.0.saturating_sub(CALENDARS_DIFFER));
            present.publish(moment.credentials, from, WRAPPING_LIFETIME)
        });
        let made = *made;
        Ok(Self { keys, publication, made })
    }

    /// What edges need to know of the present key.
    #[must_use]
    pub(crate) fn publication(&self) -> &[u8] {
        &self.publication
    }

    /// Whether it is time to [`open`](Self::open) them anew.
    #[must_use]
    pub(crate) fn are_due(&self) -> bool {
        now().abs_diff(self.made) >= RENEWED_AFTER
    }

    /// All keys, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WrappingKey> {
        self.keys.iter().rev().map(|(_, key)| key)
    }
}

type Salt = (PathBuf, UnixSeconds, Zeroizing<[u8; 32]>);

fn derive(access: &Access, salt: &[u8; 32]) -> WrappingKey {
    access.sealing(|moment| {
        // An Ed25519 signature is the same each time, and cannot be made without the key (RFC 8032 §5.1.6).
        let signature = Zeroizing::new(moment.credentials.sign(PURPOSE, salt));
        let seed: Zeroizing<[u8; 32]> = Zeroizing::new(Sha256::digest(signature.as_slice()).into());
        WrappingKey::from_seed(&seed)
    })
}

/// Whether nothing that was wrapped for a key of that age is wanted any more.
fn is_past(made: UnixSeconds, now: UnixSeconds, history: History) -> bool {
    let Some(kept) = history.seconds() else { return false };
    // Edges wrap for it as long as it is valid.
    now.0 > made.0.saturating_add(WRAPPING_LIFETIME).saturating_add(kept)
}

fn read_salts(folder: &Path) -> io::Result<Vec<Salt>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut salts: Vec<Salt> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let made = path.file_name()?.to_str()?.strip_suffix(".salt")?.parse().ok()?;
            let salt = fs::read(&path).ok()?.try_into().ok()?;
            Some((path, UnixSeconds(made), Zeroizing::new(salt)))
        })
        .collect();
    salts.sort_by_key(|(_, made, _)| *made);
    Ok(salts)
}

fn new_salt(folder: &Path, now: UnixSeconds) -> io::Result<Salt> {
    let mut salt = Zeroizing::new([0; 32]);
    getrandom::fill(salt.as_mut_slice()).map_err(io::Error::other)?;
    let path = folder.join(format!("{}.salt", now.0));
    store::write_private(&path, salt.as_slice()).map_err(io::Error::other)?;
    Ok((path, now, salt))
}

/// Overwrites and deletes.
fn wipe(path: &Path) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(&[0; 32])?;
    file.sync_all()?;
    fs::remove_file(path)
}

/// How far the calendars of two sites may differ, in seconds.
const CALENDARS_DIFFER: u64 = 7200;
/// A new key after this many seconds: 30 days.
const RENEWED_AFTER: u64 = 30 * 86_400;
const PURPOSE: Purpose = Purpose(*b"schwann/1 relay member\0\0");
