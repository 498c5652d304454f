//! The computer that was asked about: its ports, and what a program there tells of itself.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use schwann::resolver::{self, Knocked, Viewed};
use schwann::security::Refusal;
use schwann::{Config, Context, StreamInfo};

use super::visit::round_trip;
use crate::beside;
use crate::cmd::keys::wire::SESSION;
use crate::doctor::ports::{Knock, knock};

/// The computer that was asked about.
#[derive(Clone, Debug)]
pub(in crate::doctor) struct Host {
    pub(in crate::doctor) name: String,
    pub(in crate::doctor) addresses: Vec<IpAddr>,
    /// What its service range answered.
    pub(in crate::doctor) knocks: Vec<Knock>,
    /// Why this computer may not see a stream there, if that is so.
    pub(in crate::doctor) refusal: Option<Refusal>,
    /// Whether a stream there lets this computer in and hears its datagrams, and does not answer its searches.
    pub(in crate::doctor) is_silent: bool,
    /// What a program there tells of itself.
    pub(in crate::doctor) view: Viewed,
}

impl Host {
    /// Looks up the addresses of a computer.
    pub(super) fn look_up(name: &str, config: &Config) -> Self {
        let found = (name, 0).to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        let mut addresses: Vec<_> = found.iter().map(SocketAddr::ip).collect();
        addresses.retain(|&ip| config.ports.ip.allows(ip));
        addresses.dedup();
        let view = Viewed::Silent;
        Self { name: name.to_owned(), addresses, knocks: Vec::new(), refusal: None, is_silent: false, view }
    }

    /// Adds what its ports have answered, what those behind them said, and what a program there tells of itself.
    pub(super) fn with_knocks(self, at: Vec<At>, config: &Arc<Context>) -> Self {
        let view = ask_view(&stream_ports(&at), config);
        let refusal = at.iter().find_map(|one| match one.behind {
            Knocked::Refused(refusal) => Some(refusal),
            _ => None,
        });
        let is_sealed = config.trust().is_ok_and(|trust| trust.member().is_some());
        let answers = |one: &At| match &one.behind {
            Knocked::Stream(info) => round_trip(info, config).0.is_some(),
            _ => false,
        };
        let is_silent = is_sealed && at.iter().any(answers);
        Self { knocks: at.iter().map(|one| one.knock).collect(), refusal, is_silent, view, ..self }
    }
}

/// Knocks at the service ports of the first address that answers at all, or else of the first; says who is there.
pub(super) fn knock_at(addresses: &[IpAddr], context: &Context) -> Vec<At> {
    let mut outcomes = Vec::new();
    for &ip in addresses {
        let ports: Vec<_> = context.ports.service_range().collect();
        let found = beside::each(&ports, ports.len(), |&port| {
            let address = SocketAddr::new(ip, port);
            let knock = knock(address);
            let behind = match knock {
                Knock::Open => resolver::knock(context, address, KNOCK_TIME),
                _ => Knocked::Nobody,
            };
            At { address, knock, behind }
        });
        let has = |wanted| found.iter().any(|at: &At| at.knock == wanted);
        if has(Knock::Open) {
            return found;
        }
        if outcomes.is_empty() || has(Knock::Refused) {
            outcomes = found;
        }
    }
    outcomes
}

/// What was found at one port of another computer.
pub(super) struct At {
    address: SocketAddr,
    knock: Knock,
    behind: Knocked,
}

/// The streams that let this computer in.
pub(super) fn streams_behind(knocks: &[At]) -> impl Iterator<Item = &StreamInfo> {
    let infos = knocks.iter().filter_map(|at| match &at.behind {
        Knocked::Stream(info) => Some(&**info),
        _ => None,
    });
    infos.filter(|info| *info.session_id() != *SESSION)
}

/// The ports at which there are streams.
fn stream_ports(knocks: &[At]) -> Vec<SocketAddr> {
    let is_stream = |at: &&At| matches!(at.behind, Knocked::Stream(_));
    knocks.iter().filter(is_stream).take(VIEWS_MOST).map(|at| at.address).collect()
}

/// What the programs behind these ports tell of themselves; of several, the one that has heard most.
fn ask_view(places: &[SocketAddr], context: &Context) -> Viewed {
    let views = places.iter().map(|&address| resolver::view(context, address, VIEW_TIME));
    let heard = |viewed: &Viewed| match viewed {
        Viewed::Told(view) => Some(view.multicast.count + view.unicast.count),
        _ => None,
    };
    let without = match context.trust().is_ok_and(|trust| trust.member().is_some()) {
        true => Viewed::Silent,
        false => Viewed::NoKeys,
    };
    views.max_by_key(heard).unwrap_or(without)
}

const KNOCK_TIME: Duration = Duration::from_millis(1200);
/// How long a program may take to tell of itself.
pub(super) const VIEW_TIME: Duration = Duration::from_secs(2);
/// Programs that are asked about themselves at most.
const VIEWS_MOST: usize = 8;
