//! What needs a session by the million, made of keys that no handshake agreed on.

use std::{vec, vec::Vec};

use super::*;
use crate::handshake::ALERT;

mod attacker;

/// xorshift64* (Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// An outlet's and an inlet's end, both past the greeting.
fn ends() -> (Secure, Secure) {
    let key = |byte| Key::new(&[byte; 32]);
    (Secure::outlet(key(1), key(2), MAX_RECORD), Secure::outlet(key(2), key(1), MAX_RECORD))
}

/// Several records of all types, and where the last begins.
fn traffic(outlet: &mut Secure, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (mut wire, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..=random.below(3) {
        let piece: Vec<u8> = (0..=random.below(40)).map(|_| random.next() as u8).collect();
        let mut record = vec![0; outlet.sealed_len(piece.len())];
        if random.below(4) == 0 {
            outlet.request_rekey();
        }
        let length = outlet.seal(&piece, &mut record).unwrap();
        wire.extend_from_slice(&record[..length]);
        plain.extend(piece);
    }
    let mut record = [0; 64];
    let length = outlet.close(&mut record).unwrap();
    wire.extend_from_slice(&record[..length]);
    (wire, plain)
}

/// Flips a bit, sets a byte, adds, drops, reverses, swaps or repeats; always something.
fn mutate(wire: &mut Vec<u8>, random: &mut Random) {
    let before = wire.clone();
    while *wire == before || before.starts_with(wire) {
        wire.clone_from(&before);
        let (at, other) = (random.below(wire.len()), random.below(wire.len()));
        match random.below(7) {
            0 => wire[at] ^= 1 << random.below(8),
            1 => wire[at] = random.next() as u8,
            2 => wire.insert(at, random.next() as u8),
            3 => drop(wire.remove(at)),
            4 => wire[at..].reverse(),
            5 => wire.swap(at, other),
            _ => wire.extend_from_within(at..),
        }
    }
}

/// Opens all there is: what came out, and how it ended.
fn drain(inlet: &mut Secure, wire: &mut [u8]) -> (Vec<u8>, Result<bool, LayerError>) {
    let (mut start, mut plain) = (0, Vec::new());
    let mut ended = false;
    loop {
        let rest = &mut wire[start..];
        inlet.idle(Duration::ZERO);
        match inlet.open(rest) {
            Ok(Opened::Data { consumed, plain: range }) => {
                plain.extend_from_slice(&rest[range]);
                start += consumed;
            }
            Ok(Opened::Control { consumed, .. }) => start += consumed,
            Ok(Opened::End { consumed }) => {
                ended = true;
                start += consumed;
            }
            Ok(Opened::Incomplete) => return (plain, Ok(ended)),
            Err(error) => return (plain, Err(error)),
        }
    }
}

#[test]
fn no_mutated_record_is_ever_delivered() {
    // checks/47-session.sh runs a million of them.
    let count = std::env::var("SCHWANN_MUTATIONS").map_or(100_000, |count| count.parse().unwrap());
    let mut random = Random(0xBAD);
    for _ in 0..count {
        let (mut outlet, mut inlet) = ends();
        let (mut wire, plain) = traffic(&mut outlet, &mut random);
        mutate(&mut wire, &mut random);
        let (delivered, outcome) = drain(&mut inlet, &mut wire);
        assert!(plain.starts_with(&delivered), "an altered byte was delivered");
        // Either it was refused, or it waits for bytes that never come and counts as truncated. The
        // altered stream never passes for a whole one.
        assert!(outcome.is_err() || inlet.end_of_input().is_err(), "an alteration went unnoticed");
    }
}

#[test]
fn what_is_not_mutated_is_delivered_whole() {
    let mut random = Random(0x600D);
    for _ in 0..1000 {
        let (mut outlet, mut inlet) = ends();
        let (mut wire, plain) = traffic(&mut outlet, &mut random);
        assert_eq!(drain(&mut inlet, &mut wire), (plain, Ok(true)));
        assert!(inlet.end_of_input().is_ok());
    }
}

/// Records of these lengths, one after the other; prepared for or not.
fn records(lengths: &[usize], prepared: bool) -> Vec<Vec<u8>> {
    let (mut outlet, mut inlet) = ends();
    let mut records = Vec::new();
    for (number, &length) in lengths.iter().enumerate() {
        let plain = vec![number as u8; length];
        let mut wire = vec![0; outlet.sealed_len(length)];
        if prepared {
            inlet.idle(Duration::ZERO);
            outlet.idle(Duration::ZERO);
        }
        if number % 5 == 4 {
            outlet.request_rekey();
        }
        let sealed = outlet.seal(&plain, &mut wire).unwrap();
        wire.truncate(sealed);
        records.push(wire.clone());
        assert_eq!(drain(&mut inlet, &mut wire), (plain, Ok(false)));
    }
    records
}

/// Both ends after a record of this length, and what may be prepared for the next.
fn ready_ends(length: usize) -> (Secure, Secure) {
    let (mut outlet, mut inlet) = ends();
    let mut wire = vec![0; outlet.sealed_len(length)];
    let sealed = outlet.seal(&vec![7; length], &mut wire).unwrap();
    assert!(matches!(inlet.open(&mut wire[..sealed]), Ok(Opened::Data { .. })));
    outlet.idle(Duration::ZERO);
    inlet.idle(Duration::ZERO);
    (outlet, inlet)
}

#[test]
fn what_is_ready_serves_one_record_of_its_length() {
    let (mut outlet, mut inlet) = ready_ends(41);
    let mut wire = [0; 61];
    assert_eq!(outlet.seal_ready(&[1; 40], &mut wire), None, "another length");
    assert_eq!(outlet.seal_ready(&[1; 41], &mut wire[..60]), None, "no room");
    // Where no kernel makes key stream ahead, nothing is ever ready.
    if outlet.seal_ready(&[1; 41], &mut wire).is_some() {
        let opened = Opened::Data { consumed: 61, plain: RECORD_HEAD..RECORD_HEAD + 41 };
        assert_eq!(inlet.open(&mut wire), Ok(opened));
        assert_eq!(wire[RECORD_HEAD..RECORD_HEAD + 41], [1; 41]);
        assert_eq!(outlet.seal_ready(&[1; 41], &mut wire), None, "a key stream was used twice");
    }
}

#[test]
fn a_key_whose_time_is_over_seals_nothing_that_was_ready() {
    let limits = RekeyLimits { lifetime: Duration::from_secs(60), records: 2 };
    let due: [fn(&mut Secure, RekeyLimits); 3] = [
        |outlet, _| outlet.request_rekey(),
        |outlet, limits| {
            outlet.set_rekey_limits(RekeyLimits { records: 1, ..limits });
        },
        |outlet, limits| {
            outlet.set_rekey_limits(limits);
            outlet.tick(Duration::ZERO);
            outlet.tick(limits.lifetime);
        },
    ];
    for make_due in due {
        let (mut outlet, _) = ready_ends(41);
        make_due(&mut outlet, limits);
        assert_eq!(outlet.seal_ready(&[1; 41], &mut [0; 200]), None);
        assert_eq!(outlet.seal(&[1; 41], &mut [0; 200]), Ok(41 + 2 * RECORD_OVERHEAD));
    }
}

#[test]
fn a_forged_record_that_was_prepared_for_ends_the_session() {
    for place in 0..61 {
        let (mut outlet, mut inlet) = ready_ends(41);
        let mut wire = [0; 100];
        let sealed = outlet.seal(&[1; 41], &mut wire).unwrap();
        wire[place] ^= 4;
        let wire = &mut wire[..sealed];
        let opened = inlet.open(wire);
        if place < RECORD_HEAD {
            // Another kind, or another length.
            assert!(!matches!(opened, Ok(Opened::Data { .. })), "byte {place}");
        } else {
            assert_eq!(opened, Err(LayerError::Forged), "byte {place}");
            assert_eq!(wire[RECORD_HEAD..RECORD_HEAD + 41], [0; 41], "plaintext is left");
            assert_eq!(inlet.open(wire), Err(LayerError::Closed));
        }
    }
}

#[test]
fn what_is_prepared_for_makes_the_same_bytes_whatever_comes() {
    // Equal ones, shorter and longer ones, more than a stream made ahead serves, several in one call; keys change between.
    let lengths =
        [41, 41, 41, 41, 41, 40, 265, 0, 265, 1033, 1033, 1200, 1200, 20_000, 41, 41, 1, 1, 1089, 1088, 1088];
    assert_eq!(records(&lengths, true), records(&lengths, false));
}

#[test]
fn the_first_word_is_the_outlets() {
    let key = |byte| Key::new(&[byte; 32]);
    let mut outlet = Secure::outlet(key(1), key(2), MAX_RECORD);
    let mut inlet = Secure::inlet(key(2), key(1), MAX_RECORD);
    let mut wire = [0; 64];
    outlet.seal(b"data", &mut wire).unwrap();
    assert_eq!(inlet.open(&mut wire), Err(LayerError::Malformed));
}

#[test]
fn an_alert_in_place_of_the_greeting_is_a_refusal() {
    let key = |byte| Key::new(&[byte; 32]);
    let mut inlet = Secure::inlet(key(2), key(1), MAX_RECORD);
    assert_eq!(inlet.open(&mut [ALERT]), Err(LayerError::Refused));
    assert_eq!(inlet.refusal(), Some(Refusal::RefusedByPeer));
}

#[test]
fn what_is_sealed_in_place_is_what_is_sealed_from_elsewhere() {
    let key = |byte| Key::new(&[byte; 32]);
    let mut random = Random(11);
    for max in [256, 300, MAX_RECORD] {
        let [mut one, mut other] = [(); 2].map(|()| Secure::outlet(key(1), key(2), max));
        for _ in 0..200 {
            let plain: Vec<u8> = (0..random.below(1500)).map(|_| random.next() as u8).collect();
            if random.below(3) == 0 {
                one.request_rekey();
                other.request_rekey();
            }
            let [mut wire, mut placed] = [(); 2].map(|()| vec![0; one.sealed_len(plain.len())]);
            let length = one.seal(&plain, &mut wire).unwrap();
            let room = placed.get_mut(RECORD_HEAD..).unwrap_or_default();
            room.iter_mut().zip(&plain).for_each(|(to, from)| *to = *from);
            assert_eq!(other.seal(Plain::Placed(plain.len()), &mut placed), Ok(length));
            assert_eq!(placed[..length], wire[..length], "{} bytes in records of {max}", plain.len());
        }
        assert!(one.rekeys() > 30);
    }
}

#[test]
fn the_room_for_plaintext_is_all_that_there_is() {
    for max in [256, 300, MAX_RECORD] {
        let key = |byte| Key::new(&[byte; 32]);
        let session = Secure::outlet(key(1), key(2), max);
        for wire_len in 0..1500 {
            let room = session.plain_room(wire_len);
            assert!(room == 0 || session.sealed_len(room) <= wire_len, "{room} bytes in {wire_len}");
            assert!(session.sealed_len(room + 1) > wire_len, "{room} bytes in {wire_len}, of {max}");
        }
    }
}

#[test]
fn what_has_no_room_to_be_sealed_in_place_is_refused() {
    let (mut outlet, _) = ends();
    let mut wire = [0; 100];
    assert_eq!(outlet.seal(Plain::Placed(61), &mut wire), Err(LayerError::NoSpace));
    assert_eq!(outlet.seal(Plain::Placed(60), &mut wire), Ok(60 + RECORD_OVERHEAD));
}
