use super::*;
use crate::testing::{array, hex, kat};

fn pair(exponent: &serde_json::Value) -> KeyPair {
    KeyPair::from_exponent(Group::Mse768, array(exponent))
}

fn parse(key: &[u8]) -> Result<PublicKey, HandshakeError> {
    PublicKey::parse(Group::Mse768, key)
}

#[test]
fn keys_and_secrets_equal_the_known_answers() {
    let dh = &kat()["dh"];
    let (a, b) = (pair(&dh["xa"]), pair(&dh["xb"]));
    assert_eq!(a.public_key(), hex(&dh["ya"]));
    assert_eq!(b.public_key(), hex(&dh["yb"]));
    for (own, peer) in [(&a, &b), (&b, &a)] {
        let secret = own.shared_secret(&parse(peer.public_key()).expect("in range"));
        assert_eq!(secret.expect("one group").as_bytes(), hex(&dh["s"]));
    }
}

#[test]
fn a_secret_keeps_its_leading_zeros_and_says_so() {
    for case in kat()["dh_short_secret"].as_array().expect("a list") {
        let own = pair(&case["x"]);
        assert_eq!(own.public_key(), hex(&case["y"]));
        let secret = own.shared_secret(&parse(&hex(&case["peer_y"])).expect("in range"));
        let secret = secret.expect("one group");
        assert_eq!(secret.as_bytes(), hex(&case["s"]));
        assert!(secret.starts_with_zero());
    }
}

#[test]
fn a_key_that_looks_like_a_plain_handshake_is_drawn_again() {
    let case = &kat()["dh_y_first_byte_13"];
    assert_eq!(pair(&case["x"]).public_key(), hex(&case["y"]));
    let mut draws = [hex(&case["x"]), hex(&kat()["dh"]["xa"])].into_iter();
    let drawn = KeyPair::random(Group::Mse768, |out| {
        out.copy_from_slice(&draws.next().expect("two draws are enough"));
    });
    assert_eq!(drawn.public_key(), hex(&kat()["dh"]["ya"]));
}

#[test]
fn keys_out_of_range_are_refused_and_the_edges_accepted() {
    for key in kat()["reject_public_keys"].as_array().expect("a list") {
        assert_eq!(parse(&hex(key)).err(), Some(HandshakeError::PublicKeyOutOfRange), "{key}");
    }
    for key in kat()["accept_public_keys"].as_array().expect("a list") {
        assert!(parse(&hex(key)).is_ok(), "{key}");
    }
    for len in [0, 1, 95, 97, 128] {
        assert!(parse(&alloc::vec![5; len]).is_err(), "{len} bytes");
    }
}

#[test]
fn the_edges_of_the_longer_group_are_the_same() {
    let prime = Number::from_words(Group::Oakley1024, &OAKLEY_1024_PRIME);
    let with_last = |last: u8| {
        let mut key = prime.as_bytes().to_vec();
        key[127] = last;
        PublicKey::parse(Group::Oakley1024, &key)
    };
    assert!(with_last(0xfd).is_ok(), "P - 2");
    assert!(with_last(0xfe).is_err(), "P - 1");
    assert!(with_last(0xff).is_err(), "P");
    for (last, good) in [(0, false), (1, false), (2, true)] {
        let mut key = [0; 128];
        key[127] = last;
        assert_eq!(PublicKey::parse(Group::Oakley1024, &key).is_ok(), good, "{last}");
    }
}

#[test]
fn both_sides_agree_in_either_group_for_a_thousand_keys() {
    let mut seed = 1u64;
    let mut random = |out: &mut [u8]| {
        for byte in out {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (seed >> 56) as u8;
        }
    };
    for n in 0..1_000 {
        let group = if n % 2 == 0 { Group::Mse768 } else { Group::Oakley1024 };
        let (a, b) = (KeyPair::random(group, &mut random), KeyPair::random(group, &mut random));
        let at_a = a.shared_secret(&PublicKey::parse(group, b.public_key()).expect("in range"));
        let at_b = b.shared_secret(&PublicKey::parse(group, a.public_key()).expect("in range"));
        assert_eq!(at_a.expect("one group").as_bytes(), at_b.expect("one group").as_bytes(), "{group:?}");
    }
}

#[test]
fn the_arithmetic_survives_its_edges() {
    // 2^0, 2^1, the largest exponent, and bases at both ends of the range, against identities of any
    // group. g^x as a base power equals g^x as a power of two, and (P-2)^2 = 4.
    let two = parse(&with_last(2)).expect("in range");
    for exponent in [[0; 20], with_last_20(1), with_last_20(31), [0xff; 20], [0x80; 20]] {
        let pair = KeyPair::from_exponent(Group::Mse768, exponent);
        let power = pair.shared_secret(&two).expect("one group");
        assert_eq!(pair.public_key(), power.as_bytes(), "{exponent:?}");
    }
    let highest = Number::from_words(Group::Mse768, &less_two(&MSE_768_PRIME));
    let highest = parse(highest.as_bytes()).expect("in range");
    let square = KeyPair::from_exponent(Group::Mse768, with_last_20(2)).shared_secret(&highest);
    assert_eq!(square.expect("one group").as_bytes(), with_last(4));
}

#[test]
fn a_key_of_another_group_is_refused() {
    let own = KeyPair::from_exponent(Group::Mse768, [9; 20]);
    let other = KeyPair::from_exponent(Group::Oakley1024, [9; 20]);
    let other = PublicKey::parse(Group::Oakley1024, other.public_key()).expect("in range");
    assert!(own.shared_secret(&other).is_err());
}

fn with_last(last: u8) -> [u8; 96] {
    core::array::from_fn(|n| if n == 95 { last } else { 0 })
}

fn with_last_20(last: u8) -> [u8; 20] {
    core::array::from_fn(|n| if n == 19 { last } else { 0 })
}
