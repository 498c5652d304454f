//! Running another program.

use std::io;
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use winsafe::{HKEY, RegistryValue, co};

/// Runs a program and ends as it ends; returns only if it cannot be run, and says why.
pub(crate) fn become_it(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// A program with these words. `netsh` reads the line itself, and wants quotation marks around values alone: `name="a b"`.
pub(crate) fn command(program: &Path, words: &[String]) -> Command {
    let mut command = Command::new(program);
    for word in words {
        match word.split_once('=') {
            Some((name, value)) if value.contains(' ') => command.raw_arg(format!("{name}=\"{value}\"")),
            _ => command.arg(word),
        };
    }
    command
}

/// What a person must know who runs this on a Windows that is too old.
///
/// Before version 2004 of Windows 10, a wait for a connection does not tell that it failed.
pub(crate) fn old_system() -> Option<String> {
    let (key, name) = (r"SOFTWARE\Microsoft\Windows NT\CurrentVersion", "CurrentBuildNumber");
    let value = HKEY::LOCAL_MACHINE.RegGetValue(Some(key), Some(name), co::RRF::RT_ANY).ok()?;
    let RegistryValue::Sz(text) = value else { return None };
    let build: u32 = text.trim().parse().ok()?;
    (build < OLDEST_BUILD).then(|| {
        format!(
            "this Windows (build {build}) is older than Windows 10, version 2004 (build {OLDEST_BUILD}): programs that end \
             are noticed late; update Windows"
        )
    })
}

/// No: a command here says itself that it is one for the administrator.
pub(crate) fn is_administrator() -> bool {
    false
}

/// None: Windows has no limit for sockets.
pub(crate) fn raise_open_files() -> Option<u64> {
    None
}

/// Nothing: Windows has no such limit.
pub(crate) fn outlive_large_files() {}

const OLDEST_BUILD: u32 = 19_041;

/// The editor, if the user has named none.
pub(crate) const EDITOR: &str = "notepad";
