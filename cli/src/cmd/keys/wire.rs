//! How an invitation is found, and how the messages of a pairing travel.
//!
//! An invitation is found like a stream: it is one, of a session of its own, which no recording takes. Its source id
//! holds the port of the pairing.
//!
//! Source: pairing §2.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::security::{Policy, Trust};
use schwann::{ChannelFormat, Context, Outlet, OutletOptions, StreamInfo, resolver};
use schwann_proto::stream_info::IpVersion;
use socket2::{Domain, Protocol, Socket, Type};

use super::failed;
use crate::exit::Problem;
use crate::lab;
use crate::sys::sockets;

/// A network as it is, in the clear: there are no common keys yet.
fn context(places: &[SocketAddr]) -> Arc<Context> {
    let mut config = lab::config().config().as_ref().clone();
    SESSION.clone_into(&mut config.lab.session_id);
    config.lab.known_peers.extend(places.iter().map(|place| without_port(*place)));
    Arc::new(Context::with_trust(config, Trust::new(Policy::Off, None)))
}

/// Offers what is done at `port`, until this is dropped.
pub(super) fn announce(kind: &str, port: u16) -> Result<Outlet, Problem> {
    // Members search sealed, and this stream has no keys: nothing to tell a person of.
    lab::hush(lab::config().config());
    let info = StreamInfo::new("schwann keys", kind, 1, 0.0, ChannelFormat::Int8, port.to_string());
    let info = info.map_err(|error| failed(format_args!("{error:?}")))?;
    Outlet::in_context(&info, &OutletOptions::default(), context(&[])).map_err(failed)
}

/// Looks for machines of the lab: everywhere, or at the one place that is named.
pub(super) fn find(kind: &str, place: Option<&str>) -> Result<Vec<SocketAddr>, Problem> {
    let Some(place) = place else {
        return search(kind, &[]);
    };
    if let Some((host, port)) =
        place.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'))
    {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().map_err(|_| no_place(place))?;
        return Ok((host, port).to_socket_addrs().map_err(|_| no_place(place))?.take(MOST).collect());
    }
    let host = place.trim_start_matches('[').trim_end_matches(']');
    let all: Vec<_> = (host, 0).to_socket_addrs().map_err(|_| no_place(place))?.take(MOST).collect();
    if all.is_empty() { Err(no_place(place)) } else { search(kind, &all) }
}

fn no_place(place: &str) -> Problem {
    Problem::Failed(format!(
        "no computer called {place:?} was found; give its address, as `schwann keys invite` shows it"
    ))
}

fn search(kind: &str, at: &[SocketAddr]) -> Result<Vec<SocketAddr>, Problem> {
    let context = context(at);
    let query = format!("session_id='{SESSION}' and type='{kind}'");
    let mut found = resolver::resolve(&context, &query, 0, FIRST_LOOK).map_err(failed)?;
    if found.is_empty() {
        found = resolver::resolve(&context, &query, 1, LONG_LOOK).map_err(failed)?;
    }
    let mut places: Vec<_> = match at {
        [] => found.iter().filter_map(address).collect(),
        // An invitation may have answered from another address of the same computer.
        at => found
            .iter()
            .filter_map(port)
            .flat_map(|port| at.iter().map(move |ip| at_port(*ip, port)))
            .collect(),
    };
    places.sort_unstable();
    places.dedup();
    places.truncate(MOST);
    Ok(places)
}

fn port(info: &StreamInfo) -> Option<u16> {
    info.source_id().to_string().parse().ok()
}

fn address(info: &StreamInfo) -> Option<SocketAddr> {
    let ends = [IpVersion::V4, IpVersion::V6].map(|version| info.endpoint(version).address.to_string());
    ends.iter().find_map(|ip| with_port(ip, port(info)?))
}

fn at_port(mut place: SocketAddr, port: u16) -> SocketAddr {
    place.set_port(port);
    place
}

/// An address as streams tell it: that of IPv6 may have a zone.
fn with_port(ip: &str, port: u16) -> Option<SocketAddr> {
    let text = if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
    text.parse().ok()
}

