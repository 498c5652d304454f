//! A thief who recorded a connection, stole keys later, and now tries everything that they permit.
//!
//! Written from The Noise Protocol Framework and `docs/spec/secure-session.md`, over other libraries than
//! this crate's. So no mistake in them hides one there.

use std::collections::HashSet;

use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, KeyInit, XChaCha20Poly1305};
use ml_kem::{Decapsulate, ml_kem_768::DecapsulationKey};
use sha2::{Digest, Sha256, Sha512};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

pub(crate) type Secret = [u8; 32];

/// One recorded connection, hybrid suite: what each end sent, from the first byte on.
pub(crate) struct Recording {
    first_line: Vec<u8>,
    message_1: Vec<u8>,
    message_2: Vec<u8>,
    message_3: Vec<u8>,
    /// Sealed records of both directions, in order.
    pub(crate) from_inlet: Vec<Vec<u8>>,
    pub(crate) from_outlet: Vec<Vec<u8>>,
}

impl Recording {
    /// Cuts the bytes as the specification lays them down (secure-session §3.1 to §4.1).
    pub(crate) fn parse(from_inlet: &[u8], from_outlet: &[u8]) -> Option<Self> {
        let line = from_inlet.iter().position(|byte| *byte == b'\n')? + 1;
        let (first_line, rest) = from_inlet.split_at_checked(line)?;
        let (message_1, rest) = message(rest)?;
        let (message_3, from_inlet) = message(rest)?;
        let (message_2, from_outlet) = message(from_outlet)?;
        Some(Self {
            first_line: first_line.to_vec(),
            message_1,
            message_2,
            message_3,
            from_inlet: records(from_inlet),
            from_outlet: records(from_outlet),
        })
    }
}

fn message(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (message, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some((message.to_vec(), rest))
}

fn records(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let [_, a, b, c, ..] = *bytes {
        let length = 20 + usize::from(a) + (usize::from(b) << 8) + (usize::from(c) << 16);
        let Some((record, rest)) = bytes.split_at_checked(length) else { break };
        records.push(record.to_vec());
        bytes = rest;
    }
    records
}

/// Every secret that could lie in these bytes: all runs of 32, their hashes, and what Ed25519 makes of them.
pub(crate) fn candidates(stolen: &[Vec<u8>]) -> HashSet<Secret> {
    let mut all = HashSet::from([[0; 32]]);
    for run in stolen.iter().flat_map(|bytes| bytes.windows(32)) {
        let seed: Secret = run.try_into().expect("32 bytes");
        all.insert(seed);
        all.insert(Sha256::digest(seed).into());
        for half in Sha512::digest(seed).chunks(32) {
            all.insert(half.try_into().expect("32 bytes"));
        }
    }
    all
}

/// Tries every candidate as every secret of the handshake or the records, and as the outcome of every possible
/// exchange. Returns how much was tried, and what opened.
pub(crate) fn try_everything(recording: &Recording, secrets: &HashSet<Secret>) -> (usize, Vec<String>) {
    let (mut tried, mut opened) = (0, Vec::new());
    let mut attempt = |name: &str, key: &Secret, counter: u64, ad: &[u8], sealed: &[u8]| {
        tried += 1;
        if open(key, counter, ad, sealed).is_some() {
            opened.push(String::from(name));
        }
    };
    let after_e = Transcript::after_message_2s_e(recording);
    let (inlet_e, outlet_e) = (point(&recording.message_1), point(&recording.message_2));
    let sealed_static = &recording.message_2[32..80];
    for secret in secrets {
        // The keys of records are used as they are; a thief with one of them needs no
        // handshake.
        for (name, records) in [("inlet", &recording.from_inlet), ("outlet", &recording.from_outlet)] {
            for (counter, record) in (0..).zip(records.iter().take(4)) {
                attempt(&format!("{name}'s record {counter}"), secret, counter, &record[..4], &record[4..]);
            }
        }
        // Everything else hangs on the exchange of the ephemeral keys, `ee`, which seals the outlet's static key.
        let private = StaticSecret::from(*secret);
        let exchanges = [
            *secret,
            private.diffie_hellman(&PublicKey::from(outlet_e)).to_bytes(),
            private.diffie_hellman(&PublicKey::from(inlet_e)).to_bytes(),
        ];
        for exchange in exchanges {
            let mut transcript = after_e.clone();
            transcript.mix_key(&exchange);
            attempt("the outlet's static key", &transcript.key, 0, &transcript.hash, sealed_static);
        }
    }
    (tried, opened)
}

/// One recorded datagram (secure-session §5.1, §5.4).
#[derive(Clone, Copy)]
pub(crate) enum Datagram<'a> {
    /// A clock probe or its answer, under a key of the session.
    Probe { head: &'a [u8], counter: u64, sealed: &'a [u8] },
    /// A search, under the lab's discovery key.
    Query { head: &'a [u8], name: [u8; 24], sealed: &'a [u8] },
    /// An answer to it, under a key of its own.
    Reply { head: &'a [u8], name: [u8; 24], answerer: Secret, sealed: &'a [u8] },
}

