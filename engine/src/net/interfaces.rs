//! The local addresses that discovery sends from and listens at.
//!
//! Source: lsl-wire §3. Unlike the original, the loopback interface always takes part, even if it
//! does not carry the multicast flag (Linux). So programs on one computer find each other without any
//! network, in any number.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use getifaddrs::InterfaceFlags;

use crate::{
    config::{Config, ZonedAddress},
    log,
};

/// The local addresses to use, by IP version. Neither list is empty if its version is allowed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Interfaces {
    pub(crate) v4: Vec<Ipv4Addr>,
    /// Interface indices, because that is how IPv6 names an interface. 0 is the system's choice.
    pub(crate) v6: Vec<u32>,
}

impl Interfaces {
    /// Looks up the interfaces to use now. Adapters come and go, so the result is not kept for long.
    pub(crate) fn enumerate(config: &Config) -> Self {
        let all = system_addresses();
        Self::choose(config, &all)
    }

    fn choose(config: &Config, all: &[SystemAddress]) -> Self {
        let mut chosen = Self::default();
        if config.multicast.interfaces.is_empty() {
            for address in all.iter().filter(|address| address.multicast) {
                chosen.add(address.ip, address.index);
            }
        } else {
            for wanted in &config.multicast.interfaces {
                chosen.add(wanted.ip, index_of(wanted, all));
            }
        }
        chosen.complete(all);
        if !config.ports.ip.v4() {
            chosen.v4.clear();
        }
        if !config.ports.ip.v6() {
            chosen.v6.clear();
        }
        chosen
    }

    fn add(&mut self, ip: IpAddr, index: u32) {
        match ip {
            IpAddr::V4(ip) if !self.v4.contains(&ip) => self.v4.push(ip),
            IpAddr::V6(_) if !self.v6.contains(&index) => self.v6.push(index),
            _ => {}
        }
    }

    /// Adds the system's choice where nothing was found, and then loopback.
    fn complete(&mut self, all: &[SystemAddress]) {
        if self.v4.is_empty() {
            self.v4.push(Ipv4Addr::UNSPECIFIED);
        }
        if self.v6.is_empty() {
            self.v6.push(0);
        }
        for address in all.iter().filter(|address| address.ip.is_loopback()) {
            let usual = match address.ip {
                IpAddr::V4(ip) => ip == Ipv4Addr::LOCALHOST,
                IpAddr::V6(ip) => ip == Ipv6Addr::LOCALHOST,
            };
            if usual {
                self.add(address.ip, address.index);
            }
        }
    }
}

/// One address of one interface that is up.
#[derive(Clone, Debug)]
pub(super) struct SystemAddress {
    pub(super) ip: IpAddr,
    index: u32,
    name: String,
    multicast: bool,
}

/// Whether an address is one of this computer's own.
pub(crate) fn is_own(ip: IpAddr) -> bool {
    ip.is_loopback() || system_addresses().iter().any(|address| address.ip == ip)
}

pub(super) fn system_addresses() -> Vec<SystemAddress> {
    let interfaces = match getifaddrs::getifaddrs() {
        Ok(interfaces) => interfaces,
        Err(error) => {
            log::warning!("the network interfaces cannot be listed: {error}");
            return Vec::new();
        }
    };
    let up = interfaces.filter(|interface| interface.flags.contains(InterfaceFlags::UP));
    up.filter_map(|interface| {
        Some(SystemAddress {
            ip: interface.address.ip_addr()?,
            index: interface.index.unwrap_or(0),
            multicast: interface.flags.contains(InterfaceFlags::MULTICAST),
            name: interface.name,
        })
    })
    .collect()
}

/// The index of the interface that an address of another computer is reached through; 0 if it does not say.
pub(crate) fn zone_index(address: &ZonedAddress) -> u32 {
    match address.zone.as_deref().map(str::parse) {
        None => 0,
        Some(Ok(index)) => index,
        Some(Err(_)) => index_of(address, &system_addresses()),
    }
}

/// The interface index of a configured address: its zone, or the interface with that address.
fn index_of(wanted: &ZonedAddress, all: &[SystemAddress]) -> u32 {
    let by_zone = wanted.zone.as_ref().and_then(|zone| {
        let by_name = || all.iter().find(|address| address.name == *zone).map(|address| address.index);
        zone.parse().ok().or_else(by_name)
    });
    let by_address = || all.iter().find(|address| address.ip == wanted.ip).map(|address| address.index);
    by_zone.or_else(by_address).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> Vec<SystemAddress> {
        let address = |ip: &str, index, name: &str, multicast| SystemAddress {
            ip: ip.parse().expect("an address"),
            index,
            name: name.to_owned(),
            multicast,
        };
        vec![
            address("127.0.0.1", 1, "lo", false),
            address("::1", 1, "lo", false),
            address("10.0.0.1", 2, "eth0", true),
            address("fd00::1", 2, "eth0", true),
            address("fe80::1", 2, "eth0", true),
            address("10.1.0.1", 3, "tun0", false),
        ]
    }

    fn choose(text: &str, system: &[SystemAddress]) -> (Vec<String>, Vec<u32>) {
        let chosen = Interfaces::choose(&Config::parse(text).expect("valid"), system);
        (chosen.v4.iter().map(ToString::to_string).collect(), chosen.v6)
    }

    fn expect(v4: &[&str], v6: &[u32]) -> (Vec<String>, Vec<u32>) {
        (v4.iter().map(|&ip| ip.to_owned()).collect(), v6.to_vec())
    }

    #[test]
    fn interfaces_are_those_with_multicast_and_loopback() {
        assert_eq!(choose("", &system()), expect(&["10.0.0.1", "127.0.0.1"], &[2, 1]));
        assert_eq!(choose("ports.IPv6=disable", &system()).1, [0; 0]);
        assert_eq!(choose("ports.IPv6=force", &system()).0, [""; 0]);
    }

    #[test]
    fn configured_addresses_replace_the_search() {
        for (list, expected) in [
            ("{10.1.0.1, 203.0.113.1}", expect(&["10.1.0.1", "203.0.113.1", "127.0.0.1"], &[0, 1])),
            ("{fe80::1%7}", expect(&["0.0.0.0", "127.0.0.1"], &[7, 1])),
            ("{fe80::1%eth0}", expect(&["0.0.0.0", "127.0.0.1"], &[2, 1])),
            ("{fd00::1, fe80::1}", expect(&["0.0.0.0", "127.0.0.1"], &[2, 1])),
        ] {
            assert_eq!(choose(&format!("multicast.Interfaces={list}"), &system()), expected, "{list}");
        }
    }

    #[test]
    fn without_any_interface_the_system_chooses() {
        assert_eq!(choose("", &[]), expect(&["0.0.0.0"], &[0]));
        let loopback = &system()[..2];
        assert_eq!(choose("", loopback), expect(&["0.0.0.0", "127.0.0.1"], &[0, 1]));
    }
}
