//! What is so: gathered by looking and by trying, all of it within a few seconds.

use core::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};
use std::{io, net::UdpSocket, sync::Arc, thread, time::Instant};

use getifaddrs::{Address, InterfaceFlags};
use schwann::{Config, Context, StreamInfo, config::LoadReport, security::TrustError};
use schwann_proto::stream_info::IpVersion;
use schwann_recorder::{Hidden, Unseen};

use self::tried::{Tried, try_all};
use self::visit::visit_all;
pub(super) use self::{
    firewall::Firewall,
    host::Host,
    near::Near,
    visit::{Stream, addresses},
};
use super::{ports::taken_ports, probe::Echo, surroundings::Surroundings};
use crate::{hubs::Examined, lab, sys};

mod firewall;
mod host;
mod near;
mod peers;
mod tried;
mod visit;

/// All that is known.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) config: Arc<Context>,
    pub(super) report: LoadReport,
    /// How many files and sockets this program may have open; nothing without a limit.
    pub(super) open_files: Option<u64>,
    /// Why the system refused a search.
    pub(super) refused: Option<io::ErrorKind>,
    /// The file to change where the configuration is to be another.
    pub(super) config_path: String,
    /// Why streams cannot be sealed here although they must be.
    pub(super) unsealed: Option<TrustError>,
    pub(super) interfaces: Vec<Interface>,
    /// The version of IP that searches of this computer travel by; 4 if it has networks of both.
    pub(super) version: IpVersion,
    /// Whether a program that does not choose an interface can send multicast by that.
    pub(super) has_multicast_route: bool,
    /// Ports of the service range that other programs of this computer have.
    pub(super) taken_ports: usize,
    /// Known peers whose names do not resolve.
    pub(super) unknown_peers: Vec<String>,
    /// Known peers with a name that resolves, and without a stream.
    pub(super) silent_peers: Vec<Host>,
    /// Every stream that was found, of all sessions.
    pub(super) streams: Vec<Stream>,
    /// Streams that were found and not looked at, because there are too many.
    pub(super) unvisited: usize,
    /// Streams that are there, and that no search of this computer finds.
    pub(super) unseen: Vec<Unseen>,
    pub(super) host: Option<Host>,
    /// Members of these networks, where no computer was asked about.
    pub(super) near: Vec<Near>,
    pub(super) firewall: Firewall,
    /// Where this program runs, and what its networks are made of.
    pub(super) surroundings: Surroundings,
    /// What keeps streams from passing the hubs of the configuration.
    pub(super) hubs: Vec<Examined>,
}

/// An address of an interface that is up.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    /// The system's number of it; 0 if it has none.
    pub(super) index: u32,
    pub(super) ip: IpAddr,
    pub(super) netmask: Option<IpAddr>,
    flags: InterfaceFlags,
    /// What became of multicast that we sent ourselves through it; nothing for loopback and without multicast.
    pub(super) echo: Option<Echo>,
}

/// Looks at this computer and its network, and at `host` in particular.
pub(crate) fn look(host: Option<&str>) -> Facts {
    let (config, report) = lab::config_with_report();
    lab::hush(&config);
    // It looks while the searches run, and knocks when they are over.
    let hidden = Hidden::look(Arc::clone(&config));
    let host = host.map(|name| Host::look_up(name, &config));
    let (mut interfaces, taken_ports) = (interfaces(&config), taken_ports(&config));
    let addresses = host.as_ref().map_or(Vec::new(), |host| host.addresses.clone());
    let tried = try_all(&config, &addresses, &mut interfaces);
    look_again(&mut interfaces, &config);
    let Tried { multicast, mut all, refused, knocks, unknown_peers, hubs } = tried;
    let others: Vec<_> = interfaces.iter().map(|interface| interface.ip).chain(addresses).collect();
    let silent_peers = peers::without_stream(&mut all, &others, &unknown_peers, &config);
    // Asked now, so that a view says whether the queries of the searches have come.
    let host = host.map(|host| host.with_knocks(knocks, &config));
    let near = if host.is_none() { near::look(&all, &interfaces, &config) } else { Vec::new() };
    all_seen(&hidden, &multicast, &all);
    let (streams, unvisited) = visit_all(multicast, all, &config);
    let unseen = unseen(&hidden);
    let version = version(&interfaces, &config);
    let has_multicast_route = has_multicast_route(&config, version);
    Facts {
        report,
        open_files: sys::programs::raise_open_files(),
        refused,
        config_path: lab::config_path(),
        unsealed: lab::unsealed(&config),
        interfaces,
        version,
        has_multicast_route,
        hubs,
        taken_ports,
        unknown_peers,
        silent_peers,
        streams,
        unvisited,
        unseen,
        host,
        near,
        firewall: Firewall::read(),
        surroundings: surroundings(),
        config,
    }
}

