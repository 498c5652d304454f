//! Nodes in simulated time: hours pass in seconds, and every byte is under control.

mod common;

use common::{Lab, NodeInlet, NodeOutlet, World, description, exchange, outlet};
use schwann_node::{
    Description, Found, Inlet, InletError, InletState, Keep, LinkState, Micros, Pace, Producer, PushError,
    Security, Service, Wait, Wanted,
};
use schwann_proto::{
    stream::ChannelFormat,
    wire::{discover, feed::FeedRequest, sample::Value, timedata},
};
use schwann_session::{Refusal, Roles, Suite};

fn wanted(description: &Description<'_>) -> Wanted {
    let mut document = Vec::new();
    description.put_shortinfo(&mut document).expect("a vector takes everything");
    let document = String::from_utf8(document).expect("text");
    Wanted::new(&Found::parse(&document).expect("a stream"), 1000).expect("a UUID")
}

fn inlet(description: &Description<'_>, security: Security<'static>) -> NodeInlet {
    Inlet::new(wanted(description), security, Suite::Classic)
}

struct Pair {
    world: World,
    producer: Producer<'static>,
    outlet: NodeOutlet,
    inlet: NodeInlet,
}

impl Pair {
    fn new(description: Description<'static>, sealed: bool, pace: Pace, samples: usize) -> Self {
        let lab = Lab::new();
        let security = |serial| if sealed { lab.security(serial, |_| {}) } else { Security::Off };
        let (producer, outlet) = outlet(description, security(1), pace, Keep::Newest, samples);
        let inlet = inlet(&description, security(2));
        Self { world: World::new(), producer, outlet, inlet }
    }

    fn connect(&mut self) {
        self.outlet.accept(0, self.world.now);
        self.inlet.connected(&mut self.world.surroundings());
        self.exchange(usize::MAX);
    }

    fn exchange(&mut self, most: usize) {
        exchange(&mut self.world, &mut self.outlet, 0, &mut self.inlet, most);
    }
}

fn passes<T: Value>(sealed: bool, samples: [[T; 3]; 3]) {
    let mut pair = Pair::new(description(T::FORMAT, 3, 100.0), sealed, Pace::EverySample, 16);
    pair.connect();
    assert_eq!(pair.inlet.state(), InletState::Receiving, "{:?} {sealed}", T::FORMAT);
    assert_eq!(pair.outlet.sealed_links(), usize::from(sealed));
    for (at, sample) in samples.iter().enumerate() {
        pair.producer.push(sample, at as f64 + 0.25).expect("room");
    }
    pair.exchange(7);
    for (at, sample) in samples.iter().enumerate() {
        let mut pulled = [T::default(); 3];
        assert_eq!(pair.inlet.pull(&mut pulled), Some(at as f64 + 0.25));
        assert_eq!(pulled, *sample);
    }
    assert_eq!(pair.inlet.pull(&mut [T::default(); 3]), None);
}

#[test]
fn numbers_of_every_format_arrive_plain_and_sealed() {
    for sealed in [false, true] {
        passes::<f32>(sealed, [[0.5, -1e30, f32::MIN_POSITIVE / 2.0], [1.0; 3], [2.0; 3]]);
        passes::<f64>(sealed, [[0.1, -1e300, f64::MAX], [1.0; 3], [2.0; 3]]);
        passes::<i8>(sealed, [[i8::MIN, 0, i8::MAX], [1; 3], [2; 3]]);
        passes::<i16>(sealed, [[i16::MIN, 0, i16::MAX], [1; 3], [2; 3]]);
        passes::<i32>(sealed, [[i32::MIN, 0, i32::MAX], [1; 3], [2; 3]]);
        passes::<i64>(sealed, [[i64::MIN, 0, i64::MAX], [1; 3], [2; 3]]);
    }
}

#[test]
fn short_strings_arrive() {
    let mut pair = Pair::new(description(ChannelFormat::String, 2, 0.0), true, Pace::EverySample, 8);
    pair.connect();
    let mut push = |texts: [&[u8]; 2], stamp| pair.producer.push_strings(texts.into_iter(), stamp);
    push([b"left", b""], 3.0).expect("room");
    push([&[b'x'; 190], b"end"], 4.0).expect("room");
    assert_eq!(push([&[b'x'; 199], b"end"], 4.0), Err(PushError::Shape));
    pair.exchange(usize::MAX);
    // Strings that are numbers can be pulled as such; here the stamps tell that both came.
    assert_eq!(pair.inlet.pull(&mut [0.0_f64; 2]), Some(3.0));
    assert_eq!(pair.inlet.pull(&mut [0.0_f64; 2]), Some(4.0));
}

