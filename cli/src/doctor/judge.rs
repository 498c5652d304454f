//! What the facts mean: one sentence and one command each.

use schwann_proto::stream_info::IpVersion;

use super::{
    Finding, Weight,
    facts::{Facts, Stream, addresses},
    firewall::Manager,
};
use crate::sys::commands::{self, Side};
use crate::terminal::printable;

mod cards;
mod computer;
mod firewall;
mod host;
mod hubs;
mod refused;
mod streams;
mod surroundings;
mod view;

pub(crate) use self::{firewall::unread, view::told};

/// Makes findings of facts, the worst first.
pub(crate) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Without them others would be accused of what this program could not open.
    if computer::lacks(facts, &mut findings) {
        return findings;
    }
    computer::configuration(facts, &mut findings);
    computer::keys(facts, &mut findings);
    computer::scope(facts, &mut findings);
    computer::interfaces(facts, &mut findings);
    computer::ports(facts, &mut findings);
    surroundings::surroundings(facts, &mut findings);
    firewall::rules(facts, &mut findings);
    firewall::firewall(facts, &mut findings);
    streams::streams(facts, &mut findings);
    streams::unseen(facts, &mut findings);
    hubs::hubs(facts, &mut findings);
    host::judge_near(facts, &mut findings);
    host::judge_peers(facts, &mut findings);
    if let Some(host) = &facts.host {
        host::judge_host(host, facts, &mut findings);
        view::judge_view(host, facts, &mut findings);
    }
    streams::none(facts, &mut findings);
    findings.sort_by_key(|finding| finding.weight);
    findings
}

fn add(
    findings: &mut Vec<Finding>,
    weight: Weight,
    code: &'static str,
    what: String,
    fix: impl Into<String>,
) {
    // Names of streams and computers are in it, and a line of theirs would pass for one of ours.
    let [what, fix] = [what, fix.into()].map(|text| printable(&text).into_owned());
    findings.push(Finding { code, weight, what, fix });
}

/// The command that opens the ports of LSL on this computer, at `interface` if one is known to be closed.
fn allow(facts: &Facts, interface: Option<&str>, side: Side, protocol: &str, version: IpVersion) -> String {
    let ports = lsl_ports(facts);
    let zone = interface.and_then(|interface| facts.zone(interface));
    let by_manager = facts.firewall.manager.allow(zone, ports, protocol).filter(|_| side == Side::In);
    by_manager
        .or_else(|| firewall::allow(facts, side, protocol, version))
        .unwrap_or_else(|| commands::allow(ports, side, protocol, version))
}

/// The command that opens the ports of LSL on another computer, whose firewall `manager` manages.
fn allow_there(facts: &Facts, manager: Manager, protocol: &str) -> String {
    let ports = lsl_ports(facts);
    manager
        .allow(None, ports, protocol)
        .unwrap_or_else(|| commands::allow(ports, Side::In, protocol, facts.version))
}

/// The first and the last port of LSL.
fn lsl_ports(facts: &Facts) -> (u16, u16) {
    let ports = &facts.config.ports;
    let last = ports.service_range().next_back().unwrap_or(ports.multicast).max(ports.multicast);
    (ports.multicast.min(ports.base.max(1)), last)
}

/// Where a stream was found, without the zone.
fn address(stream: &Stream) -> String {
    addresses(&stream.info).next().map_or_else(String::new, |ip| ip.to_string())
}