fn surroundings() -> Surroundings {
    let (links, wsl) = (sys::firewall::links(), sys::firewall::wsl_network());
    Surroundings::new(links.as_deref(), sys::firewall::is_in_container(), wsl.as_deref())
}

fn all_seen(hidden: &Hidden, multicast: &[StreamInfo], all: &[StreamInfo]) {
    multicast.iter().chain(all).for_each(|info| hidden.note_found(info));
}

/// What is there and not found, once every port of this computer was tried.
fn unseen(hidden: &Hidden) -> Vec<Unseen> {
    let deadline = Instant::now() + HIDDEN_TIME;
    while !hidden.has_settled() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    hidden.unseen()
}

fn interfaces(config: &Config) -> Vec<Interface> {
    let Ok(all) = getifaddrs::getifaddrs() else { return Vec::new() };
    let up = all.filter(|interface| interface.flags.contains(InterfaceFlags::UP));
    let used = up.filter_map(|interface| {
        let (ip, netmask): (IpAddr, Option<IpAddr>) = match &interface.address {
            Address::V4(address) => (address.address.into(), address.netmask.map(IpAddr::from)),
            Address::V6(address) => (address.address.into(), address.netmask.map(IpAddr::from)),
            Address::Mac(_) => return None,
        };
        let index = interface.index.unwrap_or(0);
        Some(Interface { name: interface.name, index, ip, netmask, flags: interface.flags, echo: None })
    });
    used.filter(|interface| config.ports.ip.allows(interface.ip)).collect()
}

/// Takes in how the interfaces are now: a system may notice a second late that a cable was plugged in.
fn look_again(known: &mut [Interface], config: &Config) {
    for now in interfaces(config) {
        let is_same = |one: &&mut Interface| one.name == now.name && one.ip == now.ip;
        if let Some(one) = known.iter_mut().find(is_same) {
            one.flags = now.flags;
        }
    }
}

/// The version of IP of an address.
pub(super) fn version_of(ip: IpAddr) -> IpVersion {
    if ip.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
}

fn version(interfaces: &[Interface], config: &Config) -> IpVersion {
    let mut outward = interfaces.iter().filter(|interface| interface.is_outward()).peekable();
    let has_only_v6 = outward.peek().is_some() && outward.all(|interface| interface.ip.is_ipv6());
    if has_only_v6 || !config.ports.ip.v4() { IpVersion::V6 } else { IpVersion::V4 }
}

