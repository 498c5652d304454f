//! What the integration tests share: vectors, a seeded generator, and a wire between two machines.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part")]

use schwann_mse::{Established, Group, Handshake, HandshakeError, InfoHash, KeyPair, Status};
use serde_json::Value;

/// Reads one vector file.
pub fn vector(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).expect(&path)).expect("JSON")
}

/// The names of the vectors that begin or do not begin with `self-`.
pub fn vector_names(own: bool) -> Vec<String> {
    let folder = format!("{}/tests/vectors", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the vectors are here")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .filter(|name| name != "kat" && name.starts_with("self-") == own)
        .collect();
    names.sort();
    names
}

pub fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().expect("digits");
    (0..digits.len())
        .step_by(2)
        .map(|n| u8::from_str_radix(&digits[n..n + 2], 16).expect("hexadecimal"))
        .collect()
}

pub fn array<const N: usize>(value: &Value) -> [u8; N] {
    hex(value).try_into().expect("the right length")
}

/// A small seeded generator (SplitMix64); tests repeat themselves exactly.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn fill(&mut self, out: &mut [u8]) {
        out.iter_mut().for_each(|byte| *byte = self.next() as u8);
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.fill(&mut out);
        out
    }

    pub fn key(&mut self, group: Group) -> KeyPair {
        KeyPair::random(group, |out| self.fill(out))
    }

    pub fn info_hash(&mut self) -> InfoHash {
        let mut hash = InfoHash([0; 20]);
        self.fill(&mut hash.0);
        hash
    }
}

/// Gives all of `bytes` to a machine; returns its last word and what it left.
pub fn give<'a>(
    machine: &mut dyn Handshake,
    bytes: &'a [u8],
    sent: &mut Vec<u8>,
) -> Result<(Status, &'a [u8]), HandshakeError> {
    let mut input = bytes;
    loop {
        let status = machine.handle_input(&mut input)?;
        sent.extend(machine.poll_output().unwrap_or_default());
        if !matches!(status, Status::Wait) || input.is_empty() {
            return Ok((status, input));
        }
    }
}

/// One end of a simulated connection: a machine, then its ciphers.
pub struct End<'m> {
    pub machine: &'m mut dyn Handshake,
    /// Bytes on their way to the peer.
    pub sent: Vec<u8>,
    pub done: Option<Box<Established>>,
    /// Payload received so far, in the clear.
    pub payload: Vec<u8>,
}

impl<'m> End<'m> {
    pub fn new(machine: &'m mut dyn Handshake) -> Self {
        let sent = machine.poll_output().unwrap_or_default();
        Self { machine, sent, done: None, payload: Vec::new() }
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        let mut rest = bytes;
        if self.done.is_none() {
            let (status, left) = give(self.machine, bytes, &mut self.sent)?;
            rest = left;
            if let Status::Established(done) = status {
                self.payload.extend_from_slice(&done.initial_payload);
                self.done = Some(done);
            }
        }
        if let Some(done) = &mut self.done {
            let start = self.payload.len();
            self.payload.extend_from_slice(rest);
            done.incoming.apply(&mut self.payload[start..]);
        }
        Ok(())
    }

    pub fn say(&mut self, text: &[u8]) {
        let done = self.done.as_mut().expect("the handshake is over");
        let start = self.sent.len();
        self.sent.extend_from_slice(text);
        done.outgoing.apply(&mut self.sent[start..]);
    }
}

/// Carries bytes both ways, in pieces of the lengths that `piece` names, until nothing moves.
pub fn exchange<'m>(
    a: &mut End<'m>,
    b: &mut End<'m>,
    mut piece: impl FnMut() -> usize,
) -> Result<(), HandshakeError> {
    while !a.sent.is_empty() || !b.sent.is_empty() {
        for flip in [false, true] {
            let (from, to) = if flip { (&mut *b, &mut *a) } else { (&mut *a, &mut *b) };
            let len = piece().clamp(1, from.sent.len().max(1)).min(from.sent.len());
            let bytes: Vec<u8> = from.sent.drain(..len).collect();
            to.receive(&bytes)?;
        }
    }
    Ok(())
}
