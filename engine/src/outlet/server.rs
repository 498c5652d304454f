//! The thread that serves an outlet: discovery, time, requests, and the consumers that lag.
//!
//! Everything it does is driven by readiness; nothing it does blocks. The pushing threads call it
//! through a waker when there is work for it.

use alloc::sync::{Arc, Weak};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::thread::JoinHandle;
use std::time::Instant;

use mio::event::Source;
use mio::{Events, Interest, Poll, Token, Waker};
use schwann_proto::stream_info::{IpVersion, OutletIdentity, StreamInfo};
use schwann_proto::wire::sample::Layout;
use schwann_session::{HalfOpenLimits, HandshakeTurns};

use self::conversation::{Conversation, Next};
use super::fanout::{Draining, Fanout, Stuck};
use super::view::Counted;
use super::{Delivery, Shared};
use crate::codec::{Encoding, SampleCodec};
use crate::config::Config;
use crate::context::Context;
use crate::door::Transport;
use crate::net::advertisement::Advertisement;
use crate::net::link::Link;
use crate::net::listener::Listener;
use crate::net::responder::{Backlog, Openness, Responder};
use crate::net::sockets::OutletSockets;
use crate::peer_address::PeerAddress;
use crate::security::{Policy, Watcher, policy};
use crate::sys::sockets;
use crate::{Error, local_clock, log};

/// Opens the sockets, completes the description, and starts the thread.
pub(super) fn start(
    info: &StreamInfo,
    context: &Context,
    codecs: [SampleCodec; Encoding::COUNT],
    layout: Layout,
    capacity: u64,
    delivery: Delivery,
) -> Result<(Arc<Shared>, JoinHandle<()>), Error> {
    let config = context.config();
    let terms = policy::sending(context.trust(), info)?;
    let sockets = OutletSockets::open(config)
        .map_err(|_| Error::System("the sockets of an outlet: no port could be opened"))?;
    let info = describe(info, config, &sockets)?;
    let advertisement = Arc::new(Advertisement::new(config, info));
    let poll = Poll::new().map_err(|_| Error::System("a readiness queue"))?;
    let waker = Waker::new(poll.registry(), WAKE).map_err(|_| Error::System("a waker"))?;
    // A wake-up that the system refuses is made good by the next one.
    let call_server = Box::new(move || _ = waker.wake());
    let shared = Arc::new(Shared {
        fanout: Fanout::new(codecs, call_server),
        config: Arc::clone(config),
        advertisement,
        layout,
        capacity,
        delivery,
        terms,
        door: context.door().cloned(),
        probes: Arc::default(),
        ending: AtomicBool::new(false),
        _counted: Counted::new(),
    });
    if let Some(member) = &shared.terms.sealing {
        let watcher: Weak<dyn Watcher> = Arc::<Shared>::downgrade(&shared);
        member.watch(watcher);
    }
    let server = Server::new(Arc::clone(&shared), poll, sockets)?;
    let thread = std::thread::Builder::new()
        .name(String::from("lsl-outlet"))
        .spawn(move || server.run())
        .map_err(|_| Error::System("a thread"))?;
    Ok((shared, thread))
}

/// Wakes the server when the source has something to read.
fn register(poll: &Poll, source: &mut impl Source, token: usize) -> Result<(), Error> {
    let registered = poll.registry().register(source, Token(token), Interest::READABLE);
    registered.map_err(|_| Error::System("the registration of a socket"))
}

/// The description of the stream as it is served.
fn describe(info: &StreamInfo, config: &Config, sockets: &OutletSockets) -> Result<StreamInfo, Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| Error::System("random numbers"))?;
    let hostname = sockets::host_name();
    let mut info = info.for_outlet(&OutletIdentity {
        session_id: config.lab.session_id.as_bytes(),
        random,
        created_at: local_clock(),
        hostname: &hostname,
    });
    info.set_version(config.tuning.protocol_version);
    info.set_ports(IpVersion::V4, sockets.ports.v4_data, sockets.ports.v4_service);
    info.set_ports(IpVersion::V6, sockets.ports.v6_data, sockets.ports.v6_service);
    Ok(info)
}

struct Server {
    shared: Arc<Shared>,
    poll: Poll,
    listeners: Vec<Listener>,
    responder: Responder,
    /// Sockets of the responder that may have more datagrams.
    unanswered: Vec<usize>,
    conversations: HashMap<usize, Conversation>,
    turns: HandshakeTurns,
    /// When the next waiting handshake has a turn.
    next_turn: Option<Instant>,
    /// Whether the log says that handshakes wait; strangers decide how often they do.
    has_told_of_turns: bool,
    next_connection: usize,
    /// When to look for clients again after the system refused to let one in.
    accept_again: Option<Instant>,
    draining: Draining,
    /// How many newer revocation lists the connections have been held against.
    lab_changes: u64,
}

