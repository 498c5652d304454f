//! Running another program.

use core::sync::atomic::AtomicBool;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;

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

/// Asks for more open files and sockets, of which a shell grants 256 on macOS and 1,024 on Linux; says how many it got. None
/// means that there is no limit.
pub(crate) fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    let raised = Rlimit { current: Some(most), maximum: limit.maximum };
    let is_raised = limit.current? < most && setrlimit(Resource::Nofile, raised).is_ok();
    if is_raised { Some(most) } else { limit.current }
}

/// Has a write fail where a file may not grow further (`ulimit -f`). Otherwise the system would end a recorder there, without a
/// word and without a certificate.
pub(crate) fn outlive_large_files() {
    // Only a system without this signal refuses.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// What macOS grants at most, and enough for 2,000 streams. Source: setrlimit(2) of macOS, `OPEN_MAX`.
const OPEN_FILES: u64 = 10_240;

/// The editor, if the user has named none.
pub(crate) const EDITOR: &str = "nano";
