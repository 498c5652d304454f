//! Running another program.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Becomes a program; returns only if that failed, and says why.
pub(crate) fn become_it(command: &mut Command) -> io::Error {
    command.exec()
}

/// A program with these words.
pub(crate) fn command(program: &Path, words: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

/// The warning for a system that is too old. There is none, because the program does not start there.
pub(crate) fn old_system() -> Option<String> {
    None
}

/// Whether this program may do what the administrator may.
pub(crate) fn is_administrator() -> bool {
    rustix::process::geteuid().is_root()
}

/// The editor, if the user has named none.
pub(crate) const EDITOR: &str = "nano";
