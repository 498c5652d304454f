//! The groups at which an outlet hears queries, on every interface.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io;

use mio::net::UdpSocket;
use schwann_proto::stream_info::IpVersion;
use socket2::{Socket, Type};

use super::{new_socket, set_hops_of, system, unspecified, version_of};
use crate::config::Config;
use crate::log;
use crate::net::interfaces::Interfaces;

/// The UDP sockets that hear queries on the discovery port.
///
/// One socket joins every group on every interface. The original has one socket per address and answers each query
/// that often. A second one is opened only if the system limits the memberships of the first.
pub(super) fn discovery(config: &Config, version: IpVersion, interfaces: &Interfaces) -> Vec<UdpSocket> {
    let address = match &config.multicast.listen_address {
        Some(listen) if version_of(listen.ip) == version => listen.ip,
        Some(_) => return Vec::new(),
        None => unspecified(version),
    };
    let mut memberships = Memberships { config, address, version, sockets: Vec::new() };
    let wanted = config.multicast.discovery_addresses.iter();
    for group in wanted.filter(|group| version_of(**group) == version) {
        if let Err(error) = memberships.hear(*group, interfaces) {
            log::warning!("queries to {group} will not be heard: {error}");
        }
    }
    let local = LOCAL_GROUPS.iter().find(|group| version_of(**group) == version);
    if let Some(Err(error)) = local.map(|group| memberships.hear_locally(*group, interfaces)) {
        log::verbose!(1, "queries over loopback will not be heard: {error}");
    }
    memberships.sockets.into_iter().map(|socket| UdpSocket::from_std(socket.into())).collect()
}

/// Joins every group anew, because interfaces have come or gone.
///
/// A network that was away for a moment takes its memberships with it, and the socket does not notice.
pub(crate) fn rejoin(sockets: &[UdpSocket], config: &Config, interfaces: &Interfaces) {
    let wanted = config.multicast.discovery_addresses.iter().copied().filter(IpAddr::is_multicast);
    for group in wanted {
        let version = version_of(group);
        let of_version = |socket: &&UdpSocket| {
            socket.local_addr().is_ok_and(|address| version_of(address.ip()) == version)
        };
        for interface in interfaces_for(group, interfaces) {
            let heard = sockets.iter().filter(of_version).any(|socket| {
                let socket = socket2::SockRef::from(socket);
                // Fails unless it was a member there.
                let _ = leave(&socket, group, interface);
                join(&socket, group, interface).is_ok()
            });
            if !heard {
                log::verbose!(1, "queries to {group} are not heard on {interface:?} now");
            }
        }
    }
}

/// Discovery sockets of one IP version, and how groups are joined.
struct Memberships<'a> {
    config: &'a Config,
    address: IpAddr,
    version: IpVersion,
    sockets: Vec<Socket>,
}

impl Memberships<'_> {
    /// Hears `group`: joins it on every interface, or only makes sure that a socket is there.
    ///
    /// - Errors: that of the last interface, if none can be joined.
    fn hear(&mut self, group: IpAddr, interfaces: &Interfaces) -> io::Result<()> {
        if self.sockets.is_empty() {
            self.add_socket()?;
        }
        if !group.is_multicast() {
            return Ok(());
        }
        let mut outcome = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
        for interface in interfaces_for(group, interfaces) {
            match self.join(group, interface) {
                Ok(()) => outcome = Ok(()),
                Err(error) => {
                    log::verbose!(1, "{group} cannot be joined on {interface:?}: {error}");
                    if outcome.is_err() {
                        outcome = Err(error);
                    }
                }
            }
        }
        outcome
    }

    /// Joins `group` on the loopback interface alone.
    fn hear_locally(&mut self, group: IpAddr, interfaces: &Interfaces) -> io::Result<()> {
        let interface = match group {
            IpAddr::V4(_) => Interface::V4(Ipv4Addr::LOCALHOST),
            // Loopback is the last entry of the list, if the computer has it.
            IpAddr::V6(_) => Interface::V6(interfaces.v6.last().copied().unwrap_or(0)),
        };
        if self.sockets.is_empty() {
            self.add_socket()?;
        }
        self.join(group, interface)
    }

    fn join(&mut self, group: IpAddr, interface: Interface) -> io::Result<()> {
        let last = self.sockets.last().ok_or(io::ErrorKind::NotConnected)?;
        match join(last, group, interface) {
            Err(error) if system::is_membership_limit(&error) => {
                self.add_socket()?;
                let fresh = self.sockets.last().ok_or(io::ErrorKind::NotConnected)?;
                join(fresh, group, interface)
            }
            // The same group on the same interface, under another address of it.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(()),
            outcome => outcome,
        }
    }

    fn add_socket(&mut self) -> io::Result<()> {
        let socket = new_socket(self.version, Type::DGRAM)?;
        system::share_port(&socket)?;
        socket.bind(&SocketAddr::new(self.address, self.config.ports.multicast).into())?;
        set_hops_of(&socket, self.version, self.config.multicast.ttl)?;
        self.sockets.push(socket);
        Ok(())
    }
}

/// A local interface as the system's calls name it.
#[derive(Clone, Copy, Debug)]
enum Interface {
    V4(Ipv4Addr),
    V6(u32),
}

/// The interfaces on which a group is heard.
fn interfaces_for(group: IpAddr, interfaces: &Interfaces) -> Vec<Interface> {
    match group {
        IpAddr::V4(_) => interfaces.v4.iter().copied().map(Interface::V4).collect(),
        IpAddr::V6(_) => interfaces.v6.iter().copied().map(Interface::V6).collect(),
    }
}

fn leave(socket: &Socket, group: IpAddr, interface: Interface) -> io::Result<()> {
    match (group, interface) {
        (IpAddr::V4(group), Interface::V4(address)) => socket.leave_multicast_v4(&group, &address),
        (IpAddr::V6(group), Interface::V6(index)) => socket.leave_multicast_v6(&group, index),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn join(socket: &Socket, group: IpAddr, interface: Interface) -> io::Result<()> {
    match (group, interface) {
        (IpAddr::V4(group), Interface::V4(address)) => socket.join_multicast_v4(&group, &address),
        (IpAddr::V6(group), Interface::V6(index)) => socket.join_multicast_v6(&group, index),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The group that outlets of this computer hear over loopback, in every scope.
///
/// Queries to it have a time to live of 0, so they never leave the computer. It makes outlets findable that have no
/// port of the service range. IPv4's equals the site's group, so that it costs no further membership. Linux has no route
/// for IPv6's; there the service range has to do.
pub(crate) const LOCAL_GROUPS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(239, 255, 172, 215)),
    IpAddr::V6(Ipv6Addr::new(0xff01, 0x113d, 0x6fdd, 0x2c17, 0xa643, 0xffe2, 0x1bd1, 0x3cd2)),
];