/// Streams for `seconds` at `rate`, checking every sample.
fn stream(sealed: bool, pace: Pace, channel_count: usize, rate: u64, seconds: u64) {
    let mut pair =
        Pair::new(description(ChannelFormat::Float32, channel_count, rate as f64), sealed, pace, 64);
    pair.connect();
    let (mut sequence, mut expected) = (0_u32, 0_u32);
    let mut pulled = vec![0.0_f32; channel_count];
    let mut sample = vec![0.0_f32; channel_count];
    for tick in 0..seconds * rate {
        // As of the clock: 32 bits of microseconds wrap in the second hour.
        pair.world.now = Micros(1_000_000 + tick * 1_000_000 / rate);
        sample.fill((sequence % 1_000_003) as f32);
        pair.producer.push(&sample, pair.world.now.seconds()).expect("room");
        sequence += 1;
        pair.exchange(usize::MAX);
        while pair.inlet.pull(&mut pulled).is_some() {
            assert!(pulled.iter().all(|value| *value == (expected % 1_000_003) as f32), "{expected}");
            expected += 1;
        }
    }
    pair.world.now = pair.world.now.after(1_000_000);
    pair.exchange(usize::MAX);
    while pair.inlet.pull(&mut pulled).is_some() {
        expected += 1;
    }
    assert_eq!((expected, pair.outlet.counters().lost), (sequence, 0), "{:?}", pair.inlet.state());
}

#[test]
fn the_whole_grid_of_rates_and_channels_arrives_without_loss() {
    for sealed in [false, true] {
        for channels in [4, 8, 16, 32, 64, 128] {
            for rate in [250, 500, 1000, 2000] {
                stream(sealed, Pace::EverySample, channels, rate, 1);
            }
        }
    }
}

#[test]
fn two_hours_sealed_lose_nothing_and_outlive_a_change_of_key() {
    // Keys change after an hour; the chip's counter of 32 bits has wrapped after 72 minutes.
    stream(true, Pace::Within(20_000), 8, 100, 7300);
}

#[test]
fn samples_that_wait_for_each_other_wait_no_longer_than_said() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::Within(5_000), 64);
    pair.connect();
    let before = pair.outlet.counters().records;
    pair.producer.push(&[1.0_f32; 8], 1.0).expect("room");
    let due = pair.world.now.after(5_000);
    assert_eq!(pair.outlet.poll(pair.world.now), Wait::Until(due));
    pair.world.now = pair.world.now.after(4_000);
    pair.producer.push(&[2.0_f32; 8], 2.0).expect("room");
    assert_eq!(pair.outlet.poll(pair.world.now), Wait::Until(due));
    assert!(pair.outlet.transmit(0).is_empty());
    pair.world.now = due;
    pair.exchange(usize::MAX);
    assert_eq!(pair.inlet.pull(&mut [0.0_f32; 8]), Some(1.0));
    assert_eq!(pair.inlet.pull(&mut [0.0_f32; 8]), Some(2.0));
    assert_eq!(pair.outlet.counters().records, before + 1);
}

#[test]
fn an_outlet_that_nobody_listens_to_may_sleep() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), false, Pace::EverySample, 64);
    assert_eq!(pair.outlet.poll(pair.world.now), Wait::ForEvent);
    for _ in 0..200 {
        pair.producer.push(&[1.0_f32; 8], 1.0).expect("pushing never fails where the newest are kept");
    }
    assert_eq!(pair.outlet.poll(pair.world.now), Wait::ForEvent);
    assert_eq!(pair.outlet.counters().lost, 0);
    pair.connect();
    assert_eq!(pair.outlet.poll(pair.world.now), Wait::ForEvent);
}

#[test]
fn what_a_slow_subscriber_misses_is_counted_and_the_newest_survive() {
    let mut pair = Pair::new(description(ChannelFormat::Int32, 1, 1000.0), false, Pace::EverySample, 16);
    pair.connect();
    for value in 0..100 {
        pair.producer.push(&[value], f64::from(value)).expect("room");
    }
    pair.exchange(usize::MAX);
    let (mut pulled, mut seen) = ([0_i32], Vec::new());
    while pair.inlet.pull(&mut pulled).is_some() {
        seen.push(pulled[0]);
    }
    assert_eq!(seen, (85..100).collect::<Vec<_>>());
    assert_eq!(pair.outlet.counters().lost, 85);
}

