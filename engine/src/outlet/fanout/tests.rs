use core::sync::atomic::AtomicBool;
use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::archive::Archive;
use schwann_proto::wire::sample::{ByteOrder, Layout, StampTracker};
use socket2::Socket;

use super::super::pending::{Numbers, Stamps};
use super::*;
use crate::codec::outlet_codecs;
use crate::sys::poll::Ready;

const LAYOUT: Layout = Layout::new(ChannelFormat::Int32, 2, ByteOrder::NATIVE);
/// More than a socket takes at once.
const LARGE: Layout = Layout::new(ChannelFormat::Int32, 100_000, ByteOrder::NATIVE);
/// Bytes of a large sample: its tag, its stamp and its values.
const LARGE_LEN: usize = 1 + 8 + 400_000;
/// What precedes the samples of every consumer.
const ANSWER: &[u8] = b"answer";

/// The consumers' connections by their numbers.
type Links = Mutex<Vec<(u64, Arc<Link>)>>;

/// The carrier of the first consumer's bytes; the second's go by the other one, and so on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct First(Carrier);

/// Both ends of a connection with little room, so that a slow reader is noticed soon.
fn connection(carrier: Carrier) -> (Link, Socket) {
    let (link, client) = match carrier {
        Carrier::Local => {
            let (socket, client) = local_pair();
            (Link::local(socket), client)
        }
        Carrier::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
            let (socket, address) = listener.accept().expect("the connection");
            (Link::tcp(socket, address), client.into())
        }
    };
    link.socket().set_send_buffer_size(16 * 1024).expect("a socket option");
    client.set_recv_buffer_size(16 * 1024).expect("a socket option");
    (link, client)
}

#[cfg(unix)]
fn local_pair() -> (Socket, Socket) {
    Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None).expect("a pair")
}

/// Where there is no local transport, its link has the sockets of the other.
#[cfg(not(unix))]
fn local_pair() -> (Socket, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    (listener.accept().expect("the connection").0.into(), client.into())
}

