//! What is wrong on the way to one other computer.

use core::net::SocketAddr;

use schwann::{config::Scope, resolver::Viewed, security::Explained};
use schwann_recorder::Unseen;
use schwann_recorder::words::quoted;

use super::refused::mending;
use super::view::{firewall_of, has_heard_multicast, has_heard_unicast, has_our_time, manager_of};
use super::{add, addresses, allow, allow_there};
use crate::doctor::{
    Finding, Weight,
    facts::{Facts, Host, Stream, version_of},
    ports::Knock,
};
use crate::sys::commands::{self, Side};

pub(super) fn judge_host(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let Host { name, addresses, .. } = host;
    if addresses.is_empty() {
        let what = format!("No computer called {name:?} was found.");
        return add(findings, Weight::Fault, "host-unknown", what, commands::look_up(name));
    }
    let found: Vec<_> = facts.streams.iter().filter(|stream| is_at(stream, host, facts)).collect();
    if found.is_empty() {
        return judge_unseen_host(host, facts, findings);
    }
    let is_near = addresses.iter().any(|&ip| facts.interfaces.iter().any(|interface| interface.reaches(ip)));
    let is_inward = facts.config.multicast.scope == Scope::Machine;
    if found.iter().any(|stream| stream.by_multicast) || is_inward {
        if is_near && !is_inward {
            judge_multicast(name, &host.view, facts, findings);
        }
        return;
    }
    let (code, why) = why_only_directly(is_near, &host.view);
    let what = format!("{name} is found only when asked directly; {why}.");
    add(findings, Weight::Fault, code, what, format!("schwann peers add {}", quoted(name)));
}

/// Why no search by multicast finds a computer that answers when it is asked itself.
fn why_only_directly(is_near: bool, view: &Viewed) -> (&'static str, String) {
    match (is_near, has_heard_multicast(view)) {
        (false, _) => {
            ("other-subnet", String::from("it is in another subnet, and routers do not pass multicast on"))
        }
        (true, Some(true)) => (
            "multicast-lost",
            String::from(
                "it has heard a query by multicast, and its answer did not come back: a firewall here drops it",
            ),
        ),
        (true, Some(false)) => (
            "multicast-lost",
            format!(
                "it has heard none by multicast: its firewall{} or the network switch drops it",
                firewall_of(view)
            ),
        ),
        (true, None) => (
            "multicast-lost",
            String::from("multicast does not come through: a firewall or the network switch drops it"),
        ),
    }
}

/// Members that were found without a question about one of them.
pub(super) fn judge_near(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.config.multicast.scope != Scope::Machine {
        facts.near.iter().for_each(|near| judge_multicast(&near.name, &near.view, facts, findings));
    }
}

/// A member in this network that hears no multicast is found only by those who remember it.
fn judge_multicast(name: &str, view: &Viewed, facts: &Facts, findings: &mut Vec<Finding>) {
    if has_heard_multicast(view) == Some(false) {
        let what = format!(
            "{name} is found because members of a lab remember each other: no query comes to it by multicast, so its firewall{} \
             or the network switch drops it.",
            firewall_of(view)
        );
        let fix = format!("on {name}: {}", allow_there(facts, manager_of(view), "udp"));
        add(findings, Weight::Fault, "multicast-lost", what, fix);
    }
}

/// Known peers without a stream that was found.
pub(super) fn judge_peers(facts: &Facts, findings: &mut Vec<Finding>) {
    for peer in &facts.silent_peers {
        if peer.addresses.is_empty() {
            let what = format!(
                "The known peer {:?} has no address of the version of IP that the configuration permits, so it is never asked.",
                peer.name
            );
            add(findings, Weight::Fault, "peer-unknown", what, "schwann config set ports.IPv6 allow");
            continue;
        }
        let mut found = Vec::new();
        judge_unseen_host(peer, facts, &mut found);
        for finding in &mut found {
            finding.what.insert_str(0, "Known peer: ");
            // It may have nothing to send now.
            if finding.code == "no-outlet" {
                finding.weight = Weight::Warning;
            }
        }
        findings.append(&mut found);
    }
}

