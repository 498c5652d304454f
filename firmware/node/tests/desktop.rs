//! Nodes and the desktop's engine, over real sockets on this computer.

mod common;
#[path = "../../../engine/tests/ports/mod.rs"]
mod ports;

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use common::{Lab, NodeInlet, NodeOutlet, Seeded, description};
use ports::ports;
use schwann::inlet::{Inlet as DesktopInlet, InletOptions};
use schwann::outlet::{Flush, Outlet as DesktopOutlet, OutletOptions};
use schwann::security::{Member, Policy, Trust};
use schwann::{Config, Context, StreamInfo, resolver};
use schwann_node::{
    Description, Found, Inlet, InletState, Keep, LinkState, Micros, Outlet, Pace, Ports, Producer, Security,
    Service, Surroundings, Wanted,
};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::IpVersion;
use schwann_session::{Calendar, Credentials, DeviceKey, Statement, Suite, SystemEntropy, UnixSeconds};

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 30.0;

fn context(base: u16, trust: Trust) -> Arc<Context> {
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=default\nKnownPeers={{127.0.0.1}}\n",
        base + 38
    );
    Arc::new(Context::with_trust(Config::parse(&text).expect("a valid configuration"), trust))
}

fn desktop(lab: &Lab, serial: u64) -> Trust {
    let key = DeviceKey::generate(&mut SystemEntropy).expect("random");
    let certificate = lab.certify(&key, serial, |one| one.flags = schwann_session::Flags::NONE);
    let credentials = Credentials::new(key, certificate, &mut SystemEntropy).expect("credentials");
    Trust::new(
        Policy::Require,
        Some(Member::new(lab.authority.lab(), credentials, lab.list(), &lab.discovery)),
    )
}

/// A node's outlet on sockets, in a thread of its own.
struct Board {
    producer: Producer<'static>,
    ending: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<NodeOutlet>>,
    description: Description<'static>,
}

impl Board {
    fn new(
        format: ChannelFormat,
        channel_count: usize,
        base: u16,
        security: Security<'static>,
        pace: Pace,
    ) -> Self {
        Self::dated(format, channel_count, base, security, pace, today().into())
    }

    fn dated(
        format: ChannelFormat,
        channel_count: usize,
        base: u16,
        security: Security<'static>,
        pace: Pace,
        calendar: Calendar,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", base)).expect("a free port");
        let service = UdpSocket::bind(("127.0.0.1", base)).expect("a free port");
        let ports = Ports { data_port: base, service_port: base };
        let description = Description { ports, ..description(format, channel_count, 1000.0) };
        let (producer, outlet) = common::outlet(description, security, pace, Keep::Newest, 4096);
        let ending = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ending);
        let thread = std::thread::spawn(move || serve(outlet, &listener, &service, &stop, calendar));
        Self { producer, ending, thread: Some(thread), description }
    }

    /// Where the stream is, as if it had been found.
    fn info(&self) -> StreamInfo {
        let mut message = Vec::new();
        self.description.put_shortinfo(&mut message).expect("a vector takes everything");
        let mut info = StreamInfo::parse(&message).expect("a description");
        info.set_address(IpVersion::V4, "127.0.0.1");
        info
    }

    fn end(mut self) -> NodeOutlet {
        self.ending.store(true, Ordering::Release);
        self.thread.take().expect("a thread").join().expect("no panic")
    }
}

/// Drives an outlet with the sockets of this computer.
fn serve<const RX: usize, const TX: usize>(
    mut outlet: Outlet<'static, 4, RX, TX>,
    listener: &TcpListener,
    service: &UdpSocket,
    stop: &AtomicBool,
    calendar: Calendar,
) -> Outlet<'static, 4, RX, TX> {
    listener.set_nonblocking(true).expect("supported");
    // The pause of this loop: a computer's sockets have no doorbell that a test could share with a push.
    service.set_read_timeout(Some(Duration::from_micros(500))).expect("supported");
    let started = Instant::now();
    let now = || Micros(1_000_000 + started.elapsed().as_micros() as u64);
    let mut entropy = SystemEntropy;
    let mut links: [Option<TcpStream>; 4] = [const { None }; 4];
    let (mut room, mut out) = ([0; 2048], [0; NodeOutlet::MAX_REPLY]);
    while !stop.load(Ordering::Acquire) {
        if let Some(free) = links.iter().position(Option::is_none)
            && let Ok((socket, _)) = listener.accept()
        {
            socket.set_nonblocking(true).expect("supported");
            socket.set_nodelay(true).expect("supported");
            outlet.accept(free, now());
            links[free] = Some(socket);
        }
        let mut surroundings = Surroundings { now: now(), calendar, entropy: &mut entropy };
        if let Ok((len, from)) = service.recv_from(&mut room)
            && let Some(reply) =
                outlet.handle_datagram(&mut room[..len], Service::Time, &mut surroundings, &mut out)
        {
            let to = (from.ip(), reply.port.unwrap_or(from.port()));
            service.send_to(&out[..reply.len], to).expect("loopback takes it");
        }
        for (link, place) in links.iter_mut().enumerate() {
            let Some(socket) = place else { continue };
            if !exchange(&mut outlet, link, socket, &mut surroundings) {
                outlet.ended(link);
                *place = None;
            }
        }
        outlet.poll(now());
    }
    outlet
}

