//! The lab's authority in a safe: a file, and a sheet of paper with the words that open it.
//!
//! Either alone is worth nothing. The file is sealed as a private key is (secure-session §2.5), under twelve words that are
//! drawn for it: 132 bits, which no passphrase of the person has a part in. So a forgotten passphrase is no dead end.
//!
//! The same file moves the authority to another machine, and keeps two machines that have it alike.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use schwann::security::keys::install_list;
use schwann::security::keys::store::{self, AUTHORITY, CERTIFICATE, DEVICE_KEY, LAB};
use schwann_session::keystore::{self, Bundle, Cost, Kind};
use schwann_session::{AuthorityKey, Certificate, DeviceKey, Lab, RevocationList, Roles, SystemEntropy};
use zeroize::Zeroizing;

use super::authority::SERIAL;
use super::issued::ISSUED;
use super::revoke::{ListAndKey, SIGNED, signed_list};
use super::text::Secret;
use super::{Keys, OWN_DAYS, device_of, failed, is_new, passphrase, statement, words};
use crate::exit::{Exit, Outcome, Problem};

/// Words on the sheet.
const WORDS: usize = 12;
/// What is asked once the sheet is shown.
const MOVES: &str =
    "These words are shown once. Write them down first. Remove the authority from this machine now? [y/N] ";
/// Certificates that a file may hold: more than any lab issues.
const MOST: usize = 100_000;

/// What a file holds.
struct Backup {
    authority: AuthorityKey,
    discovery: Zeroizing<[u8; 32]>,
    last_serial: u64,
    afterwards: Afterwards,
    issued: Vec<Certificate>,
    revoked: RevocationList<Vec<u8>>,
}

impl Backup {
    /// Source: secure-session §2.5.
    fn encode(&self) -> Secret {
        let seed = self.authority.seed();
        let count = u32::try_from(self.issued.len()).unwrap_or(u32::MAX);
        let mut bytes = Secret::new(Vec::with_capacity(77 + Certificate::LEN * self.issued.len() + 4096));
        bytes.extend_from_slice(seed.as_slice());
        bytes.extend_from_slice(self.discovery.as_slice());
        bytes.extend_from_slice(&self.last_serial.to_le_bytes());
        bytes.push(u8::from(self.afterwards == Afterwards::Remove));
        bytes.extend_from_slice(&count.to_le_bytes());
        self.issued.iter().for_each(|certificate| bytes.extend_from_slice(&certificate.encode()));
        bytes.extend_from_slice(self.revoked.as_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (seed, rest) = bytes.split_first_chunk()?;
        let (discovery, rest) = rest.split_first_chunk()?;
        let (last_serial, rest) = rest.split_first_chunk()?;
        let ([is_moved], rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let authority = AuthorityKey::from_seed(seed);
        let lab = authority.lab();
        let count = usize::try_from(u32::from_le_bytes(*count)).ok().filter(|count| *count <= MOST)?;
        let (certificates, revoked) = rest.split_at_checked(count * Certificate::LEN)?;
        let parse = |bytes| Certificate::parse(bytes).ok().filter(|one| one.verify(&lab).is_ok());
        let issued = certificates.as_chunks().0.iter().map(parse).collect::<Option<_>>()?;
        let revoked = RevocationList::parse(revoked.to_vec(), &lab).ok()?;
        revoked.commits_to(discovery).then(|| Self {
            authority,
            discovery: Zeroizing::new(*discovery),
            last_serial: u64::from_le_bytes(*last_serial),
            afterwards: if *is_moved == 1 { Afterwards::Remove } else { Afterwards::Keep },
            issued,
            revoked,
        })
    }
}

/// What becomes of the authority on the machine that writes the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Afterwards {
    /// It stays.
    Keep,
    /// It goes to another machine.
    Remove,
}

impl Keys {
    /// Writes the file, and prints the sheet.
    pub(super) fn backup(&self, file: &Path, afterwards: Afterwards) -> Outcome {
        is_new(file)?;
        let authority = self.authority()?;
        let (lab, _turn) = (authority.lab(), self.turn()?);
        let backup = Backup {
            discovery: self.discovery(&lab)?.into(),
            last_serial: self.last_serial()?,
            afterwards,
            issued: self.certificates(&lab)?,
            revoked: self.revoked(&lab)?,
            authority,
        };
        let words = words::draw(WORDS)?;
        let content = backup.encode();
        let sealed =
            keystore::seal(Kind::Backup, &content, words.as_bytes(), Cost::default(), &mut SystemEntropy)
                .map_err(failed)?;
        store::write_private(file, &sealed).map_err(failed)?;
        sheet(&lab, file, &words)?;
        if afterwards == Afterwards::Keep {
            return Ok(Exit::Good);
        }
        if io::stdin().is_terminal() && !passphrase::confirm(MOVES)? {
            fs::remove_file(file).map_err(|error| Problem::with(file.display(), error))?;
            writeln!(io::stdout().lock(), "The file is removed, and the authority stays on this machine.")?;
            return Ok(Exit::Found);
        }
        self.give_up_authority(file)?;
        Ok(Exit::Good)
    }

