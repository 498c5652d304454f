//! What the lab's authority has issued, so that a device can be put out by looking up its serial.
//!
//! The file beside the authority's key is the certificates themselves, one behind the other: each says and proves
//! what was granted. One is written before it is handed out, so a crash loses none that is in use.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use schwann::log::Utc;
use schwann_session::{Certificate, Lab, PublicKey, RevocationList, Roles};

use super::authority::LANE;
use super::{Keys, failed, now};
use crate::exit::{Exit, Outcome, Problem};
use crate::sys;
use crate::terminal::printable;

impl Keys {
    /// Lists every certificate, and whether it still opens anything.
    pub(super) fn issued(&self) -> Outcome {
        self.needs_authority()?;
        let lab = self.lab()?;
        let (certificates, revoked) = (self.certificates(&lab)?, self.revoked(&lab)?);
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{:>6}  {:<24}  {:<9}  {:<10}  {:<9}  key",
            "serial", "device", "may", "until", "state"
        )?;
        // Those of the first machine, without a gap; then those of others.
        let last = self.last_serial(&lab)?;
        let mut serials: BTreeSet<u64> = certificates.iter().map(|one| one.statement.serial).collect();
        serials.extend((last < LANE).then_some(1..=last).into_iter().flatten());
        for serial in serials {
            match certificates.iter().find(|certificate| certificate.statement.serial == serial) {
                Some(certificate) => writeln!(out, "{}", row(certificate, &revoked))?,
                None => writeln!(
                    out,
                    "{serial:>6}  {:<24}  {:<9}  {:<10}  {}",
                    "(not on record)",
                    "",
                    "",
                    if revoked.contains(serial) { "revoked" } else { "unknown" }
                )?,
            }
        }
        writeln!(out, "`schwann keys revoke SERIAL`, or with the device's name, puts the device out.")?;
        Ok(Exit::Good)
    }

    /// Refuses a name that another member has: people could not tell the two apart.
    pub(super) fn refuse_taken_name(&self, lab: &Lab, device: &PublicKey, name: &str) -> Result<(), Problem> {
        let (certificates, revoked) = (self.certificates(lab)?, self.revoked(lab)?);
        let other = certificates.iter().map(|certificate| &certificate.statement).find(|it| {
            it.name.as_str() == name && it.device != *device && it.not_after >= now() && !revoked.puts_out(it)
        });
        other.map_or(Ok(()), |other| {
            Err(Problem::Failed(format!(
                "another device is called {name:?}, with certificate {0}; give this one another name, or, if that one is gone, put \
                 it out first: schwann keys revoke {0}",
                other.serial
            )))
        })
    }

    /// Refuses a number as a new name: `revoke` takes a name or a serial, and could not tell the two apart.
    ///
    /// A device that has such a name from before keeps it.
    pub(super) fn refuse_number(&self, name: &str) -> Result<(), Problem> {
        let on_record = || self.lab().and_then(|lab| self.certificates(&lab)).unwrap_or_default();
        if !is_number(name) || self.present_name().as_deref() == Some(name) || is_in_use(name, &on_record()) {
            return Ok(());
        }
        Err(Problem::Failed(format!(
            "{name:?} is a number, and so would read as that of a certificate; give the device another name, such as \
             \"room {name}\""
        )))
    }

    /// Puts a certificate on record; it must not be handed out before.
    pub(super) fn record(&self, certificate: &Certificate) -> Result<(), Problem> {
        append(&self.path(ISSUED), &certificate.encode())
            .map_err(|error| Problem::with(self.path(ISSUED).display(), error))
    }

    /// Every certificate on record that is the lab's.
    pub(super) fn certificates(&self, lab: &Lab) -> Result<Vec<Certificate>, Problem> {
        let bytes = match std::fs::read(self.path(ISSUED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        // What a crash has cut short at the end was not handed out.
        let (certificates, _) = bytes.as_chunks::<{ Certificate::LEN }>();
        let parsed = certificates.iter().filter_map(|bytes| Certificate::parse(bytes).ok());
        Ok(parsed.filter(|certificate| certificate.verify(lab).is_ok()).collect())
    }
}

/// Whether a name reads as the number of a certificate.
pub(super) fn is_number(name: &str) -> bool {
    name.parse::<u64>().is_ok()
}

/// Whether a certificate on record has this name.
pub(super) fn is_in_use(name: &str, issued: &[Certificate]) -> bool {
    issued.iter().any(|certificate| certificate.statement.name.as_str() == name)
}

/// What a certificate permits.
pub(super) fn may(roles: Roles) -> &'static str {
    match (roles.contain(Roles::PUBLISH), roles.contain(Roles::SUBSCRIBE)) {
        (true, true) => "both",
        (true, false) => "publish",
        _ => "subscribe",
    }
}

fn row(certificate: &Certificate, revoked: &RevocationList<Vec<u8>>) -> String {
    let statement = &certificate.statement;
    let may = may(statement.roles);
    let state = if revoked.puts_out(statement) {
        "revoked"
    } else if statement.not_after < now() {
        "expired"
    } else {
        "valid"
    };
    let until = date(statement.not_after.0);
    let (serial, name) = (statement.serial, printable(statement.name.as_str()));
    let key = statement.device.fingerprint();
    format!("{serial:>6}  {name:<24}  {may:<9}  {until:<10}  {state:<9}  {key}")
}

/// The day, in UTC, of a time in seconds since 1970.
fn date(seconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let text = time.map_or_else(|| String::from("never"), |time| Utc(time).to_string());
    text.chars().take_while(|letter| !matches!(letter, ' ' | 'T')).collect()
}

/// Appends a record that is on the disk afterwards, behind the last whole one.
fn append(path: &Path, record: &[u8; Certificate::LEN]) -> io::Result<()> {
    let mut options = File::options();
    options.create(true).append(true);
    sys::files::make_private(&mut options);
    let mut file = options.open(path)?;
    let len = file.metadata()?.len();
    file.set_len(len - len % Certificate::LEN as u64)?;
    file.write_all(record)?;
    file.sync_all()
}

/// The certificates issued here, beside the authority's key.
pub(super) const ISSUED: &str = "authority.issued";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_cut_short_is_written_over() {
        let path = std::env::temp_dir().join(format!("schwann-issued-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        append(&path, &[1; Certificate::LEN]).expect("written");
        File::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&[2; 50]))
            .expect("cut short");
        append(&path, &[3; Certificate::LEN]).expect("written");
        let bytes = std::fs::read(&path).expect("the file");
        let _ = std::fs::remove_file(&path);
        assert_eq!(bytes, [[1; Certificate::LEN], [3; Certificate::LEN]].concat());
    }

    #[test]
    fn a_time_is_shown_as_its_day() {
        assert_eq!(date(1_767_225_600), "2026-01-01");
    }
}
