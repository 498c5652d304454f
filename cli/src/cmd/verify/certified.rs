//! What the certificate of a recording proves of it.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use schwann_recorder::certificate::{
    BYTES_MAX, Certificate, LabStanding, Signer, Standing, certificate_path, compare,
};
use schwann_xdf::Location;
use serde_json::{Value, json};

use super::account::{self, Judged};
use crate::cmd::survey::{Progress, bytes};
use crate::exit::Problem;
use crate::lab;

/// What is beside a recording.
pub(super) enum Certified {
    /// No certificate.
    None,
    /// One that proves nothing, and why.
    Worthless(String),
    /// One that was compared with the file.
    Read(Box<Certificate>, Standing),
}

impl Certified {
    /// Reads the certificate of a recording, if there is one, and compares both.
    pub(super) fn of(recording: &Location) -> Result<Self, Problem> {
        let path = recording.path();
        let at = certificate_path(path);
        let Some(text) = text_of(&at).map_err(|error| Problem::with(at.display(), error))? else {
            return Ok(Self::None);
        };
        let member = lab::member();
        let ours = member.as_ref().ok().and_then(Option::as_deref);
        let read = match Certificate::parse(&text, ours) {
            Ok(read) => read,
            Err(error) => return Ok(Self::Worthless(error.to_string())),
        };
        if let Err(error) = member
            && devices(&read).next().is_some()
        {
            return Ok(Self::Worthless(format!("whose it is was not looked at: {error}")));
        }
        if let Some(signer) = read.signer.as_ref().filter(|signer| signer.standing == LabStanding::Another) {
            return Ok(Self::Worthless(format!("it is of ANOTHER LAB, whose authority is {}", signer.lab)));
        }
        let mut progress = Progress::new("comparing");
        let source = recording.open().map_err(|error| Problem::with(path.display(), error))?;
        let standing = compare(source, &read.proof, |done| progress.show(done, read.proof.bytes));
        progress.clear();
        Ok(Self::Read(Box::new(read), standing.map_err(|error| Problem::with(path.display(), error))?))
    }

    /// Whether nothing in it speaks against the file.
    pub(super) fn agrees(&self) -> bool {
        match self {
            Self::None => true,
            Self::Worthless(_) => false,
            Self::Read(_, standing) => *standing == Standing::Whole,
        }
    }

    /// Prints it for people.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.sentences().iter().try_for_each(|sentence| writeln!(out, "  {sentence}"))
    }

    /// What it says, for people.
    pub(super) fn sentences(&self) -> Vec<String> {
        let (read, standing) = match self {
            Self::None => return vec!["no certificate".to_owned()],
            Self::Worthless(why) => return vec![format!("certificate NOT ACCEPTED: {why}")],
            Self::Read(read, standing) => (read, standing),
        };
        let mut out = vec![signed(read)];
        for said in &read.endorsements {
            out.push(format!("{}: {}, vouched for by {}", said.meaning, said.name, said.device.name));
        }
        out.extend(devices(read).find(|device| device.standing == LabStanding::Revoked).map(revoked));
        match standing {
            Standing::Whole => {
                out.extend(made_from(read));
                out.push("the file is what it certifies, bit by bit".to_owned());
                out.extend(account::shortfalls(&read.statement));
                out.extend(account::verdicts(&read.statement));
            }
            Standing::CutOff { proven } => {
                out.push(format!("CUT OFF: its first {} are what it certifies", bytes(*proven)));
            }
            Standing::Parts { proven, changed } => {
                let sum: u64 = proven.iter().map(|(from, to)| to - from).sum();
                out.push(format!("{} are what it certifies", bytes(sum)));
                let changed = changed.iter();
                out.extend(changed.map(|(from, to)| format!("NOT CERTIFIED: from byte {from} to {to}")));
            }
        }
        out
    }

    /// The same for scripts.
    pub(super) fn json(&self) -> Value {
        let (read, standing) = match self {
            Self::None => return Value::Null,
            Self::Worthless(why) => return json!({"accepted": false, "why": why}),
            Self::Read(read, standing) => (read, standing),
        };
        let (proven, changed) = match standing {
            Standing::Whole => (vec![(0, read.proof.bytes)], Vec::new()),
            Standing::CutOff { proven } => (vec![(0, *proven)], Vec::new()),
            Standing::Parts { proven, changed } => (proven.clone(), changed.clone()),
        };
        json!({
            "accepted": *standing == Standing::Whole,
            "signer": read.signer.as_ref().map(|signer| &signer.name),
            "lab": read.signer.as_ref().map(|signer| &signer.lab),
            "signer_is_revoked": read.signer.as_ref().map(|signer| signer.standing == LabStanding::Revoked),
            "proven": proven,
            "incomplete": account::shortfalls(&read.statement),
            "verdicts": account::judged(&read.statement).map(|stream| {
                json!({"stream": stream.name, "rules": stream.rules.iter().map(Judged::json).collect::<Vec<_>>()})
            }).collect::<Vec<_>>(),
            "not_certified": changed,
        })
    }
}

/// The devices that signed it or vouch for a person.
fn devices(read: &Certificate) -> impl Iterator<Item = &Signer> {
    read.signer.iter().chain(read.endorsements.iter().map(|said| &said.device))
}

/// Who signed it, and whether that is somebody of our lab.
fn signed(read: &Certificate) -> String {
    let Some(signer) = &read.signer else {
        return "certificate: UNSIGNED: it reveals accidental damage, not forgery".to_owned();
    };
    let whose = match signer.standing {
        LabStanding::Ours | LabStanding::Revoked => "of this lab".to_owned(),
        LabStanding::Another | LabStanding::NotKnown => {
            format!("of a lab that this computer is no member of: compare {}", signer.lab)
        }
    };
    format!("certificate: signed by {} (certificate {}) {whose}", signer.name, signer.serial)
}

/// Why the signature of a device that is out proves less.
fn revoked(device: &Signer) -> String {
    format!(
        "{} is REVOKED since: who has its key can certify anything, also for an earlier time; compare with a copy of the certificate \
         that was kept elsewhere",
        device.name
    )
}

/// What the file was made from, if it is no recording itself.
fn made_from(read: &Certificate) -> Option<String> {
    let replaces = read.statement["predicate"]["replaces"].as_object()?;
    let text = |name: &str| replaces.get(name).and_then(Value::as_str).unwrap_or("not said");
    let was_whole = replaces.get("accepted").and_then(Value::as_bool).unwrap_or(false);
    let flaw = if was_whole { "" } else { ", which was NOT what its certificate says" };
    Some(format!("made from {}, SHA-256 {}{flaw}", text("name"), text("sha256")))
}

/// The text of a certificate; none if there is none.
pub(in crate::cmd) fn text_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut text)?;
    Ok(Some(text))
}
