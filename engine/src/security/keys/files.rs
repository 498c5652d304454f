//! The files of the key folder that change while programs run. They are the revocation list with its discovery
//! key, and the device's certificate with its key.

use core::time::Duration;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use schwann_session::{Credentials, Lab, LabId, RevocationList};
use zeroize::Zeroizing;

use super::TrustError;
use super::member::{DiscoverySecret, FORMER_KEYS, Standing};
use super::store::{self, CERTIFICATE, DEVICE_KEY, DISCOVERY, FORMER, LAB, REVOKED, read, write_private};
use crate::{log, sys};

/// A key folder that is looked at again and again.
pub(super) struct Files {
    folder: PathBuf,
    seen: Mutex<Seen>,
}

/// When the folder was last looked at, and what its files were like.
struct Seen {
    next_look: Instant,
    list: Option<Stamp>,
    /// The certificate's and the key's file.
    identity: [Option<Stamp>; 2],
    /// When a new certificate that could not be used is tried again.
    next_attempt: Option<Instant>,
}

/// Tells a file from its replacement: a file of the same length may come within a tick of the clock.
type Stamp = (SystemTime, u64, u64);

impl Files {
    pub(super) fn new(folder: &Path) -> Self {
        let seen = Seen {
            next_look: Instant::now() + LOOK_EVERY,
            list: None,
            identity: identity(folder),
            next_attempt: None,
        };
        Self { folder: folder.to_path_buf(), seen: Mutex::new(seen) }
    }

    /// Whether the last look is long enough ago; counts as a look if it is.
    pub(super) fn is_time_to_look(&self) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_time = now >= seen.next_look;
        if is_time {
            seen.next_look = now + LOOK_EVERY;
        }
        is_time
    }

    /// The stored list with its key, if its number exceeds `number`.
    pub(super) fn newer_than(
        &self,
        lab: &Lab,
        number: u64,
    ) -> Option<(RevocationList<Vec<u8>>, DiscoverySecret)> {
        let present = stamp(&self.folder.join(REVOKED))?;
        if self.seen.lock().unwrap_or_else(PoisonError::into_inner).list == Some(present) {
            return None;
        }
        match read_pair(&self.folder, lab) {
            Ok(pair) => {
                self.seen.lock().unwrap_or_else(PoisonError::into_inner).list = Some(present);
                Some(pair).filter(|(list, _)| list.number() > number)
            }
            // The other file of the two may be about to be written.
            Err(error) => {
                log::warning!("the lab's revocation list was not read: {error}");
                None
            }
        }
    }

    /// Whether the certificate or the key was replaced since the last look at them; counts as a look.
    pub(super) fn has_new_identity(&self) -> bool {
        let present = identity(&self.folder);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = seen.next_attempt.is_some_and(|at| Instant::now() >= at);
        if seen.identity == present && !is_due {
            return false;
        }
        (seen.identity, seen.next_attempt) = (present, None);
        true
    }

    /// Looks at the certificate again in a while although it is the same. The other file of the two may be missing,
    /// or the key be locked.
    pub(super) fn look_at_identity_again(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.next_attempt = Some(Instant::now() + LOOK_EVERY);
    }

    /// The credentials that the folder holds now; nothing if they are the present ones.
    ///
    /// - Errors: they cannot be used, and why.
    pub(super) fn renewed(
        &self,
        lab: &Lab,
        present: &Credentials,
    ) -> Result<Option<Credentials>, TrustError> {
        store::renewed(&self.folder, lab, present)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores what is in force, in a thread of its own. The thread that learnt of it may have samples to
    /// deliver.
    pub(super) fn store(&self, standing: &Standing) {
        let folder = self.folder.clone();
        let (number, update) = (standing.number(), standing.update());
        let spawned = std::thread::Builder::new().name(String::from("lsl-lab-files")).spawn(move || {
            if let Err(error) = store_update(&folder, number, &update) {
                log::error!("the lab's new revocation list is in force, but not stored: {error}");
            }
        });
        if let Err(error) = spawned {
            log::error!("the lab's new revocation list is in force, but not stored: {error}");
        }
    }
}

fn identity(folder: &Path) -> [Option<Stamp>; 2] {
    [CERTIFICATE, DEVICE_KEY].map(|name| stamp(&folder.join(name)))
}

/// What a file is like now; nothing if it cannot be told.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), sys::files::number(&metadata)))
}

