//! What a new lab hides: the plain streams that are on the network now. Each is named, and may be admitted.

use core::time::Duration;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use schwann::security::{Policy, Trust};
use schwann::{Context, StreamInfo, resolver};

use super::passphrase::confirm;
use crate::config_file;
use crate::exit::Problem;
use crate::lab;
use crate::terminal::printable;

const LOOK: Duration = Duration::from_millis(1500);

/// Names the plain streams, and asks of each whether it shall stay visible here; does nothing without a terminal.
pub(super) fn offer() -> Result<(), Problem> {
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    let config = lab::config().config().as_ref().clone();
    let context = Arc::new(Context::with_trust(config, Trust::new(Policy::Off, None)));
    // A network that cannot be searched hides nothing that could be named.
    let mut found = resolver::resolve_session(&context, 0, LOOK).unwrap_or_default();
    found.sort_by_key(name);
    found.dedup_by_key(|info| (name(info), info.hostname().to_string()));
    if found.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "These streams are plain, and this computer hides them from now on:")?;
    for info in &found {
        writeln!(
            out,
            "  {} ({}), source id {}, of {}",
            printable(&name(info)),
            printable(&info.stream_type().to_string()),
            printable(&info.source_id().to_string()),
            printable(&info.hostname().to_string())
        )?;
    }
    writeln!(
        out,
        "A program of this computer seals its stream once it is started again. `schwann gateway` brings in the"
    )?;
    writeln!(
        out,
        "stream of an old device, sealed. Or a stream stays plain, and anybody can read it and send in its name."
    )?;
    out.flush()?;
    let mut names: Vec<_> =
        found.iter().map(name).filter(|name| !name.contains([',', '{', '}', ';'])).collect();
    names.dedup();
    for name in names {
        if confirm(&format!("Admit {} in the clear? [y/N] ", printable(&name)))? {
            admit(&name)?;
        }
    }
    Ok(())
}

/// Adds a name to those that may travel in the clear.
fn admit(name: &str) -> Result<(), Problem> {
    let path = config_file::path();
    let before = config_file::value(&path, "security", "off")?;
    let mut names = before.map_or_else(Vec::new, |value| config_file::entries(&value));
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
    config_file::set(&path, "security", "off", Some(&format!("{{{}}}", names.join(", "))))?;
    writeln!(io::stdout().lock(), "{}: security.off names {}.", path.display(), printable(name))?;
    Ok(())
}

fn name(info: &StreamInfo) -> String {
    info.name().to_string()
}
