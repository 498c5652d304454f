//! Whatever an outlet sends, a node's inlet comes to an end and never panics; replies to its searches, too.
#![no_main]

#[path = "../../firmware/node/tests/common/mod.rs"]
mod common;

use common::{NodeInlet, World, description};
use libfuzzer_sys::fuzz_target;
use schwann_node::{Finder, Found, Inlet, InletState, Security, Wanted};
use schwann_proto::stream::ChannelFormat;
use schwann_session::Suite;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let _ = Finder::new("type='EEG'").handle_reply(bytes);
    let format = ChannelFormat::ALL[usize::from(*choice) % ChannelFormat::ALL.len()];
    let mut document = Vec::new();
    description(format, 2, 100.0).put_shortinfo(&mut document).expect("a vector takes everything");
    let document = String::from_utf8(document).expect("text");
    let wanted = Wanted::new(&Found::parse(&document).expect("a stream"), 100).expect("a UUID");
    let mut inlet: NodeInlet = Inlet::new(wanted, Security::Off, Suite::Classic);
    let mut world = World::new();
    inlet.connected(&mut world.surroundings());
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = inlet.receive(rest, &mut world.surroundings());
        while inlet.pull(&mut [0.0_f64; 2]).is_some() {}
        if taken == 0 {
            break;
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    inlet.ended();
    assert!(matches!(inlet.state(), InletState::Over(_)));
});