/// A fan-out, a pushing side, and a thread that does what the outlet's server does.
struct Bench {
    fanout: Arc<Fanout>,
    codecs: [SampleCodec; Encoding::COUNT],
    sending: Sending,
    pending: Pending,
    pushed: i32,
    first: First,
    links: Arc<Links>,
    ending: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Bench {
    fn new(first: First) -> Self {
        let codecs = outlet_codecs(LAYOUT, 0.0);
        let (caller, called) = mpsc::channel();
        let fanout = Arc::new(Fanout::new(
            codecs,
            Box::new(move || {
                let _ = caller.send(());
            }),
        ));
        let (links, ending) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let server = {
            let (fanout, links, ending) = (Arc::clone(&fanout), Arc::clone(&links), Arc::clone(&ending));
            std::thread::spawn(move || serve(&fanout, &links, &ending, &called))
        };
        let pending = Pending::new(&codecs[0]);
        let sending = Sending::new();
        Self { fanout, codecs, sending, pending, pushed: 0, first, links, ending, server: Some(server) }
    }

    fn join(&self, encoding: Encoding, capacity: u64) -> Socket {
        let is_even = self.links.lock().expect("no panic").len().is_multiple_of(2);
        let is_local = (self.first.0 == Carrier::Local) == is_even;
        let (link, client) = connection(if is_local { Carrier::Local } else { Carrier::Tcp });
        let link = Arc::new(link);
        let id = self.fanout.join(Joining {
            link: Arc::clone(&link),
            encoding,
            capacity,
            chunk_samples: None,
            answer: ANSWER.to_vec(),
        });
        self.links.lock().expect("no panic").push((id, link));
        self.fanout.call_server();
        client
    }

    /// Pushes `count` samples, whose values and stamps are the numbers of the samples.
    fn push(&mut self, count: i32, route: Route) {
        if self.sending.is_stale(&self.fanout) {
            self.sending.renew(&self.fanout);
        }
        let numbers: Vec<i32> = (self.pushed..self.pushed + count).collect();
        self.pushed += count;
        let values: Vec<i32> = numbers.iter().flat_map(|number| [*number, -number]).collect();
        let stamps: Vec<f64> = numbers.iter().map(|number| f64::from(*number) + 0.5).collect();
        let (values, stamps) = (Numbers(&values), Stamps::Each(&stamps));
        let encodings = self.sending.encodings;
        self.pending.add(&self.codecs, encodings, &values, &stamps, count as usize).expect("it fits");
        self.fanout.flush(&mut self.sending, &mut self.pending, route);
    }

    /// Ends all connections once their bytes have gone.
    fn finish(&self) {
        assert!(self.fanout.wait_until_sent(Some(Duration::from_secs(60))));
        for (_, link) in self.links.lock().expect("no panic").iter() {
            link.socket().shutdown(Shutdown::Write).expect("a connection");
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        self.fanout.call_server();
        if let Some(server) = self.server.take() {
            server.join().expect("no panic");
        }
    }
}

fn serve(fanout: &Fanout, links: &Mutex<Vec<(u64, Arc<Link>)>>, ending: &AtomicBool, called: &Receiver<()>) {
    let mut draining = Draining::default();
    while !ending.load(Ordering::Relaxed) {
        for (id, link) in links.lock().expect("no panic").iter() {
            if link.wait_until(Ready::ToSend, Duration::ZERO) {
                fanout.writable(*id);
            }
        }
        fanout.drain(&mut draining);
        let _ = called.recv_timeout(Duration::from_micros(200));
    }
}

/// Reads to the end, in small bites, and returns the samples' numbers.
fn receive(mut client: Socket, encoding: Encoding) -> JoinHandle<Vec<i32>> {
    std::thread::spawn(move || {
        let (mut bytes, mut bite) = (Vec::new(), [0; 3001]);
        loop {
            match client.read(&mut bite).expect("a connection") {
                0 => return numbers(&bytes, encoding),
                count => bytes.extend_from_slice(&bite[..count]),
            }
        }
    })
}

fn numbers(bytes: &[u8], encoding: Encoding) -> Vec<i32> {
    let mut bytes = bytes.strip_prefix(ANSWER).expect("the answer comes first").to_vec();
    let mut layout = LAYOUT;
    if encoding == Encoding::Archive {
        let (mut plain, mut done) = (Vec::new(), 0);
        let archive = Archive::new(LAYOUT.format, LAYOUT.channel_count);
        while let Some(len) = archive.decode(&bytes[done..], &mut plain).expect("an archive") {
            done += len;
        }
        assert_eq!(done, bytes.len());
        bytes = plain;
    } else if encoding == Encoding::Swapped {
        layout.order = layout.order.swapped();
    }
    let mut values = vec![0; bytes.len()];
    let mut stamps = vec![0.0; bytes.len() / 2];
    let mut tracker = StampTracker::new(0.0);
    let extent = layout.decode_chunk(&bytes, &mut values, &mut stamps, &mut tracker).expect("samples");
    assert_eq!(extent.bytes, bytes.len());
    let samples = values.chunks_exact(2).zip(stamps).take(extent.samples);
    samples
        .map(|(values, stamp)| {
            assert_eq!((values[1], stamp), (-values[0], f64::from(values[0]) + 0.5));
            values[0]
        })
        .collect()
}

#[test]
fn every_consumer_gets_each_sample_once_and_in_order() {
    let mut bench = Bench::new(First(Carrier::Local));
    let mut consumers = Vec::new();
    let mut random = 12345_u32;
    for round in 0..4000 {
        // Newcomers of every encoding, now and then.
        if round % 500 == 0 {
            let encoding = Encoding::ALL[consumers.len() % Encoding::COUNT];
            let client = bench.join(encoding, u64::MAX);
            consumers.push((bench.pushed, receive(client, encoding)));
        }
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let count = if random >> 16 & 63 == 0 { 3000 } else { 1 + (random >> 24 & 3) as i32 };
        let route = if random >> 20 & 3 == 0 { Route::Server } else { Route::Direct };
        bench.push(count, route);
    }
    bench.finish();
    for (first, consumer) in consumers {
        let received = consumer.join().expect("no panic");
        assert!(received.iter().copied().eq(first..bench.pushed), "{first} {:?}", received.first());
    }
    assert_eq!(bench.fanout.totals(), (0, 0));
}

#[test]
fn a_consumer_that_lags_loses_the_oldest_samples_and_nothing_else() {
    let carriers = [Carrier::Local, Carrier::Tcp].into_iter().cycle();
    for (encoding, carrier) in Encoding::ALL.into_iter().zip(carriers) {
        let mut bench = Bench::new(First(carrier));
        let capacity = 500;
        let (stalled, prompt) = (bench.join(encoding, capacity), bench.join(encoding, u64::MAX));
        let prompt = receive(prompt, encoding);
        for round in 0..20_000 {
            bench.push(3, if round % 7 == 0 { Route::Server } else { Route::Direct });
            if round % 200 == 0 {
                // The other one keeps up, or it would hold the log for itself.
                bench.fanout.wait_until(Some(Instant::now() + Duration::from_millis(20)), |state| {
                    state
                        .consumers
                        .iter()
                        .skip(1)
                        .all(|consumer| consumer.cursor == state.logs[encoding.index()].end())
                });
            }
        }
        let stalled = receive(stalled, encoding);
        bench.finish();
        let (stalled, prompt) = (stalled.join().expect("no panic"), prompt.join().expect("no panic"));
        assert!(prompt.iter().copied().eq(0..bench.pushed));
        assert!(stalled.is_sorted_by(|one, next| one < next));
        assert_eq!(stalled.last(), Some(&(bench.pushed - 1)));
        let dropped = bench.fanout.totals().0;
        assert!(dropped > 0);
        assert_eq!(stalled.len() as u64 + dropped, bench.pushed as u64);
        // It lags no further than it may: the newest samples came whole.
        let newest = stalled.len() - capacity as usize;
        assert!(stalled[newest..].iter().copied().eq(bench.pushed - capacity as i32..bench.pushed));
    }
}

#[test]
fn what_a_gone_consumer_did_not_take_is_forgotten() {
    [Carrier::Local, Carrier::Tcp].into_iter().for_each(forgets_what_a_gone_consumer_did_not_take);
}

fn forgets_what_a_gone_consumer_did_not_take(carrier: Carrier) {
    let mut bench = Bench::new(First(carrier));
    let stalled = bench.join(Encoding::Native, u64::MAX);
    for _ in 0..1000 {
        bench.push(1000, Route::Direct);
    }
    assert!(bench.fanout.totals().1 > 1_000_000);
    drop(stalled);
    let id = bench.links.lock().expect("no panic")[0].0;
    bench.fanout.leave(id);
    assert_eq!((bench.fanout.count(), bench.fanout.totals().1), (0, 0));
    bench.push(1, Route::Direct);
    assert_eq!(bench.fanout.totals().1, 0);
}

#[test]
fn a_stalled_consumer_does_not_hold_up_the_others_of_a_synchronous_outlet() {
    [Carrier::Local, Carrier::Tcp].into_iter().for_each(serves_the_others_of_a_synchronous_outlet);
}

fn serves_the_others_of_a_synchronous_outlet(carrier: Carrier) {
    let mut bench = Bench::new(First(carrier));
    let (_stalled, prompt) = (bench.join(Encoding::Native, 1), bench.join(Encoding::Native, 1));
    let prompt = receive(prompt, Encoding::Native);
    bench.sending.renew(&bench.fanout);
    let values = vec![7; 2_000_000];
    let stamps = Stamps::First(1.0);
    let numbers = Numbers(&values);
    let encodings = bench.sending.encodings;
    bench.pending.add(&bench.codecs, encodings, &numbers, &stamps, 1_000_000).expect("it fits");
    let len = bench.pending.bytes(Encoding::Native).len() as u64;
    let patience = Duration::from_millis(500);
    bench.fanout.flush_blocking(&mut bench.sending, &mut bench.pending, patience);
    let failed: Vec<bool> = bench.fanout.lock().consumers.iter().map(|consumer| consumer.failed).collect();
    assert_eq!(failed, [true, false]);
    bench.links.lock().expect("no panic")[1].1.shut_down();
    assert!(len > 8_000_000);
    drop(prompt);
}

#[test]
fn a_consumer_that_lags_holds_two_large_samples_at_most() {
    for carrier in [Carrier::Local, Carrier::Tcp] {
        // From one that takes nearly nothing to one that takes half of all.
        [1, 3, 10].into_iter().for_each(|bites| holds_two_large_samples_at_most(carrier, bites));
    }
}

/// Pushes samples that no socket takes at once. The consumer takes `bites` bites after each.
fn holds_two_large_samples_at_most(carrier: Carrier, bites: usize) {
    let codecs = outlet_codecs(LARGE, 0.0);
    let fanout = Fanout::new(codecs, Box::new(|| ()));
    let (link, client) = connection(carrier);
    client.set_nonblocking(true).expect("a socket option");
    let link = Arc::new(link);
    let (encoding, answer) = (Encoding::Native, ANSWER.to_vec());
    let id =
        fanout.join(Joining { link: Arc::clone(&link), encoding, capacity: 1, chunk_samples: None, answer });
    let (mut sending, mut pending, mut draining) =
        (Sending::new(), Pending::new(&codecs[0]), Draining::default());
    sending.renew(&fanout);
    let (mut received, mut bite) = (Vec::new(), [0; 20_000]);
    let mut take = || {
        // There may be nothing now.
        let count = (&client).read(&mut bite).unwrap_or(0);
        received.extend_from_slice(&bite[..count]);
        if link.wait_until(Ready::ToSend, Duration::ZERO) {
            fanout.writable(id);
        }
        fanout.drain(&mut draining);
        count
    };
    let pushed = 60;
    for number in 0..pushed {
        let (values, stamps) = (vec![number; LARGE.channel_count], [f64::from(number)]);
        let (values, stamps) = (Numbers(&values), Stamps::Each(&stamps));
        pending.add(&codecs, sending.encodings, &values, &stamps, 1).expect("it fits");
        fanout.flush(&mut sending, &mut pending, Route::Server);
        (0..bites).for_each(|_| _ = take());
        let held = fanout.lock().consumers[0].bridge.len();
        assert!(held <= ANSWER.len() + 2 * LARGE_LEN, "{carrier:?}, after {number}: {held} bytes");
    }
    while !fanout.wait_until_sent(Some(Duration::ZERO)) || take() > 0 {
        take();
    }
    let received = large_numbers(&received);
    assert!(received.is_sorted_by(|one, next| one < next));
    assert_eq!(received.last(), Some(&(pushed - 1)));
    assert_eq!(received.len() as u64 + fanout.totals().0, pushed as u64, "what is not here is counted");
}

/// The numbers of large samples, which are whole.
fn large_numbers(bytes: &[u8]) -> Vec<i32> {
    let samples = bytes.strip_prefix(ANSWER).expect("the answer comes first").chunks(LARGE_LEN);
    let number = |sample: &[u8]| {
        let (values, _) = sample[9..].as_chunks();
        assert!(values.len() == LARGE.channel_count && values.iter().all(|value| *value == values[0]));
        i32::from_ne_bytes(values[0])
    };
    samples.map(number).collect()
}