/// A search that a stolen key opened.
pub(crate) struct Query {
    name: [u8; 24],
    /// The discovery key.
    key: Secret,
    asker: Secret,
    pub(crate) text: Vec<u8>,
}

impl Query {
    /// Whether it says what is looked for: anything but the constant, two numbers, and the call for a list.
    pub(crate) fn tells(&self) -> bool {
        let text = String::from_utf8_lossy(&self.text);
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let lines: Vec<_> = text.split("\r\n").collect();
        !match lines[..] {
            ["LSL:shortinfo", "", numbers, ""] => numbers.split(' ').all(is_number),
            ["LSL:lab", port, ""] => is_number(port),
            _ => false,
        }
    }
}

impl<'a> Datagram<'a> {
    /// Nothing if it is not sealed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let head_len = match bytes.first_chunk()? {
            b"\xd5SC\x01" => 20,
            b"\xd5SQ\x02" => 28,
            b"\xd5SR\x02" => 60,
            _ => return None,
        };
        let (head, sealed) = bytes.split_at_checked(head_len)?;
        Some(match head_len {
            20 => Self::Probe { head, counter: u64::from_le_bytes(*head.last_chunk()?), sealed },
            28 => Self::Query { head, name: *head.last_chunk()?, sealed },
            _ => {
                let (name, answerer) = (*head.get(4..)?.first_chunk()?, *head.last_chunk()?);
                Self::Reply { head, name, answerer, sealed }
            }
        })
    }

    pub(crate) fn is_probe(&self) -> bool {
        matches!(self, Self::Probe { .. })
    }

    pub(crate) fn is_reply(&self) -> bool {
        matches!(self, Self::Reply { .. })
    }

    /// Whether one of the secrets, unchanged, is the key of this datagram.
    pub(crate) fn opens_with(&self, secret: &Secret) -> bool {
        match self {
            Self::Probe { head, counter, sealed } => open(secret, *counter, head, sealed).is_some(),
            Self::Query { .. } => self.query(secret).is_some(),
            Self::Reply { head, sealed, .. } => open(secret, 0, head, sealed).is_some(),
        }
    }

    /// The search, if this is one that `key` opens.
    pub(crate) fn query(&self, key: &Secret) -> Option<Query> {
        let Self::Query { head, name, sealed } = self else { return None };
        let (body, tag) = sealed.split_last_chunk::<16>()?;
        let (cipher, mut plain) = (XChaCha20Poly1305::new(key.into()), body.to_vec());
        cipher.decrypt_in_place_detached(name.into(), head, &mut plain, tag.into()).ok()?;
        let (asker, text) = plain.get(8..)?.split_first_chunk()?;
        Some(Query { name: *name, key: *key, asker: *asker, text: text.to_vec() })
    }

    /// Whether this is an answer to `query`, which is on the outside of it.
    pub(crate) fn answers(&self, query: &Query) -> bool {
        matches!(self, Self::Reply { name, .. } if *name == query.name)
    }

    /// The answer to `query`, if one of the secrets is either side's private key or the outcome of the exchange.
    pub(crate) fn reply(&self, query: &Query, secrets: &HashSet<Secret>) -> Option<Vec<u8>> {
        let Self::Reply { head, answerer, sealed, .. } = self else { return None };
        secrets.iter().find_map(|secret| {
            let private = StaticSecret::from(*secret);
            let exchanges = [
                *secret,
                private.diffie_hellman(&PublicKey::from(query.asker)).to_bytes(),
                private.diffie_hellman(&PublicKey::from(*answerer)).to_bytes(),
            ];
            exchanges.iter().find_map(|exchange| {
                let input = [b"schwann/1 reply", exchange.as_slice(), &query.asker, answerer].concat();
                let [key] = hkdf(&query.key, &input);
                open(&key, 0, head, sealed)
            })
        })
    }
}

/// What an inlet's process has in memory while it shakes hands, and forgets.
pub(crate) struct Memory {
    pub(crate) noise_static: Secret,
    pub(crate) noise_ephemeral: Secret,
    pub(crate) ml_kem_seed: [u8; 64],
}

/// Opens the first record of each direction with the memory of the inlet's process. This proves that
/// [`try_everything`] lacks a secret, not skill.
pub(crate) fn open_with_memory(recording: &Recording, memory: &Memory) -> Option<(Vec<u8>, Vec<u8>)> {
    let [forth, back] = traffic_keys(recording, memory)?;
    let first = |key, records: &[Vec<u8>]| {
        let record = records.first()?;
        open(key, 0, &record[..4], &record[4..])
    };
    Some((first(&forth, &recording.from_inlet)?, first(&back, &recording.from_outlet)?))
}