#[test]
fn a_ring_that_keeps_the_oldest_refuses_the_newest() {
    let stream = description(ChannelFormat::Int32, 1, 1000.0);
    let (mut producer, mut outlet) = outlet(stream, Security::Off, Pace::EverySample, Keep::Oldest, 16);
    let (mut world, mut inlet) = (World::new(), inlet(&stream, Security::Off));
    outlet.accept(0, world.now);
    inlet.connected(&mut world.surroundings());
    exchange(&mut world, &mut outlet, 0, &mut inlet, usize::MAX);
    let taken = (0..100).filter(|value| producer.push(&[*value], 1.0).is_ok()).count();
    exchange(&mut world, &mut outlet, 0, &mut inlet, usize::MAX);
    let (mut pulled, mut seen) = ([0_i32], Vec::new());
    while inlet.pull(&mut pulled).is_some() {
        seen.push(pulled[0]);
    }
    assert_eq!(seen.len() as u32 + outlet.counters().lost, taken as u32);
    assert_eq!(outlet.counters().refused, 100 - taken as u32);
    assert_eq!(*seen.last().expect("samples"), taken as i32 - 1);
}

#[test]
fn three_subscribers_are_served_and_a_fourth_gets_a_description_alone() {
    let stream = description(ChannelFormat::Float32, 8, 1000.0);
    let (mut producer, mut outlet) = outlet(stream, Security::Off, Pace::EverySample, Keep::Newest, 64);
    let mut world = World::new();
    let mut inlets: Vec<_> = (0..4).map(|_| inlet(&stream, Security::Off)).collect();
    for (link, inlet) in inlets.iter_mut().enumerate() {
        outlet.accept(link, world.now);
        inlet.connected(&mut world.surroundings());
        exchange(&mut world, &mut outlet, link, inlet, usize::MAX);
    }
    assert_eq!(outlet.subscribers(), 3);
    assert_eq!(outlet.state(3), LinkState::Closing);
    producer.push(&[1.0_f32; 8], 5.0).expect("room");
    for (link, inlet) in inlets.iter_mut().enumerate().take(3) {
        exchange(&mut world, &mut outlet, link, inlet, usize::MAX);
        assert_eq!(inlet.pull(&mut [0.0_f32; 8]), Some(5.0));
    }
    outlet.ended(3);
    outlet.accept(3, world.now);
    let mut document = Vec::new();
    ask(&mut world, &mut outlet, 3, b"LSL:fullinfo\r\n", &mut document);
    assert!(document.starts_with(b"<?xml") && document.ends_with(b"</info>\n"));
}

/// Sends a request over a link and collects everything that comes back.
fn ask(world: &mut World, outlet: &mut NodeOutlet, link: usize, request: &[u8], answer: &mut Vec<u8>) {
    outlet.receive(link, request, &mut world.surroundings());
    loop {
        outlet.poll(world.now);
        let count = outlet.transmit(link).len().min(33);
        answer.extend_from_slice(&outlet.transmit(link)[..count]);
        outlet.sent(link, count, world.now);
        if count == 0 {
            return;
        }
    }
}

#[test]
fn a_long_description_comes_in_parts() {
    let desc: &'static str = "<channel><label>C3</label></channel>".repeat(200).leak();
    let stream = Description { desc, ..description(ChannelFormat::Float32, 8, 1000.0) };
    let (_producer, mut outlet) = outlet(stream, Security::Off, Pace::EverySample, Keep::Newest, 64);
    let (mut world, mut document) = (World::new(), Vec::new());
    outlet.accept(0, world.now);
    ask(&mut world, &mut outlet, 0, b"LSL:fullinfo\r\n", &mut document);
    let mut expected = Vec::new();
    stream.put_fullinfo(&mut expected).expect("a vector takes everything");
    assert!(document == expected && document.len() > 7000);
    assert_eq!(outlet.state(0), LinkState::Closing);
}

