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
