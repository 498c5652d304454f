//! Keys that are stolen later open no recording: a thief tries.

#[path = "common/thief.rs"]
mod thief;

use std::path::PathBuf;

use thief::{Datagram, Memory, Recording, candidates, open_with_memory, try_everything};

/// The published session of the hybrid suite, with every secret that went into it.
struct Published(String);

impl Published {
    fn read() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/vectors/secure-session.json");
        let text = std::fs::read_to_string(path).unwrap();
        Self(text)
    }

    fn bytes(&self, object: &str, name: &str) -> Vec<u8> {
        let (_, rest) = self.0.split_once(&format!("\"{object}\": {{")).unwrap();
        let (_, rest) = rest.split_once(&format!("\"{name}\": \"")).unwrap();
        let (hex, _) = rest.split_once('"').unwrap();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn recording(&self) -> Recording {
        let get = |name| self.bytes("hybrid", name);
        let from_inlet =
            [get("first_line_and_message_1"), get("message_3"), get("inlet_record_0_data_request")].concat();
        let from_outlet = [get("message_2"), get("welcome"), get("outlet_record_1_data_sample")].concat();
        Recording::parse(&from_inlet, &from_outlet).unwrap()
    }

    fn memory(&self) -> Memory {
        let get = |name| self.bytes("hybrid", name);
        Memory {
            noise_static: get("inlet_noise_static_secret").try_into().unwrap(),
            noise_ephemeral: get("inlet_noise_ephemeral_secret").try_into().unwrap(),
            ml_kem_seed: get("inlet_ml_kem_seed_d_z").try_into().unwrap(),
        }
    }

    /// All that lies on the disks of the two devices and of the authority.
    fn stored(&self) -> Vec<Vec<u8>> {
        let lab = ["authority_seed", "authority_public", "discovery_key"].map(|name| self.bytes("lab", name));
        let devices = ["inlet_device_seed", "outlet_device_seed", "inlet_certificate", "outlet_certificate"];
        lab.into_iter().chain(devices.map(|name| self.bytes("hybrid", name))).collect()
    }
}

#[test]
fn all_stored_keys_open_no_recording() {
    let published = Published::read();
    let secrets = candidates(&published.stored());
    let (tried, opened) = try_everything(&published.recording(), &secrets);
    assert_eq!(opened, Vec::<String>::new(), "of {tried} attempts");
    assert!(tried > 5_000, "{tried}");
}

#[test]
fn the_thief_is_able_to_open_what_it_has_the_secrets_of() {
    let published = Published::read();
    let (recording, memory) = (published.recording(), published.memory());
    let (request, welcome) = open_with_memory(&recording, &memory).unwrap();
    assert_eq!(request, b"LSL:streamfeed/110 uid\r\n");
    assert_eq!((welcome[0], welcome.len()), (1, 73));
    // And the search finds an ephemeral key that was not forgotten.
    let leaked = candidates(&[memory.noise_ephemeral.to_vec()]);
    assert_eq!(try_everything(&recording, &leaked).1, ["the outlet's static key"]);
}

#[test]
fn stored_keys_open_no_clock_probe_no_answer_and_of_a_search_what_says_nothing() {
    let published = Published::read();
    let secrets = candidates(&published.stored());
    for (object, name) in [
        ("hybrid", "inlet_datagram_0_probe"),
        ("hybrid", "outlet_datagram_0_answer"),
        ("stored", "sealed_reply_info"),
    ] {
        let bytes = published.bytes(object, name);
        let datagram = Datagram::parse(&bytes).unwrap();
        assert!(!secrets.iter().any(|secret| datagram.opens_with(secret)), "{name}");
    }
    // A key of the session would open the probe.
    let probe = published.bytes("hybrid", "outlet_datagram_0_answer");
    let key = published.bytes("hybrid", "outlet_datagram_key_outlet_to_inlet").try_into().unwrap();
    let probe = Datagram::parse(&probe).unwrap();
    assert!(probe.is_probe() && probe.opens_with(&key));

    let names = ["sealed_query_at_port_16604", "sealed_reply_info"];
    let [query, reply] = names.map(|name| published.bytes("stored", name));
    let asked = Datagram::parse(&query).unwrap();
    let asked = secrets.iter().find_map(|secret| asked.query(secret)).expect("its key is stored");
    assert_eq!(asked.text, b"LSL:shortinfo\r\n\r\n16604 1234\r\n");
    assert!(!asked.tells());
    let reply = Datagram::parse(&reply).unwrap();
    assert!(reply.is_reply() && reply.answers(&asked));
    assert_eq!(reply.reply(&asked, &secrets), None);
    // It lacks a secret, not skill: with what either side drew and forgot, it opens.
    for name in ["query_ephemeral_secret", "reply_ephemeral_secret"] {
        let leaked = candidates(&[published.bytes("stored", name)]);
        assert_eq!(reply.reply(&asked, &leaked).as_deref(), Some(b"1234\r\n<info/>".as_slice()), "{name}");
    }
}

#[test]
fn without_the_post_quantum_secret_nothing_opens() {
    // A quantum computer has every X25519 key, and still lacks what ML-KEM carried.
    let published = Published::read();
    let memory = Memory { ml_kem_seed: [0; 64], ..published.memory() };
    assert!(open_with_memory(&published.recording(), &memory).is_none());
}

#[test]
fn the_key_derivation_is_hkdf() {
    // RFC 5869, test case 3 has no salt, which equals 32 zero bytes: the HMAC key is the same. The info is empty
    // as in Noise, and the first two blocks of the output are Noise's two keys.
    let [first, second] = thief::hkdf(&[0; 32], &[0x0b; 22]);
    let expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8";
    let made: String = [first, second].concat().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(&made[..84], expected);
}
