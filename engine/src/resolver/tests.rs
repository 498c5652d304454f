//! Searches on this computer, each with ports and a session of its own.

use core::net::SocketAddr;
use std::{
    io::{Read, Write},
    net::{TcpListener, UdpSocket},
    time::Instant,
};

use schwann_proto::{stream_info::IpVersion, wire::discover::Query as Datagram};

use super::*;
use crate::net::testing::{TestOutlet, config, description};

/// Longer than any of these searches takes. A search that finds nothing is thus a failure, not a hang.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);

/// What takes no time may take this long on a computer that is busy with other things.
const SOON: Duration = Duration::from_secs(5);

fn names(streams: &[StreamInfo]) -> Vec<String> {
    let mut names: Vec<String> = streams.iter().map(|info| info.name().to_string_lossy().into()).collect();
    names.sort();
    names
}

/// What a search stands on, with these settings.
fn context(more: &str) -> Arc<Context> {
    Arc::new(Context::new(Config::clone(&config(more))))
}

/// What an outlet sees: a socket on the discovery port of `context`.
fn listener(context: &Context) -> UdpSocket {
    let socket = UdpSocket::bind(("0.0.0.0", context.ports.multicast)).expect("a free port");
    socket.set_read_timeout(Some(SEARCH_TIMEOUT)).expect("supported");
    socket
}

#[test]
fn every_outlet_of_a_computer_is_found_at_once() {
    // The second burst would come much later.
    let context = context("tuning.MulticastMinRTT=15");
    let outlets = ["a", "b", "c"].map(|name| TestOutlet::start(context.config(), name));
    let start = Instant::now();
    let found = resolve_all_of(&context, 3);
    assert_eq!(names(&found), ["a", "b", "c"]);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    for outlet in &outlets {
        let info = found.iter().find(|info| info.uid() == outlet.info.uid()).expect("found by its UID");
        let endpoint = info.endpoint(IpVersion::V4);
        assert_eq!(endpoint.address.as_bytes(), b"127.0.0.1");
        assert_eq!(
            (endpoint.data_port, endpoint.service_port),
            (outlet.ports.v4_data, outlet.ports.v4_service)
        );
    }
    assert!(found.iter().map(StreamInfo::uid).is_sorted());
}

fn resolve_all_of(context: &Arc<Context>, minimum: usize) -> Vec<StreamInfo> {
    resolve(context, &session_query(context), minimum, SEARCH_TIMEOUT).expect("searched")
}

#[test]
fn outlets_beyond_the_service_range_are_found_too() {
    let context = context("ports.PortRange=2");
    let names_wanted: Vec<String> = (0..40).map(|number| format!("outlet-{number:02}")).collect();
    let outlets: Vec<_> = names_wanted.iter().map(|name| TestOutlet::start(context.config(), name)).collect();
    assert_eq!(names(&resolve_all_of(&context, 40)), names_wanted);
    drop(outlets);
}

#[test]
fn searches_have_the_default_scope_too() {
    // Multicast leaves through all interfaces of this computer; loopback is always among them.
    let context = context("multicast.ResolveScope=site\nports.IPv6=allow");
    let _outlet = TestOutlet::start(context.config(), "everywhere");
    let [info] = &resolve_all_of(&context, 1)[..] else { panic!("one stream") };
    assert_ne!(info.endpoint(IpVersion::V4).service_port, 0);
}

#[test]
fn ipv6_alone_is_enough() {
    let context = context("ports.IPv6=force");
    let _outlet = TestOutlet::start(context.config(), "six");
    let [info] = &resolve_all_of(&context, 1)[..] else { panic!("one stream") };
    assert!(info.endpoint(IpVersion::V4).address.is_empty());
    assert!(!info.endpoint(IpVersion::V6).address.is_empty());
}

#[test]
fn an_interface_that_does_not_exist_is_skipped() {
    let context = context("multicast.ResolveScope=site\nmulticast.Interfaces={203.0.113.1, 127.0.0.1}");
    let _outlet = TestOutlet::start(context.config(), "here");
    assert_eq!(names(&resolve_all_of(&context, 1)), ["here"]);
}

