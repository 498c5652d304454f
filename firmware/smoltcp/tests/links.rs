//! Links of a server that strangers, refused peers and impatient ones take up: they come free, in simulated time.

#[path = "../../node/tests/common/mod.rs"]
mod common;
mod wire;

use common::{Lab, NodeInlet, description, pair};
use schwann_node::InletState;
use schwann_node_smoltcp::LINKS;
use schwann_proto::stream::ChannelFormat;
use wire::{Habit, Net};

/// What a desktop's inlet begins with: its first line, and a message that a small device does not take.
fn hybrid_attempt() -> Vec<u8> {
    [&b"LSL:secure/1 hybrid\r\n\x04\xd0"[..], &[7; 1232]].concat()
}

#[test]
fn a_peer_that_was_refused_gives_its_link_back() {
    let mut net = Net::new(&Lab::new());
    for round in 0..3 * LINKS {
        let peer = net.connect();
        assert!(net.run_until(1_000_000, |net| net.is_connected(peer)), "round {round}: turned away");
        net.say(peer, &hybrid_attempt());
        assert!(
            net.run_until(1_000_000, |net| net.heard(peer) == [0xff]),
            "round {round}: {:?}",
            net.heard(peer)
        );
        net.close(peer);
        net.run(100_000);
    }
}

#[test]
fn strangers_that_hold_all_links_do_not_keep_a_member_out() {
    let habits: [(&str, Habit); 4] = [
        ("say nothing", |_, _| {}),
        ("are refused and stay", |net, peer| net.say(peer, &hybrid_attempt())),
        ("talk on and on", |net, peer| net.say(peer, &[b'x'; 3000])),
        ("begin a handshake", |net, peer| net.say(peer, b"LSL:secure/1 classic\r\n")),
    ];
    for (name, habit) in habits {
        let lab = Lab::new();
        let mut net = Net::new(&lab);
        for _ in 0..LINKS {
            let peer = net.connect();
            assert!(net.run_until(1_000_000, |net| net.is_connected(peer)), "{name}");
            net.give_habit(peer, habit);
        }
        let mut inlet = pair::inlet(&description(ChannelFormat::Float32, 8, 1000.0), lab.security(2, |_| {}));
        assert!(member_joins(&mut net, &mut inlet), "strangers that {name} keep a member out");
    }
}

/// A member that tries again as often as it is turned away, as desktops do. Returns whether it receives within 5
/// s.
fn member_joins(net: &mut Net, inlet: &mut NodeInlet) -> bool {
    let mut member = net.connect();
    let mut has_begun = false;
    let end = net.now().after(5_000_000);
    while net.now() < end {
        net.run(1000);
        if net.is_gone(member) {
            inlet.ended();
            net.run(200_000);
            (member, has_begun) = (net.connect(), false);
        }
        if net.is_connected(member) {
            if !has_begun {
                inlet.connected(&mut net.surroundings());
                has_begun = true;
            }
            net.exchange(member, inlet);
        }
        if inlet.state() == InletState::Receiving {
            return true;
        }
    }
    false
}

#[test]
fn a_connection_that_is_never_made_gives_its_link_back() {
    let mut net = Net::new(&Lab::new());
    net.drop_answers(true);
    for _ in 0..LINKS {
        net.connect();
    }
    net.run(3_000_000);
    net.drop_answers(false);
    let peer = net.connect();
    assert!(net.run_until(1_000_000, |net| net.is_connected(peer)));
}
