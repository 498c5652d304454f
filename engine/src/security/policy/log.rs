//! Which file a configuration may have logs written to.

use std::path::Path;

use crate::config::Config;
use crate::log::{LogFile, Readers};
use crate::security::keys::store;

/// Opens the log that `config` names.
///
/// - Errors: the system's. Or `config` is a file in the current folder and names a file that it may not have
///   written to.
pub(crate) fn open_log(path: &Path, readers: Readers, config: &Config) -> Result<LogFile, String> {
    let installed = store::is_installed(&store::folder()).unwrap_or(true);
    let path = permitted(config, path, installed)?;
    let opened = match config.beneath {
        Some(_) if installed => LogFile::open_beside(path, readers),
        _ => LogFile::open(path, readers),
    };
    opened.map_err(|error| error.to_string())
}

/// Where the log that a file names may be written, for a user with a key. A file in the current folder may name
/// only one beside itself. Otherwise it could have any file of the user's written to.
///
/// - Errors: what is said to the user.
fn permitted<'a>(config: &Config, named: &'a Path, installed: bool) -> Result<&'a Path, String> {
    let is_beside = named.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    if !installed || config.beneath.is_none() || is_beside {
        return Ok(named);
    }
    Err(format!(
        "{} is in the current folder, so it cannot name a file elsewhere: the log {} is not written",
        config.place(),
        named.display()
    ))
}
