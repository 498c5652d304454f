//! The firewall's rules, which every user may read, and what kind of network Windows takes each for.

use std::process::{Command, Stdio};

use winsafe::{HKEY, RegistryValue, co};

/// None: this program asks the firewall of Windows.
pub(crate) const UNASKED: Option<&str> = None;

/// The rules as Windows writes them, and none where there is no such firewall; nothing if they cannot be read.
///
/// - Source: MS-FASP 2.2.37, "Firewall rule and the firewall rule grammar rule".
pub(crate) fn rules() -> Option<Vec<String>> {
    let read = co::KEY::QUERY_VALUE;
    let key = match HKEY::LOCAL_MACHINE.RegOpenKeyEx(Some(RULES), co::REG_OPTION::default(), read) {
        Err(co::ERROR::FILE_NOT_FOUND) => return Some(Vec::new()),
        opened => opened.ok()?,
    };
    let values = key.RegEnumValue().ok()?.map(|value| key.RegQueryValueEx(Some(&value?.0)));
    let values = values.collect::<Result<Vec<_>, _>>().ok()?;
    let text = |value| if let RegistryValue::Sz(text) = value { Some(text) } else { None };
    Some(values.into_iter().filter_map(text).collect())
}

/// A line `NAME|CATEGORY` for each network; nothing if Windows does not tell.
pub(crate) fn networks() -> Option<String> {
    let script = "Get-NetConnectionProfile | ForEach-Object { $_.InterfaceAlias + '|' + $_.NetworkCategory }";
    let mut command = Command::new("powershell");
    command.args(["-NoProfile", "-NonInteractive", "-Command", script]).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
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

/// No: everyone reads the rules of Windows.
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