#[test]
fn a_short_info_is_for_who_means_this_stream() {
    let (mut world, stream) = (World::new(), description(ChannelFormat::Float32, 8, 1000.0));
    for (condition, answered) in [("name='Node'", true), ("name='Other'", false), ("", true)] {
        let (_producer, mut outlet) = outlet(stream, Security::Off, Pace::EverySample, Keep::Newest, 64);
        outlet.accept(0, world.now);
        let mut answer = Vec::new();
        ask(&mut world, &mut outlet, 0, format!("LSL:shortinfo\r\n{condition}\r\n").as_bytes(), &mut answer);
        assert_eq!(!answer.is_empty(), answered, "{condition}");
    }
}

#[test]
fn queries_and_probes_are_answered() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), false, Pace::EverySample, 64);
    let mut out = [0; NodeOutlet::MAX_REPLY];
    let mut query = *b"LSL:shortinfo\r\nsession_id='default'\r\n17001 42\r\n";
    let reply =
        pair.outlet.handle_datagram(&mut query, Service::Discovery, &mut pair.world.surroundings(), &mut out);
    let reply = reply.expect("a reply");
    assert_eq!(reply.port, Some(17001));
    assert!(discover::parse_reply(&out[..reply.len], "42").is_some());
    let mut probe = *b"LSL:timedata\r\n7 3.5\r\n";
    let reply =
        pair.outlet.handle_datagram(&mut probe, Service::Time, &mut pair.world.surroundings(), &mut out);
    let answer = timedata::Reply::parse(&out[..reply.expect("a reply").len]).expect("a time");
    assert_eq!((answer.wave, answer.request_sent, answer.reply_sent), (7, 3.5, 1.0));
    // The multicast port tells no time.
    let mut surroundings = pair.world.surroundings();
    assert_eq!(
        pair.outlet.handle_datagram(&mut probe, Service::Discovery, &mut surroundings, &mut out),
        None
    );
}

#[test]
fn sealed_nodes_say_nothing_in_the_clear() {
    let lab = Lab::new();
    let stream = description(ChannelFormat::Float32, 8, 1000.0);
    let (_producer, mut outlet) =
        outlet(stream, lab.security(1, |_| {}), Pace::EverySample, Keep::Newest, 64);
    let (mut world, mut out) = (World::new(), [0; NodeOutlet::MAX_REPLY]);
    for (mut datagram, service) in [
        (b"LSL:shortinfo\r\n\r\n17001 42\r\n".to_vec(), Service::Discovery),
        (b"LSL:timedata\r\n7 3.5\r\n".to_vec(), Service::Time),
    ] {
        let mut surroundings = world.surroundings();
        assert_eq!(outlet.handle_datagram(&mut datagram, service, &mut surroundings, &mut out), None);
    }
    for request in
        ["LSL:fullinfo\r\n", "LSL:shortinfo\r\n\r\n", "LSL:streamfeed/110 \r\nMax-Buffer-Length: 9\r\n\r\n"]
    {
        outlet.accept(0, world.now);
        let mut answer = Vec::new();
        ask(&mut world, &mut outlet, 0, request.as_bytes(), &mut answer);
        assert!(answer.is_empty());
        assert_eq!(outlet.state(0), LinkState::Broken);
    }
}

#[test]
fn a_sealed_node_may_be_found_by_everybody_and_still_serves_members_alone() {
    let lab = Lab::new();
    let Security::Require(mut member) = lab.security(1, |_| {}) else { panic!("the lab seals") };
    member.visible = schwann_node::Visible::Everybody;
    let stream = description(ChannelFormat::Float32, 8, 1000.0);
    let (_producer, mut outlet) =
        outlet(stream, Security::Require(member), Pace::EverySample, Keep::Newest, 64);
    let (mut world, mut out) = (World::new(), [0; NodeOutlet::MAX_REPLY]);
    let mut query = *b"LSL:shortinfo\r\n\r\n17001 42\r\n";
    let mut surroundings = world.surroundings();
    assert!(outlet.handle_datagram(&mut query, Service::Discovery, &mut surroundings, &mut out).is_some());
    let mut probe = *b"LSL:timedata\r\n7 3.5\r\n";
    assert_eq!(outlet.handle_datagram(&mut probe, Service::Time, &mut surroundings, &mut out), None);
    outlet.accept(0, world.now);
    let mut answer = Vec::new();
    ask(&mut world, &mut outlet, 0, b"LSL:fullinfo\r\n", &mut answer);
    assert!(answer.is_empty());
}