#[test]
fn known_peers_are_found_by_name() {
    let text =
        "multicast.MachineAddresses={}\nmulticast.AddressesOverride={127.0.0.77}\nlab.KnownPeers={localhost}";
    let context = context(text);
    let peer = UdpSocket::bind(("127.0.0.1", context.ports.base + 3)).expect("a free port of the range");
    peer.set_read_timeout(Some(SEARCH_TIMEOUT)).expect("supported");
    let answer = thread::spawn({
        let context = Arc::clone(&context);
        move || {
            let mut buffer = [0; 2048];
            let (length, source) = peer.recv_from(&mut buffer).expect("a query");
            let query = Datagram::parse(&buffer[..length]).expect("a valid query");
            peer.send_to(&reply(query.id, &description(&context, "peer")), source).expect("sent");
        }
    });
    assert_eq!(names(&resolve_all_of(&context, 1)), ["peer"]);
    answer.join().expect("no panic");
}

fn reply(id: &str, info: &StreamInfo) -> Vec<u8> {
    [id.as_bytes(), b"\r\n", &info.shortinfo()].concat()
}

#[test]
fn queries_have_the_bytes_and_the_port_of_the_original() {
    let context = context("lab.SessionID=golden");
    // From `inlet_resolve_query.json` and `inlet_resolve_query_strings.json`; port and id are not fixed there.
    let predicate = |text| predicate_query(&context, text).expect("valid");
    for (query, expected) in [
        (session_query(&context), "session_id='golden'"),
        (property_query(&context, "type", "EEG"), "session_id='golden' and type='EEG'"),
        (
            predicate("name='Fake' and starts-with(type,'E')"),
            "session_id='golden' and name='Fake' and starts-with(type,'E')",
        ),
        (predicate("starts-with(name,'A')"), "session_id='golden' and starts-with(name,'A')"),
        // Where the original lets streams of other sessions in.
        (predicate("name='A' or type='B'"), "session_id='golden' and (name='A' or type='B')"),
    ] {
        let outlet = listener(&context);
        let search = thread::spawn({
            let (context, query) = (Arc::clone(&context), query.clone());
            move || resolve(&context, &query, 0, Duration::from_millis(100))
        });
        let mut buffer = [0; 2048];
        let (length, source) = outlet.recv_from(&mut buffer).expect("a query");
        assert_eq!(search.join().expect("no panic").map(|found| found.len()), Ok(0));
        let (port, id) = (source.port(), discover_id(&query));
        let expected = format!("LSL:shortinfo\r\n{expected}\r\n{port} {id}\r\n");
        assert_eq!(String::from_utf8_lossy(&buffer[..length]), expected);
        assert!(context.ports.service_range().any(|candidate| candidate == port), "{port}");
    }
}

fn discover_id(query: &str) -> u64 {
    schwann_proto::wire::discover::query_id(query)
}

#[test]
fn only_valid_replies_to_this_query_count() {
    let context = context("");
    let outlet = listener(&context);
    let search = thread::spawn({
        let context = Arc::clone(&context);
        move || resolve_all_of(&context, 1)
    });
    let mut buffer = [0; 2048];
    let (length, source) = outlet.recv_from(&mut buffer).expect("a query");
    let id = Datagram::parse(&buffer[..length]).expect("a valid query").id.to_owned();
    let mut nameless = reply(&id, &description(&context, "X"));
    let at = nameless.windows(3).position(|part| part == b">X<").expect("its name");
    nameless.remove(at + 1);
    for wrong in [
        b"".to_vec(),
        b"\0\xff".to_vec(),
        reply("999", &description(&context, "wrong")),
        format!("{id}\r\n").into_bytes(),
        format!("{id}\r\n<info></info>").into_bytes(),
        nameless,
        reply(&id, &description(&context, "right")),
    ] {
        outlet.send_to(&wrong, source).expect("sent");
    }
    assert_eq!(names(&search.join().expect("no panic")), ["right"]);
}

