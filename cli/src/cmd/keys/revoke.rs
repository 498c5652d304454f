//! Putting a device out: every certificate of its key goes, or it would come back with another one.

use std::io::{self, Write as _};

use schwann::security::keys::replace_list;
use schwann::security::keys::store::{DISCOVERY, REVOKED};
use schwann_session::{AuthorityKey, Certificate, Lab, PublicKey, RevocationList};

use super::{Keys, failed, now};
use crate::exit::{Exit, Outcome, Problem};

impl Keys {
    /// Revokes every certificate of a device's key; `device` is its name, or the number of one of its certificates.
    pub(super) fn revoke(&self, device: &str) -> Outcome {
        self.revoke_with(&self.authority()?, device)
    }

    pub(super) fn revoke_with(&self, authority: &AuthorityKey, device: &str) -> Outcome {
        let _turn = self.turn()?;
        let lab = authority.lab();
        let (issued, old) = (self.certificates(&lab)?, self.revoked(&lab)?);
        let chosen = chosen(device, &issued, &old, self.last_serial()?)?;
        let fresh: Vec<u64> = chosen.iter().copied().filter(|serial| !old.contains(*serial)).collect();
        let mut out = io::stdout().lock();
        if fresh.is_empty() {
            writeln!(out, "{} revoked already; list {} is in force.", certificates(&chosen), old.number())?;
            return Ok(Exit::Good);
        }
        let mut serials = old.serials().collect::<Vec<_>>();
        serials.extend(&fresh);
        // A device that is out must not find the lab's streams any more.
        let mut discovery = [0; 32];
        getrandom::fill(&mut discovery).map_err(failed)?;
        let list =
            RevocationList::sign(authority, old.number() + 1, now(), &discovery, &serials).map_err(failed)?;
        replace_list(&self.folder, list.as_bytes(), &discovery).map_err(failed)?;
        writeln!(
            out,
            "{} revoked by list {}; running programs of this machine refuse the device within 10 s.\n\
             Other machines learn it when they next stream from or to one that knows. To be sure of one:\n  \
             schwann keys status    there; it shows the number of its list. Copying {REVOKED} and {DISCOVERY} there \
             works, too.",
            certificates(&fresh),
            list.number()
        )?;
        Ok(Exit::Good)
    }

    /// The serials of a device that is a member now.
    ///
    /// - Errors: no device is called so, or it is out already.
    pub(super) fn living(&self, lab: &Lab, device: &str) -> Result<Vec<u64>, Problem> {
        let (issued, revoked) = (self.certificates(lab)?, self.revoked(lab)?);
        let mut serials = chosen(device, &issued, &revoked, self.last_serial()?)?;
        serials.retain(|serial| !revoked.contains(*serial));
        if serials.is_empty() {
            return Err(Problem::Failed(format!(
                "{device:?} is out already, so there is no key to replace; `schwann keys invite` brings it back with a new one"
            )));
        }
        Ok(serials)
    }

    /// Refuses to certify a key of which a certificate was revoked.
    pub(super) fn refuse_revoked(&self, key: &PublicKey) -> Result<(), Problem> {
        let lab = self.lab()?;
        let revoked = self.revoked(&lab)?;
        let issued = self.certificates(&lab)?;
        let out = issued.iter().map(|certificate| &certificate.statement);
        match out
            .filter(|statement| statement.device == *key)
            .find(|statement| revoked.contains(statement.serial))
        {
            None => Ok(()),
            Some(statement) => Err(Problem::Failed(format!(
                "this key was revoked (certificate {}, {}). If the device was lost or copied, put its key folder away, and \
                 run `schwann keys new-device NAME` there for a new key; if the key is to come back, run `issue` with \
                 --again",
                statement.serial,
                statement.name.as_str()
            ))),
        }
    }
}

/// The serials to be revoked: those of every certificate with the key of the device that is meant.
fn chosen(
    device: &str,
    issued: &[Certificate],
    revoked: &RevocationList<Vec<u8>>,
    last: u64,
) -> Result<Vec<u64>, Problem> {
    let key = match device.parse::<u64>() {
        Ok(serial) if !(1..=last).contains(&serial) && !is_on_record(serial, issued) => {
            return Err(Problem::Failed(format!(
                "there is no certificate {serial}: the lab has 1 to {last}; `schwann keys issued` lists them, and \
                 `schwann keys status` on a device shows which one it has"
            )));
        }
        Ok(serial) => match issued.iter().find(|certificate| certificate.statement.serial == serial) {
            Some(certificate) => certificate.statement.device,
            // Issued before there was a record: its key is not known.
            None => return Ok(vec![serial]),
        },
        Err(_) => key_of(device, issued, revoked)?,
    };
    let with_key = issued.iter().filter(|certificate| certificate.statement.device == key);
    Ok(with_key.map(|certificate| certificate.statement.serial).collect())
}

fn is_on_record(serial: u64, issued: &[Certificate]) -> bool {
    issued.iter().any(|certificate| certificate.statement.serial == serial)
}

/// The one key of the devices with this name; one that is out already gives way to one that is not.
fn key_of(
    name: &str,
    issued: &[Certificate],
    revoked: &RevocationList<Vec<u8>>,
) -> Result<PublicKey, Problem> {
    let named: Vec<_> = issued
        .iter()
        .map(|certificate| &certificate.statement)
        .filter(|it| it.name.as_str() == name)
        .collect();
    let living: Vec<_> = named.iter().copied().filter(|it| !revoked.contains(it.serial)).collect();
    let meant = if living.is_empty() { named } else { living };
    match meant.first() {
        None => {
            Err(Problem::Failed(format!("no device is called {name:?}; `schwann keys issued` lists them")))
        }
        Some(first) if meant.iter().all(|it| it.device == first.device) => Ok(first.device),
        Some(_) => {
            let serials: Vec<u64> = meant.iter().map(|it| it.serial).collect();
            Err(Problem::Failed(format!(
                "several devices are called {name:?}, with the certificates {serials:?}; name one by its number: \
                 `schwann keys issued` lists them"
            )))
        }
    }
}

/// These certificates as the subject of a sentence, with its verb.
fn certificates(serials: &[u64]) -> String {
    match serials {
        [serial] => format!("Certificate {serial} is"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(u64::to_string).collect();
            format!("Certificates {} and {last}, all of one key, are", first.join(", "))
        }
        [] => String::from("No certificate is"),
    }
}
