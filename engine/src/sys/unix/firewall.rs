//! Whether a firewall is switched on, as far as an ordinary user sees that.

use std::path::Path;

/// The program that manages the firewall; nothing if none is seen.
pub(crate) fn manager() -> Option<&'static str> {
    let is_ufw = std::fs::read_to_string(UFW)
        .is_ok_and(|text| text.lines().any(|line| line.trim().eq_ignore_ascii_case("enabled=yes")));
    match (is_ufw, Path::new(FIREWALLD).exists()) {
        (true, _) => Some("ufw"),
        (false, true) => Some("firewalld"),
        (false, false) => None,
    }
}

const UFW: &str = "/etc/ufw/ufw.conf";
/// The service's group of processes, which is there while it runs.
const FIREWALLD: &str = "/sys/fs/cgroup/system.slice/firewalld.service";