#[test]
fn a_malformed_query_is_refused() {
    let context = context("");
    for query in ["name='", "name=", "$variable", "name='a' b"] {
        let refused = resolve(&context, query, 1, SEARCH_TIMEOUT);
        assert!(matches!(refused, Err(ResolveError::Query(_))), "{query}");
        assert!(ContinuousResolver::new(Arc::clone(&context), query, SEARCH_TIMEOUT).is_err());
    }
    let escape = resolve_bypred(&context, "name='a') or (name='b'", 1, SEARCH_TIMEOUT);
    assert!(matches!(escape, Err(ResolveError::Query(_))));
}

#[test]
fn values_may_have_quotes() {
    let context = context("");
    let _outlet = TestOutlet::start(context.config(), "it's \"quoted\"");
    for (name, matches) in [("it's \"quoted\"", 1), ("it's", 0), ("\"quoted\"", 0)] {
        let timeout = if matches > 0 { SEARCH_TIMEOUT } else { Duration::from_millis(50) };
        let found = resolve_byprop(&context, "name", name, 1, timeout).expect("searched");
        assert_eq!(found.len(), matches, "{name}");
    }
}

#[test]
fn a_search_takes_its_timeout_and_no_more() {
    let context = context("");
    for timeout in [0, 1, 120] {
        let (start, timeout) = (Instant::now(), Duration::from_millis(timeout));
        let found = resolve(&context, "name='nobody'", 1, timeout).expect("searched");
        let elapsed = start.elapsed();
        assert!(found.is_empty());
        assert!(elapsed >= timeout && elapsed < timeout + SOON, "{elapsed:?}");
    }
}

#[test]
fn a_flood_of_datagrams_does_not_prolong_a_search() {
    let context = context("");
    let stop = Interrupt::default();
    let flood = thread::spawn({
        let (stop, context) = (stop.clone(), Arc::clone(&context));
        move || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            while !stop.is_raised() {
                for port in context.ports.service_range() {
                    let _ = socket.send_to(b"no reply to anything", ("127.0.0.1", port));
                }
            }
        }
    });
    let start = Instant::now();
    let found = resolve(&context, "", 0, Duration::from_millis(200)).expect("searched");
    let elapsed = start.elapsed();
    stop.raise();
    flood.join().expect("no panic");
    assert!(found.is_empty() && elapsed < SOON, "{elapsed:?}");
}

#[test]
fn a_search_is_interrupted_at_once() {
    let context = context("");
    let interrupt = Interrupt::default();
    let request = Request {
        context: &context,
        query: "name='nobody'",
        minimum: 1,
        minimum_time: Duration::from_secs(1),
        timeout: None,
        interrupt: &interrupt,
    };
    let outlet = listener(&context);
    let elapsed = thread::scope(|scope| {
        let search = scope.spawn(|| request.run());
        outlet.recv_from(&mut [0; 2048]).expect("the search has begun");
        let start = Instant::now();
        interrupt.raise();
        assert_eq!(search.join().expect("no panic").err(), Some(ResolveError::Interrupted));
        start.elapsed()
    });
    assert!(elapsed < SOON, "{elapsed:?}");
    assert_eq!(request.run().err(), Some(ResolveError::Interrupted), "until it is lowered");
    interrupt.lower();
    let brief = Request { timeout: Some(Duration::ZERO), ..request };
    assert_eq!(brief.run().map(|found| found.len()).ok(), Some(0));
}

#[test]
fn a_recovery_looks_for_the_minimum_time() {
    let context = context("");
    let _outlets = ["a", "b"].map(|name| TestOutlet::start(context.config(), name));
    let interrupt = Interrupt::default();
    let (query, minimum_time) = (session_query(&context), Duration::from_millis(150));
    let request = Request {
        context: &context,
        query: &query,
        minimum: 1,
        minimum_time,
        timeout: None,
        interrupt: &interrupt,
    };
    let start = Instant::now();
    assert_eq!(names(&request.run().expect("searched")), ["a", "b"]);
    assert!(start.elapsed() >= minimum_time);
}

