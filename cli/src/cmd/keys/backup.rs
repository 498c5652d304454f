//! The lab's authority in a safe: a file, and a sheet of paper with the words that open it.
//!
//! Either alone is worth nothing. The file is sealed as a private key is (secure-session §2.5), under twelve words that are
//! drawn for it: 132 bits, which no passphrase of the person has a part in. So a forgotten passphrase is no dead end.
//!
//! The same file moves the authority to another machine, and keeps two machines that have it alike.

mod recover;

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use schwann::security::keys::store::{self, AUTHORITY};
use schwann_session::keystore::{self, Cost, Kind};
use schwann_session::{AuthorityKey, Certificate, Lab, RevocationList, SystemEntropy};
use zeroize::Zeroizing;

use super::authority::SERIAL;
use super::issued::ISSUED;
use super::revoke::SIGNED;
use super::text::Secret;
use super::{Keys, failed, is_new, passphrase, words};
use crate::exit::{Exit, Outcome, Problem};

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
        if afterwards == Afterwards::Remove {
            self.refuse_forgotten()?;
        }
        let backup = Backup {
            discovery: self.discovery(&lab)?,
            last_serial: self.last_serial(&lab)?,
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
            writeln!(io::stdout().lock(), "The file is removed, and the authority stays on this computer.")?;
            return Ok(Exit::Found);
        }
        self.give_up_authority(file)?;
        Ok(Exit::Good)
    }

    /// Refuses to move while the list in force lacks what was put out here: the file holds that list, and no other
    /// computer knows of the rest.
    fn refuse_forgotten(&self) -> Result<(), Problem> {
        self.forgotten_by_list()?
            .map_or(Ok(()), |what| Err(Problem::Failed(format!("nothing was moved yet: {what}"))))
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
            "The authority is no longer on this computer, which stays a member. On the other one, run:\n  \
             schwann keys recover {}",
            file.display()
        )?;
        Ok(())
    }
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
    writeln!(out, "To use them, on any computer, without the forgotten passphrase:")?;
    writeln!(out, "  schwann keys recover {}", file.display())?;
    writeln!(out, "Certificates that are issued later are not in the file: repeat this after some.")
}

/// Words on the sheet.
const WORDS: usize = 12;
/// What is asked once the sheet is shown.
const MOVES: &str =
    "These words are shown once. Write them down first. Remove the authority from this computer now? [y/N] ";
/// Certificates that a file may hold: more than any lab issues.
const MOST: usize = 100_000;