fn has_multicast_route(config: &Config, version: IpVersion) -> bool {
    let is_meant = |group: &&IpAddr| match (group, version) {
        (IpAddr::V4(group), IpVersion::V4) => group.is_multicast(),
        // A group of the link's scope (RFC 4291 §2.7) has a way only if an interface is chosen.
        (IpAddr::V6(group), IpVersion::V6) => group.is_multicast() && group.segments()[0] & 0xf > 2,
        _ => false,
    };
    let Some(&group) = config.multicast.discovery_addresses.iter().find(is_meant) else { return true };
    let own: IpAddr = match version {
        IpVersion::V4 => Ipv4Addr::UNSPECIFIED.into(),
        IpVersion::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a datagram socket looks up the route and sends nothing.
    UdpSocket::bind((own, 0)).is_ok_and(|socket| socket.connect((group, config.ports.multicast)).is_ok())
}

impl Facts {
    /// The zone of firewalld that an interface is in, if it is known.
    pub(super) fn zone(&self, interface: &str) -> Option<&str> {
        self.firewall.zones.iter().find(|zone| zone.interface == interface).map(|zone| zone.name.as_str())
    }

    /// The first network of the version of IP that searches travel by.
    pub(super) fn main_network(&self) -> Option<&Interface> {
        let is_main = |interface: &&Interface| interface.is_outward() && interface.version() == self.version;
        self.interfaces.iter().find(is_main)
    }

    /// Whether programs that search by IPv4 are heard through the interface of this address.
    pub(super) fn hears_ipv4(&self, interface: &Interface) -> bool {
        self.interfaces.iter().any(|other| {
            other.name == interface.name && other.ip.is_ipv4() && other.echo == Some(Echo::Heard)
        })
    }

    /// Whether a stream of another computer was found in a network of the interface with this name.
    pub(super) fn sees_through(&self, name: &str) -> bool {
        let reaches = |ip| self.interfaces.iter().any(|one| one.name == name && one.reaches(ip));
        let is_there = |ip| !self.is_own(ip) && reaches(ip);
        self.streams.iter().any(|stream| addresses(&stream.info).any(is_there))
    }

    /// Whether an address is one of this computer.
    pub(super) fn is_own(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.interfaces.iter().any(|interface| interface.ip == ip)
    }

    /// How many of the streams that were found are of this computer.
    pub(crate) fn own_stream_count(&self) -> usize {
        let is_own = |stream: &&Stream| addresses(&stream.info).any(|ip| self.is_own(ip));
        self.streams.iter().filter(is_own).count()
    }

    /// How many streams were found, of all sessions.
    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len() + self.unvisited
    }
}

impl Interface {
    /// The version of IP of its address.
    pub(super) fn version(&self) -> IpVersion {
        version_of(self.ip)
    }

    /// Whether it may lead to other computers. WSL gives loopback an address that does not look like it.
    pub(super) fn is_outward(&self) -> bool {
        !self.ip.is_loopback() && !self.flags.contains(InterfaceFlags::LOOPBACK)
    }

    /// Whether multicast may be sent through it to other computers.
    pub(super) fn has_multicast(&self) -> bool {
        self.is_outward() && self.flags.contains(InterfaceFlags::MULTICAST)
    }

    /// Whether it is one of a network of many, such as Ethernet: these have multicast unless it was switched off.
    pub(super) fn has_broadcast(&self) -> bool {
        self.flags.contains(InterfaceFlags::BROADCAST)
    }

    /// Whether something is at the other end: a cable that is plugged in, or a wireless network.
    pub(super) fn is_connected(&self) -> bool {
        self.flags.contains(InterfaceFlags::RUNNING)
    }

    /// Whether the computer gave itself this address.
    pub(super) fn is_link_local(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        }
    }

    /// Whether an address is in the network of this interface.
    pub(super) fn reaches(&self, ip: IpAddr) -> bool {
        match (self.ip, self.netmask, ip) {
            (IpAddr::V4(own), Some(IpAddr::V4(mask)), IpAddr::V4(ip)) => {
                own.to_bits() & mask.to_bits() == ip.to_bits() & mask.to_bits()
            }
            (IpAddr::V6(own), Some(IpAddr::V6(mask)), IpAddr::V6(ip)) => {
                own.to_bits() & mask.to_bits() == ip.to_bits() & mask.to_bits()
            }
            _ => false,
        }
    }
}

const HIDDEN_TIME: Duration = Duration::from_secs(5);
