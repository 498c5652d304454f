//! Measurements over loopback, with waves that are shorter than the usual ones.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::net::UdpSocket as Peer;
use std::thread;

use schwann_proto::wire::timedata::{Reply, Request};

use super::*;
use crate::{
    config::Config,
    local_clock,
    net::testing::{TestOutlet, config},
};

const MEASURE_TIMEOUT: Duration = Duration::from_secs(20);

/// What takes no time may take this long on a computer that is busy with other things.
const SOON: Duration = Duration::from_secs(5);
/// With [`FAST`], a reply that comes later (s) does not count.
const LATE: f64 = 0.02;

const FAST: &str =
    "tuning.TimeUpdateInterval=0.06\ntuning.TimeProbeInterval=0.002\ntuning.TimeProbeMaxRTT=0.02";

fn fast(endpoint: Option<SocketAddr>) -> ClockOffset {
    let clock = ClockOffset::new(&Config::parse(FAST).expect("valid"));
    clock.set_endpoint(endpoint);
    clock
}

/// A time service whose clock is ahead, and which answers some probes only.
struct FakeService {
    address: SocketAddr,
    stop: crate::net::interrupt::Interrupt,
    probes: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl FakeService {
    /// Answers the probes of each wave for whose number `answers` is true.
    fn start(ahead: f64, answers: fn(usize) -> bool) -> Self {
        let socket = Peer::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        let stop = crate::net::interrupt::Interrupt::default();
        let probes = Arc::new(AtomicUsize::new(0));
        let (stopped, counter) = (stop.clone(), Arc::clone(&probes));
        let thread = thread::spawn(move || {
            let (mut wave, mut number, mut buffer) = (None, 0, [0; 1024]);
            while let Ok((length, source)) = socket.recv_from(&mut buffer) {
                if stopped.is_raised() {
                    return;
                }
                let request = Request::parse(&buffer[..length]).expect("a valid probe");
                number = if wave == Some(request.wave) { number + 1 } else { 0 };
                wave = Some(request.wave);
                counter.fetch_add(1, Ordering::SeqCst);
                let now = local_clock() + ahead;
                let reply = Reply {
                    wave: request.wave,
                    request_sent: request.sent,
                    request_received: now,
                    reply_sent: now,
                };
                let mut out = Vec::new();
                reply.encode(&mut out).expect("a vector takes everything");
                if answers(number) {
                    socket.send_to(&out, source).expect("sent");
                    // Noise that must not matter: another wave, and no reply at all.
                    let other = Reply { wave: request.wave ^ 1, request_received: 0.0, ..reply };
                    out.clear();
                    other.encode(&mut out).expect("a vector takes everything");
                    socket.send_to(&out, source).expect("sent");
                    socket.send_to(b"\xff\0nonsense", source).expect("sent");
                }
            }
        });
        Self { address, stop, probes, thread: Some(thread) }
    }

    /// Six answers make an estimate (`tuning.TimeUpdateMinProbes`), so that on a busy machine the last probes come after it.
    fn wait_for_probes(&self, count: usize) {
        let began = Instant::now();
        while self.probes.load(Ordering::SeqCst) < count {
            assert!(began.elapsed() < MEASURE_TIMEOUT, "{:?} of {count} probes", self.probes);
            thread::yield_now();
        }
    }
}

impl Drop for FakeService {
    fn drop(&mut self) {
        self.stop.raise();
        let socket = Peer::bind("127.0.0.1:0").expect("a port");
        socket.send_to(b"", self.address).expect("sent");
        self.thread.take().expect("joined once").join().expect("no panic");
    }
}

#[test]
fn the_offset_to_a_clock_that_is_ahead_is_found() {
    // As in `inlet_timedata.json`: 1000 s ahead.
    let service = FakeService::start(1000.0, |_| true);
    let clock = fast(Some(service.address));
    let estimate = clock.estimate(Some(MEASURE_TIMEOUT)).expect("measured");
    assert!((estimate.offset + 1000.0).abs() <= estimate.uncertainty, "{estimate:?}");
    assert!((0.0..=LATE).contains(&estimate.uncertainty), "{estimate:?}");
    assert!((estimate.remote_time - local_clock() - 1000.0).abs() < 1.0, "{estimate:?}");
    let start = Instant::now();
    clock.estimate(Some(Duration::ZERO)).expect("known at once");
    assert!(start.elapsed() < SOON);
    assert!(!clock.was_reset());
}

#[test]
fn the_offset_to_an_outlet_of_this_computer_is_zero() {
    let config = config(FAST);
    let outlet = TestOutlet::start(&config, "clock");
    let clock = ClockOffset::new(&config);
    clock.set_endpoint(Some(outlet.service()));
    let estimate = clock.estimate(Some(MEASURE_TIMEOUT)).expect("measured");
    // On a busy computer a reply is late, and the estimate says by how much it may be wrong.
    assert!(estimate.offset.abs() <= estimate.uncertainty && estimate.uncertainty <= LATE, "{estimate:?}");
}

#[test]
fn six_replies_are_enough_and_five_are_not() {
    // `inlet_timedata_min_probes.json`.
    for (answers, measured) in
        [((|number| number < 5) as fn(usize) -> bool, false), (|number| number < 6, true)]
    {
        let service = FakeService::start(5.0, answers);
        let clock = fast(Some(service.address));
        let timeout = if measured { MEASURE_TIMEOUT } else { Duration::from_millis(200) };
        let outcome = clock.estimate(Some(timeout)).map(|estimate| estimate.offset.round());
        assert_eq!(outcome, if measured { Ok(-5.0) } else { Err(Error::Timeout) });
        service.wait_for_probes(8);
    }
}

#[test]
fn waiting_ends_at_the_timeout() {
    let silent = Peer::bind("127.0.0.1:0").expect("a port");
    let target = silent.local_addr().expect("bound");
    for (timeout, target) in [(0, Some(target)), (80, Some(target)), (80, None)] {
        let clock = fast(target);
        let (start, timeout) = (Instant::now(), Duration::from_millis(timeout));
        assert_eq!(clock.estimate(Some(timeout)), Err(Error::Timeout));
        let elapsed = start.elapsed();
        assert!(elapsed >= timeout && elapsed < timeout + SOON, "{elapsed:?}");
        let start = Instant::now();
        drop(clock);
        assert!(start.elapsed() < SOON, "the thread ends at once");
    }
}

#[test]
fn a_lost_stream_ends_the_waiting() {
    let clock = fast(None);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| clock.estimate(None));
        while clock.shared.lock().worker.is_none() {
            thread::yield_now();
        }
        clock.lose();
        assert_eq!(waiting.join().expect("no panic"), Err(Error::Lost));
    });
    assert_eq!(clock.estimate(Some(MEASURE_TIMEOUT)), Err(Error::Lost));
}