#[test]
fn streams_are_found_over_tcp() {
    let text =
        "multicast.MachineAddresses={}\nmulticast.AddressesOverride={127.0.0.77}\nlab.ResolveOverTCP=1";
    let context = context(text);
    let server = TcpListener::bind(("127.0.0.1", context.ports.base + 3)).expect("a free port");
    let answer = thread::spawn({
        let context = Arc::clone(&context);
        move || {
            let (mut stream, _) = server.accept().expect("a connection");
            let expected = format!("LSL:shortinfo\r\n{}\r\n", session_query(&context));
            let mut request = vec![0; expected.len()];
            stream.read_exact(&mut request).expect("a request");
            assert_eq!(String::from_utf8_lossy(&request), expected);
            stream.write_all(&description(&context, "tcp").shortinfo()).expect("sent");
        }
    });
    let found = resolve_all_of(&context, 1);
    answer.join().expect("no panic");
    assert_eq!(names(&found), ["tcp"]);
    assert_eq!(found[0].endpoint(IpVersion::V4).address.as_bytes(), b"127.0.0.1");
}

#[test]
fn a_hostile_server_does_not_end_a_search_over_tcp() {
    let text =
        "multicast.MachineAddresses={}\nmulticast.AddressesOverride={127.0.0.77}\nlab.ResolveOverTCP=1";
    let context = context(text);
    let garbage = TcpListener::bind(("127.0.0.1", context.ports.base + 1)).expect("a free port");
    let endless = TcpListener::bind(("127.0.0.1", context.ports.base + 2)).expect("a free port");
    let silent = TcpListener::bind(("127.0.0.1", context.ports.base + 3)).expect("a free port");
    let servers = [
        thread::spawn(move || drop(garbage.accept().expect("a connection").0.write_all(b"\xff<info>"))),
        thread::spawn(move || {
            let (mut stream, _) = endless.accept().expect("a connection");
            while stream.write_all(&[b'<'; 65_536]).is_ok() {}
        }),
    ];
    let found = resolve(&context, "", 0, Duration::from_millis(300)).expect("searched");
    assert!(found.is_empty());
    servers.into_iter().for_each(|server| server.join().expect("no panic"));
    drop(silent);
}

#[test]
fn a_continuous_resolver_knows_what_comes_and_goes() {
    let text =
        "tuning.ContinuousResolveInterval=0.02\ntuning.MulticastMinRTT=0.02\ntuning.UnicastMinRTT=0.01";
    let context = context(text);
    let forget_after = Duration::from_millis(300);
    let resolver = ContinuousResolver::all(Arc::clone(&context), forget_after).expect("started");
    assert_eq!(names(&resolver.results()), [""; 0]);
    let outlet = TestOutlet::start(context.config(), "guest");
    wait_for(|| names(&resolver.results()) == ["guest"]);
    drop(outlet);
    let gone = Instant::now();
    wait_for(|| resolver.results().is_empty());
    assert!(gone.elapsed() < forget_after + SOON, "{:?}", gone.elapsed());
    let start = Instant::now();
    drop(resolver);
    assert!(start.elapsed() < SOON);
}

fn wait_for(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + SEARCH_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "it never happened");
        thread::yield_now();
    }
}

#[test]
fn a_search_holds_one_port_of_the_range() {
    let context = context(
        "tuning.ContinuousResolveInterval=0.01\ntuning.MulticastMinRTT=0.01\ntuning.UnicastMinRTT=0.01\nports.AllowRandomPorts=0",
    );
    let outlet = listener(&context);
    let resolver = ContinuousResolver::all(Arc::clone(&context), SEARCH_TIMEOUT).expect("started");
    let mut sources: Vec<SocketAddr> = Vec::new();
    // More waves than the range has ports.
    for _ in 0..20 {
        sources.push(outlet.recv_from(&mut [0; 2048]).expect("a query").1);
    }
    drop(resolver);
    sources.dedup();
    assert_eq!(sources.len(), 1, "{sources:?}");
}
