//! What this side does with what peers do: the behaviour table of mse §8, row by row.

mod support;

use schwann_mse::{
    Accept, Draw, Group, Handshake, HandshakeError, InfoHash, Initiator, KeyPair, Method, Methods, Offer,
    PREFIX, PublicKey, Rc4, Responder, SkeyIndex, Status,
};
use sha1::{Digest, Sha1};
use support::{End, Random, exchange, give, hex, vector};

const TORRENT: InfoHash = InfoHash([0x5a; 20]);

/// A scripted initiator that may break every rule.
struct Script {
    key_pad: usize,
    provide: u32,
    crypto_pad: usize,
    crypto_pad_byte: u8,
    payload: usize,
    /// Bytes sent after IA, before step 4.
    early: usize,
    torrent: InfoHash,
    vc: [u8; 8],
}

impl Default for Script {
    fn default() -> Self {
        Self {
            key_pad: 20,
            provide: 2,
            crypto_pad: 9,
            crypto_pad_byte: 0,
            payload: 68,
            early: 0,
            torrent: TORRENT,
            vc: [0; 8],
        }
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 20] {
    parts.iter().fold(Sha1::new(), |digest, part| digest.chain_update(part)).finalize().into()
}

fn draw(seed: u64, key_pad: usize, crypto_pad: usize) -> Draw {
    let mut random = Random(seed);
    Draw { key: random.key(Group::Mse768), key_pad: random.bytes(key_pad), crypto_pad }
}

/// Plays the script against our responder; returns its verdict and how much of the early bytes it left.
fn respond(script: &Script, accept: Accept) -> Result<(Status, usize), HandshakeError> {
    let mut b = Responder::new(TORRENT, accept, draw(1, 33, 7));
    let key = KeyPair::from_exponent(Group::Mse768, [0x77; 20]);
    let mut step2 = Vec::new();
    let step1 = [key.public_key(), &vec![9; script.key_pad]].concat();
    give(&mut b, &step1, &mut step2)?;
    let peer = PublicKey::parse(Group::Mse768, &step2[..96]).expect("our own key");
    let secret = key.shared_secret(&peer).expect("one group");
    let s = secret.as_bytes();
    let mut fields = script.vc.to_vec();
    fields.extend(script.provide.to_be_bytes());
    fields.extend((script.crypto_pad as u16).to_be_bytes());
    fields.resize(fields.len() + script.crypto_pad, script.crypto_pad_byte);
    fields.extend((script.payload as u16).to_be_bytes());
    fields.resize(fields.len() + script.payload + script.early, b'p');
    Rc4::with_discard(&hash(&[b"keyA", s, &script.torrent.0])).apply(&mut fields);
    let (req2, req3) = (hash(&[b"req2", &script.torrent.0]), hash(&[b"req3", s]));
    let name: Vec<u8> = req2.iter().zip(req3).map(|(a, b)| a ^ b).collect();
    let step3 = [&hash(&[b"req1", s])[..], &name, &fields].concat();
    give(&mut b, &step3, &mut Vec::new()).map(|(status, left)| (status, left.len()))
}

fn selected(script: &Script, accept: Accept) -> Option<Method> {
    match respond(script, accept) {
        Ok((Status::Established(done), _)) => Some(done.method),
        _ => None,
    }
}

#[test]
fn as_responder_every_row_of_the_table() {
    let required = Accept::default();
    let both = Methods::of(&[Method::Rc4, Method::Plaintext]);
    let relaxed = Accept::new(both, Method::Rc4);
    let rc4 = Some(Method::Rc4);
    let row = |script: Script, with_required, with_relaxed| {
        assert_eq!(selected(&script, required), with_required);
        assert_eq!(selected(&script, relaxed), with_relaxed);
    };
    for payload in [0, 1, 40, 68] {
        row(Script { payload, ..Script::default() }, rc4, rc4);
    }
    for payload in [69, 73, 65_535] {
        row(Script { payload, ..Script::default() }, None, None);
    }
    for (provide, with_required, with_relaxed) in [
        (0, None, None),
        (1, None, Some(Method::Plaintext)),
        (2, rc4, rc4),
        (3, rc4, rc4),
        (4, None, None),
        (0xffff_fffe, rc4, rc4),
    ] {
        row(Script { provide, ..Script::default() }, with_required, with_relaxed);
    }
    for pad in [0, 1, 511, 512] {
        row(Script { key_pad: pad, crypto_pad: pad, ..Script::default() }, rc4, rc4);
    }
    row(Script { key_pad: 513, ..Script::default() }, None, None);
    row(Script { crypto_pad: 513, ..Script::default() }, None, None);
    row(Script { crypto_pad_byte: 0xa5, ..Script::default() }, rc4, rc4);
    row(Script { torrent: InfoHash([1; 20]), ..Script::default() }, None, None);
    row(Script { vc: [0, 0, 0, 0, 0, 0, 0, 1], ..Script::default() }, None, None);
    let prefers_plaintext = Accept::new(both, Method::Plaintext);
    let chosen = selected(&Script { provide: 3, ..Script::default() }, prefers_plaintext);
    assert_eq!(chosen, Some(Method::Plaintext));
}

#[test]
fn payload_sent_before_step_4_is_left_for_the_protocol_above() {
    let (status, left) = respond(&Script { early: 17, ..Script::default() }, Accept::default())
        .expect("clients that wait are right, but others exist");
    assert!(matches!(status, Status::Established(_)));
    assert_eq!(left, 17);
}

#[test]
fn a_longer_initial_payload_is_taken_only_where_it_is_asked_for() {
    let mut accept = Accept::default();
    accept.initial_payload_max = 65_535;
    let long = Script { payload: 65_535, ..Script::default() };
    let Ok((Status::Established(done), 0)) = respond(&long, accept) else {
        panic!("65,535 bytes are what the field can say");
    };
    assert_eq!(done.initial_payload, vec![b'p'; 65_535]);
}

/// A scripted responder: answers our initiator with these fields.
fn answer(pad_b: usize, select: u32, pad_d: usize, offered: Methods) -> Result<Status, HandshakeError> {
    let mut a = Initiator::new(TORRENT, Offer::new(offered, Vec::new()), draw(2, 5, 6))?;
    let step1 = a.poll_output().expect("step 1");
    let key = KeyPair::from_exponent(Group::Mse768, [0x66; 20]);
    let secret = key
        .shared_secret(&PublicKey::parse(Group::Mse768, &step1[..96]).expect("our own key"))
        .expect("one group");
    let mut fields = vec![0; 8];
    fields.extend(select.to_be_bytes());
    fields.extend((pad_d as u16).to_be_bytes());
    fields.resize(fields.len() + pad_d, 3);
    Rc4::with_discard(&hash(&[b"keyB", secret.as_bytes(), &TORRENT.0])).apply(&mut fields);
    let answer = [key.public_key(), &vec![8; pad_b], &fields].concat();
    give(&mut a, &answer, &mut Vec::new()).map(|(status, _)| status)
}

#[test]
fn as_initiator_every_row_of_the_table() {
    let both = Methods::of(&[Method::Rc4, Method::Plaintext]);
    let method = |pad_b, select, pad_d, offered| match answer(pad_b, select, pad_d, offered) {
        Ok(Status::Established(done)) => Ok(done.method),
        Ok(_) => panic!("no decision"),
        Err(error) => Err(error),
    };
    assert_eq!(method(512, 2, 512, Methods::RC4), Ok(Method::Rc4));
    assert_eq!(method(0, 1, 0, both), Ok(Method::Plaintext));
    assert_eq!(method(513, 2, 0, both), Err(HandshakeError::NoSynchronisation));
    assert_eq!(method(0, 2, 513, both), Err(HandshakeError::PadTooLong { announced: 513 }));
    for (select, offered) in [(0, both), (3, both), (4, both), (1, Methods::RC4)] {
        let refused = Err(HandshakeError::MethodNotOffered { selected: select });
        assert_eq!(method(0, select, 0, offered), refused, "{select}");
    }
    // An unknown bit that we advertised is still no method.
    let odd = Methods::from_bits(0x8000_0002);
    let refused = Err(HandshakeError::MethodNotOffered { selected: 0x8000_0000 });
    assert_eq!(method(0, 0x8000_0000, 0, odd), refused);
}

#[test]
fn edge_public_keys_are_refused_before_a_byte_is_sent() {
    for key in vector("kat")["reject_public_keys"].as_array().expect("a list") {
        let mut sent = Vec::new();
        let mut b = Responder::new(TORRENT, Accept::default(), draw(3, 0, 0));
        let refused = give(&mut b, &hex(key), &mut sent).expect_err("out of range");
        assert_eq!((refused, sent.len()), (HandshakeError::PublicKeyOutOfRange, 0), "{key}");
        let mut a = Initiator::new(TORRENT, Offer::default(), draw(3, 0, 0)).expect("no IA");
        a.poll_output();
        let refused = give(&mut a, &hex(key), &mut sent).expect_err("out of range");
        assert_eq!((refused, sent.len()), (HandshakeError::PublicKeyOutOfRange, 0), "{key}");
    }
}

#[test]
fn a_plain_peer_is_recognised_at_twenty_bytes_and_handed_back_untouched() {
    let handshake = [&PREFIX[..], &[1; 48]].concat();
    for step in [1, 7, 20, 68] {
        let mut b = Responder::new(TORRENT, Accept::default(), draw(4, 0, 0));
        let mut a = Initiator::new(TORRENT, Offer::default(), draw(4, 0, 0)).expect("no IA");
        let machines: [&mut dyn Handshake; 2] = [&mut a, &mut b];
        for machine in machines {
            machine.poll_output();
            let mut got = Vec::new();
            for piece in handshake.chunks(step) {
                if got.is_empty() {
                    match give(machine, piece, &mut Vec::new()).expect("plain is no error") {
                        (Status::Plain(bytes), rest) => got = [&bytes, rest].concat(),
                        (status, _) => assert!(matches!(status, Status::Wait)),
                    }
                } else {
                    got.extend_from_slice(piece);
                }
            }
            assert_eq!(got, handshake, "in steps of {step}");
        }
    }
    // Nineteen equal bytes are a public key like any other.
    let mut b = Responder::new(TORRENT, Accept::default(), draw(4, 0, 0));
    let mut key = [&PREFIX[..19], &[0; 77]].concat();
    key[50] = 1;
    let mut sent = Vec::new();
    give(&mut b, &key, &mut sent).expect("in range");
    assert_eq!(sent.len(), 96);
}

#[test]
fn a_false_beginning_of_the_mark_inside_the_padding_does_not_mislead() {
    for cut in 1..8 {
        let mut a = Initiator::new(TORRENT, Offer::default(), draw(5, 0, 0)).expect("no IA");
        let step1 = a.poll_output().expect("step 1");
        let key = KeyPair::from_exponent(Group::Mse768, [0x55; 20]);
        let secret = key
            .shared_secret(&PublicKey::parse(Group::Mse768, &step1[..96]).expect("ours"))
            .expect("one group");
        let mut fields = vec![0; 14];
        fields[11] = 2;
        Rc4::with_discard(&hash(&[b"keyB", secret.as_bytes(), &TORRENT.0])).apply(&mut fields);
        let answer = [key.public_key(), &fields[..cut], &fields[..cut], &fields].concat();
        let (status, _) = give(&mut a, &answer, &mut Vec::new()).expect("the third is whole");
        let Status::Established(done) = status else { panic!("cut at {cut}") };
        assert_eq!(done.key_pad, 2 * cut);
    }
}

#[test]
fn each_connection_finds_its_own_torrent_among_many() {
    let mut random = Random(6);
    for count in [1, 100, 100_000] {
        let torrents: Vec<InfoHash> = (0..count).map(|_| random.info_hash()).collect();
        let index: SkeyIndex = torrents.iter().copied().collect();
        let wanted = [torrents[0], torrents[count - 1]];
        let mut ends: Vec<_> = wanted
            .map(|torrent| {
                let a = Initiator::new(torrent, Offer::default(), draw(random.next(), 8, 8));
                let b = Responder::new(&index, Accept::default(), draw(random.next(), 8, 8));
                (a.expect("no IA"), b)
            })
            .into();
        for (n, (a, b)) in ends.iter_mut().enumerate() {
            let (mut a, mut b) = (End::new(a), End::new(b));
            exchange(&mut a, &mut b, || 50).expect("known");
            assert_eq!(b.done.expect("done").info_hash, wanted[n]);
        }
    }
}

#[test]
fn peers_configured_for_different_groups_fail_with_a_clear_error() {
    use schwann_mse::Stage;
    use schwann_mse::policy::{Cause, Failure};
    for initiator_long in [true, false] {
        let group = |long| if long { Group::Oakley1024 } else { Group::Mse768 };
        let with = |long, seed| Draw { key: Random(seed).key(group(long)), ..draw(seed, 100, 0) };
        let mut a = Initiator::new(TORRENT, Offer::default(), with(initiator_long, 1)).expect("no IA");
        let mut b = Responder::new(TORRENT, Accept::default(), with(!initiator_long, 2));
        let step1 = a.poll_output().expect("step 1");
        let mut sent = Vec::new();
        give(&mut b, &step1, &mut sent).expect("padding makes up for the length");
        let mut step3 = Vec::new();
        let at_a = give(&mut a, &sent, &mut step3).map(|_| ());
        let at_b = give(&mut b, &[&step3[..], &[0; 600]].concat(), &mut Vec::new()).map(|_| ());
        assert_eq!(at_b, Err(HandshakeError::NoSynchronisation));
        let long = if initiator_long {
            let cause = at_a.map_or_else(Cause::Handshake, |()| Cause::Closed);
            Failure::mse(cause, a.progress())
        } else {
            Failure::mse(Cause::Handshake(HandshakeError::NoSynchronisation), b.progress())
        };
        assert!(long.suggests_another_group(), "{long:?}");
        assert!(!long.leaves_plain_open() || long.progress.expect("mse").stage == Stage::Key);
    }
}

#[test]
fn a_machine_that_has_ended_says_so() {
    let mut b = Responder::new(TORRENT, Accept::default(), draw(7, 0, 0));
    give(&mut b, &[0; 96], &mut Vec::new()).expect_err("zero is no key");
    let again = give(&mut b, &[2; 96], &mut Vec::new()).expect_err("it has ended");
    assert_eq!(again, HandshakeError::Finished);
}
