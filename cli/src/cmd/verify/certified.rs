//! What the certificate of a recording proves of it.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use schwann_recorder::certificate::{Certificate, LabStanding, Standing, certificate_path, compare};
use schwann_xdf::Location;
use serde_json::{Value, json};

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
        let trust = lab::config().trust().ok();
        let ours = trust.as_ref().and_then(|trust| trust.member()).map(|member| *member.lab());
        let read = match Certificate::parse(&text, ours.as_ref()) {
            Ok(read) => read,
            Err(error) => return Ok(Self::Worthless(error.to_string())),
        };
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
        let (read, standing) = match self {
            Self::None => return writeln!(out, "  no certificate"),
            Self::Worthless(why) => return writeln!(out, "  certificate NOT ACCEPTED: {why}"),
            Self::Read(read, standing) => (read, standing),
        };
        match &read.signer {
            None => writeln!(out, "  certificate: UNSIGNED: it finds accidents, and no forger")?,
            Some(signer) => {
                let whose = match signer.standing {
                    LabStanding::Ours => "of this lab".to_owned(),
                    _ => format!("of a lab that this computer is no member of: compare {}", signer.lab),
                };
                writeln!(
                    out,
                    "  certificate: signed by {} (certificate {}) {whose}",
                    signer.name, signer.serial
                )?;
            }
        }
        for said in &read.endorsements {
            writeln!(out, "  {}: {}, vouched for by {}", said.meaning, said.name, said.device.name)?;
        }
        match standing {
            Standing::Whole => writeln!(out, "  the file is what it certifies, bit by bit"),
            Standing::CutOff { proven } => {
                writeln!(out, "  CUT OFF: its first {} are what it certifies", bytes(*proven))
            }
            Standing::Parts { proven, changed } => {
                let sum: u64 = proven.iter().map(|(from, to)| to - from).sum();
                writeln!(out, "  {} are what it certifies", bytes(sum))?;
                changed
                    .iter()
                    .try_for_each(|(from, to)| writeln!(out, "  NOT CERTIFIED: from byte {from} to {to}"))
            }
        }
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
            "proven": proven,
            "not_certified": changed,
        })
    }
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

/// Source: certificate §5.
const BYTES_MAX: u64 = 64 << 20;
