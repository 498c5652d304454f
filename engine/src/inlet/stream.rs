//! One stream as an inlet knows it: what it is, where it is, and how to find it again.

use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use schwann_proto::inlet::{Watchdog, WatchdogSettings};
use schwann_proto::stream::{ChannelFormat, PROTOCOL_VERSION};
use schwann_proto::stream_info::{Endpoint, IpVersion, StreamInfo};
use schwann_session::{PeerIdentity, Refusal};

use super::alarm::Alarms;
use super::events::{Events, StreamEvent};
use super::receiver::Wait;
use super::shared::{InletShared, Phase};
use super::stamps::Stamps;
use super::{BYTE_LIMIT, InletOptions, Recover};
use crate::clock::{ClockOffset, Estimate};
use crate::config::ZonedAddress;
use crate::context::Context;
use crate::net::bell::Bell;
use crate::net::handshake::Wanted;
use crate::net::interfaces;
use crate::net::interrupt::Interrupt;
use crate::net::link::Link;
use crate::security::Watcher;
use crate::security::journal::{self, LastPeer, Side};
use crate::security::policy::{self, Terms};
use crate::{Error, local_clock, log};

mod freshness;
mod pinned;
mod recovery;
mod ways;

use pinned::Shunned;
pub(crate) use recovery::Recovery;
use ways::Ways;

/// Everything that an inlet and its threads know of the stream.
pub(crate) struct Stream {
    pub(crate) shared: InletShared,
    pub(crate) events: Events,
    pub(crate) stamps: Stamps,
    pub(crate) alarms: Alarms,
    pub(crate) context: Arc<Context>,
    pub(crate) channel_count: usize,
    pub(crate) format: ChannelFormat,
    /// In Hz; 0 if samples come at any time.
    nominal_rate: f64,
    /// Samples that the queue keeps.
    pub(crate) capacity: i32,
    pub(crate) byte_limit: usize,
    chunk_samples: i32,
    recover: Recover,
    info: Mutex<StreamInfo>,
    full_info: Mutex<Option<StreamInfo>>,
    clock: ClockOffset,
    terms: Terms,
    ways: Ways,
    refusal: Mutex<Option<(Refusal, Instant)>>,
    last_peer: Mutex<LastPeer>,
    shunned: Shunned,
    interrupt: Interrupt,
}

impl Stream {
    pub(crate) fn new(
        info: &StreamInfo,
        options: &InletOptions,
        context: Arc<Context>,
    ) -> Result<Self, Error> {
        let recover = check(info, options.recover)?;
        let terms = policy::receiving(context.trust(), info)?;
        let stream = Self {
            shared: InletShared::new(),
            events: Events::new(),
            stamps: Stamps::new(info.nominal_rate(), context.tuning.smoothing_halftime),
            alarms: Alarms::new(),
            channel_count: info.channel_count() as usize,
            format: info.channel_format(),
            nominal_rate: info.nominal_rate(),
            capacity: options.buffer_unit.samples(options.buffer_length, info.nominal_rate()),
            byte_limit: BYTE_LIMIT,
            chunk_samples: i32::try_from(options.chunk_samples).unwrap_or(i32::MAX),
            recover,
            clock: ClockOffset::new(&context),
            info: Mutex::new(info.clone()),
            full_info: Mutex::new(None),
            terms,
            ways: Ways::new(&context),
            refusal: Mutex::new(None),
            last_peer: Mutex::default(),
            shunned: Shunned::default(),
            interrupt: Interrupt::default(),
            context,
        };
        stream.clock.set_endpoint(stream.service_address());
        if stream.member(info).is_some() {
            stream.clock.wait_for_keys();
        }
        Ok(stream)
    }

