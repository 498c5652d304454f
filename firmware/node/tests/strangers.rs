//! Strangers, hostile bytes, and peers that go away, in simulated time: every byte is under control.

mod common;

use common::{
    Lab, NodeOutlet, World, description, exchange, outlet,
    pair::{Pair, inlet},
};
use schwann_node::{InletError, InletState, Keep, LinkState, Pace, Security, Service, Wait};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{Refusal, Roles};

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