    fn give_up_authority(&self, file: &Path) -> Result<(), Problem> {
        for name in [AUTHORITY, ISSUED, SERIAL, SIGNED] {
            let path = self.path(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Problem::with(path.display(), error));
                }
                _ => {}
            }
        }
        writeln!(
            io::stdout().lock(),
            "The authority is no longer on this machine, which stays a member. On the other one, run:\n  \
             schwann keys recover {}",
            file.display()
        )?;
        Ok(())
    }

    /// Takes the authority from a file: on a new machine, on one whose passphrase is forgotten, or beside another.
    pub(super) fn recover(&self, file: &Path) -> Outcome {
        let sealed = fs::read(file).map_err(|error| {
            Problem::with(
                file.display(),
                format_args!("{error}; take the file that `schwann keys backup` wrote"),
            )
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
        let backup =
            Backup::parse(&content).ok_or_else(|| Problem::with(file.display(), "the file is damaged"))?;
        let lab = backup.authority.lab();
        if self.lab().is_ok_and(|own| own.id() != lab.id()) {
            return Err(Problem::with(
                self.folder.display(),
                "this machine belongs to another lab; put this folder away, and run this again",
            ));
        }
        let merged = self.merged(&backup)?;
        let had_authority = self.path(AUTHORITY).exists();
        let passphrase = self.new_passphrase("a passphrase for the lab's keys")?;
        let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
        let certificates: Vec<u8> = merged.issued.iter().flat_map(Certificate::encode).collect();
        store::write_private(&self.path(ISSUED), &certificates).map_err(failed)?;
        store::write_private(&self.path(SERIAL), merged.last_serial.to_string().as_bytes())
            .map_err(failed)?;
        store::write_private(&self.path(LAB), &lab.authority().0).map_err(failed)?;
        match merged.fresh_list {
            true => self.put_in_force(&merged.revoked, &merged.discovery)?,
            false => install_list(&self.folder, &lab, &merged.revoked, &merged.discovery).map_err(failed)?,
        }
        // At last: a machine that has the authority goes on with the serials that are here.
        store::write_key(
            &self.path(AUTHORITY),
            backup.authority.seed().as_slice(),
            Kind::Authority,
            passphrase,
        )
        .map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "This machine can issue and revoke for the lab {}.", lab.authority().fingerprint())?;
        writeln!(out, "On record: {} certificates, list {}.", merged.issued.len(), merged.revoked.number())?;
        if had_authority {
            writeln!(out, "What both machines did is joined here. Take a new backup to the other one.")?;
        }
        drop(out);
        self.be_member(&backup.authority, passphrase)?;
        self.installed()
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
            Err(_) => schwann::host_name(),
        };
        self.certify_self(authority, &name, passphrase)
    }

    /// Gives this machine a new key with a certificate.
    pub(super) fn certify_self(
        &self,
        authority: &AuthorityKey,
        name: &str,
        passphrase: Option<&[u8]>,
    ) -> Result<(), Problem> {
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let lab = authority.lab();
        let statement = statement(device.public(), name, self.next_serial()?, OWN_DAYS, Roles::BOTH)?;
        let certificate = authority.certify(statement);
        self.record(&certificate)?;
        let (discovery, revoked) = (self.discovery(&lab)?.into(), self.revoked(&lab)?);
        let bundle = Bundle { certificate, device, discovery, lab, revoked };
        store::install(&self.folder, &bundle, passphrase).map_err(failed)
    }

    /// Gives this machine a new key, and withdraws the old one.
    pub(super) fn rotate(&self, at: Option<&str>) -> Outcome {
        if !self.path(AUTHORITY).exists() {
            return self.rotate_member(at);
        }
        if at.is_some() {
            return Err(failed(
                "this machine has the lab's authority and needs no other for a new key; leave out --at",
            ));
        }
        let authority = self.authority()?;
        let old = self.certificate()?.statement;
        let passphrase = self.new_passphrase("a passphrase for the new key")?;
        // First of all: if this ends half-way, the old key is out, and the same command goes on.
        self.revoke_with(&authority, &old.serial.to_string())?;
        {
            let _turn = self.turn()?;
            self.certify_self(
                &authority,
                old.name.as_str(),
                passphrase.as_ref().map(|secret| secret.as_slice()),
            )?;
        }
        // The old one may be unlocked in memory.
        let fresh = match &passphrase {
            None => store::private(&self.path(DEVICE_KEY), Kind::Device).map_err(failed)?,
            Some(passphrase) => {
                let path = self.path(DEVICE_KEY);
                let bytes = store::read(&path).map_err(failed)?;
                store::open(&path, &bytes, Kind::Device, passphrase).map_err(failed)?
            }
        };
        if passphrase.is_some() {
            // Where there is no memory for an open key, status says so.
            let _ = store::unlock(&self.path(DEVICE_KEY), &fresh);
        }
        writeln!(
            io::stdout().lock(),
            "This machine has a new key, {}.",
            device_of(&fresh)?.public().fingerprint()
        )?;
        self.installed()
    }

    /// What the file and this machine know together.
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
            (true, _) => self.last_serial()?,
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
        let Ok(own) = self.revoked(lab) else { return Ok((theirs(), false)) };
        let forgotten = self.forgotten(lab, &own)?;
        let has_all = |one: &RevocationList<Vec<u8>>, other: &RevocationList<Vec<u8>>| {
            other.entries().chain(forgotten.iter().copied()).all(|entry| one.contains(entry))
        };
        if own.number() >= backup.revoked.number() && has_all(&own, &backup.revoked) {
            return Ok(((own, self.discovery(lab)?.into()), false));
        }
        if backup.revoked.number() > own.number() && has_all(&backup.revoked, &own) {
            return Ok((theirs(), false));
        }
        let number = own.number().max(backup.revoked.number()) + 1;
        let entries = own.entries().chain(backup.revoked.entries()).chain(forgotten.iter().copied());
        Ok((signed_list(&backup.authority, number, entries)?, true))
    }
}