    /// The present description.
    pub(crate) fn info(&self) -> StreamInfo {
        self.info.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What to ask the outlet for.
    pub(crate) fn wanted<'a>(&self, info: &'a StreamInfo) -> Wanted<'a> {
        Wanted {
            info,
            version: self.context.tuning.protocol_version,
            buffer_samples: self.capacity,
            chunk_samples: self.chunk_samples,
        }
    }

    /// Tells that the outlet and this end have no session, and why; the same not again for a while.
    pub(crate) fn note_refusal(&self, refusal: Refusal) {
        let now = Instant::now();
        {
            let mut last = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|(before, at)| before == refusal && now.duration_since(at) < TELL_AGAIN) {
                return;
            }
            *last = Some((refusal, now));
        }
        let info = self.info();
        journal::refused(&info, self.data_address(&info).into(), refusal, Side::Inlet);
        self.events.push(StreamEvent::Refused);
        self.shared.notify_all();
    }

    /// There is a connection.
    pub(crate) fn forget_refusal(&self) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why there is no connection, if the reason is that there is no session.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).map(|(refusal, _)| refusal)
    }

    /// Notes the stream's device over a new connection, and warns if it is another one than before.
    pub(crate) fn note_peer(&self, link: &Link) {
        let now = link.layer().peer();
        let before = self.last_peer.lock().unwrap_or_else(PoisonError::into_inner).replace(now.copied());
        if let Some(before) = before {
            journal::taken_over(&self.info(), link.peer_address(), &before, now);
            self.events.push(StreamEvent::OtherDevice);
        }
    }

    /// The peer at the other end of the present connection, if it is sealed.
    pub(crate) fn peer(&self) -> Option<PeerIdentity> {
        let state = self.shared.lock();
        state
            .link
            .as_ref()
            .filter(|_| state.phase == Phase::Open)
            .and_then(|link| link.layer().peer().copied())
    }

    /// Lets `this` hear of new revocation lists.
    pub(crate) fn watch_lab(this: &Arc<Self>) {
        if let Some(member) = &this.terms.sealing {
            let watcher: Weak<dyn Watcher> = Arc::<Self>::downgrade(this);
            member.watch(watcher);
        }
    }

    /// Holds the present connection against a revocation list that has come into force since `seen`, and hands
    /// the list on. Returns whether the connection must end.
    pub(crate) fn follow_lab(&self, seen: &mut u64) -> bool {
        let Some(member) = &self.terms.sealing else { return false };
        member.refresh();
        let Some(link) = self.shared.lock().link.clone() else { return false };
        let changes = member.changes();
        if core::mem::replace(seen, changes) != changes {
            link.layer().offer_update();
        }
        if link.has_unsent() {
            // What the socket does not take now goes out the next time.
            link.send(core::iter::empty());
        }
        let dismissal = link.layer().dismissal();
        if let Some(refusal) = dismissal {
            self.note_refusal(refusal);
        }
        dismissal.is_some()
    }

    /// Where samples and descriptions are served.
    pub(crate) fn data_address(&self, info: &StreamInfo) -> Option<SocketAddr> {
        let (endpoint, address) = self.endpoint(info)?;
        Some(with_port(&address, endpoint.data_port))
    }

    fn service_address(&self) -> Option<SocketAddr> {
        let info = self.info();
        let (endpoint, address) = self.endpoint(&info)?;
        Some(with_port(&address, endpoint.service_port))
    }

    /// IPv4 if it is permitted and complete, else IPv6 (lsl-wire §17.1).
    fn endpoint<'a>(&self, info: &'a StreamInfo) -> Option<(&'a Endpoint, ZonedAddress)> {
        [IpVersion::V4, IpVersion::V6].into_iter().find_map(|version| {
            let endpoint = info.endpoint(version);
            let address = ZonedAddress::parse(&endpoint.address.to_string())?;
            let complete = endpoint.data_port != 0 && endpoint.service_port != 0;
            (complete && self.context.ports.ip.allows(address.ip)).then_some((endpoint, address))
        })
    }

    /// Disconnects, forgets what was not pulled, and ends the waits for it.
    pub(crate) fn close(&self) {
        self.shut(|state| state.closings += 1);
    }

    /// Ends everything for good.
    pub(crate) fn end(&self) {
        self.shut(|state| {
            state.closings += 1;
            state.ending = true;
        });
        self.clock.end();
        self.events.end();
    }

    fn shut(&self, note: impl FnOnce(&mut super::shared::State)) {
        let mut state = self.shared.lock();
        note(&mut state);
        if state.phase != Phase::Lost {
            state.phase = Phase::Closed;
        }
        state.was_open = false;
        state.epoch += 1;
        state.receiver = None;
        state.discard();
        let link = state.link.take();
        drop(state);
        if let Some(link) = link {
            link.shut_down();
        }
        self.interrupt.raise();
        self.shared.notify_all();
    }

    /// The stream is gone for good.
    pub(crate) fn lose(&self) {
        let before = core::mem::replace(&mut self.shared.lock().phase, Phase::Lost);
        if before == Phase::Lost {
            return;
        }
        self.clock.lose();
        self.events.push(StreamEvent::Lost);
        self.shared.notify_all();
    }

    /// Whether nothing will come any more.
    pub(crate) fn is_lost(&self) -> bool {
        let state = self.shared.lock();
        state.ending || state.phase == Phase::Lost
    }

    /// Waits, but no longer than until the stream is closed once more.
    pub(crate) fn pause(&self, closings: u64, wait: Wait) {
        let mut state = self.shared.lock();
        while !wait.is_over() && state.closings == closings {
            state = self.shared.wait_changed(state, wait);
        }
    }

    /// How often the stream was closed, the inlet's end included.
    pub(crate) fn closings(&self) -> u64 {
        self.shared.lock().closings
    }

    /// What notices that the stream is silent although its connection stands; nothing if a lost stream
    /// stays lost.
    pub(crate) fn watchdog(&self) -> Option<Watchdog> {
        let tuning = &self.context.tuning;
        let settings = WatchdogSettings {
            check_interval: tuning.watchdog_check_interval.as_secs_f64(),
            threshold: tuning.watchdog_time_threshold.as_secs_f64(),
        };
        (self.recover == Recover::BySourceId).then(|| Watchdog::new(settings, local_clock()))
    }

    /// Measures the clock offset, or returns the newest estimate.
    pub(crate) fn clock_offset(&self, wait: Wait) -> Result<Estimate, Error> {
        if self.is_lost() {
            return Err(Error::Lost);
        }
        if self.clock.waits_for_keys() {
            self.shared.ask_to_open(&mut self.shared.lock());
        }
        self.clock.estimate(wait.left())
    }

    /// Takes over the keys for clock probes that a new connection brought.
    pub(crate) fn take_keys(&self, link: &Link) {
        if let Some(datagrams) = link.layer().take_datagrams() {
            self.clock.seal_with(datagrams);
        }
    }

    /// Rings `bell` once the clock offset is known.
    pub(crate) fn ring_with_offset(&self, bell: &Arc<Bell>) {
        self.clock.ring_when_known(bell);
    }

    /// The newest estimate, if there is one.
    pub(crate) fn known_clock_offset(&self) -> Option<f64> {
        self.clock.known().map(|estimate| estimate.offset)
    }

    pub(crate) fn was_clock_reset(&self) -> bool {
        self.clock.was_reset()
    }

    /// The whole description, if it was fetched before.
    pub(crate) fn known_full_info(&self) -> Option<StreamInfo> {
        self.full_info.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn remember_full_info(&self, info: &StreamInfo) {
        *self.full_info.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.clone());
    }
}

