//! Network namespaces, by way of the program `ip`.

use core::net::Ipv4Addr;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::LineError;

/// A namespace of this process; removed when dropped.
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// Adds a namespace whose loopback is up. `end` makes its name unique in this process.
    pub(super) fn add(end: &str) -> Result<Self, LineError> {
        let name = format!("{PREFIX}{}-{end}", std::process::id());
        ip(&["netns", "add", &name])?;
        // From here on it is removed in any case.
        let space = Self { name };
        ip(&["-n", &space.name, "link", "set", "lo", "up"])?;
        Ok(space)
    }

    /// Moves a device of the root namespace in here, with an address and nothing that speaks on its own.
    pub(super) fn take_in(&self, device: &str, address: Ipv4Addr) -> Result<(), LineError> {
        ip(&["link", "set", device, "netns", &self.name])?;
        ip(&["-n", &self.name, "link", "set", device, "addrgenmode", "none"])?;
        ip(&["-n", &self.name, "addr", "add", &format!("{address}/24"), "dev", device])?;
        ip(&["-n", &self.name, "link", "set", device, "up"])
    }

    /// The words before a command that make it run in here.
    pub(super) fn enter(&self) -> Vec<OsString> {
        ["ip", "netns", "exec", &self.name].map(OsString::from).into()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What is left behind is removed by the next campaign.
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// Removes the namespaces of programs that were killed before they could.
pub(super) fn remove_abandoned() {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // Another campaign may have been faster.
            let _ = ip(&["netns", "del", &name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), LineError> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| LineError::no_ip(&error))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(LineError::refused(&format!("ip {}", arguments.join(" ")), &words))
}

const PREFIX: &str = "schwann-bench-";
