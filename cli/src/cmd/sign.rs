//! `schwann sign`: what a person says of a recording, in its certificate.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_recorder::certificate::{Certificate, certificate_path, replace_beside};

use super::opening::Opening;
use super::verify::text_of;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::terminal::printable;

/// Sign a statement on a recording in its certificate, such as that you reviewed or approved it.
///
/// This computer's key signs your name, the time and the meaning. It does not prove who you are.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann sign session.xdf --name \"M. Curie\" --meaning reviewed

`schwann verify session.xdf` shows it. It needs a certificate beside the recording, and keys: schwann keys init")]
pub(crate) struct Arguments {
    /// The recording; its certificate lies beside it.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// Your name.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Your statement, such as reviewed, approved or responsible.
    #[arg(long, value_name = "WORDS")]
    meaning: String,
}

/// Signs.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let at = certificate_path(&arguments.file);
    let wrong = |error: &dyn core::fmt::Display| Problem::with(at.display(), error);
    let text = text_of(&at).map_err(|error| wrong(&error))?;
    let text = text.ok_or_else(|| wrong(&"there is no certificate; schwann record writes one"))?;
    if let Some(complaint) = super::verify::complaint(&arguments.opening.location(&arguments.file)?)? {
        return Err(Problem::Failed(format!("{complaint}; nothing was signed")));
    }
    let trust = lab::config().trust().map_err(|error| wrong(&error))?;
    let member =
        trust.member().ok_or_else(|| wrong(&"this computer has no keys to sign with: schwann keys init"))?;
    let read = Certificate::parse(&text, Some(member.as_ref())).map_err(|error| wrong(&error))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let endorsed = read.endorsed(&arguments.name, &arguments.meaning, now, member);
    replace_beside(&arguments.file, endorsed.as_ref()).map_err(|error| wrong(&error))?;
    let signed = format!("{}: {}: {}", at.display(), arguments.meaning, arguments.name);
    writeln!(io::stdout(), "{}", printable(&signed))?;
    Ok(Exit::Good)
}
