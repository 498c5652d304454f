//! Peers that announce or send far more than is sensible: the connection ends, and no memory is taken for it.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::{Config, Context, Error, Outlet, OutletOptions, StreamInfo};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::IpVersion;
use schwann_proto::wire::sample::{ByteOrder, Layout};
use schwann_proto::wire::test_pattern;
use socket2::{Domain, Socket, Type};

mod peak;
mod ports;

use peak::peak_kib;
use ports::ports;

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 20.0;
const UID: &str = "11111111-2222-4333-8444-555555555555";
/// What is announced.
const GIGABYTE: u64 = 1 << 30;
/// All tests of this file together stay below this.
const MEMORY_LIMIT_KIB: u64 = 256 << 10;

fn context() -> Arc<Context> {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n",
        base + 38
    );
    Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")))
}

/// Whether this process never had more memory than all tests of this file may take, where the system tells.
fn is_within_the_limit() -> bool {
    peak_kib().is_none_or(|peak| peak < MEMORY_LIMIT_KIB)
}

/// Describes a stream of strings at a port of this computer.
fn description(version: &str, port: u16, channel_count: i32) -> String {
    format!(
        "<?xml version=\"1.0\"?><info><name>Huge</name><type>T</type><channel_count>{channel_count}</channel_count>\
         <channel_format>string</channel_format><source_id>huge</source_id><nominal_srate>0.0</nominal_srate>\
         <version>{version}</version><created_at>1.0</created_at><uid>{UID}</uid><session_id>default</session_id>\
         <hostname>host</hostname><v4address>127.0.0.1</v4address><v4data_port>{port}</v4data_port>\
         <v4service_port>{port}</v4service_port><v6address/><v6data_port>0</v6data_port>\
         <v6service_port>0</v6service_port><desc/></info>"
    )
}

/// A port that a foreign program serves.
struct Impostor(TcpListener);

impl Impostor {
    fn new() -> Self {
        Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"))
    }

    /// An inlet of the one-channel stream of strings that this port claims to serve.
    fn inlet(&self, version: &str) -> Arc<Inlet> {
        let port = self.0.local_addr().expect("bound").port();
        let document = description(version, port, 1);
        let info = StreamInfo::parse(document.as_bytes()).expect("a description");
        let options = InletOptions { recover: Recover::No, ..InletOptions::default() };
        Arc::new(Inlet::in_context(&info, &options, context()).expect("an inlet"))
    }

    /// Takes the next connection and answers it with `bytes`.
    fn answer(&self, bytes: &[u8]) -> TcpStream {
        let (mut peer, _) = self.0.accept().expect("a connection");
        peer.write_all(bytes).expect("a connection");
        peer
    }
}

