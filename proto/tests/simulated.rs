//! Outlets, inlets and searches on a simulated network. Datagrams get lost, doubled and late;
//! connections go silent without a word; clocks jump. Time is a number that the test advances, so an
//! hour takes a moment.

use std::collections::BTreeMap;

use schwann_proto::clock::{ClockEstimator, ClockOutput, ClockSettings};
use schwann_proto::inlet::{Transfer, Watchdog, WatchdogOutput, WatchdogSettings};
use schwann_proto::postproc::{CLOCKSYNC, Clocks, DEJITTER, MONOTONIZE, PostProcessor};
use schwann_proto::resolver::{
    Duration, Recovery, ResolverSettings, Results, Search, SearchOutput, Until, condition,
    recovery_search_time,
};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::{OutletIdentity, StreamInfo};
use schwann_proto::wire::discover::{self, Query};
use schwann_proto::wire::query;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp, StampTracker};
use schwann_proto::wire::timedata::{Reply, Request};

mod random;

use random::Random;

/// A network for datagrams of kind `T`: what is sent arrives later, twice, or never.
struct Network<T> {
    random: Random,
    /// Share of datagrams that get lost.
    loss: f64,
    /// Shortest and longest time under way, in seconds.
    delay: (f64, f64),
    /// By the time of arrival, in nanoseconds, and a number that keeps them apart.
    under_way: BTreeMap<(u64, usize), T>,
    sent: usize,
}

impl<T: Clone> Network<T> {
    fn new(seed: u64, loss: f64, delay: (f64, f64)) -> Self {
        Self { random: Random(seed), loss, delay, under_way: BTreeMap::new(), sent: 0 }
    }

    fn send(&mut self, now: f64, datagram: &T) {
        let copies = if self.random.fraction() < 0.2 { 2 } else { 1 };
        for _ in 0..copies {
            let delay = self.delay.0 + (self.delay.1 - self.delay.0) * self.random.fraction();
            if self.random.fraction() >= self.loss {
                self.sent += 1;
                self.under_way.insert((((now + delay) * 1e9) as u64, self.sent), datagram.clone());
            }
        }
    }

    /// When the next datagram arrives, in seconds.
    fn next_arrival(&self) -> f64 {
        self.under_way.first_key_value().map_or(f64::INFINITY, |((at, _), _)| *at as f64 / 1e9)
    }

    /// The next datagram, if it has arrived by `now`.
    fn receive(&mut self, now: f64) -> Option<T> {
        if self.next_arrival() > now {
            None
        } else {
            self.under_way.pop_first().map(|(_, datagram)| datagram)
        }
    }
}

fn outlet(name: &str, number: u8) -> StreamInfo {
    let info =
        StreamInfo::new(name, "EEG", 1, 100.0, ChannelFormat::Int32, "simulated").expect("a description");
    let mut random = [0x11; 16];
    random[15] = number;
    info.for_outlet(&OutletIdentity {
        session_id: b"default",
        random,
        created_at: 1.0,
        hostname: b"simulated",
    })
}

/// A datagram of discovery.
#[derive(Clone)]
enum Datagram {
    Query(Vec<u8>),
    Reply(Vec<u8>),
}

/// What an outlet answers.
fn answer(info: &StreamInfo, datagram: &[u8]) -> Option<Vec<u8>> {
    let query = Query::parse(datagram)?;
    let condition = query::Query::parse(query.condition).ok()?;
    let mut reply = Vec::new();
    let shortinfo = String::from_utf8(info.shortinfo()).expect("our own text");
    info.matches(&condition).then(|| discover::encode_reply(query.id, &shortinfo, &mut reply))?.ok()?;
    Some(reply)
}

/// Searches until the search says that it is done; returns what was found, and when.
fn search(
    network: &mut Network<Datagram>,
    outlets: &[StreamInfo],
    condition: &str,
    until: Until,
    start: f64,
) -> (Vec<StreamInfo>, f64) {
    let id = discover::query_id(condition).to_string();
    let mut question = Vec::new();
    Query { condition, return_port: 16_600, id: &id }.encode(&mut question).expect("a vector has room");
    let mut search = Search::new(ResolverSettings::default(), Duration::OneShot(until), false, start);
    let (mut now, mut results) = (start, Results::new());
    loop {
        while let Some(datagram) = network.receive(now) {
            match datagram {
                Datagram::Query(bytes) => {
                    for reply in outlets.iter().filter_map(|outlet| answer(outlet, &bytes)) {
                        network.send(now, &Datagram::Reply(reply));
                    }
                }
                Datagram::Reply(bytes) => {
                    let document = discover::parse_reply(&bytes, &id).expect("only one question was asked");
                    let info = StreamInfo::parse(document).expect("a description");
                    results.record(&info.uid().to_string(), now, || info.clone());
                }
            }
        }
        match search.poll(now, results.len()) {
            SearchOutput::Done => return (results.iter().map(|(_, info)| info.clone()).collect(), now),
            SearchOutput::Send(_) => network.send(now, &Datagram::Query(question.clone())),
            SearchOutput::WaitUntil(then) => now = then.min(network.next_arrival()).max(now),
        }
    }
}

