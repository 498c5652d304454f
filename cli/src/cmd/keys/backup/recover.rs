//! `schwann keys recover`: the authority comes from a file, and what both machines did is joined.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use schwann::security::keys::install_list;
use schwann::security::keys::store::{self, AUTHORITY, CERTIFICATE, DEVICE_KEY, LAB, REVOKED};
use schwann_session::keystore::{self, Kind};
use schwann_session::{AuthorityKey, Certificate, Lab, RevocationList};
use zeroize::Zeroizing;

use super::super::authority::SERIAL;
use super::super::authority::lane;
use super::super::issued::ISSUED;
use super::super::join::host_name;
use super::super::revoke::{ListAndKey, signed_list};
use super::super::{Keys, failed, passphrase, words};
use super::{Afterwards, Backup, WORDS};
use crate::exit::{Outcome, Problem};

/// What the file and this machine know together.
struct Merged {
    issued: Vec<Certificate>,
    last_serial: u64,
    revoked: RevocationList<Vec<u8>>,
    discovery: Zeroizing<[u8; 32]>,
    fresh_list: bool,
}

impl Keys {
    /// Takes the authority from a file: on a new machine, on one whose passphrase is forgotten, or beside another.
    pub(in crate::cmd::keys) fn recover(&self, file: &Path) -> Outcome {
        let backup = opened(file)?;
        let lab = backup.authority.lab();
        self.refuse_other_lab(&lab)?;
        let merged = self.merged(&backup)?;
        let had_authority = self.path(AUTHORITY).exists();
        let passphrase = self.new_passphrase("a passphrase for the lab's keys")?;
        let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
        self.install_merged(&lab, &merged)?;
        // At last: a machine that has the authority goes on with the serials that are here.
        let path = self.path(AUTHORITY);
        store::write_key(&path, backup.authority.seed().as_slice(), Kind::Authority, passphrase)
            .map_err(failed)?;
        tell(&lab, &merged, had_authority)?;
        self.be_member(&backup.authority, passphrase)?;
        self.installed()
    }

    fn refuse_other_lab(&self, lab: &Lab) -> Result<(), Problem> {
        if self.lab().is_ok_and(|own| own.id() != lab.id()) {
            return Err(Problem::with(
                self.folder.display(),
                "this computer belongs to another lab; put this folder away, and run this again",
            ));
        }
        Ok(())
    }

    /// Writes everything of the lab but the authority's key.
    fn install_merged(&self, lab: &Lab, merged: &Merged) -> Result<(), Problem> {
        let certificates: Vec<u8> = merged.issued.iter().flat_map(Certificate::encode).collect();
        store::write_private(&self.path(ISSUED), &certificates).map_err(failed)?;
        store::write_private(&self.path(SERIAL), merged.last_serial.to_string().as_bytes())
            .map_err(failed)?;
        store::write_private(&self.path(LAB), &lab.authority().0).map_err(failed)?;
        match merged.fresh_list {
            true => self.put_in_force(&merged.revoked, &merged.discovery),
            false => install_list(&self.folder, lab, &merged.revoked, &merged.discovery).map_err(failed),
        }
    }

    /// Makes this machine a member, unless it is one that can open its key.
    fn be_member(&self, authority: &AuthorityKey, passphrase: Option<&[u8]>) -> Result<(), Problem> {
        let path = self.path(DEVICE_KEY);
        if let Ok(seed) = store::private(&path, Kind::Device)
            && self.path(CERTIFICATE).exists()
        {
            // It is open now; after the next start the forgotten passphrase would be asked for again.
            let is_protected = !store::read(&path).map_err(failed)?.starts_with(store::UNPROTECTED);
            return match passphrase.filter(|_| is_protected) {
                Some(_) => store::write_key(&path, &seed, Kind::Device, passphrase).map_err(failed),
                None => Ok(()),
            };
        }
        let name = match self.certificate() {
            Ok(certificate) => certificate.statement.name.as_str().to_owned(),
            Err(_) => host_name(),
        };
        self.certify_self(authority, &name, passphrase)
    }

