//! Running another program.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Becomes a program; returns only if that failed, and says why.
pub(crate) fn become_it(command: &mut Command) -> io::Error {
    command.exec()
}

/// What a person must know who runs this on a system that is too old: nothing, as it does not start there.
pub(crate) fn old_system() -> Option<String> {
    None
}

/// The editor of a person who has named none.
pub(crate) const EDITOR: &str = "nano";
