//! The keys of one pairing: SPAKE2 for the words, ML-KEM beside it, and a transcript that binds both messages.
//!
//! - Source: pairing §3.

use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit as _, StreamCipher as _},
};
use clatter::rand_core::{self, CryptoRng, RngCore};
use schwann_aead::Key;
use sha2::{Digest as _, Sha256};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use zeroize::Zeroizing;

use super::{MESSAGE_1, MESSAGE_2, PairingError, Screen};
use crate::{Entropy, bytes::concat, identity::random, kem, noise::mix_both};

/// Which end this is.
#[derive(Clone, Copy)]
pub(super) enum Side {
    /// The lab's machine.
    Invites,
    /// The new device.
    Joins,
}

/// A group element of SPAKE2, compressed.
pub(super) struct Element(pub(super) [u8; Self::LEN]);

impl Element {
    pub(super) const LEN: usize = 32;
}

/// A key agreement in which this end's element is made.
pub(super) struct Exchange {
    own: Spake2<Ed25519Group>,
    /// How the library marks the other end's element.
    mark: u8,
}

impl Side {
    pub(super) fn begin(
        self,
        words: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<(Exchange, Element), PairingError> {
        let words = Password::new(words);
        let (joins, invites) = (Identity::new(JOINS), Identity::new(INVITES));
        let draws = Draws::new(entropy)?;
        let (own, marked) = match self {
            Self::Joins => Spake2::start_a_with_rng(&words, &joins, &invites, draws),
            Self::Invites => Spake2::start_b_with_rng(&words, &joins, &invites, draws),
        };
        let element = marked.split_first().and_then(|(_, element)| element.try_into().ok());
        let mark = match self {
            Self::Joins => b'B',
            Self::Invites => b'A',
        };
        Ok((Exchange { own, mark }, Element(element.ok_or(PairingError::Malformed)?)))
    }
}

impl Exchange {
    /// What both ends know if their words are the same.
    pub(super) fn finish(self, theirs: &Element) -> Result<Zeroizing<[u8; 32]>, PairingError> {
        let marked: [u8; 1 + Element::LEN] = concat(&[&[self.mark], &theirs.0]);
        let key = Zeroizing::new(self.own.finish(&marked).map_err(|_| PairingError::Malformed)?);
        key.as_slice().try_into().map(Zeroizing::new).map_err(|_| PairingError::Malformed)
    }
}

/// Everything that follows from the first two messages.
pub(super) struct Agreed {
    transcript: [u8; 32],
    proofs: [Zeroizing<[u8; 32]>; 2],
    keys: [Key; 2],
}

impl Agreed {
    pub(super) fn new(
        spake: Zeroizing<[u8; 32]>,
        kem: &kem::SharedSecret,
        first: &[u8; MESSAGE_1],
        second: &[u8; MESSAGE_2],
    ) -> Self {
        let transcript: [u8; 32] =
            Sha256::new().chain_update(LABEL).chain_update(first).chain_update(second).finalize().into();
        let input: Zeroizing<[u8; 64]> = Zeroizing::new(concat(&[kem.as_slice(), &transcript]));
        let (of_proofs, of_keys) = mix_both(&spake, input.as_slice());
        let (joiner, inviter) = mix_both(&of_proofs, PROOFS);
        let (to_inviter, to_joiner) = mix_both(&of_keys, KEYS);
        Self { transcript, proofs: [joiner, inviter], keys: [Key::new(&to_inviter), Key::new(&to_joiner)] }
    }

    pub(super) fn transcript(&self) -> &[u8; 32] {
        &self.transcript
    }

    pub(super) fn joiner_proof(&self) -> &[u8; 32] {
        let [joiner, _] = &self.proofs;
        joiner
    }

    pub(super) fn inviter_proof(&self) -> &[u8; 32] {
        let [_, inviter] = &self.proofs;
        inviter
    }

    pub(super) fn joiner_key(&self) -> &Key {
        let [joiner, _] = &self.keys;
        joiner
    }

    pub(super) fn inviter_key(&self) -> &Key {
        let [_, inviter] = &self.keys;
        inviter
    }

    /// 66 bits of the transcript.
    pub(super) fn screen(&self) -> Screen {
        let digest: [u8; 32] =
            Sha256::new().chain_update(SCREEN).chain_update(self.transcript).finalize().into();
        let mut words = digest.as_chunks::<2>().0.iter().map(|two| u16::from_be_bytes(*two) >> 5);
        Screen(core::array::from_fn(|_| words.next().unwrap_or_default()))
    }
}

/// Random bytes for a library that takes no refusal: a key stream under 32 bytes of the caller's entropy.
struct Draws(ChaCha20);

impl Draws {
    fn new(entropy: &mut dyn Entropy) -> Result<Self, PairingError> {
        let key = random::<32>(entropy).map_err(|_| PairingError::NoEntropy)?;
        Ok(Self(ChaCha20::new(&(*key).into(), &[0; 12].into())))
    }
}

impl CryptoRng for Draws {}

impl RngCore for Draws {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        out.fill(0);
        self.0.apply_keystream(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

const JOINS: &[u8] = b"schwann/1 joins";
const INVITES: &[u8] = b"schwann/1 invites";
const LABEL: &[u8] = b"schwann/1 pairing";
const PROOFS: &[u8] = b"schwann/1 pairing proofs";
const KEYS: &[u8] = b"schwann/1 pairing keys";
const SCREEN: &[u8] = b"schwann/1 pairing screen";