#[test]
fn a_search_finds_every_stream_although_most_datagrams_are_lost() {
    let mut condition = Vec::new();
    condition::session("default", &mut condition).expect("a vector has room");
    let condition = String::from_utf8(condition).expect("our own text");
    let outlets: Vec<_> = (0..40).map(|number| outlet("Simulated", number)).collect();
    for seed in 1..=8 {
        let mut network = Network::new(seed * 7919, 0.6, (0.001, 0.9));
        let until = Until { minimum: outlets.len(), earliest: 0.0, deadline: f64::INFINITY };
        let (found, end) = search(&mut network, &outlets, &condition, until, 100.0);
        assert!(found.iter().map(StreamInfo::uid).eq(outlets.iter().map(StreamInfo::uid)), "seed {seed}");
        // Every half second one in six outlets answers in vain at most five times of six: a minute is plenty.
        assert!(end < 160.0, "seed {seed}: {end}");
    }
}

/// The clock of an outlet as its inlet measures it, over a network that jitters and loses.
struct Measured {
    estimator: ClockEstimator,
    network: Network<Reply>,
    now: f64,
    was_reset: bool,
}

impl Measured {
    /// Advances to `until`; the outlet's clock is `ahead` of ours meanwhile.
    fn run(&mut self, until: f64, ahead: f64) {
        while self.now < until {
            while let Some(reply) = self.network.receive(self.now) {
                self.estimator.handle_reply(&reply, self.now);
            }
            match self.estimator.poll(self.now) {
                ClockOutput::Send(Request { wave, sent }) => {
                    // Half of the delay is on the way there; the network adds the other half.
                    let there = self.network.delay.0;
                    let at = self.now + there + ahead;
                    let reply = Reply { wave, request_sent: sent, request_received: at, reply_sent: at };
                    self.network.send(self.now + there, &reply);
                }
                ClockOutput::WaitUntil(then) => {
                    self.now = then.min(self.network.next_arrival()).min(until).max(self.now);
                }
            }
        }
    }
}

impl Clocks for Measured {
    type Error = ();

    fn now(&mut self) -> f64 {
        self.now
    }

    fn time_correction(&mut self) -> Result<f64, ()> {
        self.estimator.estimate().map(|estimate| estimate.correction).ok_or(())
    }

    fn was_reset(&mut self) -> bool {
        core::mem::take(&mut self.was_reset)
    }
}

#[test]
fn stamps_stay_right_through_a_step_of_the_senders_clock() {
    for flags in [CLOCKSYNC, CLOCKSYNC | DEJITTER | MONOTONIZE] {
        // One way takes 1 ms there, and 1 to 9 ms back; a tenth of the replies never comes.
        let network = Network::new(0x5eed, 0.1, (0.001, 0.009));
        let estimator = ClockEstimator::new(ClockSettings::default(), 3);
        let mut measured = Measured { estimator, network, now: 500.0, was_reset: false };
        let mut processor = PostProcessor::new(100.0, 90.0);
        processor.set_flags(flags);
        let mut samples = 0;
        // The sender's computer was up for days, then it was restarted, then its clock was set back.
        for ahead in [250_000.0, -480.0, -3_600.0] {
            measured.estimator.forget();
            measured.was_reset = true;
            // The first wave.
            let begin = measured.now + 0.65;
            measured.run(begin, ahead);
            let mut last = f64::NEG_INFINITY;
            for number in 0..6_000 {
                let captured = begin + f64::from(number) * 0.01;
                measured.run(captured, ahead);
                let stamp = processor.process(captured + ahead, &mut measured).expect("an offset");
                // As in the original, the offset is asked for again with the 51st sample and after half a second.
                if number < 51 && ahead < 0.0 {
                    continue;
                }
                // Half of the fastest round trip's asymmetry is the most that a wave can be wrong.
                assert!((stamp - captured).abs() < 0.005, "{flags} {ahead} {number}: {stamp} {captured}");
                assert!(flags & MONOTONIZE == 0 || stamp >= last);
                last = stamp;
                samples += 1;
            }
        }
        assert_eq!(samples, 18_000 - 2 * 51);
    }
}