struct Merged {
    issued: Vec<Certificate>,
    last_serial: u64,
    revoked: RevocationList<Vec<u8>>,
    discovery: Zeroizing<[u8; 32]>,
    fresh_list: bool,
}

/// The page to be printed.
fn sheet(lab: &Lab, file: &Path, words: &str) -> io::Result<()> {
    let words: Vec<_> = words.split(' ').collect();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "RECOVERY SHEET: print this page or write it down, and keep it in a safe. It is not stored.\n"
    )?;
    writeln!(out, "  lab        {}", lab.authority().fingerprint())?;
    writeln!(out, "  file       {}    (keep a copy elsewhere than this sheet)", file.display())?;
    for (number, four) in words.chunks(4).enumerate() {
        let label = if number == 0 { "words" } else { "" };
        writeln!(out, "  {label:<9}  {}", four.join(" "))?;
    }
    writeln!(
        out,
        "\nThe file and the words together are the lab's authority; either alone is worth nothing."
    )?;
    writeln!(out, "To use them, on any machine, without the forgotten passphrase:")?;
    writeln!(out, "  schwann keys recover {}", file.display())?;
    writeln!(out, "Certificates that are issued later are not in the file: repeat this after some.")
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

/// Serials of one machine that has the authority; another one begins elsewhere.
const LANE: u64 = 1_000_000;
/// Machines' beginnings to choose from.
const LANES: u16 = 9_999;

/// A beginning for this machine's serials that is no other's, but by chance.
fn lane() -> Result<u64, Problem> {
    let mut random = [0; 2];
    getrandom::fill(&mut random).map_err(failed)?;
    Ok(u64::from(u16::from_le_bytes(random) % LANES + 1) * LANE)
}