impl Server {
    fn new(shared: Arc<Shared>, poll: Poll, sockets: OutletSockets) -> Result<Self, Error> {
        let OutletSockets { services, listeners, discovery, ports } = sockets;
        let mut listeners: Vec<_> = listeners.into_iter().map(Listener::Tcp).collect();
        if shared.config.permits_local_socket() {
            listeners.extend(Listener::local(&shared.advertisement.info().uid().to_string(), ports));
        }
        for (index, listener) in listeners.iter_mut().enumerate() {
            register(&poll, listener, LISTENERS + index)?;
        }
        let mut responder =
            Responder::new(&shared.config, discovery, services, Arc::clone(&shared.advertisement));
        let openness = match shared.terms.policy {
            Policy::Require => Openness::Sealed,
            Policy::Off | Policy::Prefer => Openness::Open,
        };
        responder.guard(shared.door.clone());
        responder.serve_sealed(Arc::clone(&shared.probes), openness, shared.terms.finding.clone());
        for (index, socket) in responder.sockets().iter_mut().enumerate() {
            register(&poll, socket, RESPONDER + index)?;
        }
        Ok(Self {
            shared,
            poll,
            listeners,
            responder,
            unanswered: Vec::new(),
            conversations: HashMap::new(),
            turns: HandshakeTurns::new(Instant::now()),
            next_turn: None,
            has_told_of_turns: false,
            next_connection: CONNECTIONS,
            accept_again: None,
            draining: Draining::default(),
            lab_changes: 0,
        })
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(64);
        while !self.shared.ending.load(Ordering::Acquire) {
            let deadline = self.conversations.values().filter_map(Conversation::deadline).min();
            // An interrupted wait is begun anew.
            let _ = self.poll.poll(&mut events, self.timeout(deadline));
            for event in &events {
                match event.token().0 {
                    0 => {}
                    token @ LISTENERS..RESPONDER => self.accept(token - LISTENERS),
                    token @ RESPONDER..CONNECTIONS => self.unanswered.push(token - RESPONDER),
                    token => self.converse(token, event.is_writable()),
                }
            }
            self.look_after_all(Instant::now());
            self.follow_lab();
            self.send_on();
            if self.accept_again.is_some_and(|at| at <= Instant::now()) {
                self.accept_again = None;
                (0..self.listeners.len()).for_each(|index| self.accept(index));
            }
            if deadline.is_some() {
                self.part_from_silent(Instant::now());
            }
        }
        self.finish();
    }

    /// How long to wait for an event; nothing means for ever.
    fn timeout(&self, deadline: Option<Instant>) -> Option<Duration> {
        if !self.unanswered.is_empty() {
            return Some(Duration::ZERO);
        }
        let checks = [Some(self.responder.next_check()), self.accept_again, self.next_turn];
        let next = deadline.into_iter().chain(checks.into_iter().flatten()).min();
        next.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Goes on with handshakes, keys and interfaces, and with answers to searches.
    fn look_after_all(&mut self, now: Instant) {
        self.give_turns(now);
        if self.responder.next_check() <= now {
            self.conversations.values_mut().for_each(|one| one.look_after_key(&self.shared));
            // Certificates expire with time.
            self.dismiss();
        }
        let responder = &mut self.responder;
        responder.check_interfaces(now);
        self.unanswered.retain(|index| responder.handle_readable(*index) == Backlog::More);
    }

    /// Sends what can still be sent at once, and locally a little longer, then ends all connections.
    fn finish(&mut self) {
        self.send_on();
        self.linger();
        for conversation in self.conversations.values() {
            conversation.say_goodbye();
            conversation.end();
        }
    }

    /// Gives consumers on this computer time to take what waits for them. TCP's buffers would take some megabytes
    /// of it at once, and deliver them after the end of this process. A local socket's have little room.
    fn linger(&mut self) {
        let end = Instant::now() + LONGEST_LINGER;
        let (mut owed, mut patience) = (u64::MAX, Instant::now());
        let mut events = Events::with_capacity(64);
        loop {
            let now = Instant::now();
            let owed_now = self.shared.fanout.owed_locally();
            if owed_now < owed {
                patience = now + LINGER;
            }
            owed = owed_now;
            let left = patience.min(end).saturating_duration_since(now);
            if owed == 0 || left.is_zero() {
                return;
            }
            // An interrupted wait is begun anew.
            let _ = self.poll.poll(&mut events, Some(left));
            for event in events.iter().filter(|event| event.token().0 >= CONNECTIONS) {
                self.converse(event.token().0, event.is_writable());
            }
            self.send_on();
        }
    }

    /// Sends what waits and can be sent, and sees to it that the poller tells when more can.
    fn send_on(&mut self) {
        self.shared.fanout.drain(&mut self.draining);
        for (consumer, lost) in self.shared.fanout.newly_behind(Instant::now()) {
            let name = self.shared.advertisement.info().name();
            log::warning!("{name}: {consumer} is too slow: {lost} samples were dropped for it");
        }
        let Stuck { blocked, failed } = self.shared.fanout.stuck();
        for (token, conversation) in &mut self.conversations {
            if let Some(interest) = conversation.changed_interest(&blocked) {
                // Fails only when memory is short; then the next wake-up finds the work.
                let _ = self.poll.registry().reregister(conversation.watched(), Token(*token), interest);
            }
        }
        self.part_from_broken(&failed);
    }

    fn accept(&mut self, index: usize) {
        while let Some(listener) = self.listeners.get(index) {
            let accepted = listener.accept();
            if accepted.as_ref().is_ok_and(|link| !self.admits(link)) {
                continue;
            }
            let client = accepted.and_then(|link| Conversation::new(link, &self.shared.config));
            let mut conversation = match client {
                Ok(client) => client,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    // Usually there are no more descriptors. Nothing tells when there are some again.
                    log::warning!("a client cannot be served yet: {error}");
                    self.accept_again = Some(Instant::now() + ACCEPT_PAUSE);
                    return;
                }
            };
            self.make_room(conversation.link().peer_address());
            let token = self.next_connection;
            self.next_connection += 1;
            let interest = conversation.interest();
            if self.poll.registry().register(conversation.watched(), Token(token), interest).is_ok() {
                self.conversations.insert(token, conversation);
            }
        }
    }

