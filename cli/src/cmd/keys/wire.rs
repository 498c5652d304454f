//! How an invitation is found, and how the messages of a pairing travel.
//!
//! An invitation is found like a stream: it is one, of a session of its own, which no recording takes. Its source id
//! holds the port of the pairing.
//!
//! Source: pairing §2.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::security::{Policy, Trust};
use schwann::{ChannelFormat, Context, Outlet, OutletOptions, StreamInfo, resolver};
use schwann_proto::stream_info::IpVersion;

use super::failed;
use crate::exit::Problem;
use crate::lab;

/// The LSL session in which invitations are looked for.
pub(crate) const SESSION: &str = "schwann-pairing";
/// The type of an invitation's stream.
pub(super) const PAIRING: &str = "pairing";
/// The type of the stream of a machine that renews certificates.
pub(super) const RENEWAL: &str = "renewal";
/// Time for one message of the other end; a person is asked for nothing meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Invitations that are tried; each is a guess for a stranger.
const MOST: usize = 8;
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LONG_LOOK: Duration = Duration::from_secs(8);

/// A network as it is, in the clear: there are no common keys yet.
fn context(place: Option<IpAddr>) -> Arc<Context> {
    let mut config = lab::config().config().as_ref().clone();
    SESSION.clone_into(&mut config.lab.session_id);
    config.lab.known_peers.extend(place.map(|ip| ip.to_string()));
    Arc::new(Context::with_trust(config, Trust::new(Policy::Off, None)))
}

/// Offers what is done at `port`, until this is dropped.
pub(super) fn announce(kind: &str, port: u16) -> Result<Outlet, Problem> {
    // Members search sealed, and this stream has no keys: nothing to tell a person of.
    lab::hush(lab::config().config());
    let info = StreamInfo::new("schwann keys", kind, 1, 0.0, ChannelFormat::Int8, port.to_string());
    let info = info.map_err(|error| failed(format_args!("{error:?}")))?;
    Outlet::in_context(&info, &OutletOptions::default(), context(None)).map_err(failed)
}

/// Looks for machines of the lab: everywhere, or at the one place that is named.
pub(super) fn find(kind: &str, place: Option<&str>) -> Result<Vec<SocketAddr>, Problem> {
    let Some(place) = place else {
        return search(kind, None);
    };
    if let Some((host, port)) =
        place.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'))
    {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().map_err(|_| no_place(place))?;
        return Ok((host, port).to_socket_addrs().map_err(|_| no_place(place))?.take(MOST).collect());
    }
    let ip = (place, 0).to_socket_addrs().map_err(|_| no_place(place))?.next();
    search(kind, Some(ip.ok_or_else(|| no_place(place))?.ip()))
}

fn no_place(place: &str) -> Problem {
    Problem::Failed(format!(
        "no computer called {place:?} was found; give its address, as `schwann keys invite` shows it"
    ))
}

fn search(kind: &str, place: Option<IpAddr>) -> Result<Vec<SocketAddr>, Problem> {
    let context = context(place);
    let query = format!("session_id='{SESSION}' and type='{kind}'");
    let mut found = resolver::resolve(&context, &query, 0, FIRST_LOOK).map_err(failed)?;
    if found.is_empty() {
        found = resolver::resolve(&context, &query, 1, LONG_LOOK).map_err(failed)?;
    }
    let mut places: Vec<_> = found.iter().filter_map(address).collect();
    places.retain(|found| place.is_none_or(|place| found.ip() == place));
    places.dedup();
    places.truncate(MOST);
    Ok(places)
}

fn address(info: &StreamInfo) -> Option<SocketAddr> {
    let port = info.source_id().to_string().parse().ok()?;
    let versions = [IpVersion::V4, IpVersion::V6].into_iter();
    let ip = versions.filter_map(|version| info.endpoint(version).address.to_string().parse().ok()).next()?;
    Some(SocketAddr::new(ip, port))
}

/// A port that firewalls let LSL have, if one is free.
pub(super) fn listen() -> Result<TcpListener, Problem> {
    let config = lab::config();
    let v4 = config.ports.ip.allows(Ipv4Addr::UNSPECIFIED.into());
    let host: IpAddr = if v4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // From behind: outlets take the first ones.
    let ports: Vec<_> = config.ports.service_range().collect();
    let ports = ports.into_iter().rev().chain([0]);
    let bound = ports.map(|port| TcpListener::bind(SocketAddr::new(host, port))).find_map(Result::ok);
    let listener = bound.ok_or_else(|| failed("no port is free for the new device"))?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Reads a message of `N` bytes, all of them before `deadline`.
pub(super) fn read<const N: usize>(link: &mut TcpStream, deadline: Instant) -> io::Result<[u8; N]> {
    let mut message = [0; N];
    read_into(link, &mut message, deadline)?;
    Ok(message)
}

/// Fills `out`; a peer that sends a byte now and then does not hold it up beyond `deadline`.
pub(super) fn read_into(link: &mut TcpStream, mut out: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !out.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        link.set_read_timeout(Some(left))?;
        match link.read(out) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => out = out.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
