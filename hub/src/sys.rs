//! What differs between systems: who may read a file, and how long a server lives. No other file of this crate asks which system
//! it runs on.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::process::Command;

/// A new file is for its owner alone.
#[cfg(unix)]
pub(crate) fn make_private(how: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(how, 0o600);
}

/// Nothing: a file is as private as its folder.
#[cfg(not(unix))]
pub(crate) fn make_private(_: &mut OpenOptions) {}

/// A command that starts `program` so that it ends with this process, however that ends. `tether` are the words with which this
/// program calls [`become_tethered`].
#[cfg(target_os = "linux")]
pub(crate) fn tethered(program: &OsStr, tether: &[OsString]) -> Command {
    // This very program, also after an update has replaced its file.
    let mut command = Command::new("/proc/self/exe");
    command.args(tether).arg(std::process::id().to_string()).arg(program);
    command
}

/// A command that starts `program`. Here it stays when this process is killed; the next start names it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tethered(program: &OsStr, _: &[OsString]) -> Command {
    Command::new(program)
}

/// Becomes `program`, which the system asks to end as soon as the process `parent` has ended. Returns why it does not.
#[cfg(target_os = "linux")]
pub(crate) fn become_tethered(parent: u32, program: &OsStr, arguments: &[OsString]) -> io::Error {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt as _;
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return error.into();
    }
    // A parent that ended before gives no signal any more.
    let now = getppid().map(|process| process.as_raw_nonzero().get().unsigned_abs());
    if now != Some(parent) {
        return io::Error::other("the program that started it has ended");
    }
    Command::new(program).args(arguments).exec()
}

/// Nothing calls it here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn become_tethered(_: u32, _: &OsStr, _: &[OsString]) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// The command that ends a process.
#[cfg(windows)]
pub(crate) fn end_command(process: u32) -> String {
    format!("taskkill /F /PID {process}")
}

/// The command that ends a process.
#[cfg(not(windows))]
pub(crate) fn end_command(process: u32) -> String {
    format!("kill {process}")
}
