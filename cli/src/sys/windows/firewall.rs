//! The firewall's rules, which every user may read, and what kind of network Windows takes each for.

use std::process::{Command, Stdio};

use winsafe::{HKEY, RegistryValue, co};

/// The active rules as Windows writes them; none where there is no such firewall.
///
/// - Source: MS-FASP 2.2.37, "Firewall rule and the firewall rule grammar rule".
pub(crate) fn rules() -> Vec<String> {
    let read = co::KEY::QUERY_VALUE;
    let Ok(key) = HKEY::LOCAL_MACHINE.RegOpenKeyEx(Some(RULES), co::REG_OPTION::default(), read) else {
        return Vec::new();
    };
    let Ok(values) = key.RegEnumValue() else { return Vec::new() };
    let texts = values.flatten().filter_map(|(name, _)| match key.RegQueryValueEx(Some(&name)) {
        Ok(RegistryValue::Sz(text)) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// A line `NAME|CATEGORY` for each network; empty if Windows does not tell.
pub(crate) fn networks() -> String {
    let script = "Get-NetConnectionProfile | ForEach-Object { $_.InterfaceAlias + '|' + $_.NetworkCategory }";
    let mut command = Command::new("powershell");
    command.args(["-NoProfile", "-NonInteractive", "-Command", script]).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success());
    output.map_or_else(String::new, |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Nothing: these are of Linux.
pub(crate) fn nftables() -> Option<String> {
    None
}

/// Nothing: these are of Linux.
pub(crate) fn iptables() -> Option<String> {
    None
}

/// Nothing: these are of Linux.
pub(crate) fn zones() -> Option<String> {
    None
}

/// Nothing: Windows tells of its interfaces what is needed.
pub(crate) fn links() -> Option<String> {
    None
}

/// No: anybody reads the rules of Windows.
pub(crate) fn may_have_rules() -> bool {
    false
}

/// No: a container of Windows has a system of its own.
pub(crate) fn is_in_container() -> bool {
    false
}

/// Nothing: that is Linux on Windows.
pub(crate) fn wsl_network() -> Option<String> {
    None
}

const RULES: &str = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";
