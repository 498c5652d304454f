//! Strangers begin handshakes as fast as they can. They take a bounded share of the processor, and keep no member
//! out.

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann::inlet::Recover;
use schwann::security::Policy;
use schwann_proto::stream_info::IpVersion;
use schwann_session::{Initiator, Suite};
use socket2::{Domain, Socket, Type};

use crate::sealing::{LONG, Lab, context, description_of, inlet_of, network, outlet};

/// What secure-session §3.9 permits one outlet.
const TURNS_AT_ONCE: usize = 64;
const TURNS_PER_SECOND: f64 = 50.0;
/// Handshakes of one address that are under way at a time.
const UNDER_WAY: usize = 50;
/// By then they have begun more than twice what is permitted.
const FLOODED: Duration = Duration::from_secs(120);

/// Begins handshakes from eight addresses of this computer and never goes on with one.
struct Flood {
    begun: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<usize>>,
}

impl Flood {
    /// Says `message_1`, which is the same every time.
    fn start(message_1: &[u8], port: u16) -> Self {
        let (begun, ends) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let threads = (2..10).map(|last| {
            let (begun, ends, message_1) = (Arc::clone(&begun), Arc::clone(&ends), message_1.to_vec());
            thread::spawn(move || {
                let (mut under_way, mut answered) = (VecDeque::new(), 0);
                while !ends.load(Ordering::Relaxed) {
                    under_way.extend(half_open([127, 0, 0, last], port, &message_1));
                    begun.fetch_add(1, Ordering::Relaxed);
                    let over = if under_way.len() > UNDER_WAY { under_way.pop_front() } else { None };
                    answered += usize::from(over.is_some_and(has_answer));
                }
                answered + under_way.into_iter().map(has_answer).filter(|has| *has).count()
            })
        });
        Self { threads: threads.collect(), begun, ends }
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Ends it, and says how many handshakes were answered.
    fn end(self) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    }
}

/// Nothing if the outlet has no room for it at this moment.
fn half_open(from: [u8; 4], port: u16, message_1: &[u8]) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::from((from, 0)).into()).ok()?;
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).ok()?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(message_1).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Whether more than a refusal has come.
fn has_answer(mut peer: TcpStream) -> bool {
    matches!(peer.read(&mut [0; 64]), Ok(2..))
}

/// The first bytes of a handshake with the stronger suite.
fn message_1(lab: &Lab) -> Vec<u8> {
    let stranger = lab.member(9, |_| {});
    let mut initiator =
        stranger.with_context(|context| Initiator::new(Suite::Hybrid, context)).expect("a handshake");
    let bytes = initiator.poll_output().to_vec();
    initiator.sent(bytes.len());
    bytes
}

#[test]
fn a_flood_of_half_handshakes_takes_a_bounded_share_and_keeps_no_member_out() {
    let lab = Lab::new();
    let network = network() + "[tuning]\nLocalSocket=off\n";
    let [sending, early, late] =
        [1, 2, 3].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
    let outlet = outlet(&sending).expect("an outlet");
    let info = description_of(&outlet);
    let began = Instant::now();
    let flood = Flood::start(&message_1(&lab), info.endpoint(IpVersion::V4).data_port);
    while flood.begun() < 1000 {
        thread::yield_now();
    }
    // One that comes new, and others where a member was met.
    for receiving in [&early, &early, &late] {
        let inlet = inlet_of(&info, receiving, Recover::No).expect("an inlet");
        inlet.open_stream(LONG).expect("a session at the first try");
    }
    while (flood.begun() as f64) < 1500.0 + 2.0 * TURNS_PER_SECOND * began.elapsed().as_secs_f64() {
        assert!(
            began.elapsed() < FLOODED,
            "{} handshakes begun: this computer is too slow for a flood",
            flood.begun()
        );
        thread::yield_now();
    }
    let (begun, answered) = (flood.begun(), flood.end());
    let permitted = TURNS_AT_ONCE + (TURNS_PER_SECOND * began.elapsed().as_secs_f64()).ceil() as usize;
    assert!(answered > 0, "the strangers say what begins a handshake");
    assert!(answered <= permitted, "{answered} of {begun} answered, {permitted} permitted");
}