fn today() -> UnixSeconds {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    UnixSeconds(since.as_secs())
}

/// Moves what a link's socket gives and takes; says whether the connection goes on.
fn exchange<const RX: usize, const TX: usize>(
    outlet: &mut Outlet<'static, 4, RX, TX>,
    link: usize,
    socket: &mut TcpStream,
    surroundings: &mut Surroundings<'_>,
) -> bool {
    let mut room = [0; 700];
    // What the outlet does not take stays in the socket.
    let ended = match socket.peek(&mut room) {
        Ok(0) => true,
        Ok(len) => {
            let taken = outlet.receive(link, &room[..len], surroundings);
            socket.read_exact(&mut room[..taken]).expect("it was there");
            false
        }
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    loop {
        outlet.poll(surroundings.now);
        let waiting = outlet.transmit(link);
        if waiting.is_empty() {
            break;
        }
        match socket.write(waiting) {
            Ok(count) => outlet.sent(link, count, surroundings.now),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => return false,
        }
    }
    let done = outlet.state(link) == LinkState::Closing && outlet.transmit(link).is_empty();
    !(ended || done || outlet.state(link) == LinkState::Broken)
}

fn receives(sealed: bool, pace: Pace) {
    let (lab, base) = (Lab::new(), ports());
    let security = if sealed { lab.security(1, |_| {}) } else { Security::Off };
    let trust = if sealed { desktop(&lab, 2) } else { Trust::new(Policy::Off, None) };
    let mut board = Board::new(ChannelFormat::Float32, 8, base, security, pace);
    let context = context(base, trust);
    let inlet = DesktopInlet::in_context(&board.info(), &InletOptions::default(), context).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    let full = inlet.full_info(LONG).expect("a description");
    assert_eq!(full.uid().as_bytes(), board.description.uid.as_str().as_bytes());
    for sequence in 0..3000_u32 {
        board.producer.push(&[sequence as f32; 8], f64::from(sequence) + 0.5).expect("room");
    }
    let mut sample = [0.0_f32; 8];
    for sequence in 0..3000_u32 {
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(f64::from(sequence) + 0.5)));
        assert_eq!(sample, [sequence as f32; 8]);
    }
    let offset = inlet.clock_offset(LONG).expect("an offset");
    assert!(offset.offset.is_finite());
    drop(inlet);
    let counters = board.end().counters();
    assert_eq!((counters.lost, counters.sessions > 0), (0, sealed), "{counters:?}");
}

#[test]
fn the_desktop_receives_every_sample_plain() {
    receives(false, Pace::EverySample);
}

#[test]
fn the_desktop_receives_every_sample_sealed() {
    receives(true, Pace::EverySample);
}

#[test]
fn the_desktop_receives_every_sample_sealed_in_batches() {
    receives(true, Pace::Within(5_000));
}

#[test]
fn the_desktop_finds_a_node() {
    let base = ports();
    let board = Board::new(ChannelFormat::Int16, 4, base, Security::Off, Pace::EverySample);
    let context = context(base, Trust::new(Policy::Off, None));
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(&context, "name", "Node", 1, timeout).expect("a search");
    assert_eq!(found[0].uid().as_bytes(), board.description.uid.as_str().as_bytes());
    assert_eq!(found[0].channel_format(), ChannelFormat::Int16);
    board.end();
}

#[test]
fn a_desktop_that_requires_sealing_finds_a_node_that_has_no_calendar() {
    let (lab, base) = (Lab::new(), ports());
    let dated = |one: &mut Statement| one.not_before = UnixSeconds(today().0 - 86_400);
    let security = lab.security(1, dated);
    let calendar = Calendar::NotBefore(UnixSeconds(0));
    let board = Board::dated(ChannelFormat::Int16, 4, base, security, Pace::EverySample, calendar);
    let context = context(base, desktop(&lab, 2));
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(&context, "name", "Node", 1, timeout).expect("a search");
    let info = found.first().expect("the node answers");
    assert_eq!(info.uid().as_bytes(), board.description.uid.as_str().as_bytes());
    let inlet = DesktopInlet::in_context(info, &InletOptions::default(), context).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    board.end();
}

#[test]
fn the_lag_of_a_stream_is_told_once_the_nodes_clock_is_known() {
    let (base, started) = (ports(), Instant::now());
    let security = Security::Off;
    let mut board = Board::new(ChannelFormat::Float32, 8, base, security, Pace::EverySample);
    let context = context(base, Trust::new(Policy::Off, None));
    let inlet = DesktopInlet::in_context(&board.info(), &InletOptions::default(), context).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    // The node's clock begins with its start; this computer's shows something else.
    let mut pull = || {
        board.producer.push(&[0.0_f32; 8], 1.0 + started.elapsed().as_secs_f64()).expect("room");
        inlet.pull_sample(&mut [0.0_f32; 8], LONG).expect("the stream goes on").expect("a sample");
        inlet.lag()
    };
    assert_eq!(pull(), None, "by which clock?");
    inlet.clock_offset(LONG).expect("an offset");
    let lag = pull().expect("a lag");
    assert!(lag.abs() < LONG, "{lag} s");
    board.end();
}