/// Whether the stream is of this host. A computer has several addresses: its own streams are at any of them.
fn is_at(stream: &Stream, host: &Host, facts: &Facts) -> bool {
    let is_own = host.addresses.iter().any(|&ip| facts.is_own(ip));
    addresses(&stream.info).any(|ip| host.addresses.contains(&ip) || (is_own && facts.is_own(ip)))
}

/// Whether it is said of the stream's computer that a firewall blocks UDP, which is why no search finds the stream.
pub(super) fn is_told_of_host(unseen: &Unseen, facts: &Facts) -> bool {
    let Ok(place) = unseen.address.parse::<SocketAddr>() else { return false };
    let without_stream = |host: &&Host| !facts.streams.iter().any(|stream| is_at(stream, host, facts));
    let mut hosts = facts.silent_peers.iter().chain(facts.host.as_ref()).filter(without_stream);
    facts.unsealed.is_none() && hosts.any(|host| host.addresses.contains(&place.ip()) && is_blocked(host))
}

/// Whether a host lets this computer in over TCP, and all by UDP is missing.
fn is_blocked(host: &Host) -> bool {
    let has_other_cause = host.refusal.is_some() || (host.is_silent && !has_our_time(host));
    !has_other_cause && host.knocks.contains(&Knock::Open)
}

/// The host has an address, and none of its streams was found.
fn judge_unseen_host(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let name = &host.name;
    if facts.unsealed.is_some() && host.knocks.contains(&Knock::Open) {
        // The finding on keys says why; a firewall has no part in it.
        return;
    }
    if let Some(refusal) = host.refusal {
        let what = format!("{name} has streams, but not for this computer: {}.", Explained(refusal));
        add(findings, Weight::Fault, "sealed", what, mending(refusal, facts));
    } else if host.is_silent && !has_our_time(host) {
        let what = format!(
            "{name} has streams that let this computer in, but do not answer its searches: the clocks of the two \
             computers may differ by more than 30 s."
        );
        add(findings, Weight::Fault, "clock-differs", what, commands::set_clock());
    } else if is_blocked(host) {
        judge_blocked_udp(host, facts, findings);
    } else {
        judge_closed_host(host, facts, findings);
    }
}

/// The host lets this computer in at no port.
fn judge_closed_host(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, ip) = (&host.name, host.addresses[0]);
    if host.knocks.contains(&Knock::Refused) {
        let what = format!(
            "{name} is there, but no program on it sends a stream at the ports that this computer asks."
        );
        let fix = format!("on {name}: schwann    # shows what is sent there");
        add(findings, Weight::Fault, "no-outlet", what, fix);
    } else if host.knocks.contains(&Knock::Unreachable) {
        let what = format!(
            "There is no way to {name}: it is off, or in a network that this computer does not reach."
        );
        add(findings, Weight::Fault, "host-unreachable", what, commands::way_to(ip));
    } else {
        let what = format!(
            "{name} does not answer at any port of LSL: it is off, or its firewall drops everything."
        );
        let fix = format!("on {name}: {}", allow_there(facts, manager_of(&host.view), "tcp"));
        add(findings, Weight::Fault, "host-silent", what, fix);
    }
}

/// The host has streams, and no answer of its own comes by UDP.
fn judge_blocked_udp(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, ip) = (&host.name, host.addresses[0]);
    let way = facts.interfaces.iter().find(|interface| interface.reaches(ip));
    let here = allow(facts, way.map(|way| way.name.as_str()), Side::In, "udp", version_of(ip));
    let there = format!("on {name}: {}", allow_there(facts, manager_of(&host.view), "udp"));
    let (why, fix) = match has_heard_unicast(&host.view) {
        None => (String::from("its answers do not come through: a firewall blocks UDP"), there),
        Some(false) => {
            (format!("no query has come to it: its firewall blocks UDP{}", firewall_of(&host.view)), there)
        }
        Some(true) => {
            let why =
                "it has heard the queries, and its answers do not come back: a firewall here blocks UDP";
            (String::from(why), here)
        }
    };
    add(findings, Weight::Fault, "udp-blocked", format!("{name} has streams, but {why}."), fix);
}
