//! The firewall's rules, as far as this user may read them, and what this system runs in.

use std::path::Path;
use std::process::{Command, Stdio};

/// The system's firewall that this program does not ask, and who does.
pub(crate) const UNASKED: Option<&str> = if cfg!(target_os = "macos") {
    Some(
        "The firewall of macOS was not asked what it does to programs: /usr/libexec/ApplicationFirewall/socketfilterfw \
         --getglobalstate --listapps",
    )
} else {
    None
};

/// None: these are of Windows.
pub(crate) fn rules() -> Option<Vec<String>> {
    Some(Vec::new())
}

/// None: networks are not divided into public and private here.
pub(crate) fn networks() -> Option<String> {
    Some(String::new())
}

/// The rules of nftables as JSON; nothing if this user may not read them, or there is no such firewall.
pub(crate) fn nftables() -> Option<String> {
    // Not in the path of an ordinary user everywhere.
    ["nft", "/usr/sbin/nft"].into_iter().find_map(|program| output(program, &["-j", "list", "ruleset"]))
}

/// The rules of iptables for IPv4; nothing if this user may not read them, or there is no such firewall.
pub(crate) fn iptables() -> Option<String> {
    let programs = ["iptables-save", "/usr/sbin/iptables-save"];
    programs.into_iter().find_map(|program| output(program, &["-t", "filter"]))
}

/// The zones of firewalld that are in use, as it prints them; nothing if it does not tell this user.
pub(crate) fn zones() -> Option<String> {
    output("firewall-cmd", &["--get-active-zones"])
}

/// The network interfaces and what they are made of, as JSON of iproute2.
pub(crate) fn links() -> Option<String> {
    ["ip", "/usr/sbin/ip"].into_iter().find_map(|program| output(program, &["-j", "-d", "link"]))
}

/// Whether this system may filter packets by rules that no program known here manages.
pub(crate) fn may_have_rules() -> bool {
    ["/sys/module/nf_tables", "/sys/module/ip_tables"].iter().any(|module| Path::new(module).exists())
}

/// Whether this program runs in a container.
pub(crate) fn is_in_container() -> bool {
    std::env::var_os("container").is_some() || MARKS.iter().any(|mark| Path::new(mark).exists())
}

/// How Windows connects this system to the network, if this is its subsystem.
pub(crate) fn wsl_network() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let is_wsl =
        std::env::var_os("WSL_DISTRO_NAME").is_some() || release.to_lowercase().contains("microsoft");
    // A version without this program knows only one way.
    is_wsl.then(|| output("wslinfo", &["--networking-mode"]).unwrap_or_else(|| String::from("nat")))
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let done = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Files that Docker and Podman put into their containers.
const MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];