/// The first keys of the two directions, from the inlet and from the outlet.
pub(crate) fn traffic_keys(recording: &Recording, memory: &Memory) -> Option<[Secret; 2]> {
    let ephemeral = StaticSecret::from(memory.noise_ephemeral);
    let outlet_e = PublicKey::from(point(&recording.message_2));
    let mut transcript = Transcript::after_message_2s_e(recording);
    transcript.mix_key(ephemeral.diffie_hellman(&outlet_e).as_bytes());
    let outlet_static: Secret = transcript.open(&recording.message_2[32..80])?.try_into().ok()?;
    transcript.mix_key(ephemeral.diffie_hellman(&PublicKey::from(outlet_static)).as_bytes());
    let payload = transcript.open(&recording.message_2[80..])?;
    let seed = DecapsulationKey::from_seed(memory.ml_kem_seed.into());
    let psk: Secret = seed.decapsulate(payload.get(..1088)?.try_into().ok()?).into();

    transcript.open(&recording.message_3[..48])?;
    let own = StaticSecret::from(memory.noise_static);
    transcript.mix_key(own.diffie_hellman(&outlet_e).as_bytes());
    transcript.mix_key_and_hash(&psk);
    transcript.open(&recording.message_3[48..])?;
    Some(hkdf(&transcript.chain, &[]))
}

/// Noise's symmetric state.
#[derive(Clone)]
struct Transcript {
    chain: Secret,
    hash: Secret,
    key: Secret,
    counter: u64,
}

impl Transcript {
    /// Everything that needs no secret: the first line, message 1, and message 2's ephemeral key.
    fn after_message_2s_e(recording: &Recording) -> Self {
        let name = Sha256::digest(b"Noise_XXpsk3_25519_ChaChaPoly_SHA256").into();
        let mut transcript = Self { chain: name, hash: name, key: [0; 32], counter: 0 };
        transcript.mix_hash(&recording.first_line);
        for message in [&recording.message_1, &recording.message_2] {
            // With a psk in the pattern, `e` goes into the key as well (Noise rev. 34 §9.2).
            transcript.mix_hash(&message[..32]);
            transcript.mix_key(&message[..32]);
            if core::ptr::eq(message, &recording.message_1) {
                assert!(transcript.open(&message[32..]).is_some(), "payload 1 is open to everybody");
            }
        }
        transcript
    }

    fn mix_hash(&mut self, bytes: &[u8]) {
        self.hash = Sha256::new().chain_update(self.hash).chain_update(bytes).finalize().into();
    }

    fn mix_key(&mut self, secret: &[u8]) {
        [self.chain, self.key] = hkdf(&self.chain, secret);
        self.counter = 0;
    }

    fn mix_key_and_hash(&mut self, secret: &[u8]) {
        let [chain, hash, key] = hkdf(&self.chain, secret);
        self.mix_hash(&hash);
        (self.chain, self.key, self.counter) = (chain, key, 0);
    }

    fn open(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let plain = open(&self.key, self.counter, &self.hash, sealed)?;
        self.mix_hash(sealed);
        self.counter += 1;
        Some(plain)
    }
}

fn point(message: &[u8]) -> Secret {
    *message.first_chunk().expect("a message begins with e")
}

fn open(key: &Secret, counter: u64, ad: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    let (body, tag) = sealed.split_last_chunk::<16>()?;
    let mut plain = body.to_vec();
    let cipher = ChaCha20Poly1305::new(key.into());
    cipher.decrypt_in_place_detached(&nonce.into(), ad, &mut plain, tag.into()).ok()?;
    Some(plain)
}

/// Noise's HKDF (RFC 5869 over HMAC-SHA-256), `N` outputs.
pub(crate) fn hkdf<const N: usize>(chain: &Secret, input: &[u8]) -> [Secret; N] {
    let secret = hmac(chain, &[input]);
    let mut outputs = [[0; 32]; N];
    // A test looks for these keys in memory: no copy stays on the heap.
    let mut before = Zeroizing::new(Vec::new());
    for (number, output) in (1..).zip(&mut outputs) {
        *output = hmac(&secret, &[&before, &[number]]);
        before = Zeroizing::new(output.to_vec());
    }
    outputs
}

/// HMAC-SHA-256 (RFC 2104) under a key of 32 bytes.
fn hmac(key: &Secret, parts: &[&[u8]]) -> Secret {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(key).for_each(|(block, key)| *block ^= key);
        block
    };
    let inner =
        parts.iter().fold(Sha256::new().chain_update(pad(0x36)), |hash, part| hash.chain_update(part));
    Sha256::new().chain_update(pad(0x5C)).chain_update(inner.finalize()).finalize().into()
}
