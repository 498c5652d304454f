//! What follows from where this program runs: in a container, in WSL, beside a VPN.

use super::add;
use crate::doctor::{Finding, Weight, facts::Facts, surroundings::Kind};

pub(super) fn surroundings(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.surroundings.is_wsl {
        let what = "This is WSL, whose network lies behind that of Windows: other computers do not see its streams, and it does \
                    not see theirs.";
        let fix = "write networkingMode=mirrored into [wsl2] of %UserProfile%\\.wslconfig, then: wsl --shutdown    # in Windows";
        add(findings, Weight::Warning, "wsl", what.to_owned(), fix);
    } else if facts.surroundings.is_container {
        let what = "This is a container with a network of its own: other computers do not see its streams, and it does not see \
                    theirs.";
        add(findings, Weight::Warning, "container", what.to_owned(), "docker run --network host IMAGE");
    }
    let mut told = Vec::new();
    for interface in &facts.interfaces {
        let name = &interface.name;
        if facts.surroundings.kind(name) != Kind::Vpn || told.contains(&name) {
            continue;
        }
        told.push(name);
        let what = format!(
            "{name} is a VPN, and most of them pass on no multicast: streams of a computer behind it are found only if that \
             computer is named."
        );
        add(
            findings,
            Weight::Warning,
            "vpn",
            what,
            "schwann peers add HOST    # the computer behind the VPN",
        );
    }
}
