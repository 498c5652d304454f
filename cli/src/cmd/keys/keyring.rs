//! The passphrase of this machine's key in the system's keyring, if the person wants that.
//!
//! Who is logged in opens the keyring, and with it the key: nothing is typed any more. So it protects as much as that login does.

use std::io::{self, Write as _};

use schwann::security::TrustError;
use schwann::security::keys::keep_from_swap;
use schwann::security::keys::store::{self, AUTHORITY, DEVICE_KEY, REMEMBERED, keyring_name};
use schwann_session::keystore::Kind;

use super::text::Secret;
use super::{Keys, failed, passphrase};
use crate::exit::{Exit, Outcome, Problem};
use crate::sys::keyring;

impl Keys {
    /// Puts the passphrase into the keyring, once it was tried.
    pub(super) fn remember(&self) -> Outcome {
        let path = self.path(DEVICE_KEY);
        let bytes = store::read(&path).map_err(failed)?;
        if bytes.starts_with(store::UNPROTECTED) {
            return Err(Problem::with(
                path.display(),
                "this key has no passphrase, so there is nothing to remember",
            ));
        }
        let open = |passphrase: &[u8]| store::open(&path, &bytes, Kind::Device, passphrase);
        let (seed, passphrase) = passphrase::opens("the passphrase of this computer's key", open)?;
        keyring::set(&keyring_name(&path), &passphrase).map_err(refused)?;
        store::write_private(&self.path(REMEMBERED), b"").map_err(failed)?;
        // Where there is no memory for an open key, each program asks the keyring.
        let _ = store::unlock(&path, &seed);
        writeln!(
            io::stdout().lock(),
            "The passphrase is in {}; this user's login opens it. `schwann keys forget` takes it out.",
            keyring::NAME
        )?;
        Ok(Exit::Good)
    }

    /// Takes the passphrase out of the keyring.
    pub(super) fn forget(&self) -> Outcome {
        keyring::delete(&keyring_name(&self.path(DEVICE_KEY))).map_err(refused)?;
        let _ = std::fs::remove_file(self.path(REMEMBERED));
        writeln!(
            io::stdout().lock(),
            "No passphrase is in {}. Programs that run keep the key. A key in memory stays there until you log out or the computer restarts.",
            keyring::NAME
        )?;
        Ok(Exit::Good)
    }

    /// The passphrase in the keyring; nothing if there is none, or no keyring.
    pub(super) fn remembered(&self, file: &str) -> Option<Secret> {
        // The authority's key has the same passphrase where both were made together. A keyring that was given none is not asked:
        // it might open a window.
        let is_ours = (file == DEVICE_KEY || file == AUTHORITY) && self.path(REMEMBERED).exists();
        let found =
            is_ours.then(|| keyring::get(&keyring_name(&self.path(DEVICE_KEY))).ok().flatten()).flatten()?;
        keep_from_swap(&found);
        Some(found)
    }

    /// A private key, opened with the passphrase in the keyring; nothing if that is not there, or another one.
    pub(super) fn private_remembered(&self, file: &str, kind: Kind) -> Option<Secret> {
        let (path, passphrase) = (self.path(file), self.remembered(file)?);
        let bytes = store::read(&path).ok()?;
        store::open(&path, &bytes, kind, &passphrase).ok()
    }
}

/// Opens this user's key for its programs, where it is locked and its passphrase is in the keyring.
pub(crate) fn open_key() {
    let keys = Keys { folder: store::folder(), unprotected: false };
    let path = keys.path(DEVICE_KEY);
    if !keys.path(REMEMBERED).exists() || !matches!(store::passphrase(), Ok(None)) {
        return;
    }
    if matches!(store::private(&path, Kind::Device), Err(TrustError::Locked(_)))
        && let Some(seed) = keys.private_remembered(DEVICE_KEY, Kind::Device)
    {
        // Without a place in memory the command says that the key is locked.
        let _ = store::unlock(&path, &seed);
    }
}

fn refused(reason: String) -> Problem {
    Problem::Failed(format!("{}: {reason}", keyring::NAME))
}
