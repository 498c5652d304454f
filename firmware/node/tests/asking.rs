//! What nodes say about their streams, and to which peers, in simulated time.

mod common;

use common::{
    Lab, NodeOutlet, World, description, outlet,
    pair::{Pair, ask},
};
use schwann_node::{Description, Keep, LinkState, Pace, Security, Service, Wait};
use schwann_proto::{
    stream::ChannelFormat,
    wire::{discover, timedata},
};

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
    // A query that names the wanted stream gets no answer: a key stolen later would open it.
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