/// Reads a list and the key that it commits to.
///
/// - Errors: a file cannot be read, or the two do not belong together.
pub fn read_pair(folder: &Path, lab: &Lab) -> Result<(RevocationList<Vec<u8>>, DiscoverySecret), TrustError> {
    let path = folder.join(REVOKED);
    let list = RevocationList::parse(read(&path)?, lab);
    let list = list.map_err(|error| TrustError::File(path, error.to_string()))?;
    let path = folder.join(DISCOVERY);
    let key: Option<[u8; 32]> = Zeroizing::new(read(&path)?).as_slice().try_into().ok();
    // A program that was killed between the two has left the list before, whose key is among the former ones.
    let keys = key.map(Zeroizing::new).into_iter().chain(read_former(folder));
    match keys.into_iter().find(|key| list.commits_to(key)) {
        Some(key) => Ok((list, key)),
        None => {
            let reason = format!(
                "it does not belong to {}; copy both files from a computer of the lab, or run `schwann keys join`",
                folder.join(REVOKED).display()
            );
            Err(TrustError::File(path, reason))
        }
    }
}

/// The discovery keys of earlier lists, newest first; none if there is no such file.
pub(super) fn read_former(folder: &Path) -> Vec<DiscoverySecret> {
    let bytes = Zeroizing::new(std::fs::read(folder.join(FORMER)).unwrap_or_default());
    bytes.as_chunks::<32>().0.iter().take(FORMER_KEYS).map(|key| Zeroizing::new(*key)).collect()
}

/// Replaces the stored list and key by an update's, unless the stored ones are as new, or another lab's. A program
/// goes on in the lab in which it began.
///
/// - Errors: a file cannot be written.
pub(in crate::security) fn store_update(folder: &Path, number: u64, update: &[u8]) -> Result<(), TrustError> {
    let Some((list, key)) = update.split_last_chunk() else { return Ok(()) };
    // Every program of this computer learns of it, and each one stores it.
    let _alone = alone(folder)?;
    let stored = read(&folder.join(REVOKED))?;
    // Offset 4: the lab; offset 20: the number (secure-session §2.4). Readers of the file check the rest.
    if list.get(4..20).is_none_or(|lab| Some(lab) != installed_lab(folder).as_ref().map(|id| id.0.as_slice()))
    {
        log::info!("the lab's new revocation list is not stored: this computer has joined another lab since");
        return Ok(());
    }
    let stored = stored.get(20..28).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    if stored >= number {
        return Ok(());
    }
    replace(folder, list, key)
}

/// Waits until no other program writes into the folder; others wait until the file is dropped.
///
/// - Errors: the folder cannot be written.
pub fn alone(folder: &Path) -> Result<File, TrustError> {
    let guard = folder.join("lab.lock");
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    sys::files::make_private(&mut options);
    let lock = sys::files::create_private_folder(folder).and_then(|()| options.open(&guard));
    let lock = lock.and_then(|file| file.lock().map(|()| file));
    lock.map_err(|error| store::unwritable(guard, &error))
}

/// The lab whose keys are in the folder now.
fn installed_lab(folder: &Path) -> Option<LabId> {
    let key: [u8; 32] = std::fs::read(folder.join(LAB)).ok()?.try_into().ok()?;
    Lab::new(&key).map(|lab| lab.id())
}

/// Writes a list and its key, unless the stored ones of the same lab are as new. An old list does not come
/// back.
///
/// - Errors: a file cannot be written.
/// - Source: secure-session §2.4.
pub fn install(
    folder: &Path,
    lab: &Lab,
    list: &RevocationList<Vec<u8>>,
    key: &[u8; 32],
) -> Result<(), TrustError> {
    match read_pair(folder, lab) {
        Ok((stored, _)) if stored.number() >= list.number() => Ok(()),
        _ => replace(folder, list.as_bytes(), key),
    }
}

/// Writes a list and its key, and keeps the key of the list before.
///
/// - Errors: a file cannot be written.
pub fn replace(folder: &Path, list: &[u8], key: &[u8; 32]) -> Result<(), TrustError> {
    let before = Zeroizing::new(std::fs::read(folder.join(DISCOVERY)).unwrap_or_default());
    let former = Zeroizing::new(std::fs::read(folder.join(FORMER)).unwrap_or_default());
    if before.len() == key.len() && before.as_slice() != key {
        let kept = former.get(..former.len().min((FORMER_KEYS - 1) * key.len())).unwrap_or_default();
        write_private(&folder.join(FORMER), &Zeroizing::new([before.as_slice(), kept].concat()))?;
    }
    write_private(&folder.join(DISCOVERY), key)?;
    write_private(&folder.join(REVOKED), list)
}

/// Time between two looks for a newer list.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(10);