    /// Whether the door, if there is one, lets this peer in; a local socket is for this user alone anyway.
    fn admits(&self, link: &Link) -> bool {
        match (&self.shared.door, link.peer_address(), link.own_address()) {
            (None, ..) | (_, PeerAddress::ThisComputer, _) => true,
            (Some(door), PeerAddress::Address(peer), Some(reached)) => {
                door.admits(peer, Transport::Tcp { reached })
            }
            (Some(_), ..) => false,
        }
    }

    /// Parts from a stranger if there are too many for one more.
    fn make_room(&mut self, newcomer: PeerAddress) {
        let strangers = self.conversations.iter().filter(|(_, one)| one.is_stranger());
        let strangers = strangers.map(|(token, one)| (*token, one.link().peer_address().network()));
        if let Some(token) = STRANGERS.gives_way(strangers, newcomer.network()) {
            let name = self.shared.advertisement.info().name();
            log::verbose!(1, "{name}: a client that has not said what it wants gives way to another");
            self.part(token);
        }
    }

    fn converse(&mut self, token: usize, writable: bool) {
        let Some(conversation) = self.conversations.get_mut(&token) else { return };
        let was_stranger = conversation.is_stranger();
        let next = conversation.advance(&self.shared, writable);
        if was_stranger && conversation.link().layer().is_sealed() {
            self.turns.met(conversation.link().peer_address().network(), Instant::now());
        }
        if next == Next::Part {
            self.part(token);
        } else if sockets::POLLER_IS_ASKED_EACH_TIME {
            let interest = conversation.interest();
            // As in `send_on`.
            let _ = self.poll.registry().reregister(conversation.watched(), Token(token), interest);
        }
    }

    /// Answers as many handshakes as there are turns for.
    fn give_turns(&mut self, now: Instant) {
        let waiting = self.conversations.iter().filter(|(_, one)| one.waits_for_turn());
        let mut waiting: Vec<_> =
            waiting.map(|(token, one)| (*token, one.link().peer_address().network())).collect();
        let next_turn = loop {
            let token = match self.turns.next(&waiting, now) {
                Ok(token) => token,
                Err(next_turn) => break next_turn,
            };
            waiting.retain(|(waits, _)| *waits != token);
            let Some(conversation) = self.conversations.get_mut(&token) else { continue };
            if conversation.begin_securing(&self.shared) == Next::Part {
                self.part(token);
            }
        };
        if next_turn.is_some() && !core::mem::replace(&mut self.has_told_of_turns, true) {
            let name = self.shared.advertisement.info().name();
            log::warning!(
                "{name}: more handshakes begin than are answered at a time; computers without an earlier session wait"
            );
        }
        self.next_turn = next_turn;
    }
}

/// The waker's token; listeners, responder sockets and connections follow.
const WAKE: Token = Token(0);
/// First token of the listeners.
const LISTENERS: usize = 1;
/// First token of the responder's sockets.
const RESPONDER: usize = 16;
/// First token of the connections, which are numbered on and on.
const CONNECTIONS: usize = 1024;
/// Pause before clients are let in again after the system refused to.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long consumers on this computer may take nothing. After that, the outlet's end gives up the bytes that wait
/// for them.
const LINGER: Duration = Duration::from_secs(1);
/// How long that end may take altogether.
const LONGEST_LINGER: Duration = Duration::from_secs(5);
/// Connections that have not said yet what they want, and have not proved who they are. Where there is no room, the
/// oldest gives way (secure-session §3.9).
const STRANGERS: HalfOpenLimits = HalfOpenLimits { total: 512, per_network: 128 };

mod conversation;
mod parting;
