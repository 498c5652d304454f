//! Answers datagrams for one outlet: discovery queries and the time service.
//!
//! The thread that owns the outlet's poller drives it. It registers [`Responder::sockets`] and calls
//! [`Responder::handle_readable`] for each that becomes readable. Nothing here blocks. A datagram that is no
//! valid request gets no answer, but a line in the log, at most ten per second.
//!
//! Source: lsl-wire §6.1, §6.2, §9.

use core::{net::SocketAddr, time::Duration};
use std::{io, sync::Arc, time::Instant};

use mio::net::UdpSocket;
use schwann_proto::wire::{
    discover::{self, Query},
    timedata,
};
use schwann_session::Refusal;

use crate::{
    config::Config,
    door::{Door, Transport},
    local_clock, log,
    net::{
        advertisement::Advertisement,
        hearing::Ear,
        interfaces::Interfaces,
        lab_call,
        probes::ProbeSessions,
        sealed_queries::{SealedQueries, Silence, is_sealed},
        sockets::rejoin,
        strangers::{Reason, Strangers},
    },
    resolver::PLAIN_STREAMS,
    security::{Member, journal},
};

/// The UDP side of one outlet.
#[derive(Debug)]
pub(crate) struct Responder {
    sockets: Vec<UdpSocket>,
    /// Sockets from this index on are service sockets; those before are on the discovery port.
    first_service: usize,
    advertisement: Arc<Advertisement>,
    probes: Arc<ProbeSessions>,
    openness: Openness,
    door: Option<Arc<dyn Door>>,
    queries: Option<SealedQueries>,
    strangers: Strangers,
    sealed: Vec<u8>,
    config: Arc<Config>,
    interfaces: Interfaces,
    next_check: Instant,
    received: Box<[u8]>,
    reply: Vec<u8>,
    complaints: log::Throttle,
}

/// The peers that may learn of the stream and of the time of this clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Openness {
    /// All peers, in the clear.
    Open,
    /// Members of the lab; of the time, those with a sealed connection.
    Sealed,
}

/// Whether a socket may have more datagrams to read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub(crate) enum Backlog {
    /// There is nothing left; wait until the socket becomes readable again.
    Empty,
    /// There may be more: do other work, then call again without waiting.
    More,
}

impl Responder {
    /// Serves `advertisement` on the sockets of its outlet.
    pub(crate) fn new(
        config: &Arc<Config>,
        discovery: Vec<UdpSocket>,
        services: Vec<UdpSocket>,
        advertisement: Arc<Advertisement>,
    ) -> Self {
        let first_service = discovery.len();
        let sockets = discovery.into_iter().chain(services).collect();
        Self {
            sockets,
            first_service,
            advertisement,
            probes: Arc::default(),
            openness: Openness::Open,
            door: None,
            queries: None,
            strangers: Strangers::default(),
            sealed: Vec::new(),
            config: Arc::clone(config),
            interfaces: Interfaces::enumerate(config),
            next_check: Instant::now() + CHECK_INTERVAL,
            received: vec![0; MAX_DATAGRAM].into(),
            reply: Vec::new(),
            complaints: log::Throttle::default(),
        }
    }

    /// Answers sealed clock probes of `probes` and sealed queries to `member`, and what comes in the clear as
    /// `openness` says.
    pub(crate) fn serve_sealed(
        &mut self,
        probes: Arc<ProbeSessions>,
        openness: Openness,
        member: Option<Arc<Member>>,
    ) {
        self.probes = probes;
        self.openness = openness;
        self.queries = member.map(SealedQueries::new);
    }

    /// Answers those alone whom the door admits.
    pub(crate) fn guard(&mut self, door: Option<Arc<dyn Door>>) {
        self.door = door;
    }

    /// The sockets to wait for, in the order of the indices that [`Self::handle_readable`] takes.
    pub(crate) fn sockets(&mut self) -> &mut [UdpSocket] {
        &mut self.sockets
    }

