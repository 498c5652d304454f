//! What is wrong with this computer: its configuration, keys, network interfaces and ports.

use core::fmt;
use std::io;

use schwann::config::{Note, NoteKind, Outcome, PortFallback, Scope};
use schwann_proto::stream_info::IpVersion;

use super::refused::mending_own;
use super::{add, allow, cards};
use crate::doctor::{
    Finding, Weight,
    facts::{Facts, Interface},
    probe::Echo,
    surroundings::Kind,
};
use crate::sys::commands::{self, Side};

/// Whether the system gives this program too little to look at others.
pub(super) fn lacks(facts: &Facts, findings: &mut Vec<Finding>) -> bool {
    if let Some(count) = facts.open_files.filter(|count| *count < OPEN_FILES) {
        let what = format!(
            "This program may have {count} files and sockets open, and needs {OPEN_FILES} to look at streams, so it cannot tell \
             what is wrong."
        );
        add(findings, Weight::Fault, "few-files", what, commands::more_files());
    }
    if let Some(kind) = facts.refused {
        let what = format!(
            "The system refused a search for streams ({kind}), so this program cannot tell what is wrong."
        );
        let fix = "schwann doctor    # again, once other programs of this user have ended";
        add(findings, Weight::Fault, "search-refused", what, fix);
    }
    !findings.is_empty()
}

pub(super) fn configuration(facts: &Facts, findings: &mut Vec<Finding>) {
    for attempt in &facts.report.attempts {
        let origin = &attempt.origin;
        match &attempt.outcome {
            Outcome::Invalid(invalid) => add(
                findings,
                Weight::Fault,
                "config-invalid",
                format!("{origin} is not used at all, because {invalid}."),
                commands::edit(&origin.to_string()),
            ),
            Outcome::Unreadable(kind) => add(
                findings,
                Weight::Fault,
                "config-unreadable",
                format!(
                    "The configuration {origin} cannot be read ({kind}), so others or the defaults are in use."
                ),
                commands::show(&origin.to_string()),
            ),
            Outcome::Loaded { notes } => read(origin, notes, findings),
            _ => {}
        }
    }
    unknown_peers(facts, findings);
}

fn unknown_peers(facts: &Facts, findings: &mut Vec<Finding>) {
    for peer in &facts.unknown_peers {
        add(
            findings,
            Weight::Fault,
            "peer-unknown",
            format!("The known peer {peer:?} does not resolve, so it is never asked for its streams."),
            format!(
                "{}    # then write its address into [lab] KnownPeers of {}",
                commands::look_up(peer),
                facts.config_path
            ),
        );
    }
}

/// What a configuration says that counts otherwise than it looks.
fn read(origin: &impl fmt::Display, notes: &[Note], findings: &mut Vec<Finding>) {
    for note in notes {
        let (weight, code, what) = match note.kind {
            NoteKind::UnknownKey if note.is_of_security() => {
                (Weight::Fault, "config-unknown-key", "has a key that was meant to protect something")
            }
            NoteKind::UnknownKey => (Weight::Warning, "config-unknown-key", "has a key that nothing reads"),
            NoteKind::WithoutBraces => {
                (Weight::Fault, "config-without-braces", "has a list that counts as empty")
            }
            NoteKind::WrongValue(_) => {
                (Weight::Fault, "config-wrong-value", "has a value that cannot be used")
            }
            NoteKind::TrailingText => {
                (Weight::Warning, "config-trailing-text", "has text after a number, which is ignored")
            }
            _ => continue,
        };
        add(findings, weight, code, format!("{origin} {what}: {note}."), commands::edit(&origin.to_string()));
    }
}

pub(super) fn keys(facts: &Facts, findings: &mut Vec<Finding>) {
    let days = facts.config.trust().ok().and_then(|trust| schwann::security::expires_in_days(&trust));
    if let Some(days) = days {
        add(
            findings,
            Weight::Warning,
            "certificate-expires",
            format!("This device's certificate expires in {days} days; after that no member admits it."),
            "schwann keys renew    # while `schwann keys renew --serve` runs on the lab's computer",
        );
    }
    if let Some(reason) = &facts.unsealed {
        add(
            findings,
            Weight::Fault,
            "keys",
            format!("No stream can be sealed on this computer: {reason}."),
            mending_own(reason),
        );
    }
}

pub(super) fn scope(facts: &Facts, findings: &mut Vec<Finding>) {
    let multicast = &facts.config.multicast;
    if multicast.scope == Scope::Machine && facts.config.lab.known_peers.is_empty() {
        add(
            findings,
            Weight::Fault,
            "scope",
            "ResolveScope is machine, so streams of other computers are not looked for.".to_owned(),
            "schwann config set multicast.ResolveScope site",
        );
    } else if multicast.ttl == 0 {
        add(
            findings,
            Weight::Fault,
            "ttl",
            "TTLOverride is 0, so queries never leave this computer.".to_owned(),
            "schwann config set --remove multicast.TTLOverride",
        );
    }
    gone_interfaces(facts, findings);
}

