//! The sockets of a search, and the bursts of queries that leave through them.
//!
//! Source: lsl-wire §6.4. What differs from the original, and why:
//!
//! - One socket per IP version serves the whole search, not one per wave. So a search holds one port of the
//!   service range, not up to six.
//! - A unicast target gets one copy per burst instead of one per interface.
//! - Queries also go out over loopback, so programs on one computer need no network.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::{io, sync::Arc};

use mio::{Interest, Registry, Token, Waker, net::UdpSocket};
use schwann_proto::stream_info::{IpVersion, StreamInfo};

use super::questions::{Heard, Judgement, Questions, Way};
use crate::{
    config::Config,
    log,
    net::{
        interfaces::Interfaces,
        names,
        sealed_queries::is_sealed,
        sockets::{self, LOCAL_GROUPS, allowed_versions, version_of},
    },
};

/// The UDP side of one search.
#[derive(Debug)]
pub(super) struct Channels {
    config: Arc<Config>,
    questions: Questions,
    channels: Vec<Channel>,
}

/// One socket and the queries that name its port.
#[derive(Debug)]
struct Channel {
    version: IpVersion,
    socket: UdpSocket,
    port: u16,
    queries: Vec<Vec<u8>>,
    may_read: bool,
}

impl Channels {
    /// Prepares to ask; sockets are opened with the first burst.
    pub(super) fn new(config: Arc<Config>, questions: Questions) -> Self {
        Self { config, questions, channels: Vec::new() }
    }

    /// What a datagram says that has been received.
    pub(super) fn read<'a>(&self, datagram: &'a mut [u8]) -> Heard<'a> {
        self.questions.read(datagram)
    }

    /// Whether a stream whose description came this way is wanted, and may come this way.
    pub(super) fn judge(&self, info: &StreamInfo, way: Way) -> Judgement {
        self.questions.judge(info, way)
    }

    /// Opens what is not open yet, and words the queries of the next burst. If no socket is available now, the
    /// next wave tries again.
    pub(super) fn open(&mut self, registry: &Registry) {
        // IPv6 first, as in the original: of two equally good ways it is the one found first.
        for version in allowed_versions(&self.config).into_iter().rev() {
            if self.channels.iter().any(|channel| channel.version == version) {
                continue;
            }
            match self.open_channel(version, registry) {
                Ok(channel) => self.channels.push(channel),
                Err(error) => log::warning!("no socket to search over {version:?}: {error}"),
            }
        }
        for channel in &mut self.channels {
            self.questions.word(channel.port, &mut channel.queries);
        }
    }

    fn open_channel(&self, version: IpVersion, registry: &Registry) -> io::Result<Channel> {
        let (mut socket, port) = sockets::resolver(&self.config, version)?;
        registry.register(&mut socket, token(version), Interest::READABLE)?;
        Ok(Channel { version, socket, port, queries: Vec::new(), may_read: false })
    }

    /// Asks every address of the configured scope at the discovery port.
    pub(super) fn ask_scope(&self) {
        let interfaces = Interfaces::enumerate(&self.config);
        for channel in &self.channels {
            channel.ask_scope(&self.config, &interfaces);
        }
    }

    /// Asks every port of the service range at the addresses of this computer.
    ///
    /// A unicast query to the discovery port reaches one outlet of a computer, so this finds the others.
    pub(super) fn ask_machine(&self) {
        let machine = &self.config.multicast.machine_addresses;
        for address in machine {
            self.ask_range(SocketAddr::new(*address, 0));
        }
        // The default list has no IPv6 address, and Linux has no IPv6 multicast over loopback.
        if !machine.is_empty() && !self.config.ports.ip.v4() && !machine.iter().any(IpAddr::is_ipv6) {
            self.ask_range(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0));
        }
    }

    /// Asks every port of the service range at the known peers whose addresses are known. `waker` is woken when there
    /// is more to ask.
    pub(super) fn ask_peers(&self, waker: &Arc<Waker>) {
        for peer in &self.config.lab.known_peers {
            names::addresses(peer, Some(waker)).into_iter().for_each(|address| self.ask_range(address));
        }
    }

    /// Asks members where they were met, sealed and in no other way (secure-session §5.6).
    pub(super) fn ask_met(&self) {
        let Some(member) = self.questions.member() else { return };
        for ip in member.met() {
            let host = SocketAddr::new(ip, 0);
            self.ask_range_for(host, is_sealed);
        }
    }

    fn ask_range(&self, host: SocketAddr) {
        self.ask_range_for(host, |_| true);
    }

    fn ask_range_for(&self, host: SocketAddr, is_meant: impl Fn(&[u8]) -> bool) {
        let version = version_of(host.ip());
        for channel in self.channels.iter().filter(|channel| channel.version == version) {
            for port in self.config.ports.service_range() {
                let mut address = host;
                address.set_port(port);
                channel.ask_for(address, &is_meant);
            }
        }
    }

    /// Notes that the socket with this token has become readable.
    pub(super) fn set_readable(&mut self, ready: Token) {
        for channel in self.channels.iter_mut().filter(|channel| token(channel.version) == ready) {
            channel.may_read = true;
        }
    }

    /// Whether a socket may have datagrams that were not read yet.
    pub(super) fn may_read(&self) -> bool {
        self.channels.iter().any(|channel| channel.may_read)
    }

    /// Reads one datagram; `None` when there is none.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        for channel in self.channels.iter_mut().filter(|channel| channel.may_read) {
            match channel.socket.recv_from(buffer) {
                Ok(datagram) => return Some(datagram),
                // Windows reports here that an earlier query could not be delivered.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return None,
                Err(error) => {
                    channel.may_read = false;
                    if error.kind() != io::ErrorKind::WouldBlock {
                        log::warning!("replies cannot be received over {:?}: {error}", channel.version);
                    }
                }
            }
        }
        None
    }
}

