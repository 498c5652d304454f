//! Opens a page in the usual browser of this computer.

use std::process::{Command, Stdio};

use crate::sys;

/// Whether a browser was started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Opened {
    /// There is no screen, or no way to start a browser.
    No,
    /// It was asked to show the page.
    Yes,
}

/// Shows `url` in the usual browser. Does not wait for it.
///
/// All users of the computer see the address in the list of processes.
pub(super) fn open_browser(url: &str) -> Opened {
    let Some((program, arguments)) = sys::opener() else { return Opened::No };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_ok() { Opened::Yes } else { Opened::No }
}
