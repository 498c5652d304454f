//! Records of an established session, and everything that may happen to them on the way.

mod common;

use core::time::Duration;
use std::collections::HashSet;

use common::{Seeded, connect, open_all, pair, seal};
use schwann_session::{
    Established, LayerError, MAX_RECORD, Opened, RECORD_OVERHEAD, RekeyLimits, Secure, Suite, control::Piece,
};

fn sessions() -> (Established, Established) {
    let (mut inlet, mut outlet) = pair();
    connect(Suite::Hybrid, &mut inlet, &mut outlet).unwrap()
}

fn close(layer: &mut Secure) -> Vec<u8> {
    let mut wire = vec![0; 64];
    let length = layer.close(&mut wire).unwrap();
    wire.truncate(length);
    wire
}

#[test]
fn any_length_comes_out_as_it_went_in() {
    let (mut inlet, mut outlet) = sessions();
    let mut random = Seeded(5);
    for length in [1, 2, 255, MAX_RECORD - 1, MAX_RECORD, MAX_RECORD + 1, 5 * MAX_RECORD, 40 * MAX_RECORD + 7]
    {
        let plain: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let wire = seal(&mut outlet.session, &plain);
        assert_eq!(wire.len(), length + length.div_ceil(MAX_RECORD) * RECORD_OVERHEAD);
        assert_eq!(open_all(&mut inlet.session, &wire).unwrap().0, plain);
    }
}

