//! Visiting every stream that was found: is it there, does its clock answer, and what is wrong with its samples?

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use schwann::inlet::{InletOptions, Protection};
use schwann::security::Refusal;
use schwann::{Context, Inlet, StreamInfo};
use schwann_proto::stream_info::IpVersion;
use schwann_recorder::{Probe, Reach, Trouble, Verdict, twins};

use super::tried::is_in;
use crate::beside;
use crate::doctor::ports::{Knock, knock};

/// A stream and how well it can be reached.
#[derive(Clone, Debug)]
pub(in crate::doctor) struct Stream {
    pub(in crate::doctor) info: StreamInfo,
    /// Whether multicast alone found it.
    pub(in crate::doctor) by_multicast: bool,
    pub(in crate::doctor) data: Knock,
    /// Round trip in seconds to its clock; none if that does not answer.
    pub(in crate::doctor) round_trip: Option<f64>,
    /// Why this computer has no session with its sender.
    pub(in crate::doctor) refusal: Option<Refusal>,
    /// What is wrong with its samples.
    pub(in crate::doctor) trouble: Option<Trouble>,
    /// How it travels, if it was received.
    pub(in crate::doctor) protection: Option<Protection>,
    /// Whether another one claims to be the same.
    pub(in crate::doctor) has_twin: bool,
}

/// Tries to reach every stream; also says how many were too many.
pub(super) fn visit_all(
    multicast: Vec<StreamInfo>,
    all: Vec<StreamInfo>,
    config: &Arc<Context>,
) -> (Vec<Stream>, usize) {
    let more = all.iter().filter(|info| !is_in(&multicast, info)).cloned().collect::<Vec<_>>();
    let mut found: Vec<_> = multicast.iter().cloned().chain(more).collect();
    let unvisited = found.len().saturating_sub(MAX_STREAMS);
    found.truncate(MAX_STREAMS);
    let visit = |info: &StreamInfo| visit(info, is_in(&multicast, info), config);
    let mut streams = beside::each(&found, VISITORS, visit);
    let is_there = |stream: &&mut Stream| stream.data == Knock::Open;
    let there: Vec<_> = streams.iter_mut().filter(is_there).map(|stream| stream.info.clone()).collect();
    for (stream, has_twin) in streams.iter_mut().filter(is_there).zip(twins(there.iter())) {
        stream.has_twin = has_twin;
    }
    (streams, unvisited)
}

fn visit(info: &StreamInfo, by_multicast: bool, config: &Arc<Context>) -> Stream {
    let (began, probe) = (Instant::now(), Probe::start(info, Arc::clone(config)));
    let data = data_address(info).map_or(Knock::Silent, knock);
    let (round_trip, refusal) = round_trip(info, config);
    let (mut protection, mut trouble) = (None, None);
    if data == Knock::Open && refusal.is_none() {
        (protection, trouble) =
            probe.map_or((None, Some(Trouble::NotConnected)), |probe| judged(&probe, began));
    }
    let info = info.clone();
    Stream { info, by_multicast, data, round_trip, refusal, trouble, protection, has_twin: false }
}

/// How a stream that is looked at since `began` travels, and what is wrong with it.
fn judged(probe: &Probe, began: Instant) -> (Option<Protection>, Option<Trouble>) {
    // A busy computer is connected to later.
    while probe.reach() == Reach::Connecting && began.elapsed() < CONNECT_TIME {
        thread::sleep(Duration::from_millis(20));
    }
    if probe.reach() == Reach::Connected {
        thread::sleep(MEASURE_TIME.saturating_sub(began.elapsed()).max(MEASURE_TIME / 2));
    }
    let state = probe.state();
    match state.verdict(false) {
        Verdict::Trouble(trouble) => (state.protection, Some(trouble)),
        Verdict::Well | Verdict::Waiting | Verdict::Early => (state.protection, None),
    }
}

pub(super) fn data_address(info: &StreamInfo) -> Option<SocketAddr> {
    [IpVersion::V4, IpVersion::V6].into_iter().find_map(|version| {
        let endpoint = info.endpoint(version);
        let text = endpoint.address.to_string();
        // A zone is written with its number; the standard library reads it in brackets.
        let text = if version == IpVersion::V6 { format!("[{text}]") } else { text };
        format!("{text}:{}", endpoint.data_port).parse().ok().filter(|_| endpoint.data_port != 0)
    })
}

/// Where a stream was found, without the zone.
pub(in crate::doctor) fn addresses(info: &StreamInfo) -> impl Iterator<Item = IpAddr> {
    [IpVersion::V4, IpVersion::V6].into_iter().filter_map(move |version| {
        let text = info.endpoint(version).address.to_string();
        text.split('%').next()?.parse().ok()
    })
}

/// The round trip to a stream's clock, and why there is no session with its sender.
pub(super) fn round_trip(info: &StreamInfo, config: &Arc<Context>) -> (Option<f64>, Option<Refusal>) {
    let Ok(inlet) = Inlet::in_context(info, &InletOptions::default(), Arc::clone(config)) else {
        return (None, None);
    };
    let mut round_trip = clock_round_trip(&inlet, CLOCK_TIME);
    if round_trip.is_none() {
        // A probe in the clear gets no answer from who seals, and no reason either; a connection does.
        let _ = inlet.open_stream(CLOCK_TIME);
        if inlet.refusal().is_none() {
            round_trip = late_clock_round_trip(info, config);
        }
    }
    (round_trip, inlet.refusal())
}

/// Asks again with time for a busy computer, where one late answer counts, too.
fn late_clock_round_trip(info: &StreamInfo, config: &Context) -> Option<f64> {
    let patient = config.reconfigured(|config| {
        config.tuning.time_probe_max_rtt = Duration::from_secs(1);
        config.tuning.time_update_min_probes = 1;
    });
    let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::new(patient)).ok()?;
    clock_round_trip(&inlet, LATE_CLOCK_TIME)
}

fn clock_round_trip(inlet: &Inlet, timeout: f64) -> Option<f64> {
    inlet.clock_offset(timeout).ok().map(|estimate| estimate.uncertainty)
}

/// Seconds for an answer of a stream's clock.
const CLOCK_TIME: f64 = 2.0;
/// Seconds for an answer of a busy computer.
const LATE_CLOCK_TIME: f64 = 4.0;
/// Streams that are visited at the same time, and in all.
const VISITORS: usize = 64;
const MAX_STREAMS: usize = 1024;
/// How long the samples of a stream are looked at: long enough for losses of a few percent, and for blocks.
const MEASURE_TIME: Duration = Duration::from_secs(3);
/// A stream that does not answer within this is not merely on a busy computer.
const CONNECT_TIME: Duration = Duration::from_secs(6);
