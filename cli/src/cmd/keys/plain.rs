//! Plain streams, which a sealed lab hides: each is named, and may be admitted.

use core::time::Duration;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use schwann::security::{Admitted, Policy, Trust};
use schwann::{Context, StreamInfo, resolver};
use schwann_recorder::Selector;

use super::condition::{self, Field};
use super::passphrase::confirm;
use crate::config_file;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::terminal::printable;

/// Names the plain streams, and asks of each whether it shall stay visible here. Without a terminal it says what names them.
pub(super) fn offer() -> Result<(), Problem> {
    if !io::stdin().is_terminal() {
        writeln!(
            io::stdout().lock(),
            "Plain streams are hidden here from now on: `schwann` names them, `schwann keys admit` admits one."
        )?;
        return Ok(());
    }
    // A network that cannot be searched hides nothing that could be named.
    let found = plain_streams().unwrap_or_default();
    if found.is_empty() {
        return Ok(());
    }
    explain(&found)?;
    for info in &found {
        if confirm(&format!("Admit {} in the clear? [y/N] ", title(info)))? {
            admit_one(info)?;
        }
    }
    Ok(())
}

/// Names the streams, and says what may become of each.
fn explain(found: &[StreamInfo]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "These streams are plain, and this computer hides them from now on:")?;
    found.iter().try_for_each(|info| writeln!(out, "  {}", title(info)))?;
    writeln!(
        out,
        "A program of this computer seals its stream once it is started again. `schwann gateway` brings in the"
    )?;
    writeln!(
        out,
        "stream of an old device, sealed. Or a stream stays plain, and every program in the network can read and imitate it."
    )?;
    out.flush()
}

/// Admits the plain streams that are chosen, after a question for each.
pub(super) fn admit(chosen: Option<&Selector>, yes: bool) -> Outcome {
    if !yes && !io::stdin().is_terminal() {
        return Err(Problem::Failed(String::from(
            "there is no terminal to ask at; --yes admits the streams without a question",
        )));
    }
    let mut found = plain_streams()?;
    found.retain(|info| chosen.is_none_or(|chosen| chosen.chooses(info)));
    if found.is_empty() {
        let what =
            chosen.map_or_else(|| String::from("plain stream"), |chosen| format!("plain stream {chosen}"));
        return Err(Problem::Failed(format!(
            "no {what} was found within {} s; why: schwann doctor",
            LOOK.as_secs_f64()
        )));
    }
    let mut exit = Exit::Found;
    for info in &found {
        let question = "every program in the network can read and imitate it. Admit it? [y/N] ";
        if yes || confirm(&format!("{} is plain: {question}", title(info)))? {
            admit_one(info)?;
            exit = Exit::Good;
        }
    }
    Ok(exit)
}

/// The plain streams of this session, each once.
fn plain_streams() -> Result<Vec<StreamInfo>, Problem> {
    let config = lab::config().config().as_ref().clone();
    let context = Arc::new(Context::with_trust(config, Trust::new(Policy::Off, None)));
    let found = resolver::resolve_session(&context, 0, LOOK);
    let mut found = found.map_err(|error| Problem::with("search", error))?;
    found.sort_by_key(title);
    found.dedup_by_key(|info| title(info));
    Ok(found)
}

/// Adds a stream to those that may come in the clear: by its name, its source id and its computer.
fn admit_one(info: &StreamInfo) -> Result<(), Problem> {
    let path = config_file::path_of_trust();
    let _turn = config_file::turn(&path);
    let before = config_file::value(&path, "security", "plain")?.unwrap_or_default();
    let before = Admitted::parse(&before).map_err(|error| Problem::with(path.display(), error))?;
    if !before.admits(info) {
        let new = condition::of(info, &[Field::Name, Field::SourceId, Field::Hostname])?;
        let all = before.condition().map_or_else(|| new.clone(), |before| format!("{before} or {new}"));
        config_file::set(&path, "security", "plain", Some(&all))?;
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: security.plain admits {}. Programs that run take it with their next start.",
        path.display(),
        title(info)
    )?;
    config_file::tell_overruled("security.plain");
    Ok(())
}

/// A stream as a person tells it from others.
fn title(info: &StreamInfo) -> String {
    let text = format!(
        "{} ({}), source id {}, of {}",
        info.name(),
        info.stream_type(),
        info.source_id(),
        info.hostname()
    );
    printable(&text).into_owned()
}

const LOOK: Duration = Duration::from_millis(1500);
