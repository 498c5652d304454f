//! Searching in every way, and knocking, all at the same time.

use core::net::IpAddr;
use core::time::Duration;
use std::io;
use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use schwann::resolver::{self, ResolveError};
use schwann::{Config, Context, StreamInfo};

use super::Interface;
use super::host::{At, knock_at, streams_behind};
use crate::beside::both;
use crate::doctor::probe::echo;
use crate::hubs::{Examined, Hubs};

/// What came of searching and knocking.
pub(super) struct Tried {
    /// Streams that multicast found.
    pub(super) multicast: Vec<StreamInfo>,
    /// Streams that any search found.
    pub(super) all: Vec<StreamInfo>,
    /// Why the system refused one of these searches.
    pub(super) refused: Option<io::ErrorKind>,
    pub(super) knocks: Vec<At>,
    pub(super) unknown_peers: Vec<String>,
    pub(super) hubs: Vec<Examined>,
}

/// Searches in every way and knocks at `addresses`, all at once; sends each interface multicast meanwhile.
pub(super) fn try_all(config: &Arc<Context>, addresses: &[IpAddr], interfaces: &mut [Interface]) -> Tried {
    let search_both_ways =
        || both(|| search(multicast_only(config)), || search(with_peers(config, addresses)));
    let ask_for_names = || both(|| Hubs::examine(config), || unknown_peers(config));
    let knock_and_send = || both(|| knock_at(addresses, config), || send_echoes(interfaces, config));
    let ((multicast, all), ((hubs, unknown_peers), (knocks, ()))) =
        both(search_both_ways, || both(ask_for_names, knock_and_send));
    let refused = [&multicast, &all].into_iter().find_map(|search| match search {
        Err(ResolveError::System(kind)) => Some(*kind),
        _ => None,
    });
    let (multicast, all) = (multicast.unwrap_or_default(), all.unwrap_or_default());
    let mut tried = Tried { multicast, all, refused, knocks, unknown_peers, hubs };
    // A busy computer answers late: what is missing is looked for once more before anybody is blamed for it.
    let Tried { multicast, all, knocks, .. } = &mut tried;
    let there = all.len() + streams_behind(knocks).filter(|info| !is_in(all, info)).count();
    search_again(with_peers(config, addresses), all, there.max(1));
    search_again(multicast_only(config), multicast, all.len());
    tried
}

/// Sends multicast through each interface. One address of IPv6 stands for all of its interface.
fn send_echoes(interfaces: &mut [Interface], config: &Config) {
    let mut tried = Vec::new();
    for interface in interfaces.iter_mut().filter(|interface| interface.has_multicast()) {
        if interface.ip.is_ipv6() {
            if tried.contains(&interface.index) {
                continue;
            }
            tried.push(interface.index);
        }
        interface.echo = echo(interface, config);
    }
}

fn unknown_peers(config: &Config) -> Vec<String> {
    let is_unknown = |peer: &&String| (peer.as_str(), 0).to_socket_addrs().is_err();
    config.lab.known_peers.iter().filter(is_unknown).cloned().collect()
}

fn multicast_only(context: &Context) -> Context {
    context.reconfigured(|config| {
        config.lab.known_peers.clear();
        config.lab.resolve_over_tcp = false;
    })
}

pub(super) fn with_peers(context: &Context, addresses: &[IpAddr]) -> Context {
    context.reconfigured(|config| config.lab.known_peers.extend(addresses.iter().map(ToString::to_string)))
}

/// Searches streams of all sessions.
fn search(context: Context) -> Result<Vec<StreamInfo>, ResolveError> {
    resolver::resolve(&Arc::new(context), &every_stream(), 0, SEARCH_TIME)
}

/// Searches until there are as many as there should be, or for a while.
pub(super) fn search_again(context: Context, found: &mut Vec<StreamInfo>, should_be: usize) {
    if found.len() < should_be {
        let more = resolver::resolve(&Arc::new(context), &every_stream(), should_be, LATE_TIME);
        let more = more.unwrap_or_default().into_iter().filter(|info| !is_in(found, info));
        let more: Vec<_> = more.collect();
        found.extend(more);
    }
}

/// An invitation to a lab is found like a stream, and is none.
fn every_stream() -> String {
    format!("session_id!='{}'", crate::cmd::keys::wire::SESSION)
}

pub(super) fn is_in(list: &[StreamInfo], info: &StreamInfo) -> bool {
    list.iter().any(|other| other.uid() == info.uid())
}

const SEARCH_TIME: Duration = Duration::from_millis(1500);
/// What answers later than this is not merely busy.
const LATE_TIME: Duration = Duration::from_secs(4);
