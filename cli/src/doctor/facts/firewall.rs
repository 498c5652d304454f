//! What this computer's firewall says of itself.

use crate::doctor::firewall::{self, Manager, Network, Rule, Zone};
use crate::doctor::nft::Ruleset;
use crate::sys;

/// The firewall of this computer, as far as this user may see it.
#[derive(Debug)]
pub(in crate::doctor) struct Firewall {
    /// Rules of the firewall of Windows, if they can be read.
    pub(in crate::doctor) rules: Option<Vec<Rule>>,
    /// What Windows takes its networks for, if it tells.
    pub(in crate::doctor) networks: Option<Vec<Network>>,
    /// The rules of nftables and iptables, if this user may read them.
    pub(in crate::doctor) ruleset: Option<Ruleset>,
    /// The program that manages the firewall.
    pub(in crate::doctor) manager: Manager,
    /// The zones of firewalld.
    pub(in crate::doctor) zones: Vec<Zone>,
}

impl Firewall {
    pub(super) fn read() -> Self {
        let manager = Manager::of_name(schwann::firewall_manager());
        let rules = |texts: Vec<String>| texts.iter().filter_map(|text| Rule::parse(text)).collect();
        Self {
            rules: sys::firewall::rules().map(rules),
            networks: sys::firewall::networks().map(|text| firewall::networks(&text)),
            ruleset: ruleset(manager),
            manager,
            zones: zones(manager),
        }
    }
}

fn zones(manager: Manager) -> Vec<Zone> {
    match manager {
        Manager::Firewalld => sys::firewall::zones().map_or_else(Vec::new, |text| Zone::read_all(&text)),
        Manager::Ufw | Manager::Unknown => Vec::new(),
    }
}

/// The rules in force; nothing if those of `manager` could not be read.
fn ruleset(manager: Manager) -> Option<Ruleset> {
    let (nftables, iptables) = (sys::firewall::nftables(), sys::firewall::iptables());
    // firewalld's are with nftables.
    let is_read = nftables.is_some() || manager != Manager::Firewalld;
    Ruleset::read(nftables.as_deref(), iptables.as_deref()).filter(|_| is_read)
}