    /// Answers a limited number of the datagrams at the socket with this index. So a flood does not keep the
    /// caller from its other work.
    pub(crate) fn handle_readable(&mut self, index: usize) -> Backlog {
        for _ in 0..DATAGRAMS_PER_CALL {
            let Some(socket) = self.sockets.get(index) else { return Backlog::Empty };
            match socket.recv_from(&mut self.received) {
                Ok((length, peer)) => self.handle_datagram(index, length, peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Backlog::Empty,
                // Windows reports here that an earlier reply could not be delivered.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    log::error!("datagrams cannot be received: {error}");
                    return Backlog::Empty;
                }
            }
        }
        Backlog::More
    }

    /// When [`Self::check_interfaces`] has something to do.
    pub(crate) fn next_check(&self) -> Instant {
        self.next_check
    }

    /// Listens on networks that have come (back), if it is time to look.
    pub(crate) fn check_interfaces(&mut self, now: Instant) {
        if now < self.next_check {
            return;
        }
        self.next_check = now + CHECK_INTERVAL;
        let interfaces = Interfaces::enumerate(&self.config);
        if interfaces != self.interfaces {
            log::info!("the network interfaces have changed; listening for queries on {interfaces:?}");
            let (discovery, _) = self.sockets.split_at(self.first_service);
            rejoin(discovery, &self.config, &interfaces);
            self.interfaces = interfaces;
        }
    }

    fn handle_datagram(&mut self, index: usize, length: usize, peer: SocketAddr) {
        // Before anything else: this is the stamp that the clock offset is computed from.
        let received_at = local_clock();
        if self.door.as_ref().is_some_and(|door| !door.admits(peer, Transport::Udp)) {
            return;
        }
        self.reply.clear();
        let datagram = &mut self.received[..length];
        match self.probes.open(datagram) {
            Ok(None) => {}
            Ok(Some((session, plain))) => {
                if let Some(request) = timedata::Request::parse(plain) {
                    encode_time(&request, received_at, self.advertisement.clock_shift(), &mut self.reply);
                    if self.probes.seal(session, &self.reply, &mut self.sealed) {
                        self.send(index, &self.sealed, peer);
                    }
                }
                return;
            }
            Err(reason) => return journal::replayed(peer, &reason),
        }
        if is_sealed(&self.received[..length]) {
            return self.handle_sealed(index, length, peer);
        }
        if self.openness == Openness::Sealed {
            return self.note_plain_query(length, peer);
        }
        self.handle_plain(index, length, peer, received_at);
    }