#[test]
fn who_knocks_at_a_node_too_small_for_the_hybrid_suite_is_let_in() {
    let (lab, base) = (Lab::new(), ports());
    let address = (Ipv4Addr::LOCALHOST, base);
    let listener = TcpListener::bind(address).expect("a free port");
    let service = UdpSocket::bind(address).expect("a free port");
    let ports = Ports { data_port: base, service_port: base };
    let description = Description { ports, ..description(ChannelFormat::Int16, 4, 1000.0) };
    let security = lab.security_within(748, 1, |_| {});
    let (_producer, outlet) =
        common::outlet_of::<768, 1280>(description, security, Pace::EverySample, Keep::Newest, 64);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(outlet, &listener, &service, &stop, today().into()));
        let context = context(base, desktop(&lab, 2));
        let knocked = resolver::knock(&context, address.into(), Duration::from_secs_f64(LONG));
        stop.store(true, Ordering::Release);
        let resolver::Knocked::Stream(info) = knocked else { panic!("{knocked:?}") };
        assert_eq!(info.name(), "Node");
    });
}

#[test]
fn a_desktop_of_another_lab_receives_nothing() {
    let (lab, mut other, base) = (Lab::new(), Lab::new(), ports());
    other.authority = schwann_session::AuthorityKey::from_seed(&[6; 32]);
    let board = Board::new(ChannelFormat::Float32, 8, base, lab.security(1, |_| {}), Pace::EverySample);
    for trust in [desktop(&other, 2), Trust::new(Policy::Off, None)] {
        let context = context(base, trust);
        let inlet =
            DesktopInlet::in_context(&board.info(), &InletOptions::default(), context).expect("an inlet");
        assert!(inlet.open_stream(1.0).is_err());
    }
    let outlet = board.end();
    assert_eq!((outlet.counters().sessions, outlet.subscribers()), (0, 0));
}

/// A node's inlet on a socket of this computer, until it has `count` samples.
fn pulls(inlet: &mut NodeInlet, port: u16, count: u32) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    socket.set_read_timeout(Some(Duration::from_secs_f64(LONG))).expect("supported");
    let (started, mut entropy) = (Instant::now(), Seeded(9));
    let mut surroundings = Surroundings { now: Micros(1), calendar: today().into(), entropy: &mut entropy };
    inlet.connected(&mut surroundings);
    let (mut room, mut next) = ([0; 512], 0);
    while next < count {
        surroundings.now = Micros(started.elapsed().as_micros() as u64);
        socket.write_all(inlet.transmit()).expect("the outlet listens");
        inlet.sent(inlet.transmit().len());
        let len = socket.peek(&mut room).expect("bytes");
        assert!(len > 0, "{:?}", inlet.state());
        let taken = inlet.receive(&room[..len], &mut surroundings);
        socket.read_exact(&mut room[..taken]).expect("it was there");
        assert!(!matches!(inlet.state(), InletState::Over(_)), "{:?}", inlet.state());
        let mut sample = [0.0_f32; 8];
        while let Some(stamp) = inlet.pull(&mut sample) {
            assert_eq!((stamp, sample), (f64::from(next) + 0.5, [next as f32; 8]));
            next += 1;
        }
    }
}

fn is_received(sealed: bool) {
    let (lab, base) = (Lab::new(), ports());
    let trust = if sealed { desktop(&lab, 2) } else { Trust::new(Policy::Off, None) };
    let context = context(base, trust);
    let info = StreamInfo::new("Desktop", "EEG", 8, 100.0, ChannelFormat::Float32, "desktop").expect("valid");
    let outlet = DesktopOutlet::in_context(&info, &OutletOptions::default(), context).expect("an outlet");
    let info = outlet.info();
    let document = String::from_utf8(info.shortinfo()).expect("text");
    let found = Found::parse(&document).expect("a stream");
    let security = if sealed { lab.security(1, |_| {}) } else { Security::Off };
    let wanted = Wanted::new(&found, 3000).expect("a UUID");
    let mut inlet: NodeInlet = Inlet::new(wanted, security, Suite::Classic);
    std::thread::scope(|scope| {
        scope.spawn(|| pulls(&mut inlet, found.data_port, 2000));
        assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
        for sequence in 0..2000_u32 {
            outlet.push_sample(&[sequence as f32; 8], f64::from(sequence) + 0.5, Flush::Now).expect("a push");
        }
    });
}

#[test]
fn a_node_receives_from_the_desktop_plain() {
    is_received(false);
}

#[test]
fn a_node_receives_from_the_desktop_sealed() {
    is_received(true);
}