    /// Joins what the file knows with what this machine knows.
    fn merged(&self, backup: &Backup) -> Result<Merged, Problem> {
        let lab = backup.authority.lab();
        let own = if self.path(ISSUED).exists() { self.certificates(&lab)? } else { Vec::new() };
        let mut issued = backup.issued.clone();
        issued.extend(
            own.into_iter().filter(|own| !backup.issued.iter().any(|other| other.encode() == own.encode())),
        );
        issued.sort_by_key(|certificate| certificate.statement.serial);
        // Another machine may go on where the file ends.
        let last_serial = match (self.path(AUTHORITY).exists(), backup.afterwards) {
            (true, _) => self.last_serial(&lab)?,
            (false, Afterwards::Remove) => backup.last_serial,
            (false, Afterwards::Keep) => lane()?,
        };
        let ((revoked, discovery), fresh_list) = self.joined_lists(backup, &lab)?;
        Ok(Merged { issued, last_serial, revoked, discovery, fresh_list })
    }

    /// The newer list; or, if each has what the other lacks, a new one with both.
    ///
    /// The flag says that it is new.
    fn joined_lists(&self, backup: &Backup, lab: &Lab) -> Result<(ListAndKey, bool), Problem> {
        let theirs = || (backup.revoked.clone(), backup.discovery.clone());
        let Ok(own) = self.revoked(lab) else {
            self.tell_lost_list(backup.revoked.number());
            return Ok((theirs(), false));
        };
        let forgotten = self.forgotten(lab, &own)?;
        let has_all = |one: &RevocationList<Vec<u8>>, other: &RevocationList<Vec<u8>>| {
            other.entries().chain(forgotten.iter().copied()).all(|entry| one.contains(entry))
        };
        if own.number() >= backup.revoked.number() && has_all(&own, &backup.revoked) {
            return Ok(((own, self.discovery(lab)?), false));
        }
        if backup.revoked.number() > own.number() && has_all(&backup.revoked, &own) {
            return Ok((theirs(), false));
        }
        let number = own.number().max(backup.revoked.number()) + 1;
        let entries = own.entries().chain(backup.revoked.entries()).chain(forgotten.iter().copied());
        Ok((signed_list(&backup.authority, number, entries)?, true))
    }

    /// Says that a list was here and cannot be read, if so: a device that it put out may come back.
    fn tell_lost_list(&self, number: u64) {
        let path = self.path(REVOKED);
        if !matches!(path.try_exists(), Ok(false)) {
            eprintln!(
                "schwann: {} cannot be read, so the backup's list {number} takes its place.\n\
                 Revoke again what was revoked after the backup, unless a running computer brings the newer list: \
                 schwann keys issued",
                path.display()
            );
        }
    }
}

/// Opens the file with the words of its sheet, which it asks for.
fn opened(file: &Path) -> Result<Backup, Problem> {
    let sealed = fs::read(file).map_err(|error| {
        Problem::with(file.display(), format_args!("{error}; take the file that `schwann keys backup` wrote"))
    })?;
    if keystore::kind_of(&sealed) != Some(Kind::Backup) {
        return Err(Problem::with(
            file.display(),
            "it is no backup; take the file that `schwann keys backup` wrote",
        ));
    }
    let words = ask()?;
    let content = store::open(file, &sealed, Kind::Backup, words.as_bytes()).map_err(|_| {
        Problem::with(
            file.display(),
            "the words are not those of its sheet, or the file is damaged; compare them, and run this again",
        )
    })?;
    Backup::parse(&content).ok_or_else(|| Problem::with(file.display(), "the file is damaged"))
}

/// Asks for the words of the sheet, on one line or several.
fn ask() -> Result<Zeroizing<String>, Problem> {
    let mut all = Zeroizing::new(String::with_capacity(1024));
    loop {
        if io::stdin().is_terminal() {
            eprint!("The twelve words of the sheet: ");
            io::stderr().flush()?;
        }
        let line = passphrase::line()?;
        if line.is_empty() {
            return Err(Problem::Failed(String::from("the twelve words of the recovery sheet are needed")));
        }
        all.push_str(&String::from_utf8_lossy(&line));
        all.push(' ');
        if let Some(words) = words::complete(&all, WORDS)? {
            return Ok(words);
        }
    }
}

/// Says what this machine can do now.
fn tell(lab: &Lab, merged: &Merged, had_authority: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "This computer can issue and revoke for the lab {}.", lab.authority().fingerprint())?;
    writeln!(out, "On record: {} certificates, list {}.", merged.issued.len(), merged.revoked.number())?;
    if had_authority {
        writeln!(out, "What both computers did is joined here. Take a new backup to the other one.")?;
    }
    Ok(())
}