    /// A peer that asks in the clear gets no answer, and cannot fill the log either.
    fn note_plain_query(&mut self, length: usize, peer: SocketAddr) {
        let query = Query::parse(&self.received[..length]);
        let is_meant = |query: Query<'_>| {
            query.condition != PLAIN_STREAMS && self.advertisement.matches(query.condition)
        };
        if query.is_some_and(is_meant) {
            self.note_stranger(peer, Reason::Refused(Refusal::PlainPeer));
        }
    }

    /// Answers a question in the clear: for the time, or for streams.
    fn handle_plain(&mut self, index: usize, length: usize, peer: SocketAddr, received_at: f64) {
        let datagram = &self.received[..length];
        let address = if index >= self.first_service
            && let Some(request) = timedata::Request::parse(datagram)
        {
            encode_time(&request, received_at, self.advertisement.clock_shift(), &mut self.reply);
            peer
        } else if let Some(query) = Query::parse(datagram)
            && query.return_port != 0
        {
            self.strangers.note_answered(peer);
            let ear = if index < self.first_service { Ear::Multicast } else { Ear::Unicast };
            self.advertisement.hearing().note(ear);
            if !self.advertisement.matches(query.condition) {
                return;
            }
            encode_reply(&query, self.advertisement.shortinfo(), &mut self.reply);
            with_port(peer, query.return_port)
        } else {
            if self.complaints.allows() {
                log::warning!("ignored a datagram of {length} bytes from {peer}: it is no valid request");
            }
            return;
        };
        self.send(index, &self.reply, address);
    }

    /// Answers a member's query, or says where to get the newest revocation list.
    fn handle_sealed(&mut self, index: usize, length: usize, peer: SocketAddr) {
        let Some(queries) = &mut self.queries else {
            return self.note_stranger(peer, Reason::Refused(Refusal::NoKeys));
        };
        let ear = if index < self.first_service { Ear::Multicast } else { Ear::Unicast };
        let unsealed = match queries.open(&mut self.received[..length], peer.ip()) {
            Ok(unsealed) => unsealed,
            Err(Silence::WrongTime) => {
                journal::replayed(peer, &"its time is more than 30 s from this clock");
                return self.note_stranger(peer, Reason::WrongTime);
            }
            Err(Silence::Foreign) => {
                return self.note_stranger(peer, Reason::Refused(Refusal::WrongLab));
            }
            Err(Silence::Repeated) => return self.advertisement.hearing().note(ear),
        };
        self.strangers.note_answered(peer);
        self.advertisement.hearing().note(ear);
        let return_port = if let Some(port) = lab_call::parse_request(unsealed.text) {
            lab_call::encode_answer(queries.list_number(), self.advertisement.info(), &mut self.reply);
            port
        } else if let Some(query) = Query::parse(unsealed.text)
            // What is looked for must not be told where a stolen key opens it: secure-session §5.4.
            && query.condition.is_empty()
        {
            if unsealed.is_current {
                encode_reply(&query, self.advertisement.shortinfo(), &mut self.reply);
            } else {
                lab_call::encode_answer(queries.list_number(), self.advertisement.info(), &mut self.reply);
            }
            query.return_port
        } else {
            return;
        };
        let envelope = unsealed.envelope();
        if return_port != 0 && envelope.seal(&self.reply, &mut self.sealed) {
            self.send(index, &self.sealed, with_port(peer, return_port));
        }
    }

    /// Reports a searching peer that gets no answer, if it is worth a message.
    fn note_stranger(&mut self, peer: SocketAddr, reason: Reason) {
        if self.strangers.note(peer, reason, Instant::now()) {
            match reason {
                Reason::Refused(refusal) => journal::unanswered(self.advertisement.info(), peer, refusal),
                Reason::WrongTime => journal::wrong_time(self.advertisement.info(), peer),
            }
        }
    }

    fn send(&self, index: usize, reply: &[u8], address: SocketAddr) {
        if let Err(error) = self.sockets[index].send_to(reply, address) {
            // Also if the description exceeds a datagram. The peer asks again.
            log::verbose!(1, "a reply of {} bytes to {address} was not sent: {error}", reply.len());
        }
    }
}

/// Answers by the clock of the stream, which is `shift` seconds ahead of this computer's.
fn encode_time(request: &timedata::Request, request_received: f64, shift: f64, reply: &mut Vec<u8>) {
    let answer = timedata::Reply {
        wave: request.wave,
        request_sent: request.sent,
        request_received: request_received + shift,
        reply_sent: local_clock() + shift,
    };
    answer.encode(reply).expect("a vector takes everything");
}

fn encode_reply(query: &Query<'_>, shortinfo: &[u8], reply: &mut Vec<u8>) {
    discover::encode_reply(query.id, "", reply).expect("a vector takes everything");
    // The document may hold bytes that are not UTF-8.
    reply.extend_from_slice(shortinfo);
}

/// The same host and zone with another port.
fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// More than a datagram can carry.
const MAX_DATAGRAM: usize = 65_536;

const DATAGRAMS_PER_CALL: usize = 64;

/// Time between two looks at the interfaces; looking takes a few system calls.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
