//! Known peers of the configuration at whose addresses no stream was found, and what their ports answer.

use core::net::IpAddr;
use std::sync::Arc;

use schwann::{Context, StreamInfo};

use super::host::{At, Host, knock_at, streams_behind};
use super::tried::{is_in, search_again, with_peers};
use super::visit::addresses;
use crate::beside;

/// Knocks at the known peers that no stream is of; not at `others`, which are no peers or asked about anyway.
///
/// A stream that answers only then is added to `found`: its computer was busy.
pub(super) fn without_stream(
    found: &mut Vec<StreamInfo>,
    others: &[IpAddr],
    unknown: &[String],
    context: &Arc<Context>,
) -> Vec<Host> {
    let knocked = knock(found, others, unknown, context);
    let behind = knocked.iter().flat_map(|(_, at)| streams_behind(at));
    let late = behind.filter(|info| !is_in(found, info)).count();
    if late > 0 {
        let should_be = found.len() + late;
        search_again(with_peers(context, &[]), found, should_be);
    }
    let is_silent = |at: &[At]| !streams_behind(at).any(|info| is_in(found, info));
    let silent = knocked.into_iter().filter(|(_, at)| is_silent(at));
    silent.map(|(host, at)| host.with_knocks(at, context)).collect()
}

fn knock(
    found: &[StreamInfo],
    others: &[IpAddr],
    unknown: &[String],
    context: &Arc<Context>,
) -> Vec<(Host, Vec<At>)> {
    let is_found = |ip: IpAddr| found.iter().any(|info| addresses(info).any(|at| at == ip));
    let is_seen = |&ip: &IpAddr| ip.is_loopback() || others.contains(&ip) || is_found(ip);
    let ask = |name: &&String| {
        let host = Host::look_up(name, context);
        let is_meant = !host.addresses.iter().any(is_seen);
        is_meant.then(|| {
            let at = knock_at(&host.addresses, context);
            (host, at)
        })
    };
    let names = context.lab.known_peers.iter().filter(|name| !unknown.contains(name)).take(MOST);
    let names: Vec<_> = names.collect();
    beside::each(&names, MOST, ask).into_iter().flatten().collect()
}

/// Known peers that are knocked at, at most.
const MOST: usize = 16;
