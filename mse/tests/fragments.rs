//! Handshakes in every division and with every padding, with the payload checked both ways.

mod support;

use schwann_mse::{Accept, Draw, Group, Initiator, Method, Methods, Offer, PAD_MAX, Responder};
use support::{End, Random, exchange};

/// 10,000 fragmentations and paddings: fresh keys, all methods, both groups, pieces of 1 to 700 bytes.
#[test]
fn ten_thousand_divisions_and_paddings_all_agree() {
    let mut random = Random(8);
    for n in 0..10_000 {
        let group = if n % 8 == 7 { Group::Oakley1024 } else { Group::Mse768 };
        let method = Method::ALL[n % 4];
        let payload_len = [0, 1, 40, 68][n / 4 % 4];
        let torrent = random.info_hash();
        let initial = random.bytes(payload_len);
        let mut a = Initiator::new(
            torrent,
            Offer::new(Methods::of(&Method::ALL), initial.clone()),
            draw(&mut random, group),
        )
        .expect("IA fits");
        let mut b =
            Responder::new(torrent, Accept::new(Methods::of(&[method]), method), draw(&mut random, group));
        let (mut a, mut b) = (End::new(&mut a), End::new(&mut b));
        let largest = [1, 3, 20, 100, 700][random.below(5)];
        exchange(&mut a, &mut b, || 1 + random.below(largest)).unwrap_or_else(|e| panic!("{n}: {e}"));
        let (len_a, len_b) = (random.below(300), random.below(300));
        let (from_a, from_b) = (random.bytes(len_a), random.bytes(len_b));
        a.say(&from_a);
        b.say(&from_b);
        exchange(&mut a, &mut b, || 1 + random.below(largest)).expect("payload cannot fail");
        assert_eq!(a.payload, from_b, "{n}");
        assert_eq!(b.payload, [initial, from_a].concat(), "{n}");
        assert_eq!(a.done.expect("done").method, method);
        assert_eq!(b.done.expect("done").info_hash, torrent);
    }
}

/// All combinations of the edges of all four paddings (4^4), in one piece and byte by byte.
#[test]
fn every_combination_of_padding_edges_agrees() {
    const EDGES: [usize; 4] = [0, 1, PAD_MAX - 1, PAD_MAX];
    let mut random = Random(9);
    for n in 0..256 {
        let pads: [usize; 4] = core::array::from_fn(|digit| EDGES[n >> (2 * digit) & 3]);
        let torrent = random.info_hash();
        let mut with = |key_pad: usize, crypto_pad| Draw {
            key: random.key(Group::Mse768),
            key_pad: random.bytes(key_pad),
            crypto_pad,
        };
        let (ours, theirs) = (with(pads[0], pads[2]), with(pads[1], pads[3]));
        for step in [usize::MAX, 1] {
            let mut again = |draw: &Draw| Draw {
                key: schwann_mse::KeyPair::random(Group::Mse768, |out| random.fill(out)),
                key_pad: draw.key_pad.clone(),
                crypto_pad: draw.crypto_pad,
            };
            let [ours, theirs] = [&ours, &theirs].map(&mut again);
            let mut a = Initiator::new(torrent, Offer::default(), ours).expect("no IA");
            let mut b = Responder::new(torrent, Accept::default(), theirs);
            let (mut a, mut b) = (End::new(&mut a), End::new(&mut b));
            exchange(&mut a, &mut b, || step).unwrap_or_else(|e| panic!("{pads:?}: {e}"));
            let (at_a, at_b) = (a.done.expect("done"), b.done.expect("done"));
            let seen = [at_b.key_pad, at_a.key_pad, at_b.crypto_pad, at_a.crypto_pad];
            assert_eq!(seen, pads);
        }
    }
}

fn draw(random: &mut Random, group: Group) -> Draw {
    let mut edge = || match random.below(6) {
        0 => 0,
        1 => 1,
        2 => PAD_MAX - 1,
        3 => PAD_MAX,
        _ => random.below(PAD_MAX + 1),
    };
    let (key_pad, crypto_pad) = (edge(), edge());
    Draw { key: random.key(group), key_pad: random.bytes(key_pad), crypto_pad }
}
