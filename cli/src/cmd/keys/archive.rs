//! `schwann keys archive`: the key that recordings are sealed to, made, shown, installed and copied to a safe.

use std::io::{self, Write as _};
use std::path::Path;

use schwann::security::keys::store::{self, AUTHORITY, LAB};
use schwann_recorder::sealing::{ARCHIVE_KEY, ARCHIVE_PUBLIC, archive_key};
use schwann_session::keystore::Kind;
use schwann_xdf::{Identities, Recipients};
use zeroize::Zeroizing;

use super::{Keys, failed, is_new};
use crate::exit::{Exit, Outcome, Problem};

impl Keys {
    /// Shows the archive key; makes it if there is none, and this machine may.
    pub(super) fn archive(&self) -> Outcome {
        if let Some(key) = archive_key().map_err(failed)? {
            return self.show_archive(&key);
        }
        if let Some(secret) = self.archive_secret()? {
            // Recordings are sealed to this key: a new one in its place would lock them for ever.
            let key = Identities::parse(&secret).map_err(failed)?.recipients();
            self.install_public(&key)?;
            return self.show_archive(&key);
        }
        if self.path(LAB).exists() && !self.path(AUTHORITY).exists() {
            return Err(failed(
                "this computer has no archive key yet: run schwann keys archive on the lab's computer, and here what it prints",
            ));
        }
        let passphrase = self.new_passphrase("a passphrase for the archive key")?;
        let (secret, key) = Identities::generate();
        let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
        store::write_key(&self.path(ARCHIVE_KEY), secret.as_bytes(), Kind::Archive, passphrase)
            .map_err(failed)?;
        self.install_public(&key)?;
        self.show_archive(&key)
    }

    /// Installs the public half that another machine printed.
    pub(super) fn install_archive(&self, text: &str) -> Outcome {
        let key: Recipients = text.parse().map_err(failed)?;
        if key.is_empty() {
            return Err(failed("there is no key to install; one begins with age1"));
        }
        let before = archive_key().ok().flatten();
        // Also if its public half is damaged or gone.
        if self.path(ARCHIVE_KEY).exists()
            && before.is_none_or(|before| before.to_string() != key.to_string())
        {
            return Err(Problem::with(
                self.path(ARCHIVE_KEY).display(),
                "this computer has an archive key of its own, which older recordings may need; move it away first",
            ));
        }
        self.install_public(&key)?;
        self.show_archive(&key)
    }

    /// Writes the secret half to a file that `age` reads.
    pub(super) fn export_archive(&self, file: &Path) -> Outcome {
        is_new(file)?;
        let secret = self.archive_secret()?.ok_or_else(|| {
            failed("the secret half of the archive key is not on this computer; run this where schwann keys archive made it")
        })?;
        store::write_private(file, secret.as_bytes()).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{} opens every recording of the lab, without a passphrase. Keep it in a safe.",
            file.display()
        )?;
        writeln!(out, "  age -d -i {} FILE.xdf.age > FILE.xdf", file.display())?;
        Ok(Exit::Good)
    }

    fn install_public(&self, key: &Recipients) -> Result<(), Problem> {
        store::write_private(&self.path(ARCHIVE_PUBLIC), format!("{key}\n").as_bytes()).map_err(failed)
    }

    fn show_archive(&self, key: &Recipients) -> Outcome {
        let mut out = io::stdout().lock();
        writeln!(out, "archive key  {key}")?;
        let has_secret = self.path(ARCHIVE_KEY).exists();
        let secret = if has_secret { "on this computer, which opens recordings" } else { "elsewhere" };
        writeln!(out, "secret half  {secret}")?;
        if has_secret && !self.path(LAB).exists() {
            writeln!(
                out,
                "This computer is in no lab, so the key is its own. Computers of a lab share one key: the lab's computer makes it."
            )?;
        }
        writeln!(out, "schwann record --seal seals to it. On each other computer that records:")?;
        writeln!(out, "  schwann keys archive --install {key}")?;
        if has_secret {
            writeln!(out, "Without its secret half no recording opens again. A copy for a safe:")?;
            writeln!(out, "  schwann keys archive --export archive-key.txt")?;
        }
        Ok(Exit::Good)
    }

    /// The secret half; none if it is not on this machine.
    fn archive_secret(&self) -> Result<Option<Zeroizing<String>>, Problem> {
        if !self.path(ARCHIVE_KEY).exists() {
            return Ok(None);
        }
        let bytes = self.private(ARCHIVE_KEY, Kind::Archive)?;
        let text = str::from_utf8(&bytes).map_err(|_| super::damaged(&self.path(ARCHIVE_KEY)))?;
        Ok(Some(Zeroizing::new(text.to_owned() + "\n")))
    }
}

/// What opens the lab's recordings on this machine; none if that is elsewhere. Asks for its passphrase at a terminal.
pub(crate) fn identities() -> Result<Option<Identities>, Problem> {
    let keys = Keys { folder: store::folder(), unprotected: false };
    let secret = keys.archive_secret()?;
    secret.map(|secret| Identities::parse(&secret).map_err(failed)).transpose()
}
