//! What is wrong with one network card of several: no cable, no address, no multicast.

use super::add;
use crate::doctor::{
    Finding, Weight,
    facts::{Facts, Interface},
};
use crate::sys::commands;

/// Judges the cards that lead to other computers.
pub(super) fn cards(own: &[&Interface], facts: &Facts, findings: &mut Vec<Finding>) {
    let (connected, cut): (Vec<&Interface>, Vec<&Interface>) =
        own.iter().copied().partition(|interface| interface.is_connected());
    without_connection(&cut, connected.is_empty(), findings);
    without_multicast(&connected, facts, findings);
    without_server(&connected, facts, findings);
}

/// Cards with an address and no cable. An address that a card gave itself is no sign that it is meant to be used.
fn without_connection(cut: &[&Interface], are_all: bool, findings: &mut Vec<Finding>) {
    let weight = if are_all { Weight::Fault } else { Weight::Warning };
    for interface in first_of_each(cut, |interface| !interface.is_link_local()) {
        let (name, ip) = (&interface.name, interface.ip);
        let what = format!(
            "{name} has the address {ip} and no connection: no stream comes through it until its cable is plugged in or its \
             wireless network is joined."
        );
        add(findings, weight, "no-carrier", what, commands::connection(name));
    }
}

/// Multicast is off at one card and on at another, so a search finds a part of the streams.
fn without_multicast(connected: &[&Interface], facts: &Facts, findings: &mut Vec<Finding>) {
    if !facts.interfaces.iter().any(|interface| interface.has_multicast()) {
        return;
    }
    let is_off = |interface: &Interface| interface.has_broadcast() && !interface.has_multicast();
    for interface in first_of_each(connected, is_off) {
        let name = &interface.name;
        let what = format!(
            "Multicast is switched off at {name}, so no query leaves and none comes in there; another network has it."
        );
        add(findings, Weight::Fault, "multicast-off", what, commands::multicast_on(name));
    }
}

/// Cards that gave themselves an address, which two computers without a server may do on purpose.
fn without_server(connected: &[&Interface], facts: &Facts, findings: &mut Vec<Finding>) {
    let has_address = |interface: &&Interface| {
        connected.iter().any(|other| other.name == interface.name && !other.is_link_local())
    };
    let are_all = !connected.iter().any(|interface| !interface.is_link_local());
    let weight = if are_all { Weight::Fault } else { Weight::Warning };
    let alone: Vec<_> = connected.iter().copied().filter(|interface| !has_address(interface)).collect();
    let has_ipv4 = alone.iter().any(|interface| interface.ip.is_ipv4());
    // Every card has such an address of IPv6. It says something where there is no other in any network.
    let counts = |interface: &Interface| {
        interface.ip.is_ipv4() || (are_all && !has_ipv4 && facts.config.ports.ip.v4())
    };
    for interface in first_of_each(&alone, counts) {
        let (name, ip) = (&interface.name, interface.ip);
        if facts.sees_through(name) {
            continue;
        }
        let what = format!(
            "{name} has only the address {ip}, which it gave itself because no server gave it one: it reaches computers with \
             such an address alone."
        );
        add(findings, weight, "link-local", what, commands::addresses_of(name));
    }
}

/// The first address of each card that counts.
fn first_of_each<'a>(cards: &[&'a Interface], counts: impl Fn(&Interface) -> bool) -> Vec<&'a Interface> {
    let mut first: Vec<&Interface> = Vec::new();
    for card in cards.iter().copied().filter(|card| counts(card)) {
        if !first.iter().any(|known| known.name == card.name) {
            first.push(card);
        }
    }
    first
}
