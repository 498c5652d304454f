//! Every socket of the engine is made here, with the options that it needs.
//!
//! All of them are non-blocking and closed on `exec`. IPv6 sockets take IPv6 alone, so IPv4 and IPv6 can
//! share a port number. A service range of 32 ports holds 32 outlets with both versions; the original's
//! dual-stack sockets hold half as many. Source: lsl-wire §3. This module does not send or receive.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io;

use mio::net::{TcpListener, UdpSocket};
use schwann_proto::stream_info::IpVersion;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::{
    config::{Config, PortFallback},
    log,
    net::interfaces::Interfaces,
    sys::sockets as system,
};

mod groups;

use self::groups::discovery;
pub(crate) use self::groups::{LOCAL_GROUPS, rejoin};

/// The sockets of one outlet.
#[derive(Debug)]
pub(crate) struct OutletSockets {
    /// One UDP socket per usable IP version, for queries and the time service.
    pub(crate) services: Vec<UdpSocket>,
    /// One TCP listener per usable IP version.
    pub(crate) listeners: Vec<TcpListener>,
    /// UDP sockets on the discovery port.
    pub(crate) discovery: Vec<UdpSocket>,
    /// The numbers to publish.
    pub(crate) ports: OutletPorts,
}

/// The port numbers that a stream's description publishes; 0 where an IP version is not served.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct OutletPorts {
    /// TCP over IPv4.
    pub(crate) v4_data: u16,
    /// UDP over IPv4.
    pub(crate) v4_service: u16,
    /// TCP over IPv6.
    pub(crate) v6_data: u16,
    /// UDP over IPv6.
    pub(crate) v6_service: u16,
}

impl OutletSockets {
    /// Opens everything that an outlet needs, in the order of the original.
    ///
    /// An IP version or a discovery address that cannot be used leaves a warning.
    ///
    /// - Errors: that of the last attempt, if no version has a UDP service or none has a TCP listener.
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let mut sockets = Self {
            services: Vec::new(),
            listeners: Vec::new(),
            discovery: Vec::new(),
            ports: OutletPorts::default(),
        };
        let interfaces = Interfaces::enumerate(config);
        let versions = allowed_versions(config);
        let mut failure = io::Error::from(io::ErrorKind::Unsupported);
        for &version in &versions {
            match service(config, version) {
                Ok((service, port)) => {
                    *sockets.ports.service_mut(version) = port;
                    sockets.services.push(service);
                    sockets.discovery.append(&mut discovery(config, version, &interfaces));
                }
                Err(error) => failure = refused(version, "UDP service", error),
            }
        }
        if sockets.services.is_empty() {
            return Err(failure);
        }
        for &version in &versions {
            match listener(config, version) {
                Ok((listener, port)) => {
                    *sockets.ports.data_mut(version) = port;
                    sockets.listeners.push(listener);
                }
                Err(error) => failure = refused(version, "TCP listener", error),
            }
        }
        if sockets.listeners.is_empty() { Err(failure) } else { Ok(sockets) }
    }
}

impl OutletPorts {
    fn service_mut(&mut self, version: IpVersion) -> &mut u16 {
        match version {
            IpVersion::V4 => &mut self.v4_service,
            IpVersion::V6 => &mut self.v6_service,
        }
    }

    fn data_mut(&mut self, version: IpVersion) -> &mut u16 {
        match version {
            IpVersion::V4 => &mut self.v4_data,
            IpVersion::V6 => &mut self.v6_data,
        }
    }
}

/// The version of an address.
pub(crate) fn version_of(ip: IpAddr) -> IpVersion {
    if ip.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
}

