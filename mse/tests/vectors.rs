//! Golden vectors: sessions with fixed draws, and sessions recorded with four real clients.

mod support;

use schwann_mse::{
    Accept, BtHandshake, Draw, Group, Handshake, InfoHash, Initiator, KeyPair, Method, Methods, Offer,
    Responder, Status,
};
use serde_json::Value;
use support::{End, array, exchange, give, hex, vector, vector_names};

fn draw(x: &Value, key_pad: &Value, crypto_pad: &Value) -> Draw {
    Draw {
        key: KeyPair::from_exponent(Group::Mse768, array(x)),
        key_pad: hex(key_pad),
        crypto_pad: hex(crypto_pad).len(),
    }
}

fn bits(value: &Value) -> u32 {
    value.as_u64().and_then(|bits| u32::try_from(bits).ok()).expect("32 bits")
}

fn offer(case: &Value) -> Offer {
    Offer::new(Methods::from_bits(bits(&case["provide"])), hex(&case["ia"]))
}

fn accept(case: &Value) -> Accept {
    let preferred = Method::from_bit(bits(&case["prefer"])).expect("one method");
    Accept::new(Methods::from_bits(bits(&case["allow"])), preferred)
}

fn own_machines(case: &Value) -> (Initiator, Responder<InfoHash>) {
    let skey = InfoHash(array(&case["skey"]));
    let a = draw(&case["a"]["x"], &case["a"]["pad_a"], &case["a"]["pad_c"]);
    let b = draw(&case["b"]["x"], &case["b"]["pad_b"], &case["b"]["pad_d"]);
    let initiator = Initiator::new(skey, offer(case), a).expect("IA fits");
    (initiator, Responder::new(skey, accept(case), b))
}

#[test]
fn both_roles_send_the_recorded_bytes_and_agree() {
    let names = vector_names(true);
    assert_eq!(names.len(), 6);
    for name in names {
        let case = vector(&name);
        let (mut a, mut b) = own_machines(&case);
        let mut steps = Vec::new();
        let (mut at_a, mut at_b) = (None, None);
        steps.extend(a.poll_output());
        for turn in 0..4 {
            let (to, done): (&mut dyn Handshake, _) =
                if turn % 2 == 0 { (&mut b, &mut at_b) } else { (&mut a, &mut at_a) };
            let mut sent = Vec::new();
            let last = steps.last().expect("a step").clone();
            if let (Status::Established(established), rest) = give(to, &last, &mut sent).expect(&name) {
                assert!(rest.is_empty());
                *done = Some(established);
            }
            steps.push(sent);
        }
        let flights = case["flights"].as_array().expect("a list");
        for (n, flight) in flights.iter().enumerate() {
            assert_eq!(steps[n], hex(&flight[1]), "{name}, flight {n}");
        }
        let (mut at_a, mut at_b) = (at_a.expect("a is done"), at_b.expect("b is done"));
        assert_eq!(at_a.method.bit(), bits(&case["selected"]), "{name}");
        assert_eq!(at_b.method, at_a.method);
        assert_eq!(at_b.initial_payload, hex(&case["ia"]));
        for line in case["payload"].as_array().expect("a list") {
            let from_a = line[0] == "A";
            let (from, to) = if from_a { (&mut at_a, &mut at_b) } else { (&mut at_b, &mut at_a) };
            let mut bytes = hex(&line[1]);
            from.outgoing.apply(&mut bytes);
            assert_eq!(bytes, hex(&line[2]), "{name}");
            to.incoming.apply(&mut bytes);
            assert_eq!(bytes, hex(&line[1]), "{name}");
        }
    }
}

#[test]
fn every_flight_may_be_split_at_every_byte() {
    for name in vector_names(true) {
        let case = vector(&name);
        let longest = 650;
        for step in (1..12).chain((12..longest).step_by(61)) {
            let (mut a, mut b) = own_machines(&case);
            let (mut a, mut b) = (End::new(&mut a), End::new(&mut b));
            exchange(&mut a, &mut b, || step).expect(&name);
            a.say(b"from a");
            b.say(b"from b");
            exchange(&mut a, &mut b, || step).expect(&name);
            assert_eq!(a.payload, b"from b", "{name} in steps of {step}");
            assert_eq!(b.payload, [&hex(&case["ia"])[..], b"from a"].concat());
        }
    }
}

/// The recorded sessions: we are one of the two sides; the other is a real client's bytes.
#[test]
fn sessions_recorded_with_real_clients_replay_byte_for_byte() {
    let names = vector_names(false);
    assert_eq!(names.len(), 15);
    for name in &names {
        let case = vector(name);
        // As one piece a flight, byte by byte, and in uneven pieces.
        for step in [usize::MAX, 1, 7] {
            replay(name, &case, step);
        }
    }
}

fn replay(name: &str, case: &Value, step: usize) {
    let skey = InfoHash(array(&case["skey"]));
    let ours = &case["ours"];
    let draw = draw(&ours["x"], &ours["pad_pub"], &ours["pad_crypto"]);
    let mut machine: Box<dyn Handshake> = if case["our_role"] == "initiator" {
        Box::new(Initiator::new(skey, offer(case), draw).expect("IA fits"))
    } else {
        Box::new(Responder::new(skey, accept(case), draw))
    };
    let mut sent = machine.poll_output().unwrap_or_default();
    let (mut expected, mut received, mut done) = (Vec::new(), Vec::new(), None);
    for flight in case["flights"].as_array().expect("a list") {
        let bytes = hex(&flight[1]);
        if flight[0] == "out" {
            expected.extend_from_slice(&bytes);
            continue;
        }
        for piece in bytes.chunks(step.min(bytes.len())) {
            let mut rest = piece;
            if done.is_none() {
                let (status, left) = give(&mut *machine, piece, &mut sent).expect(name);
                rest = left;
                if let Status::Established(established) = status {
                    received.extend_from_slice(&established.initial_payload);
                    done = Some(established);
                }
            }
            if let Some(done) = &mut done {
                let start = received.len();
                received.extend_from_slice(rest);
                done.incoming.apply(&mut received[start..]);
            }
        }
    }
    let done = done.unwrap_or_else(|| panic!("{name}: no agreement"));
    assert!(expected.starts_with(&sent), "{name}: our bytes differ");
    assert_eq!(done.method.bit(), bits(&case["selected"]), "{name}");
    let theirs = hex(&case["peer_bt_handshake"]);
    assert!(received.starts_with(&theirs), "{name}: the client's handshake does not come out");
    let parsed = BtHandshake::parse(theirs.first_chunk().expect("68 bytes")).expect("BitTorrent");
    assert_eq!(parsed.info_hash, skey);
    if case["our_role"] == "responder" {
        assert_eq!(done.offered.bits(), bits(&case["crypto_provide"]), "{name}");
        assert_eq!(done.initial_payload, hex(&case["ia"]), "{name}");
    } else {
        assert_eq!(done.key_pad, hex(&case["decoded"]["pad_b"]).len(), "{name}");
        assert_eq!(done.crypto_pad, hex(&case["decoded"]["pad_d"]).len(), "{name}");
    }
}