fn without_port(place: SocketAddr) -> String {
    match place {
        SocketAddr::V6(place) if place.scope_id() != 0 => format!("{}%{}", place.ip(), place.scope_id()),
        place => place.ip().to_string(),
    }
}

/// Where new devices come in: one port, over each version of IP that is used.
pub(super) struct Entrance {
    listeners: Vec<TcpListener>,
    port: u16,
}

impl Entrance {
    /// Takes a port that firewalls let LSL have, if one is free.
    pub(super) fn open() -> Result<Self, Problem> {
        let ports: Vec<_> = lab::config().ports.service_range().collect();
        // From behind: outlets take the first ones. One of the system's choice may be free for one version alone.
        let mut ports = ports.into_iter().rev().chain([0; 4]);
        ports.find_map(Self::at).ok_or_else(|| failed("no port is free for the new device"))
    }

    /// Nothing if one version cannot have the port, or none is there.
    fn at(port: u16) -> Option<Self> {
        let mut entrance = Self { listeners: Vec::new(), port };
        let hosts: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        for host in hosts.into_iter().filter(|host| lab::config().ports.ip.allows(*host)) {
            match listen(SocketAddr::new(host, entrance.port)) {
                Ok(listener) => {
                    entrance.port = listener.local_addr().ok()?.port();
                    entrance.listeners.push(listener);
                }
                Err(error) if is_taken(&error) => return None,
                // A system without this version of IP.
                Err(_) => {}
            }
        }
        (!entrance.listeners.is_empty()).then_some(entrance)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The next connection; nothing if there is none now.
    ///
    /// The versions take turns, so that a crowd over one does not keep out those who come over the other.
    pub(super) fn next(&mut self) -> Option<(TcpStream, SocketAddr)> {
        for _ in 0..self.listeners.len() {
            self.listeners.rotate_left(1);
            if let Some(Ok(connection)) = self.listeners.last().map(TcpListener::accept) {
                return Some(connection);
            }
        }
        None
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

fn listen(place: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(place), Type::STREAM, Some(Protocol::TCP))?;
    if place.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    sockets::reuse_port_of_listener(&socket)?;
    socket.bind(&place.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Reads a message of `N` bytes, all of them before `deadline`.
pub(super) fn read<const N: usize>(link: &mut TcpStream, deadline: Instant) -> io::Result<[u8; N]> {
    let mut message = [0; N];
    read_into(link, &mut message, deadline)?;
    Ok(message)
}

/// Fills `out`; a peer that sends a byte now and then does not hold it up beyond `deadline`.
pub(super) fn read_into(link: &mut TcpStream, out: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        link.set_read_timeout(Some(left))?;
        match link.read(rest) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // Programs that look for streams knock at every port. They would take one that keeps them waiting for a hung outlet, and one
        // that closes without a word for a plain one.
        if out.starts_with(OF_STREAMS) {
            link.write_all(NO_OUTLET)?;
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(())
}

/// The LSL session in which invitations are looked for.
pub(crate) const SESSION: &str = "schwann-pairing";
/// The type of an invitation's stream.
pub(super) const PAIRING: &str = "pairing";
/// The type of the stream of a machine that renews certificates.
pub(super) const RENEWAL: &str = "renewal";
/// How requests to outlets begin.
const OF_STREAMS: &[u8] = b"LSL:";
const NO_OUTLET: &[u8] = b"no outlet\r\n";
/// Time for a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for one message of the other end; a person is asked for nothing meanwhile.
pub(super) const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Invitations that are tried; each is a guess for a stranger.
const MOST: usize = 8;
/// Connections that wait to be taken.
const BACKLOG: i32 = 1024;
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LONG_LOOK: Duration = Duration::from_secs(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_zone_on_the_way_there_and_back() {
        for (ip, place) in
            [("10.0.0.1", "10.0.0.1:7"), ("fd99::1", "[fd99::1]:7"), ("fe80::1%3", "[fe80::1%3]:7")]
        {
            let found = with_port(ip, 7).expect("an address");
            assert_eq!((found, without_port(found)), (place.parse().expect("a place"), ip.to_owned()));
        }
        assert_eq!(with_port("", 7), None);
    }
}
