//! Putting a device out: its key goes with every certificate of it, or it would come back with another one.
//!
//! Another machine may have the authority, too. It may have signed certificates and lists that are not known here. So a list
//! names the key besides the serials. What was put out here is put out again where a list from there lacks it.

use std::io::{self, Write as _};

use schwann::security::keys::replace_list;
use schwann::security::keys::store::{self, DISCOVERY, REVOKED};
use schwann_session::{AuthorityKey, Certificate, DeviceName, Lab, PublicKey, RevocationList};
use zeroize::Zeroizing;

use super::issued::is_in_use;
use super::{Keys, damaged, failed, now};
use crate::exit::{Exit, Outcome, Problem};
use crate::terminal::printable;

/// How the device is said that is to go.
#[derive(Clone, Copy)]
pub(super) enum Said<'a> {
    /// By its name, or by the number of one of its certificates.
    Either(&'a str),
    Name(&'a str),
    Serial(u64),
}

impl Keys {
    /// Revokes every certificate of a device's key; `device` is its name, or the number of one of its certificates.
    ///
    /// - `is_serial`: it is that number for certain.
    pub(super) fn revoke(&self, device: &str, is_serial: bool) -> Outcome {
        let said = match (is_serial, device.parse()) {
            (false, _) => Said::Either(device),
            (true, Ok(serial)) => Said::Serial(serial),
            (true, Err(_)) => {
                return Err(Problem::Failed(format!(
                    "{device:?} is no number of a certificate; `schwann keys issued` lists them"
                )));
            }
        };
        self.revoke_with(&self.authority()?, said)
    }

    pub(super) fn revoke_with(&self, authority: &AuthorityKey, device: Said<'_>) -> Outcome {
        let _turn = self.turn()?;
        let lab = authority.lab();
        let (issued, old) = (self.certificates(&lab)?, self.revoked(&lab)?);
        let chosen = chosen(device, &issued, &old, self.last_serial(&lab)?)?;
        let mut fresh: Vec<u64> = chosen.entries().filter(|entry| !old.contains(*entry)).collect();
        fresh.extend(self.forgotten(&lab, &old)?);
        if fresh.is_empty() {
            let what = certificates(&chosen.serials);
            writeln!(io::stdout().lock(), "{what} revoked already; list {} is in force.", old.number())?;
            return Ok(Exit::Good);
        }
        let (list, discovery) =
            signed_list(authority, old.number() + 1, old.entries().chain(fresh.iter().copied()))?;
        self.put_in_force(&list, &discovery)?;
        let mut told = chosen.serials;
        if told.iter().any(|serial| fresh.contains(serial)) {
            told.retain(|serial| fresh.contains(serial));
        }
        self.tell_revoked(&told, chosen.name, list.number())?;
        Ok(Exit::Good)
    }

    fn tell_revoked(&self, serials: &[u64], name: Option<DeviceName>, list: u64) -> io::Result<()> {
        let device = name.as_ref().map_or("the device".into(), |name| printable(name.as_str()));
        writeln!(
            io::stdout().lock(),
            "{} revoked by list {list}; running programs of this computer refuse {device} within 10 s.\n\
             Other computers learn it when they next stream from or to one that knows. To be sure of one:\n  \
             schwann keys status    there; it shows the number of its list. Copying {} and {} there \
             works, too.",
            certificates(serials),
            self.path(REVOKED).display(),
            self.path(DISCOVERY).display()
        )
    }

    /// The key of the device with this name, which is a member now.
    ///
    /// - Errors: no device is called so, or it is out already.
    pub(super) fn living(&self, lab: &Lab, name: &str) -> Result<PublicKey, Problem> {
        let (issued, revoked) = (self.certificates(lab)?, self.revoked(lab)?);
        let key = key_of(name, &issued, &revoked)?;
        let mut of_key = issued.iter().map(|one| &one.statement).filter(|it| it.device == key);
        if of_key.all(|it| revoked.puts_out(it)) {
            return Err(Problem::Failed(format!(
                "{name:?} is out already, so there is no key to replace; `schwann keys invite` brings it back with a new one"
            )));
        }
        Ok(key)
    }

    /// Why a key is not certified, if it or a certificate of it was revoked.
    pub(super) fn why_revoked(&self, key: &PublicKey) -> Result<Option<String>, Problem> {
        let lab = self.lab()?;
        let (issued, revoked) = (self.certificates(&lab)?, self.revoked(&lab)?);
        let forgotten = self.forgotten(&lab, &revoked)?;
        let is_out = |entry: u64| revoked.contains(entry) || forgotten.contains(&entry);
        let mut of_key =
            issued.iter().map(|certificate| &certificate.statement).filter(|it| it.device == *key);
        let known = of_key.find(|it| is_out(it.serial));
        if known.is_none() && !is_out(key.revocation_entry()) {
            return Ok(None);
        }
        let which = known
            .map_or_else(String::new, |it| format!(" (certificate {}, {})", it.serial, it.name.as_str()));
        Ok(Some(format!(
            "this key was revoked{which}. If the device was lost or copied, put its key folder away, and run `schwann keys \
             new-device NAME` there for a new key; if the key is to come back, run `issue` with --again"
        )))
    }

    /// What this machine has put out, and a list from another machine with the authority lets in again.
    pub(super) fn forgotten(
        &self,
        lab: &Lab,
        in_force: &RevocationList<Vec<u8>>,
    ) -> Result<Vec<u64>, Problem> {
        let path = self.path(SIGNED);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let bytes = store::read(&path).map_err(failed)?;
        let own = RevocationList::parse(bytes, lab).map_err(|_| damaged(&path))?;
        // A revocation that was cut short before its list came into force was never promised.
        if own.number() > in_force.number() {
            return Ok(Vec::new());
        }
        Ok(own.entries().filter(|entry| !in_force.contains(*entry)).collect())
    }

    /// The same for people, with the next command; nothing on a machine without the authority.
    pub(super) fn forgotten_by_list(&self) -> Result<Option<String>, Problem> {
        if !self.path(SIGNED).exists() {
            return Ok(None);
        }
        let lab = self.lab()?;
        let in_force = self.revoked(&lab)?;
        let forgotten = self.forgotten(&lab, &in_force)?;
        Ok(forgotten.first().map(|first| {
            let device = match first.cast_signed() {
                serial @ 0.. => serial.to_string(),
                _ => String::from("NAME"),
            };
            format!(
                "list {} comes from another computer with the authority, and lets in again what was put out here; put it \
                 out once more: schwann keys revoke {device}",
                in_force.number()
            )
        }))
    }

    /// Stores a list that was signed here, and puts it into force.
    pub(super) fn put_in_force(
        &self,
        list: &RevocationList<Vec<u8>>,
        discovery: &[u8; 32],
    ) -> Result<(), Problem> {
        // The record comes first: no list of this machine's is ever in force without it.
        store::write_private(&self.path(SIGNED), list.as_bytes()).map_err(failed)?;
        replace_list(&self.folder, list.as_bytes(), discovery).map_err(failed)
    }
}

/// A list, and the discovery key that it commits to.
pub(super) type ListAndKey = (RevocationList<Vec<u8>>, Zeroizing<[u8; 32]>);

/// A list of these entries, and its discovery key. That is new: a device that is out must not find the lab's streams any more.
pub(super) fn signed_list(
    authority: &AuthorityKey,
    number: u64,
    entries: impl Iterator<Item = u64>,
) -> Result<ListAndKey, Problem> {
    let mut discovery = Zeroizing::new([0; 32]);
    getrandom::fill(discovery.as_mut_slice()).map_err(failed)?;
    let entries: Vec<u64> = entries.collect();
    let list = RevocationList::sign(authority, number, now(), &discovery, &entries).map_err(failed)?;
    Ok((list, discovery))
}

/// What is to be revoked together.
struct Chosen {
    serials: Vec<u64>,
    /// Of a certificate from before there was a record, the key is not known.
    key: Option<PublicKey>,
    /// What the device is called, if that is known.
    name: Option<DeviceName>,
}

impl Chosen {
    /// A key, with the serials of every certificate of it.
    fn of_key(key: PublicKey, issued: &[Certificate]) -> Self {
        let with_key = issued.iter().map(|certificate| &certificate.statement).filter(|it| it.device == key);
        let name = with_key.clone().next_back().map(|it| it.name);
        Self { serials: with_key.map(|it| it.serial).collect(), key: Some(key), name }
    }

    /// The key of one certificate; that alone if it is not on record.
    fn of_serial(serial: u64, issued: &[Certificate], last: u64) -> Result<Self, Problem> {
        match issued.iter().find(|certificate| certificate.statement.serial == serial) {
            Some(certificate) => Ok(Self::of_key(certificate.statement.device, issued)),
            None if (1..=last).contains(&serial) => Ok(Self { serials: vec![serial], key: None, name: None }),
            None => Err(Problem::Failed(format!(
                "there is no certificate {serial}: the lab has 1 to {last}; `schwann keys issued` lists them, and \
                 `schwann keys status` on a device shows which one it has"
            ))),
        }
    }

    fn entries(&self) -> impl Iterator<Item = u64> {
        self.serials.iter().copied().chain(self.key.as_ref().map(PublicKey::revocation_entry))
    }
}

/// The key of the device that is meant, and the serials of every certificate with it.
///
/// - Errors: there is no such device; or a number is one device's name and another one's certificate, so that only the
///   person knows which is meant.
fn chosen(
    device: Said<'_>,
    issued: &[Certificate],
    revoked: &RevocationList<Vec<u8>>,
    last: u64,
) -> Result<Chosen, Problem> {
    let of_name = |name| key_of(name, issued, revoked).map(|key| Chosen::of_key(key, issued));
    let (text, serial) = match device {
        Said::Name(name) => return of_name(name),
        Said::Serial(serial) => return Chosen::of_serial(serial, issued, last),
        Said::Either(text) => match text.parse() {
            Ok(serial) => (text, serial),
            Err(_) => return of_name(text),
        },
    };
    let of_serial = Chosen::of_serial(serial, issued, last);
    if !is_in_use(text, issued) {
        return of_serial;
    }
    let named = of_name(text)?;
    match of_serial {
        Ok(other) if other.key != named.key => Err(ambiguous(text, &named, serial, &other)),
        _ => Ok(named),
    }
}

/// Says how to tell a device with a number as its name from that number's certificate.
fn ambiguous(name: &str, named: &Chosen, serial: u64, other: &Chosen) -> Problem {
    let own = named.serials.last().copied().unwrap_or_default();
    let other = other.name.map_or_else(
        || String::from("a device that is not on record"),
        |other| format!("{:?}", other.as_str()),
    );
    Problem::Failed(format!(
        "{name:?} is the name of one device, and the number of a certificate of {other}, so nothing was revoked. For the device called \
         {name:?}: schwann keys revoke --serial {own}. For {other}: schwann keys revoke --serial {serial}"
    ))
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
    let living: Vec<_> = named.iter().copied().filter(|it| !revoked.puts_out(it)).collect();
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

/// The list that this machine signed last, beside the authority's key.
pub(super) const SIGNED: &str = "authority.revoked";