#[test]
fn members_find_a_sealed_node_and_learn_its_time() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
    let key = schwann_session::discovery::DiscoveryKey::new(&Lab::new().discovery);
    let (mut datagram, mut out) = ([0; 200], [0; NodeOutlet::MAX_REPLY]);
    // A query that says what is looked for gets no answer: a key that is stolen later would open it.
    let telling = b"LSL:shortinfo\r\nsession_id='default'\r\n17001 42\r\n";
    let sealed = key.seal_query(telling, common::TODAY, &mut pair.world.entropy, &mut datagram);
    let (len, _) = sealed.expect("room");
    let mut surroundings = pair.world.surroundings();
    let told = &mut datagram[..len];
    assert_eq!(pair.outlet.handle_datagram(told, Service::Discovery, &mut surroundings, &mut out), None);
    let query = b"LSL:shortinfo\r\n\r\n17001 42\r\n";
    let sealed = key.seal_query(query, common::TODAY, &mut pair.world.entropy, &mut datagram);
    let (len, own) = sealed.expect("room");
    let asked = datagram;
    for answered in [true, true, true, true, false] {
        datagram = asked;
        let mut surroundings = pair.world.surroundings();
        let reply = pair.outlet.handle_datagram(
            &mut datagram[..len],
            Service::Discovery,
            &mut surroundings,
            &mut out,
        );
        assert_eq!(reply.is_some(), answered, "an attacker cannot repeat a query for ever");
        if let Some(reply) = reply {
            let text = key.open_reply(&own, &mut out[..reply.len]).expect("a member's reply");
            assert!(discover::parse_reply(&out[text], "42").is_some());
        }
    }
    pair.connect();
    for _ in 0..200 {
        let mut probe = [0; 256];
        match pair.inlet.poll_probe(pair.world.now, &mut probe) {
            Ok(len) => {
                let mut surroundings = pair.world.surroundings();
                let datagram = &mut probe[..len];
                let reply = pair.outlet.handle_datagram(datagram, Service::Time, &mut surroundings, &mut out);
                let reply = reply.expect("a reply");
                pair.world.now = pair.world.now.after(300);
                pair.inlet.handle_datagram(&mut out[..reply.len], pair.world.now);
            }
            Err(Wait::Until(then)) => pair.world.now = then,
            Err(Wait::ForEvent) => break,
        }
    }
    let estimate = pair.inlet.clock_estimate().expect("an estimate");
    assert!(estimate.correction.abs() < 200e-6, "{estimate:?}");
}

#[test]
fn who_does_not_belong_gets_no_session() {
    type Change = fn(&mut schwann_session::Statement);
    let cases: [(Change, Refusal); 3] = [
        (|one| one.roles = Roles::PUBLISH, Refusal::WrongRole),
        (|one| one.not_after = schwann_session::UnixSeconds(5), Refusal::Expired),
        (|one| one.flags = schwann_session::Flags::NONE, Refusal::ClassicRefused),
    ];
    for (change, refusal) in cases {
        let lab = Lab::new();
        let stream = description(ChannelFormat::Float32, 8, 1000.0);
        let plain_outlet = |one: &mut schwann_session::Statement| {
            if refusal == Refusal::ClassicRefused {
                one.flags = schwann_session::Flags::NONE;
            }
        };
        let (_producer, mut outlet) =
            outlet(stream, lab.security(1, plain_outlet), Pace::EverySample, Keep::Newest, 64);
        let (mut world, mut inlet) = (World::new(), inlet(&stream, lab.security(2, change)));
        outlet.accept(0, world.now);
        inlet.connected(&mut world.surroundings());
        exchange(&mut world, &mut outlet, 0, &mut inlet, usize::MAX);
        let InletState::Over(InletError::Refused(why)) = inlet.state() else { panic!("{:?}", inlet.state()) };
        assert_eq!(why, refusal);
        assert_eq!(outlet.subscribers(), 0);
    }
}