/// An outlet that numbers its samples, and says what goes over the wire from one moment on.
struct Sender {
    info: StreamInfo,
    layout: Layout,
    /// Number of the next sample; its stamp is a hundredth of it.
    next: i32,
}

impl Sender {
    fn new(number: u8, next: i32) -> Self {
        let layout = Layout::new(ChannelFormat::Int32, 1, ByteOrder::NATIVE);
        Self { info: outlet("Simulated", number), layout, next }
    }

    /// The samples due by `now`; the first of a connection has its stamp, the others have it deduced.
    fn send(&mut self, now: f64, first: bool) -> Vec<u8> {
        let (mut bytes, mut first) = (Vec::new(), first);
        while f64::from(self.next) / 100.0 <= now {
            let stamp = if first { Stamp::Sent(f64::from(self.next) / 100.0) } else { Stamp::Deduced };
            self.layout.encode_chunk(stamp, &[self.next], &mut bytes).expect("a vector has room");
            self.next += 1;
            first = false;
        }
        bytes
    }
}

#[test]
fn a_connection_that_goes_silent_is_recovered_and_nothing_arrives_twice() {
    let identity = condition::Identity {
        channel_count: 1,
        name: "Simulated",
        content_type: "EEG",
        source_id: "simulated",
        format: ChannelFormat::Int32,
    };
    let mut condition = Vec::new();
    identity.condition(&mut condition).expect("a vector has room");
    let condition = String::from_utf8(condition).expect("our own text");
    let settings = WatchdogSettings::default();
    let mut network = Network::new(99, 0.5, (0.001, 0.5));
    let (mut now, mut pulled) = (0.0, Vec::new());
    let mut current = Sender::new(1, 0);
    // Each outlet's computer vanishes after a while, without a word; the program is started on another one.
    for life in 1..=5_u8 {
        let vanishes = now + 100.0 * f64::from(life);
        let mut tracker = StampTracker::new(100.0);
        let (mut last_receive, mut first) = (now, true);
        let mut watchdog = Watchdog::new(settings, now);
        let silent_since = loop {
            let due = now.min(vanishes);
            let bytes = current.send(due, first);
            let count = bytes.len() / 5 + 1;
            let (mut values, mut stamps) = (vec![0_i32; count], vec![0.0; count]);
            let extent = current.layout.decode_chunk(&bytes, &mut values, &mut stamps, &mut tracker);
            let received = extent.expect("samples").samples;
            if received > 0 {
                (last_receive, first) = (now, false);
            }
            pulled.extend(values.into_iter().zip(stamps).take(received));
            match watchdog.poll(now, Transfer::Active { last_receive }) {
                WatchdogOutput::Recover => break last_receive,
                WatchdogOutput::WaitUntil(check) => now = (now + 0.25).min(check),
            }
        };
        assert!(now - silent_since <= settings.threshold + settings.check_interval, "{now} {silent_since}");
        // It goes on with the number that is due by then.
        let next = Sender::new(life + 1, (now * 100.0) as i32 + 1);
        let (mut round, mut chosen) = (0, None);
        while chosen.is_none() {
            let earliest = now + recovery_search_time(round);
            let until = Until { minimum: 1, earliest, deadline: f64::INFINITY };
            let (found, end) =
                search(&mut network, core::slice::from_ref(&next.info), &condition, until, now);
            now = end;
            round += 1;
            let found = found.into_iter().map(|info| (info.uid().to_string(), info));
            if let Recovery::Replace(info) = Recovery::decide(&current.info.uid().to_string(), true, found) {
                chosen = Some(info);
            }
        }
        assert_eq!(chosen.map(|info| info.uid().to_string()), Some(next.info.uid().to_string()));
        current = next;
    }
    assert!(pulled.len() > 100 * (100 + 200 + 300 + 400 + 500) - 500, "{}", pulled.len());
    assert!(pulled.windows(2).all(|pair| pair[0].0 < pair[1].0), "something arrived twice, or out of order");
    let wrong = pulled.iter().find(|(number, stamp)| (stamp - f64::from(*number) / 100.0).abs() > 1e-6);
    assert_eq!(wrong, None);
}