impl Watcher for Stream {
    fn lab_changed(&self) {
        self.shared.notify_all();
    }
}

/// Checks that the stream can be received, and says whether it can be recovered.
///
/// - Source: lsl-wire §17.1.
fn check(info: &StreamInfo, recover: Recover) -> Result<Recover, Error> {
    let has_address =
        [IpVersion::V4, IpVersion::V6].iter().any(|version| !info.endpoint(*version).address.is_empty());
    if has_address {
        if info.version() / 100 > PROTOCOL_VERSION / 100 {
            return Err(Error::Argument("The stream speaks a newer protocol than this library."));
        }
        if recover == Recover::BySourceId && info.source_id().is_empty() {
            log::info!("{} has no source id, so it cannot be recovered after a loss", info.name());
            return Ok(Recover::No);
        }
        return Ok(recover);
    }
    let is_known = !info.name().is_empty() || !info.stream_type().is_empty() || !info.source_id().is_empty();
    if !is_known || info.channel_count() == 0 || info.channel_format() == ChannelFormat::Undefined {
        return Err(Error::Argument(
            "A stream that was not resolved needs a name, type or source id, a channel count and a format.",
        ));
    }
    Ok(Recover::BySourceId)
}

fn with_port(address: &ZonedAddress, port: u16) -> SocketAddr {
    match address.ip {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), port),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, interfaces::zone_index(address)).into(),
    }
}

/// Time after which it is told again that there is still no session.
const TELL_AGAIN: Duration = Duration::from_secs(10);