#[test]
fn another_labs_device_is_a_stranger() {
    let (lab, mut other) = (Lab::new(), Lab::new());
    other.authority = schwann_session::AuthorityKey::from_seed(&[6; 32]);
    let stream = description(ChannelFormat::Float32, 8, 1000.0);
    let (_producer, mut outlet) =
        outlet(stream, lab.security(1, |_| {}), Pace::EverySample, Keep::Newest, 64);
    let (mut world, mut inlet) = (World::new(), inlet(&stream, other.security(2, |_| {})));
    outlet.accept(0, world.now);
    inlet.connected(&mut world.surroundings());
    exchange(&mut world, &mut outlet, 0, &mut inlet, usize::MAX);
    assert_eq!(inlet.state(), InletState::Over(InletError::Refused(Refusal::WrongLab)));
    assert_ne!(outlet.state(0), LinkState::Open);
}

#[test]
fn a_stream_that_is_closed_ends_provably_and_one_that_is_cut_does_not() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
    pair.connect();
    pair.outlet.close();
    pair.exchange(usize::MAX);
    assert_eq!(pair.inlet.state(), InletState::Over(InletError::Ended));

    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
    pair.connect();
    pair.producer.push(&[1.0_f32; 8], 1.0).expect("room");
    pair.outlet.poll(pair.world.now);
    let half = pair.outlet.transmit(0).len() / 2;
    let bytes = pair.outlet.transmit(0)[..half].to_vec();
    pair.inlet.receive(&bytes, &mut pair.world.surroundings());
    pair.inlet.ended();
    assert_eq!(pair.inlet.state(), InletState::Over(InletError::Truncated));
}

#[test]
fn an_outlet_goes_on_after_a_peer_that_is_gone_mid_record() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
    for turn in 0..20 {
        pair.connect();
        assert_eq!(pair.inlet.state(), InletState::Receiving, "{turn}");
        pair.producer.push(&[1.0_f32; 8], 1.0).expect("room");
        pair.outlet.poll(pair.world.now);
        let part = pair.outlet.transmit(0).len().min(turn * 3);
        pair.outlet.sent(0, part, pair.world.now);
        pair.outlet.ended(0);
        pair.inlet.ended();
    }
    assert_eq!(pair.outlet.counters().sessions, 20);
}

#[test]
fn a_subscriber_that_takes_nothing_is_given_up() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), false, Pace::EverySample, 64);
    pair.connect();
    for _ in 0..15 {
        pair.producer.push(&[1.0_f32; 8], 1.0).expect("room");
        pair.outlet.poll(pair.world.now);
        pair.world.now = pair.world.now.after(1_000_000);
    }
    assert_eq!(pair.outlet.state(0), LinkState::Broken);
    // One without samples to take is not.
    let mut quiet = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), false, Pace::EverySample, 64);
    quiet.connect();
    for _ in 0..100 {
        quiet.outlet.poll(quiet.world.now);
        quiet.world.now = quiet.world.now.after(1_000_000);
    }
    assert_eq!(quiet.outlet.state(0), LinkState::Open);
}

#[test]
fn a_stranger_that_says_nothing_is_given_up() {
    for said in [&b""[..], b"LSL:", b"LSL:secure/1 classic\r\n", b"LSL:streamfeed/110 x\r\n"] {
        let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
        pair.outlet.accept(0, pair.world.now);
        pair.outlet.receive(0, said, &mut pair.world.surroundings());
        if pair.outlet.state(0) == LinkState::Open {
            let Wait::Until(then) = pair.outlet.poll(pair.world.now) else { panic!("no deadline") };
            assert!(then.since(pair.world.now) <= 10_000_000);
            pair.outlet.poll(then);
        }
        assert_eq!(pair.outlet.state(0), LinkState::Broken);
    }
}

