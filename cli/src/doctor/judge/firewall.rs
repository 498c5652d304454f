//! What the firewall of this computer does to programs of LSL: the rules of nftables and iptables, and those of Windows.

use schwann_proto::stream_info::IpVersion;

use super::{
    super::{
        Finding, Weight,
        facts::Facts,
        firewall::Rule,
        nft::{Packet, Stop},
        probe::Echo,
    },
    add, lsl_ports,
};
use crate::sys::{self, commands::Side, programs};

/// Rules that certainly stop what other computers send here. What is sent for a try shows the same of UDP, and says it better.
pub(super) fn rules(facts: &Facts, findings: &mut Vec<Finding>) {
    for protocol in ["tcp", "udp"] {
        let is_told = protocol == "udp"
            && facts.interfaces.iter().any(|interface| interface.echo == Some(Echo::Swallowed));
        let Some((name, stop)) = stop(facts, protocol).filter(|_| !is_told) else { continue };
        let (upper, place) = (protocol.to_uppercase(), stop.place());
        let what = format!(
            "The firewall of this computer lets in no {upper} for the ports of LSL through {name} ({place}), so other computers \
             do not receive its streams."
        );
        let by_manager = facts.firewall.manager.allow(facts.zone(name), lsl_ports(facts), protocol);
        let fix = by_manager.unwrap_or_else(|| stop.allow(lsl_ports(facts), protocol));
        add(findings, Weight::Warning, "firewall-rule", what, fix);
    }
}

/// What could not be seen of the firewall, in a line; nothing if all was.
pub(crate) fn unread(facts: &Facts) -> Option<String> {
    let rules = facts.firewall.rules.is_none().then_some(UNREAD_RULES);
    let networks = facts.firewall.networks.is_none().then_some(UNREAD_NETWORKS);
    let unread: Vec<_> = sys::firewall::UNASKED.into_iter().chain(rules).chain(networks).collect();
    if unread.is_empty() { unread_ruleset(facts) } else { Some(unread.join(" ")) }
}

fn unread_ruleset(facts: &Facts) -> Option<String> {
    if facts.firewall.ruleset.is_some() {
        return None;
    }
    let why = if programs::is_administrator() { WITHOUT_NFT } else { SEES };
    match facts.firewall.manager.name() {
        Some(name) => {
            Some(format!("{name} is switched on here. Whether it lets other computers in by TCP, {why}"))
        }
        None if sys::firewall::may_have_rules() => Some(format!(
            "This computer may have a firewall without a manager. What its rules do to TCP, {why}"
        )),
        None => None,
    }
}

/// The command that lets the ports of LSL in before the rule that stops them; nothing if no rule is known to.
pub(super) fn allow(facts: &Facts, side: Side, protocol: &str, version: IpVersion) -> Option<String> {
    let (_, stop) = stop(facts, protocol).filter(|(_, stop)| side == Side::In && stop.is_of(version))?;
    Some(stop.allow(lsl_ports(facts), protocol))
}

/// What stops a first packet to a port of LSL, and at which interface.
fn stop<'a>(facts: &'a Facts, protocol: &str) -> Option<(&'a str, Stop)> {
    let ruleset = facts.firewall.ruleset.as_ref()?;
    let port = if protocol == "tcp" { facts.config.ports.base } else { facts.config.ports.multicast };
    let outward = facts.interfaces.iter().filter(|interface| interface.is_outward());
    let mut stops = outward.filter_map(|interface| {
        let packet = Packet { interface: &interface.name, protocol, port };
        Some((interface.name.as_str(), ruleset.stops(packet)?))
    });
    stops.next()
}

pub(super) fn firewall(facts: &Facts, findings: &mut Vec<Finding>) {
    blocked_programs(facts, findings);
    public_networks(facts, findings);
}

fn inbound(facts: &Facts) -> impl Iterator<Item = &Rule> {
    facts.firewall.rules.iter().flatten().filter(|rule| rule.is_inbound)
}

fn blocked_programs(facts: &Facts, findings: &mut Vec<Finding>) {
    for program in PROGRAMS {
        let Some(rule) = inbound(facts).find(|rule| rule.blocks && rule.is_about(program)) else { continue };
        let weight = if program == OWN { Weight::Fault } else { Weight::Warning };
        let (name, path) = (&rule.name, &rule.program);
        add(
            findings,
            weight,
            "firewall-blocks-program",
            format!(
                "The firewall of Windows keeps {path} from receiving: no other computer sees its streams."
            ),
            format!(
                "netsh advfirewall firewall set rule name=\"{name}\" program=\"{path}\" dir=in new action=allow    # as \
                 administrator"
            ),
        );
    }
}

/// Networks where Windows lets this program hear nothing.
fn public_networks(facts: &Facts, findings: &mut Vec<Finding>) {
    let is_let_in = inbound(facts).any(|rule| !rule.blocks && rule.is_about(OWN));
    for network in facts.firewall.networks.iter().flatten().filter(|network| network.is_public && !is_let_in)
    {
        let name = &network.name;
        add(
            findings,
            Weight::Warning,
            "public-network",
            format!(
                "Windows considers the network {name} public, so it blocks incoming connections that no rule allows."
            ),
            format!(
                "Set-NetConnectionProfile -InterfaceAlias \"{name}\" -NetworkCategory Private    # in PowerShell, as administrator"
            ),
        );
    }
}

const WITHOUT_NFT: &str = "is not known without the program nft.";

const SEES: &str = "only the administrator sees: sudo schwann doctor";

const UNREAD_RULES: &str = "The firewall of Windows could not be asked for its rules, so what it does to programs is not known: netsh \
                            advfirewall firewall show rule name=all dir=in";

const UNREAD_NETWORKS: &str = "Windows did not say which networks it takes for public, where it lets in nothing that it was not told \
                               of. In PowerShell: Get-NetConnectionProfile";

const OWN: &str = "schwann.exe";

/// Programs that send and receive streams in many labs.
const PROGRAMS: [&str; 7] =
    [OWN, "LabRecorder.exe", "LabRecorderCLI.exe", "MATLAB.exe", "Unity.exe", "python.exe", "pythonw.exe"];
