//! Answers datagrams for one outlet: discovery queries and the time service.
//!
//! The thread that owns the outlet's poller drives it: it registers [`Responder::sockets`] and calls
//! [`Responder::handle_readable`] for each that becomes readable. Nothing here blocks. A datagram that is no
//! valid request gets a line in the log, at most ten per second, and no answer.
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
    local_clock, log,
    net::{
        advertisement::Advertisement,
        interfaces::Interfaces,
        lab_call,
        probes::ProbeSessions,
        sealed_queries::{SealedQueries, Silence, is_sealed},
        sockets::rejoin,
        strangers::{Reason, Strangers},
    },
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

/// Who learns of the stream and of the time of this clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Openness {
    /// Everybody, in the clear.
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

    /// The sockets to wait for, in the order of the indices that [`Self::handle_readable`] takes.
    pub(crate) fn sockets(&mut self) -> &mut [UdpSocket] {
        &mut self.sockets
    }

    /// Answers what has arrived at the socket with this index, but a limited number of datagrams, so that a flood
    /// does not keep the caller from its other work.
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
        self.reply.clear();
        let datagram = &mut self.received[..length];
        match self.probes.open(datagram) {
            Ok(None) => {}
            Ok(Some((session, plain))) => {
                if let Some(request) = timedata::Request::parse(plain) {
                    encode_time(&request, received_at, &mut self.reply);
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
            // Who asks in the clear gets no answer, and cannot fill the log either.
            let query = Query::parse(&self.received[..length]);
            if query.is_some_and(|query| self.advertisement.matches(query.condition)) {
                self.note_stranger(peer, Reason::Refused(Refusal::PlainPeer));
            }
            return;
        }
        let datagram = &self.received[..length];
        let address = if index >= self.first_service
            && let Some(request) = timedata::Request::parse(datagram)
        {
            encode_time(&request, received_at, &mut self.reply);
            peer
        } else if let Some(query) = Query::parse(datagram)
            && query.return_port != 0
        {
            self.strangers.note_answered(peer);
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

    /// Answers a member's query, or says where the newest revocation list is to be had.
    fn handle_sealed(&mut self, index: usize, length: usize, peer: SocketAddr) {
        let Some(queries) = &mut self.queries else {
            return self.note_stranger(peer, Reason::Refused(Refusal::NoKeys));
        };
        let unsealed = match queries.open(&mut self.received[..length], peer.ip()) {
            Ok(unsealed) => unsealed,
            Err(Silence::WrongTime) => {
                journal::replayed(peer, &"its time is more than 30 s from this clock");
                return self.note_stranger(peer, Reason::WrongTime);
            }
            Err(Silence::Foreign) => {
                return self.note_stranger(peer, Reason::Refused(Refusal::WrongLab));
            }
            Err(Silence::Repeated) => return,
        };
        self.strangers.note_answered(peer);
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

fn encode_time(request: &timedata::Request, request_received: f64, reply: &mut Vec<u8>) {
    let answer = timedata::Reply {
        wave: request.wave,
        request_sent: request.sent,
        request_received,
        reply_sent: local_clock(),
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
mod tests {
    use std::net::UdpSocket as Peer;

    use mio::{Events, Interest, Poll, Token};
    use schwann_proto::{
        stream::ChannelFormat,
        stream_info::{IpVersion, OutletIdentity, StreamInfo},
    };

    use super::*;
    use crate::net::{sockets::OutletSockets, testing::config};

    /// An outlet's UDP side with its poller, on IPv4 and ports of its own.
    struct Fixture {
        responder: Responder,
        poll: Poll,
        service: SocketAddr,
        discovery: SocketAddr,
        peer: Peer,
    }

    impl Fixture {
        fn new() -> Self {
            let config = config("");
            let sockets = OutletSockets::open(&config).expect("free ports");
            let info = StreamInfo::new("Golden", "EEG", 3, 100.0, ChannelFormat::Float32, "src-golden");
            let identity = OutletIdentity {
                session_id: b"golden",
                random: [7; 16],
                created_at: 1000.5,
                hostname: b"golden-host",
            };
            let mut info = info.expect("a valid description").for_outlet(&identity);
            info.set_ports(IpVersion::V4, sockets.ports.v4_data, sockets.ports.v4_service);
            let advertisement = Arc::new(Advertisement::new(&config, info));
            let mut responder = Responder::new(&config, sockets.discovery, sockets.services, advertisement);
            let poll = Poll::new().expect("a poller");
            for (index, socket) in responder.sockets().iter_mut().enumerate() {
                poll.registry().register(socket, Token(index), Interest::READABLE).expect("registered");
            }
            let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
            let peer = Peer::bind(address(0)).expect("a free port");
            peer.set_nonblocking(true).expect("supported");
            Self {
                responder,
                poll,
                service: address(sockets.ports.v4_service),
                discovery: address(config.ports.multicast),
                peer,
            }
        }

        /// Sends a datagram, lets the responder handle it, and returns the reply.
        fn exchange(&mut self, request: &[u8], to: SocketAddr) -> Option<String> {
            self.peer.send_to(request, to).expect("loopback takes it");
            let mut events = Events::with_capacity(8);
            self.poll.poll(&mut events, Some(Duration::from_secs(5))).expect("polled");
            assert!(!events.is_empty(), "the request arrived");
            for event in &events {
                while self.responder.handle_readable(event.token().0) == Backlog::More {}
            }
            // The reply is in the peer's buffer as soon as loopback has taken it.
            let mut buffer = [0; 65_536];
            let (length, _) = self.peer.recv_from(&mut buffer).ok()?;
            Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
        }

        fn query(&self, condition: &str) -> Vec<u8> {
            let port = self.peer.local_addr().expect("bound").port();
            format!("LSL:shortinfo\r\n{condition}\r\n{port} 987654321\r\n").into_bytes()
        }
    }

    #[test]
    fn a_matching_query_is_answered_at_the_port_that_it_names() {
        let mut outlet = Fixture::new();
        let query = outlet.query("name='Golden' and channel_count > 2");
        // The layout is that of `outlet_udp_shortinfo.json`.
        let expected =
            "987654321\r\n<?xml version=\"1.0\"?>\n<info>\n\t<name>Golden</name>\n\t<type>EEG</type>\n";
        for to in [outlet.service, outlet.discovery] {
            let reply = outlet.exchange(&query, to).expect("a reply");
            assert!(reply.starts_with(expected), "{reply}");
            assert!(reply.ends_with("\t<desc />\n</info>\n"), "{reply}");
        }
        let other = Peer::bind("127.0.0.1:0").expect("a free port");
        other.set_read_timeout(Some(Duration::from_secs(5))).expect("supported");
        let port = other.local_addr().expect("bound").port();
        let elsewhere = format!("LSL:shortinfo\r\n\r\n{port} 1\r\n");
        assert_eq!(outlet.exchange(elsewhere.as_bytes(), outlet.service), None);
        assert!(other.recv_from(&mut [0; 2048]).is_ok(), "the reply went to the port of the query");
    }

    #[test]
    fn queries_that_do_not_match_get_no_reply() {
        let mut outlet = Fixture::new();
        for condition in ["name='Other'", "name='", "info/name='Golden'"] {
            let query = outlet.query(condition);
            assert_eq!(outlet.exchange(&query, outlet.service), None, "{condition}");
        }
    }

    #[test]
    fn time_requests_are_answered_on_the_service_port_alone() {
        let mut outlet = Fixture::new();
        let before = local_clock();
        // From `outlet_udp_timedata.json`.
        let request = b"LSL:timedata\r\n1804289383 1000.123456789\r\n";
        let reply = outlet.exchange(request, outlet.service).expect("a reply");
        let after = local_clock();
        let stamps = reply.strip_prefix(" 1804289383 1000.123456789 ").expect("an echo").to_owned();
        let stamps: Vec<f64> = stamps.split(' ').map(|stamp| stamp.parse().expect("a number")).collect();
        let [received, sent] = stamps[..] else { panic!("two stamps: {reply}") };
        assert!(before - 1e-6 <= received && received <= sent && sent <= after + 1e-6, "{reply}");
        assert_eq!(outlet.exchange(request, outlet.discovery), None);
        let reply = outlet.exchange(b"LSL:timedata\n1 0.0", outlet.service).expect("a reply");
        assert!(reply.starts_with(" 1 0 "), "{reply}");
    }

    #[test]
    fn malformed_datagrams_get_no_reply_and_do_no_harm() {
        let mut outlet = Fixture::new();
        let port = outlet.peer.local_addr().expect("bound").port();
        let long = format!("LSL:shortinfo\r\n{}\r\n{port} 1\r\n", "(".repeat(60_000));
        let no_port = b"LSL:shortinfo\r\n\r\n0 1\r\n".as_slice();
        for datagram in [
            b"".as_slice(),
            b"\0\xff\xfe",
            b"LSL:shortinfo",
            b"LSL:shortinfo\r\n\r\n",
            b"LSL:shortinfo\r\n\r\n99999 1\r\n",
            no_port,
            b"LSL:timedata\r\nnonsense\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            long.as_bytes(),
        ] {
            assert_eq!(outlet.exchange(datagram, outlet.service), None, "{datagram:?}");
        }
        let query = outlet.query("");
        assert!(outlet.exchange(&query, outlet.service).is_some(), "it still serves");
    }

    #[test]
    fn mutated_requests_never_panic() {
        let mut outlet = Fixture::new();
        let seeds = [outlet.query("starts-with(name,'G')"), b"LSL:timedata\r\n7 1.5e3\r\n".to_vec()];
        let mut random = 0x1234_5678_u32;
        let mut next = |bound: usize| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random as usize % bound
        };
        for round in 0..2000 {
            let mut datagram = seeds[round % 2].clone();
            for _ in 0..1 + next(4) {
                let at = next(datagram.len());
                datagram[at] = next(256) as u8;
            }
            // Straight into the handler: 2,000 datagrams through a socket would take longer than they tell.
            outlet.responder.received[..datagram.len()].copy_from_slice(&datagram);
            let index = outlet.responder.first_service;
            let peer = outlet.peer.local_addr().expect("bound");
            outlet.responder.handle_datagram(index, datagram.len(), peer);
        }
    }

    #[test]
    fn a_flood_is_handled_in_portions() {
        let mut outlet = Fixture::new();
        for _ in 0..DATAGRAMS_PER_CALL + 10 {
            outlet.peer.send_to(b"LSL:timedata\n1 0.0", outlet.service).expect("loopback takes it");
        }
        let index = outlet.responder.first_service;
        assert_eq!(outlet.responder.handle_readable(index), Backlog::More);
        assert_eq!(outlet.responder.handle_readable(index), Backlog::Empty);
    }
}