#[test]
fn hostile_bytes_on_every_port_end_nothing_but_their_own_link() {
    let mut noise = common::Seeded(99);
    let mut random = |len: usize| {
        let mut bytes = vec![0; len];
        schwann_session::Entropy::fill(&mut noise, &mut bytes).expect("bytes");
        bytes
    };
    let starts: [&[u8]; 8] = [
        b"",
        b"LSL:secure/1 classic\r\n",
        b"LSL:secure/1 classic\r\n\x00\x30",
        b"LSL:secure/1 hybrid\r\n",
        b"LSL:streamfeed/110 \r\nMax-Buffer-Length: ",
        b"LSL:shortinfo\r\n",
        b"LSL:timedata\r\n",
        &[0xd5, b'S', b'Q', 2],
    ];
    for sealed in [false, true] {
        let mut pair =
            Pair::new(description(ChannelFormat::Float32, 8, 1000.0), sealed, Pace::EverySample, 64);
        pair.connect();
        let mut out = [0; NodeOutlet::MAX_REPLY];
        for turn in 0..4000_usize {
            let bytes = [starts[turn % starts.len()], &random(turn % 700)].concat();
            pair.outlet.accept(1, pair.world.now);
            for part in bytes.chunks(1 + turn % 97) {
                pair.outlet.receive(1, part, &mut pair.world.surroundings());
            }
            pair.outlet.poll(pair.world.now);
            pair.outlet.ended(1);
            let service = if turn % 2 == 0 { Service::Time } else { Service::Discovery };
            let mut datagram = bytes;
            pair.outlet.handle_datagram(&mut datagram, service, &mut pair.world.surroundings(), &mut out);
        }
        pair.producer.push(&[1.0_f32; 8], 77.0).expect("room");
        pair.exchange(usize::MAX);
        assert_eq!(pair.inlet.pull(&mut [0.0_f32; 8]), Some(77.0), "sealed: {sealed}");
        assert!(pair.outlet.counters().odd_datagrams > 0);
    }
}

#[test]
fn a_changed_byte_ends_an_inlet() {
    let mut noise = common::Seeded(5);
    for _ in 0..300 {
        let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
        pair.connect();
        pair.producer.push(&[1.0_f32; 8], 1.0).expect("room");
        pair.outlet.poll(pair.world.now);
        let mut bytes = pair.outlet.transmit(0).to_vec();
        let mut dice = [0; 2];
        schwann_session::Entropy::fill(&mut noise, &mut dice).expect("bytes");
        let place = usize::from(dice[0]) % bytes.len();
        bytes[place] ^= 1 << (dice[1] % 8);
        pair.inlet.receive(&bytes, &mut pair.world.surroundings());
        assert_eq!(pair.inlet.pull(&mut [0.0_f32; 8]), None, "byte {place}");
    }
}

#[test]
fn an_inlet_survives_whatever_an_outlet_sends() {
    let stream = description(ChannelFormat::String, 2, 0.0);
    let mut noise = common::Seeded(7);
    for turn in 0..3000_usize {
        let (mut world, mut inlet) = (World::new(), inlet(&stream, Security::Off));
        inlet.connected(&mut world.surroundings());
        let mut bytes = vec![0; turn % 500];
        schwann_session::Entropy::fill(&mut noise, &mut bytes).expect("bytes");
        let start: &[u8] = match turn % 3 {
            0 => b"LSL/110 200 OK\r\nUID: x\r\n\r\n",
            1 => b"LSL/110 404 Not found",
            _ => b"",
        };
        inlet.receive(start, &mut world.surroundings());
        inlet.receive(&bytes, &mut world.surroundings());
        while inlet.pull(&mut [0.0_f64; 2]).is_some() {}
        inlet.ended();
        assert!(matches!(inlet.state(), InletState::Over(_)));
    }
}

#[test]
fn an_outlet_that_does_not_answer_is_given_up() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), false, Pace::EverySample, 64);
    pair.inlet.connected(&mut pair.world.surroundings());
    let Wait::Until(then) = pair.inlet.poll(pair.world.now) else { panic!("no deadline") };
    pair.inlet.poll(then);
    assert_eq!(pair.inlet.state(), InletState::Over(InletError::Slow));
}

#[test]
fn a_client_of_another_byte_order_gets_its_own() {
    let mut pair = Pair::new(description(ChannelFormat::Int32, 1, 100.0), false, Pace::EverySample, 16);
    pair.outlet.accept(0, pair.world.now);
    let mut request = Vec::new();
    let mut asked = FeedRequest::new(110, "", ChannelFormat::Int32, 100, 0);
    asked.byte_order = Some(schwann_proto::wire::sample::ByteOrder::Big);
    asked.encode(&mut request).expect("a vector takes everything");
    let mut answer = Vec::new();
    ask(&mut pair.world, &mut pair.outlet, 0, &request, &mut answer);
    assert!(String::from_utf8_lossy(&answer).contains("Byte-Order: 4321"));
    pair.producer.push(&[1_i32], 2.0).expect("room");
    pair.outlet.poll(pair.world.now);
    let sample = pair.outlet.transmit(0);
    assert_eq!(sample, [&[2][..], &2.0_f64.to_be_bytes(), &1_i32.to_be_bytes()].concat());
}