#[test]
fn many_small_records_open_in_order_however_they_are_cut() {
    let (mut inlet, mut outlet) = sessions();
    let mut random = Seeded(9);
    let (mut wire, mut sent) = (Vec::new(), Vec::new());
    for index in 0..500_u32 {
        let plain = vec![index as u8; random.below(300) + 1];
        wire.extend(seal(&mut outlet.session, &plain));
        sent.extend(plain);
    }
    let (mut waiting, mut received) = (Vec::new(), Vec::new());
    while !wire.is_empty() {
        let cut = (random.below(4000) + 1).min(wire.len());
        waiting.extend(wire.drain(..cut));
        loop {
            match inlet.session.open(&mut waiting).unwrap() {
                Opened::Data { consumed, plain } => {
                    received.extend_from_slice(&waiting[plain]);
                    waiting.drain(..consumed);
                }
                Opened::Incomplete => break,
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(waiting.is_empty());
    assert_eq!(received, sent);
}

#[test]
fn every_single_bit_of_a_record_counts() {
    let wire_len = 20 + RECORD_OVERHEAD;
    for bit in 0..wire_len * 8 {
        let (mut inlet, mut outlet) = common::twins(bit as u64 + 1);
        let mut wire = seal(&mut outlet.session, &[7; 20]);
        wire[bit / 8] ^= 1 << (bit % 8);
        // A longer length leaves the record incomplete: then more of the stream arrives.
        wire.extend([0; MAX_RECORD + RECORD_OVERHEAD]);
        assert!(open_all(&mut inlet.session, &wire).is_err(), "bit {bit}");
    }
}

#[test]
fn a_forged_record_ends_the_session_and_leaves_no_plaintext() {
    let (mut inlet, mut outlet) = sessions();
    let mut wire = seal(&mut outlet.session, b"CANARY-1");
    let second = wire.len();
    wire.extend(seal(&mut outlet.session, b"CANARY-2"));
    wire[second + 6] ^= 1;
    assert_eq!(inlet.session.open(&mut wire), Err(LayerError::Forged));
    assert!(!wire.windows(6).any(|part| part == b"CANARY"));
    assert_eq!(inlet.session.open(&mut wire), Err(LayerError::Closed));
    assert_eq!(inlet.session.seal(b"more", &mut [0; 64]), Err(LayerError::Closed));
}

#[test]
fn replayed_dropped_reordered_reflected_and_spliced_records_are_refused() {
    type Attack = fn([Vec<u8>; 3], Vec<u8>, Vec<u8>) -> Vec<u8>;
    let attacks: [(&str, Attack); 5] = [
        ("replayed", |[a, ..], _, _| [a.clone(), a].concat()),
        ("dropped", |[_, b, _], _, _| b),
        ("reordered", |[a, b, c], _, _| [a, c, b].concat()),
        ("reflected", |_, own, _| own),
        ("spliced", |[a, ..], _, other| [a, other].concat()),
    ];
    for (name, attack) in attacks {
        let (mut inlet, mut outlet) = sessions();
        let records = [b"one", b"two", b"six"].map(|plain| seal(&mut outlet.session, plain));
        let own = seal(&mut inlet.session, b"mine");
        let (_, mut elsewhere) = common::twins(77);
        seal(&mut elsewhere.session, b"one");
        let other = seal(&mut elsewhere.session, b"two");
        let wire = attack(records, own, other);
        assert!(open_all(&mut inlet.session, &wire).is_err(), "{name}");
    }
}

#[test]
fn a_cut_at_any_offset_is_seen() {
    let (_, mut outlet) = common::twins(3);
    let mut wire = seal(&mut outlet.session, b"first");
    wire.extend(seal(&mut outlet.session, b"the last sample"));
    wire.extend(close(&mut outlet.session));
    for cut in 0..=wire.len() {
        let (mut inlet, _) = common::twins(3);
        let (plain, ended) = open_all(&mut inlet.session, &wire[..cut]).unwrap();
        assert!(b"firstthe last sample".starts_with(&plain[..]));
        assert_eq!(ended, cut == wire.len(), "cut at {cut}");
        assert_eq!(inlet.session.end_of_input().is_ok(), ended, "cut at {cut}");
    }
}

#[test]
fn nothing_comes_after_the_end() {
    let (mut inlet, mut outlet) = sessions();
    let wire = close(&mut outlet.session);
    assert_eq!(outlet.session.seal(b"late", &mut [0; 64]), Err(LayerError::Closed));
    assert!(open_all(&mut inlet.session, &wire).unwrap().1);
    assert_eq!(inlet.session.open(&mut [0, 1]), Err(LayerError::Malformed));
}

#[test]
fn keys_change_on_time_and_on_count_without_a_pause() {
    let (mut inlet, mut outlet) = sessions();
    outlet.session.set_rekey_limits(RekeyLimits { lifetime: Duration::from_secs(60), records: 10 });
    let mut wire = Vec::new();
    for index in 0..100_u8 {
        wire.extend(seal(&mut outlet.session, &[index]));
    }
    // One record changes the key whenever ten have used it (the welcome was the first of all).
    let plain_records = 100 * (1 + RECORD_OVERHEAD);
    let changes = (wire.len() - plain_records) / RECORD_OVERHEAD;
    assert_eq!(changes, 10);
    let (plain, _) = open_all(&mut inlet.session, &wire).unwrap();
    assert_eq!(plain, (0..100).collect::<Vec<u8>>());
}

#[test]
fn a_lifetime_is_measured_from_the_first_tick() {
    let (_, mut outlet) = sessions();
    outlet.session.tick(Duration::from_secs(5));
    outlet.session.tick(Duration::from_secs(3604));
    assert_eq!(seal(&mut outlet.session, b"a").len(), 1 + RECORD_OVERHEAD);
    let (mut inlet_2, mut outlet_2) = sessions();
    outlet_2.session.tick(Duration::from_secs(5));
    outlet_2.session.tick(Duration::from_secs(3605));
    let wire = seal(&mut outlet_2.session, b"a");
    assert_eq!(wire.len(), 1 + 2 * RECORD_OVERHEAD);
    assert_eq!(open_all(&mut inlet_2.session, &wire).unwrap().0, b"a");
}

#[test]
fn no_key_meets_a_nonce_twice() {
    // Equal plaintexts under an equal (key, nonce) would give equal ciphertexts. Over rekeys, both
    // directions and many sessions between the same two processes, none repeats.
    let (mut inlet_device, mut outlet_device) = pair();
    let mut seen = HashSet::new();
    for _ in 0..20 {
        let (mut inlet, mut outlet) = connect(Suite::Hybrid, &mut inlet_device, &mut outlet_device).unwrap();
        for side in [&mut inlet.session, &mut outlet.session] {
            side.set_rekey_limits(RekeyLimits { records: 7, ..RekeyLimits::default() });
            for _ in 0..100 {
                let wire = seal(side, &[0; 32]);
                assert!(seen.insert(wire[wire.len() - 48..wire.len() - 16].to_vec()), "a key stream repeats");
            }
        }
    }
}

/// The first bytes of every record's key stream; a (key, nonce) pair that came again would give the same.
struct KeyStreams(HashSet<[u8; 16]>);

impl KeyStreams {
    /// Takes apart what was sealed from zeros: then the ciphertext is the key stream.
    fn note(&mut self, mut wire: &[u8]) -> usize {
        let mut count = 0;
        while let [kind, a, b, c, ..] = *wire {
            let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            let (record, rest) = wire.split_at(length + RECORD_OVERHEAD);
            if let Some(stream) = record[4..4 + length].first_chunk().filter(|_| kind == 0) {
                assert!(self.0.insert(*stream), "a key meets a nonce twice");
                count += 1;
            }
            wire = rest;
        }
        count
    }
}

/// Seals zeros as an outlet does: with what was made ahead, and then makes that for the next.
fn seal_prepared(side: &mut Secure, length: usize) -> Vec<u8> {
    let (plain, mut wire) = (vec![0; length], vec![0; side.sealed_len(length)]);
    let sealed = side.seal(&plain, &mut wire).unwrap();
    wire.truncate(sealed);
    side.idle(Duration::ZERO);
    wire
}

#[test]
fn key_streams_never_repeat_whatever_sessions_do() {
    // Random flushes of one to several records; rekeys by hand, by count and by time; control records; and
    // restarts. After a restart, the same two devices begin again with new processes' randomness.
    let (mut random, mut streams) = (Seeded(0x5EED), KeyStreams(HashSet::new()));
    let mut count = 0;
    for restart in 0..30_u64 {
        let (mut inlet_device, mut outlet_device) = common::small_pair();
        (inlet_device.entropy, outlet_device.entropy) = (Seeded(2 * restart + 1), Seeded(0xF00D + restart));
        let suite = if restart % 2 == 0 { Suite::Classic } else { Suite::Hybrid };
        let (mut inlet, mut outlet) = connect(suite, &mut inlet_device, &mut outlet_device).unwrap();
        for side in [&mut inlet.session, &mut outlet.session] {
            let records = 1 + random.below(40) as u64;
            side.set_rekey_limits(RekeyLimits { lifetime: Duration::from_secs(60), records });
            let mut now = Duration::ZERO;
            for _ in 0..60 {
                match random.below(8) {
                    0 => side.request_rekey(),
                    1 => {
                        now += Duration::from_secs(random.below(90) as u64);
                        side.tick(now);
                    }
                    2 => drop(side.seal_control(&[9; 20], &mut [0; 256]).unwrap()),
                    3 => {
                        count += streams.note(&seal(side, &vec![0; MAX_RECORD * (1 + random.below(4)) + 32]))
                    }
                    4 => count += streams.note(&seal(side, &vec![0; 16 + random.below(300)])),
                    _ => count += streams.note(&seal_prepared(side, 41)),
                }
            }
        }
    }
    assert!(count > 2000, "{count}");
}

#[test]
fn a_cloned_process_shares_no_key_with_its_copy() {
    // A machine is copied as it runs: both copies draw the same random bytes. The peer's own are enough.
    let mut streams = KeyStreams(HashSet::new());
    for copy in 0..20_u64 {
        for cloned_is_inlet in [true, false] {
            let (mut inlet, mut outlet) = common::small_pair();
            let (same, other) = (Seeded(0xC10E), Seeded(0xAB + copy));
            (inlet.entropy, outlet.entropy) = if cloned_is_inlet { (same, other) } else { (other, same) };
            let (mut inlet, mut outlet) = connect(Suite::Hybrid, &mut inlet, &mut outlet).unwrap();
            for side in [&mut inlet.session, &mut outlet.session] {
                streams.note(&seal(side, &[0; 64]));
            }
        }
    }
    assert_eq!(streams.0.len(), 80);
}

#[test]
fn control_messages_bypass_the_protocol_above() {
    let (mut inlet, mut outlet) = sessions();
    let piece = Piece { number: 7, total: 100, offset: 20, bytes: b"revoked" };
    let mut message = [0; 64];
    let length = piece.encode(&mut message).unwrap();
    let mut wire = [0; 256];
    let length = outlet.session.seal_control(&message[..length], &mut wire).unwrap();
    let Ok(Opened::Control { consumed, message }) = inlet.session.open(&mut wire[..length]) else { panic!() };
    assert_eq!(consumed, length);
    assert_eq!(Piece::parse(&wire[message]), Some(piece));
    assert_eq!(Piece::parse(b"\x09from a later version"), None);
}

#[test]
fn a_buffer_that_is_too_short_seals_nothing() {
    let (mut inlet, mut outlet) = sessions();
    assert_eq!(outlet.session.seal(b"four", &mut [0; 20]), Err(LayerError::NoSpace));
    let wire = seal(&mut outlet.session, b"four");
    assert_eq!(open_all(&mut inlet.session, &wire).unwrap().0, b"four");
}

#[test]
fn an_announced_length_is_bounded() {
    let (mut inlet, _) = sessions();
    assert_eq!(inlet.session.open(&mut [0, 1, 0x40, 0]), Err(LayerError::Oversized));
}