impl Channel {
    fn ask_scope(&self, config: &Config, interfaces: &Interfaces) {
        let wanted = config.multicast.discovery_addresses.iter().copied();
        let targets: Vec<IpAddr> = wanted.filter(|&ip| version_of(ip) == self.version).collect();
        for &target in targets.iter().filter(|target| !target.is_multicast()) {
            self.ask(SocketAddr::new(target, config.ports.multicast));
        }
        let groups: Vec<IpAddr> = targets.into_iter().filter(IpAddr::is_multicast).collect();
        match self.version {
            IpVersion::V4 => interfaces.v4.iter().for_each(|&interface| {
                let usable = sockets::send_through_v4(&self.socket, interface);
                self.ask_groups(&groups, config.ports.multicast, 0, usable);
            }),
            IpVersion::V6 => interfaces.v6.iter().for_each(|&index| {
                let usable = sockets::send_through_v6(&self.socket, index);
                self.ask_groups(&groups, config.ports.multicast, index, usable);
            }),
        }
        self.ask_local_group(config, &groups, interfaces);
    }

    /// Asks groups through the interface that was just chosen. An unusable interface, such as a tunnel's that has
    /// gone, is skipped.
    fn ask_groups(&self, groups: &[IpAddr], port: u16, zone: u32, usable: io::Result<()>) {
        if let Err(error) = usable {
            log::verbose!(1, "an interface cannot be used for multicast and is skipped: {error}");
            return;
        }
        for group in groups {
            self.ask(match *group {
                IpAddr::V4(group) => SocketAddr::new(group.into(), port),
                IpAddr::V6(group) => SocketAddrV6::new(group, port, 0, zone).into(),
            });
        }
    }

    /// Asks the outlets of this computer over loopback, without a hop, in every scope.
    fn ask_local_group(&self, config: &Config, asked: &[IpAddr], interfaces: &Interfaces) {
        let local = LOCAL_GROUPS.into_iter().filter(|group| version_of(*group) == self.version);
        let Some(group) = local.into_iter().find(|group| !asked.contains(group)) else { return };
        // Loopback is the last interface of the list.
        let (usable, zone) = match self.version {
            IpVersion::V4 => (sockets::send_through_v4(&self.socket, Ipv4Addr::LOCALHOST), 0),
            IpVersion::V6 => {
                let zone = interfaces.v6.last().copied().unwrap_or(0);
                (sockets::send_through_v6(&self.socket, zone), zone)
            }
        };
        let ttl = config.multicast.ttl;
        let hops = sockets::set_hops(&self.socket, self.version, 0);
        self.ask_groups(&[group], config.ports.multicast, zone, usable.and(hops));
        if let Err(error) = sockets::set_hops(&self.socket, self.version, ttl) {
            log::warning!("the time to live of queries cannot be set: {error}");
        }
    }

    fn ask(&self, target: SocketAddr) {
        self.ask_for(target, &|_| true);
    }

    fn ask_for(&self, target: SocketAddr, is_meant: &dyn Fn(&[u8]) -> bool) {
        // Networks that are away, firewalls and full buffers are the normal case for some target; the next wave
        // asks again.
        for query in self.queries.iter().filter(|query| is_meant(query)) {
            if let Err(error) = self.socket.send_to(query, target) {
                log::verbose!(2, "the query to {target} was not sent: {error}");
            }
        }
    }
}

fn token(version: IpVersion) -> Token {
    match version {
        IpVersion::V4 => Token(1),
        IpVersion::V6 => Token(2),
    }
}

/// Tokens below this one belong to the waker (0) and to the UDP sockets.
pub(super) const FIRST_TCP_TOKEN: usize = 3;
