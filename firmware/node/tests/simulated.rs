//! Streams in simulated time: hours pass in seconds.

mod common;

use common::{
    Lab, World, description, exchange, outlet,
    pair::{Pair, ask, inlet},
};
use schwann_node::{InletState, Keep, LinkState, Micros, Pace, PushError, Security, Wait};
use schwann_proto::{
    stream::ChannelFormat,
    wire::{feed::FeedRequest, sample::Value},
};

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
fn a_sample_longer_than_the_records_that_its_subscriber_takes_arrives() {
    let mut pair = Pair::new(description(ChannelFormat::Double64, 128, 100.0), true, Pace::EverySample, 16);
    pair.inlet = inlet(pair.outlet.description(), Lab::new().security_within(256, 2, |_| {}));
    pair.connect();
    for turn in 0..20 {
        let sample: [f64; 128] = core::array::from_fn(|channel| f64::from(turn) + channel as f64 / 128.0);
        pair.producer.push(&sample, f64::from(turn)).expect("room");
        pair.exchange(usize::MAX);
        let mut pulled = [0.0; 128];
        assert_eq!(pair.inlet.pull(&mut pulled), Some(f64::from(turn)));
        assert_eq!(pulled, sample);
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
fn samples_that_had_to_wait_for_the_socket_go_together() {
    let mut pair = Pair::new(description(ChannelFormat::Float32, 8, 1000.0), true, Pace::EverySample, 64);
    pair.connect();
    let before = pair.outlet.counters().records;
    // While the network's core was busy, or the peer acknowledged nothing.
    for sequence in 0..20 {
        pair.producer.push(&[sequence as f32; 8], f64::from(sequence)).expect("room");
    }
    pair.exchange(usize::MAX);
    for sequence in 0..20 {
        assert_eq!(pair.inlet.pull(&mut [0.0_f32; 8]), Some(f64::from(sequence)));
    }
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