/// Returns once the other side has ended the connection.
fn wait_for_end(mut peer: TcpStream) {
    peer.set_read_timeout(Some(Duration::from_secs_f64(LONG))).expect("a timeout");
    match std::io::copy(&mut peer, &mut std::io::sink()) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

fn opening() -> Vec<u8> {
    let response =
        format!("LSL/110 200 OK\r\nUID: {UID}\r\nByte-Order: 1234\r\nData-Protocol-Version: 110\r\n\r\n");
    let layout = Layout::new(ChannelFormat::String, 1, ByteOrder::Little);
    let mut bytes = response.into_bytes();
    test_pattern::encode(&layout, &mut bytes).expect("a vector has room");
    bytes
}

/// Lets `bytes` be the answer to a pull, which must fail soon and cheaply.
fn refused_by_a_pull(version: &str, bytes: &[u8]) {
    let impostor = Impostor::new();
    let inlet = impostor.inlet(version);
    let pulling = Arc::clone(&inlet);
    let pull = std::thread::spawn(move || pulling.pull_strings(LONG, |_| {}));
    wait_for_end(impostor.answer(bytes));
    assert_eq!(pull.join().expect("no panic"), Err(Error::Lost));
    assert!(is_within_the_limit(), "{:?} KiB", peak_kib());
}

#[test]
fn a_string_of_a_gigabyte_is_refused_as_soon_as_it_is_announced() {
    for (width, announced) in [(8, GIGABYTE), (8, u64::MAX), (4, GIGABYTE)] {
        let mut bytes = opening();
        bytes.extend([1, width]);
        bytes.extend_from_slice(announced.to_le_bytes().get(..usize::from(width)).expect("at most eight"));
        refused_by_a_pull("1.10", &bytes);
    }
}

#[test]
fn an_archive_with_a_gigabyte_of_description_is_refused_as_soon_as_it_is_announced() {
    refused_by_a_pull("1.00", &[0x7f, 1, 9, 4, 0, 0, 0, 0x40]);
}

#[test]
fn a_response_without_an_end_is_refused() {
    refused_by_a_pull("1.10", &[b"LSL/110 200 OK\r\n".as_slice(), &[b'x'; 100 << 10]].concat());
}

#[test]
fn a_description_without_an_end_is_given_up() {
    let impostor = Impostor::new();
    let inlet = impostor.inlet("1.10");
    let asking = Arc::clone(&inlet);
    let ask = std::thread::spawn(move || asking.full_info(LONG).map(drop));
    let mut peer = impostor.answer(b"<info>");
    let block = vec![b' '; 1 << 20];
    let mut sent = 0;
    while peer.write_all(&block).is_ok() {
        sent += block.len() as u64;
        assert!(sent < GIGABYTE, "it takes whatever comes");
    }
    assert_eq!(ask.join().expect("no panic"), Err(Error::Lost));
    assert!(is_within_the_limit(), "{:?} KiB", peak_kib());
}

#[test]
fn a_whole_description_that_is_not_of_the_stream_or_cannot_be_read_is_refused() {
    let deep = ["<desc>", &"<a>".repeat(300), &"</a>".repeat(300), "</desc>"].concat();
    for (channel_count, format, desc, outcome) in [
        (i32::MAX, "string", "<desc/>", Err(Error::Lost)),
        (1, "int8", "<desc/>", Err(Error::Lost)),
        (1, "string", &deep, Err(Error::Undescribed)),
        (1, "string", "<desc/>", Ok(())),
    ] {
        let impostor = Impostor::new();
        let inlet = impostor.inlet("1.10");
        let asking = Arc::clone(&inlet);
        let ask = std::thread::spawn(move || asking.full_info(LONG).map(drop));
        let document =
            description("1.10", 1, channel_count).replace("string", format).replace("<desc/>", desc);
        let mut peer = impostor.answer(b"");
        // Unread words would take the answer along.
        assert!(peer.read(&mut [0; 64]).expect("a request") > 0);
        peer.write_all(document.as_bytes()).expect("a connection");
        drop(peer);
        assert_eq!(ask.join().expect("no panic"), outcome, "{channel_count} x {format} {desc}");
    }
}

#[test]
fn a_description_of_more_channels_than_a_handshake_holds_is_refused_before_a_word_is_said() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let document = description("1.10", listener.local_addr().expect("bound").port(), i32::MAX);
    let info = StreamInfo::parse(document.as_bytes()).expect("a description");
    let options = InletOptions { recover: Recover::No, ..InletOptions::default() };
    let inlet = Inlet::in_context(&info, &options, context()).expect("an inlet");
    assert_eq!(inlet.open_stream(LONG), Err(Error::Lost));
    let (mut peer, _) = listener.accept().expect("a connection");
    assert_eq!(peer.read(&mut [0; 1]).expect("an end"), 0, "nothing was asked");
}

#[test]
fn a_request_without_an_end_is_refused_and_others_are_served() {
    let info = StreamInfo::new("Limits", "T", 1, 0.0, ChannelFormat::Int8, "limits").expect("a description");
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), context()).expect("an outlet");
    let port = outlet.info().endpoint(IpVersion::V4).data_port;
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    for beginning in ["LSL:streamfeed/110 \r\nX: ", "LSL:shortinfo\r\n", "LSL:fullinfo"] {
        let mut peer = connect();
        // The outlet may end it before everything is sent.
        let _ = peer.write_all(beginning.as_bytes()).and_then(|()| peer.write_all(&[b'x'; 100 << 10]));
        wait_for_end(peer);
    }
    let mut peer = connect();
    peer.write_all(b"LSL:fullinfo\r\n").expect("a connection");
    let mut document = Vec::new();
    peer.read_to_end(&mut document).expect("a description");
    assert_eq!(StreamInfo::parse(&document).expect("a description").uid(), outlet.info().uid());
    assert!(is_within_the_limit(), "{:?} KiB", peak_kib());
}

/// Connects from an address of this computer, and says nothing.
fn silent(from: [u8; 4], port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((from, 0)).into()).expect("an address of this computer");
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).expect("a connection");
    socket.into()
}

#[test]
fn half_open_connections_of_four_addresses_keep_no_newcomer_out_and_one_address_not_itself() {
    // Both ends of more than a thousand connections are in this process.
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("more descriptors");
    }
    let info =
        StreamInfo::new("Crowded", "T", 1, 0.0, ChannelFormat::Int8, "crowded").expect("a description");
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), context()).expect("an outlet");
    let port = outlet.info().endpoint(IpVersion::V4).data_port;
    let mut crowd: Vec<_> =
        (0..600_u16).map(|number| silent([127, 0, 0, 2 + (number % 4) as u8], port)).collect();
    for newcomer in [[127, 0, 0, 1], [127, 0, 0, 2]] {
        let mut peer = silent(newcomer, port);
        // Like strangers that renew their places.
        crowd.extend((0..300_u16).map(|number| silent([127, 0, 0, 3 + (number % 3) as u8], port)));
        peer.write_all(b"LSL:fullinfo\r\n").expect("a connection");
        let mut document = Vec::new();
        peer.read_to_end(&mut document).expect("a description");
        let served = StreamInfo::parse(&document).expect("a description");
        assert_eq!(served.uid(), outlet.info().uid(), "{newcomer:?}");
    }
}