fn gone_interfaces(facts: &Facts, findings: &mut Vec<Finding>) {
    for wanted in &facts.config.multicast.interfaces {
        let is_here = facts.interfaces.iter().any(|interface| interface.ip == wanted.ip);
        if !is_here {
            add(
                findings,
                Weight::Fault,
                "interface-gone",
                format!(
                    "The configuration names the interface with {}, and no interface has that address now.",
                    wanted.ip
                ),
                format!(
                    "{}    # then correct Interfaces in the section [multicast] of {}",
                    commands::addresses(),
                    facts.config_path
                ),
            );
        }
    }
}

pub(super) fn interfaces(facts: &Facts, findings: &mut Vec<Finding>) {
    let outward: Vec<_> = facts.interfaces.iter().filter(|interface| interface.is_outward()).collect();
    let is_inside = |name: &str| facts.surroundings.kind(name) == Kind::Bridge;
    if outward.iter().all(|interface| is_inside(&interface.name)) {
        let what = only_loopback(outward.first().map(|bridge| bridge.name.as_str()));
        return add(findings, Weight::Fault, "loopback-only", what, commands::networks());
    }
    if outward.iter().all(|interface| !interface.has_multicast()) {
        let name = &outward[0].name;
        let what = format!("Multicast is switched off at {name}, so no query leaves and none comes in.");
        add(findings, Weight::Fault, "multicast-off", what, commands::multicast_on(name));
    }
    // A VPN or an empty bridge that takes no multicast is no fault of this computer.
    let is_own = |interface: &&Interface| {
        !matches!(facts.surroundings.kind(&interface.name), Kind::Vpn | Kind::Bridge)
    };
    let own: Vec<_> = outward.iter().copied().filter(is_own).collect();
    cards::cards(&own, facts, findings);
    for interface in own.iter().filter(|interface| interface.is_connected()) {
        judge_echo(interface, facts, findings);
    }
    if !facts.has_multicast_route {
        let name = &facts.main_network().unwrap_or(outward[0]).name;
        let what = "There is no route for multicast, so programs that do not choose an interface themselves find nothing.";
        let fix = commands::multicast_route(name, facts.version);
        add(findings, Weight::Warning, "no-multicast-route", what.to_owned(), fix);
    }
}

/// What it means that no way leads out; `bridge` leads to containers.
fn only_loopback(bridge: Option<&str>) -> String {
    match bridge {
        None => "No network is up but loopback, so only streams of this computer can be seen.".to_owned(),
        Some(name) => format!(
            "No network is up but loopback and {name}, which leads to containers: only streams of this computer can be seen."
        ),
    }
}

fn judge_echo(interface: &Interface, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, version) = (&interface.name, interface.version());
    let by = if version == IpVersion::V6 { " by IPv6" } else { "" };
    // Few programs search by IPv6 alone.
    let is_second = version == IpVersion::V6 && facts.hears_ipv4(interface);
    let weight = if is_second { Weight::Warning } else { Weight::Fault };
    let known = findings.len();
    match interface.echo {
        Some(Echo::NotSent(io::ErrorKind::PermissionDenied)) => add(
            findings,
            weight,
            "firewall-out",
            format!("The firewall of this computer does not let queries out through {name}{by}."),
            allow(facts, Some(name), Side::Out, "udp", version),
        ),
        Some(Echo::NotSent(kind)) => add(
            findings,
            weight,
            "multicast-not-sent",
            format!("The system does not send multicast through {name}{by} ({kind})."),
            commands::permit_multicast(name, version),
        ),
        Some(Echo::Swallowed) => add(
            findings,
            weight,
            "firewall-in",
            format!(
                "The firewall of this computer drops what comes in through {name}{by} at the ports of LSL."
            ),
            allow(facts, Some(name), Side::In, "udp", version),
        ),
        Some(Echo::Heard) | None => {}
    }
    // One command may mend both versions.
    if version == IpVersion::V6 && is_mended(findings, known) {
        findings.truncate(known);
    }
}

/// Whether what was found behind the first `known` findings is mended by the command of one of these.
fn is_mended(findings: &[Finding], known: usize) -> bool {
    let (known, new) = findings.split_at(known);
    new.iter().all(|new| known.iter().any(|known| known.code == new.code && known.fix == new.fix))
}

pub(super) fn ports(facts: &Facts, findings: &mut Vec<Finding>) {
    let ports = &facts.config.ports;
    let count = ports.service_range().count();
    if count == 0 || facts.taken_ports < count {
        return;
    }
    let (weight, follows) = match ports.fallback {
        PortFallback::Fail => {
            (Weight::Fault, "no further stream can be sent from here, and no search can listen")
        }
        PortFallback::Random => (Weight::Warning, "further streams take random ports, which firewalls block"),
    };
    add(
        findings,
        weight,
        "ports-taken",
        format!("All {count} ports from {} are taken, so {follows}.", ports.base),
        "schwann config set ports.PortRange 256    # on every computer of the lab",
    );
}

/// For the searches, and for each of the streams that are looked at beside one another.
const OPEN_FILES: u64 = 512;