#[test]
fn another_outlet_resets_the_clock() {
    let (first, second) = (FakeService::start(10.0, |_| true), FakeService::start(20.0, |_| true));
    let clock = fast(None);
    clock.set_endpoint(Some(first.address));
    assert!(!clock.was_reset(), "nothing was known");
    assert_eq!(clock.estimate(Some(MEASURE_TIMEOUT)).map(|estimate| estimate.offset.round()), Ok(-10.0));
    clock.set_endpoint(Some(second.address));
    assert!(clock.was_reset() && !clock.was_reset());
    assert_eq!(clock.estimate(Some(MEASURE_TIMEOUT)).map(|estimate| estimate.offset.round()), Ok(-20.0));
    assert!(!clock.was_reset());
}

#[test]
fn nothing_is_sent_before_the_first_question() {
    let service = FakeService::start(0.0, |_| true);
    let clock = fast(Some(service.address));
    assert!(clock.shared.lock().worker.is_none() && clock.known().is_none());
    clock.estimate(Some(MEASURE_TIMEOUT)).expect("measured");
    assert!(clock.known().is_some());
    service.wait_for_probes(8);
}

#[test]
fn an_unreachable_network_is_no_failure() {
    // TEST-NET-3 (RFC 5737) and a zone that does not exist.
    let unreachable: SocketAddr = "[fe80::1%4000]:9".parse().expect("an address");
    let clock = fast(Some(unreachable));
    assert_eq!(clock.estimate(Some(Duration::from_millis(50))), Err(Error::Timeout));
    let service = FakeService::start(3.0, |_| true);
    clock.set_endpoint(Some(service.address));
    assert_eq!(clock.estimate(Some(MEASURE_TIMEOUT)).map(|estimate| estimate.offset.round()), Ok(-3.0));
}
