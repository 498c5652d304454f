//! A stranger's bytes on every port of a node, plain and sealed: its subscriber still gets its sample.
//!
//! The first byte chooses: bit 0 sealed, bits 1 to 3 how the bytes are cut, bits 4 and 5 which port.
#![no_main]

#[path = "../../firmware/node/tests/common/mod.rs"]
mod common;

use std::cell::RefCell;

use common::{Lab, NodeInlet, NodeOutlet, World, description, exchange};
use libfuzzer_sys::fuzz_target;
use schwann_node::{Found, Inlet, Keep, Pace, Producer, Security, Service, Wanted};
use schwann_proto::stream::ChannelFormat;
use schwann_session::Suite;

struct Pair {
    world: World,
    producer: Producer<'static>,
    outlet: NodeOutlet,
    inlet: NodeInlet,
}

impl Pair {
    fn new(sealed: bool) -> Self {
        let (lab, stream) = (Lab::new(), description(ChannelFormat::Float32, 2, 100.0));
        let security = |serial| if sealed { lab.security(serial, |_| {}) } else { Security::Off };
        let (producer, outlet) = common::outlet(stream, security(1), Pace::EverySample, Keep::Newest, 16);
        let mut document = Vec::new();
        stream.put_shortinfo(&mut document).expect("a vector takes everything");
        let document = String::from_utf8(document).expect("text");
        let wanted = Wanted::new(&Found::parse(&document).expect("a stream"), 100).expect("a UUID");
        let inlet = Inlet::new(wanted, security(2), Suite::Classic);
        let mut pair = Self { world: World::new(), producer, outlet, inlet };
        pair.outlet.accept(0, pair.world.now);
        pair.inlet.connected(&mut pair.world.surroundings());
        pair.exchange();
        pair
    }

    fn exchange(&mut self) {
        exchange(&mut self.world, &mut self.outlet, 0, &mut self.inlet, usize::MAX);
    }
}

thread_local! {
    // The nodes live on from input to input, as a device does.
    static PAIRS: RefCell<[Pair; 2]> = RefCell::new([Pair::new(false), Pair::new(true)]);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    PAIRS.with_borrow_mut(|pairs| {
        let pair = &mut pairs[usize::from(choice & 1)];
        let mut out = [0; NodeOutlet::MAX_REPLY];
        match choice >> 4 & 3 {
            port @ (0 | 1) => {
                let service = if port == 0 { Service::Discovery } else { Service::Time };
                let mut datagram = bytes.to_vec();
                pair.outlet.handle_datagram(&mut datagram, service, &mut pair.world.surroundings(), &mut out);
            }
            _ => {
                pair.outlet.accept(1, pair.world.now);
                for part in bytes.chunks(1 << (choice >> 1 & 7)) {
                    pair.outlet.receive(1, part, &mut pair.world.surroundings());
                    pair.outlet.poll(pair.world.now);
                    let waiting = pair.outlet.transmit(1).len();
                    pair.outlet.sent(1, waiting, pair.world.now);
                }
                pair.outlet.ended(1);
            }
        }
        pair.producer.push(&[1.0_f32; 2], 7.0).expect("room");
        pair.exchange();
        assert_eq!(pair.inlet.pull(&mut [0.0_f32; 2]), Some(7.0));
    });
});