fn unspecified(version: IpVersion) -> IpAddr {
    match version {
        IpVersion::V4 => Ipv4Addr::UNSPECIFIED.into(),
        IpVersion::V6 => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// The versions that the configuration allows, IPv4 first.
pub(crate) fn allowed_versions(config: &Config) -> Vec<IpVersion> {
    let ip = config.ports.ip;
    [(ip.v4(), IpVersion::V4), (ip.v6(), IpVersion::V6)]
        .into_iter()
        .filter_map(|(allowed, version)| allowed.then_some(version))
        .collect()
}

/// A UDP socket that sends queries and receives the replies on the same port.
///
/// The port is taken from the *end* of the service range. It must be inside the range: replies to a multicast
/// query come from another address than the query's destination. A firewall lets them through only at ports
/// that it has open. Outlets fill the range from its start and find their ports free.
pub(crate) fn resolver(config: &Config, version: IpVersion) -> io::Result<(UdpSocket, u16)> {
    let socket = bind_in_range(config, config.ports.service_range().rev(), || {
        let socket = new_socket(version, Type::DGRAM)?;
        // A burst of replies from many outlets must fit; the system may grant less.
        let _ = socket.set_recv_buffer_size(RESOLVER_RECEIVE_BUFFER);
        Ok((socket, version))
    })?;
    set_hops_of(&socket, version, config.multicast.ttl)?;
    if version == IpVersion::V4 {
        socket.set_broadcast(true)?;
    }
    let port = local_port(&socket)?;
    Ok((UdpSocket::from_std(socket.into()), port))
}

/// A UDP socket at any port for requests to one peer at a time.
pub(crate) fn client(version: IpVersion) -> io::Result<UdpSocket> {
    let socket = new_socket(version, Type::DGRAM)?;
    socket.bind(&SocketAddr::new(unspecified(version), 0).into())?;
    Ok(UdpSocket::from_std(socket.into()))
}

/// Chooses the interface that leaves multicast through this IPv4 socket.
pub(crate) fn send_through_v4(socket: &UdpSocket, interface: Ipv4Addr) -> io::Result<()> {
    socket2::SockRef::from(socket).set_multicast_if_v4(&interface)
}

/// Chooses the interface that leaves multicast through this IPv6 socket.
pub(crate) fn send_through_v6(socket: &UdpSocket, index: u32) -> io::Result<()> {
    socket2::SockRef::from(socket).set_multicast_if_v6(index)
}

/// Sets how many hops multicast through this socket travels.
pub(crate) fn set_hops(socket: &UdpSocket, version: IpVersion, ttl: u8) -> io::Result<()> {
    set_hops_of(&socket2::SockRef::from(socket), version, ttl)
}

/// The UDP service socket of an outlet: the first free port of the range.
fn service(config: &Config, version: IpVersion) -> io::Result<(UdpSocket, u16)> {
    let socket = bind_in_range(config, config.ports.service_range(), || {
        Ok((new_socket(version, Type::DGRAM)?, version))
    })?;
    let port = local_port(&socket)?;
    Ok((UdpSocket::from_std(socket.into()), port))
}

/// The TCP listener of an outlet: the first free port of the range.
///
/// Without `SO_REUSEADDR`, so ports that still wait for late packets of an earlier outlet are skipped.
fn listener(config: &Config, version: IpVersion) -> io::Result<(TcpListener, u16)> {
    let socket = bind_in_range(config, config.ports.service_range(), || {
        Ok((new_socket(version, Type::STREAM)?, version))
    })?;
    let port = local_port(&socket)?;
    Ok((TcpListener::from_std(socket.into()), port))
}

fn set_hops_of(socket: &Socket, version: IpVersion, ttl: u8) -> io::Result<()> {
    match version {
        IpVersion::V4 => socket.set_multicast_ttl_v4(ttl.into()),
        IpVersion::V6 => socket.set_multicast_hops_v6(ttl.into()),
    }
}

/// Binds (and for TCP listens) at the first free port of `ports`, or at any port if the configuration permits.
///
/// A new socket is made for each port, because a failed `listen` leaves one that is bound.
fn bind_in_range(
    config: &Config,
    ports: impl Iterator<Item = u16>,
    mut make: impl FnMut() -> io::Result<(Socket, IpVersion)>,
) -> io::Result<Socket> {
    let random = (config.ports.fallback == PortFallback::Random).then_some(0);
    let mut failure = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports.chain(random) {
        // No descriptor or no such IP version: another port does not help.
        let (socket, version) = make()?;
        let address: SockAddr = SocketAddr::new(unspecified(version), port).into();
        let is_stream = socket.r#type()? == Type::STREAM;
        let listening = |socket: &Socket| if is_stream { socket.listen(BACKLOG) } else { Ok(()) };
        match socket.bind(&address).and_then(|()| listening(&socket)) {
            Ok(()) => return Ok(socket),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn new_socket(version: IpVersion, kind: Type) -> io::Result<Socket> {
    let domain = match version {
        IpVersion::V4 => Domain::IPV4,
        IpVersion::V6 => Domain::IPV6,
    };
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    // socket2 sets close-on-exec (on Windows: not inherited) in the same call where the system can.
    let socket = Socket::new(domain, kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if version == IpVersion::V6 {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn local_port(socket: &Socket) -> io::Result<u16> {
    let address = socket.local_addr()?.as_socket();
    Ok(address.ok_or(io::ErrorKind::AddrNotAvailable)?.port())
}

fn refused(version: IpVersion, what: &str, error: io::Error) -> io::Error {
    log::warning!("no {what} over {version:?}: {error}");
    error
}

/// Connections that may wait to be accepted. The original's 10 makes the eleventh of many inlets that start
/// together wait a second for its next try.
pub(crate) const BACKLOG: i32 = 128;

const RESOLVER_RECEIVE_BUFFER: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::config;

    #[test]
    fn an_outlet_publishes_the_first_free_ports_of_the_range() {
        let config = config("ports.IPv6=allow");
        let first = OutletSockets::open(&config).expect("free ports");
        let port = config.ports.base;
        let same = |port| OutletPorts { v4_data: port, v4_service: port, v6_data: port, v6_service: port };
        assert_eq!(first.ports, same(port));
        let second = OutletSockets::open(&config).expect("free ports");
        assert_eq!(second.ports, same(port + 1));
        assert!(!first.discovery.is_empty() && !second.discovery.is_empty());
    }

    #[test]
    fn a_full_range_falls_back_to_a_random_port_if_allowed() {
        let lenient = config("ports.PortRange=1");
        let first = OutletSockets::open(&lenient).expect("a free port");
        let second = OutletSockets::open(&lenient).expect("a random port");
        let port = lenient.ports.base;
        assert_eq!((first.ports.v4_data, first.ports.v6_data), (port, 0));
        assert!(second.ports.v4_data != port && second.ports.v4_data != 0);
        let mut strict = Config::clone(&lenient);
        strict.ports.fallback = PortFallback::Fail;
        let refused = OutletSockets::open(&strict).expect_err("no port is left");
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_resolver_takes_the_last_port_of_the_range() {
        let config = config("");
        let (_first, port) = resolver(&config, IpVersion::V4).expect("a free port");
        let (_second, next) = resolver(&config, IpVersion::V4).expect("a free port");
        assert_eq!((port, next), (config.ports.base + 7, config.ports.base + 6));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_socket_survives_exec() {
        use std::os::fd::AsFd;
        let config = config("ports.IPv6=allow");
        let sockets = OutletSockets::open(&config).expect("free ports");
        let (resolver, _) = resolver(&config, IpVersion::V4).expect("a free port");
        let client = client(IpVersion::V4).expect("any port");
        let udp = sockets.services.iter().chain(&sockets.discovery).chain([&resolver, &client]);
        let all = udp.map(AsFd::as_fd).chain(sockets.listeners.iter().map(AsFd::as_fd));
        for descriptor in all {
            let flags = rustix::io::fcntl_getfd(descriptor).expect("an open descriptor");
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}
