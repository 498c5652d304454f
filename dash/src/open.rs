//! Opens a page in the usual browser of this computer.

use std::{
    env,
    process::{Command, Stdio},
};

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
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some()) {
        ("xdg-open", &[])
    } else {
        return Opened::No;
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_ok() { Opened::Yes } else { Opened::No }
}
