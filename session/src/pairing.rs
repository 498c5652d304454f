//! A new device and the lab's machine agree on keys by six words, and the device gets its certificate.
//!
//! ```text
//!   new device                                        lab's machine
//!   Joining::begin ── message 1: element, KEM key ──▶ Invitation::answer
//!   Joining::prove ◀─ message 2: element, KEM text ──
//!                  ── message 3: proof, request ────▶ Invitation::judge ──▶ Candidate
//!   Awaiting::open ◀─ message 4: proof, membership ── Candidate::admit
//! ```
//!
//! The words are a password that a stranger may guess. A balanced PAKE forces each guess online: SPAKE2 over
//! Ed25519, by the crate `spake2`. Each conversation tests one guess, and an [`Invitation`] ends at the third wrong
//! one. ML-KEM-768 beside it keeps a recording shut against a quantum computer. The new device proves the words
//! first: the lab's machine tells a stranger nothing before.
//!
//! Here are bytes and keys. Sockets, time limits and what a certificate says are the program's.
//!
//! - Source: docs/spec/pairing.md.

use alloc::{vec, vec::Vec};
use core::fmt;

use schwann_aead::{Key, Tag, ct, open_in_place, seal_in_place};
use zeroize::Zeroizing;

use self::agreement::{Agreed, Element, Side};
use crate::{
    DeviceKey, DeviceName, Entropy, PublicKey,
    bytes::{Reader, concat},
    identity::random,
    kem,
    record::nonce,
};

mod agreement;
#[cfg(test)]
mod tests;

/// The words as both ends put them in; wiped when dropped.
pub struct Words(Zeroizing<Vec<u8>>);

impl Words {
    /// Takes the words: lower case, joined by single spaces.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.as_bytes().to_vec()))
    }
}

/// Six numbers below 2,048 that both screens show as words: they are the same if no third party is between.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Screen(pub [u16; 6]);

/// Why a pairing did not come about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PairingError {
    /// The person at the lab's machine, or its authority, did not certify the device.
    Declined,
    /// There were three wrong tries: make a new invitation.
    Ended,
    /// The other end sends what is no message of this version.
    Malformed,
    /// This side's random generator failed.
    NoEntropy,
    /// The words differ, or a third party is between the two ends.
    WrongWords,
}

impl fmt::Display for PairingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Declined => "the lab's computer did not certify this device",
            Self::Ended => "there were three wrong tries",
            Self::Malformed => "the other end does not speak this version of pairing",
            Self::NoEntropy => "the system gives no random bytes",
            Self::WrongWords => "the words differ, or a third party is between the two computers",
        })
    }
}

impl core::error::Error for PairingError {}

/// What the lab's machine keeps while it waits for one new device.
pub struct Invitation {
    words: Words,
    tries_left: u8,
}

/// A conversation in which message 2 was sent.
pub struct Answered(Agreed);

/// A device that knows the words, and asks to be certified.
pub struct Candidate {
    /// Its key; it proved that it holds the private half.
    pub device: PublicKey,
    /// What its person calls it.
    pub name: DeviceName,
    agreed: Agreed,
}

impl Invitation {
    /// Waits for a device that knows `words`.
    #[must_use]
    pub fn new(words: Words) -> Self {
        Self { words, tries_left: TRIES }
    }

    /// Wrong tries that are left.
    #[must_use]
    pub fn tries_left(&self) -> u8 {
        self.tries_left
    }

    /// Answers message 1. This tells nothing about the words, so it counts no try.
    ///
    /// - Errors: [`PairingError::Ended`], [`PairingError::Malformed`], [`PairingError::NoEntropy`].
    pub fn answer(
        &self,
        message: &[u8; MESSAGE_1],
        entropy: &mut dyn Entropy,
    ) -> Result<(Answered, [u8; MESSAGE_2]), PairingError> {
        if self.tries_left == 0 {
            return Err(PairingError::Ended);
        }
        let mut reader = Reader::new(message);
        if reader.array().as_ref() != Some(MAGIC) {
            return Err(PairingError::Malformed);
        }
        let theirs = Element(reader.array().ok_or(PairingError::Malformed)?);
        let kem_key = reader.array().ok_or(PairingError::Malformed)?;
        let (exchange, own) = Side::Invites.begin(&self.words.0, entropy)?;
        let random = random(entropy).map_err(|_| PairingError::NoEntropy)?;
        let (kem_text, kem) = kem::encapsulate(&kem_key, &random).ok_or(PairingError::Malformed)?;
        let answer: [u8; MESSAGE_2] = concat(&[&own.0, &kem_text]);
        let agreed = Agreed::new(exchange.finish(&theirs)?, &kem, message, &answer);
        Ok((Answered(agreed), answer))
    }

    /// Judges message 3: who does not know the words has used up a try.
    ///
    /// - Errors: [`PairingError::WrongWords`], [`PairingError::Ended`]; [`PairingError::Malformed`] only from a
    ///   peer with the right words.
    pub fn judge(
        &mut self,
        answered: Answered,
        message: &[u8; MESSAGE_3],
    ) -> Result<Candidate, PairingError> {
        if self.tries_left == 0 {
            return Err(PairingError::Ended);
        }
        let Answered(agreed) = answered;
        let (proof, sealed) = message.split_first_chunk::<PROOF>().ok_or(PairingError::Malformed)?;
        if !ct::eq(proof, agreed.joiner_proof()) {
            self.tries_left = self.tries_left.saturating_sub(1);
            return Err(PairingError::WrongWords);
        }
        let request = open(agreed.joiner_key(), proof, sealed)?;
        let mut reader = Reader::new(&request);
        let parts = (|| Some((reader.array()?, reader.array()?, reader.byte()?, reader.array::<48>()?)))();
        let (key, signature, length, name) = parts.ok_or(PairingError::Malformed)?;
        let device = PublicKey(key);
        if !device.verifies(&possession(&agreed), &signature) {
            return Err(PairingError::Malformed);
        }
        let name = name.get(..usize::from(length)).and_then(|name| core::str::from_utf8(name).ok());
        let name = name.and_then(DeviceName::new).ok_or(PairingError::Malformed)?;
        // The words are used: they open nothing a second time.
        self.tries_left = 0;
        Ok(Candidate { device, name, agreed })
    }
}

impl Candidate {
    /// What both screens show.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.agreed.screen()
    }

    /// Makes message 4, which brings `membership`.
    ///
    /// - Errors: [`PairingError::Malformed`] if it is longer than [`MAX_MEMBERSHIP`].
    pub fn admit(self, membership: &[u8]) -> Result<Vec<u8>, PairingError> {
        let length = u32::try_from(membership.len()).map_err(|_| PairingError::Malformed)?;
        if membership.len() > MAX_MEMBERSHIP {
            return Err(PairingError::Malformed);
        }
        let head: [u8; MESSAGE_4_HEAD] =
            concat(&[&[ADMITTED], self.agreed.inviter_proof(), &length.to_le_bytes()]);
        let mut message = vec![0; MESSAGE_4_HEAD];
        message.copy_from_slice(&head);
        message.extend(seal(self.agreed.inviter_key(), &head, membership)?);
        Ok(message)
    }
}

/// Tells the other end, instead of message 4, why there is none; any attacker on the path may
/// forge it.
#[must_use]
pub fn refusal(error: PairingError) -> [u8; 1] {
    match error {
        PairingError::Declined => [DECLINED],
        PairingError::Ended => [ENDED],
        _ => [WRONG],
    }
}

/// A new device that has sent message 1.
pub struct Joining {
    exchange: agreement::Exchange,
    kem: kem::Seed,
    message: [u8; MESSAGE_1],
}

/// A new device that has sent message 3.
pub struct Awaiting(Agreed);

impl Joining {
    /// Makes message 1.
    ///
    /// - Errors: [`PairingError::NoEntropy`].
    pub fn begin(words: &Words, entropy: &mut dyn Entropy) -> Result<(Self, [u8; MESSAGE_1]), PairingError> {
        let (exchange, own) = Side::Joins.begin(&words.0, entropy)?;
        let kem = kem::Seed::new(random(entropy).map_err(|_| PairingError::NoEntropy)?);
        let kem_key = kem.public().ok_or(PairingError::NoEntropy)?;
        let message = concat(&[MAGIC, &own.0, &kem_key]);
        Ok((Self { exchange, kem, message }, message))
    }

    /// Reads message 2, and makes message 3: the proof of the words, and the request for a certificate.
    ///
    /// - Errors: [`PairingError::Malformed`].
    pub fn prove(
        self,
        message: &[u8; MESSAGE_2],
        device: &DeviceKey,
        name: &DeviceName,
    ) -> Result<(Awaiting, [u8; MESSAGE_3]), PairingError> {
        let mut reader = Reader::new(message);
        let theirs = Element(reader.array().ok_or(PairingError::Malformed)?);
        let kem_text = reader.array().ok_or(PairingError::Malformed)?;
        let kem = self.kem.decapsulate(&kem_text).ok_or(PairingError::Malformed)?;
        let agreed = Agreed::new(self.exchange.finish(&theirs)?, &kem, &self.message, message);
        let signature = device.sign(&possession(&agreed));
        let text = name.as_str().as_bytes();
        let mut padded = [0; 48];
        padded.get_mut(..text.len()).ok_or(PairingError::Malformed)?.copy_from_slice(text);
        let length = u8::try_from(text.len()).map_err(|_| PairingError::Malformed)?;
        let request: [u8; REQUEST] = concat(&[&device.public().0, &signature, &[length], &padded]);
        let sealed = seal(agreed.joiner_key(), agreed.joiner_proof(), &request)?;
        let out = concat(&[agreed.joiner_proof(), &sealed]);
        Ok((Awaiting(agreed), out))
    }
}

impl Awaiting {
    /// What both screens show.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.0.screen()
    }

    /// Reads the head of message 4; returns how many bytes of sealed membership follow.
    ///
    /// - Errors: [`PairingError::WrongWords`], also if it is not the end that knows the words;
    ///   [`PairingError::Malformed`].
    pub fn head(&self, head: &[u8; MESSAGE_4_HEAD]) -> Result<usize, PairingError> {
        let mut reader = Reader::new(head);
        let (verdict, proof) = (reader.byte(), reader.array::<PROOF>().ok_or(PairingError::Malformed)?);
        if verdict != Some(ADMITTED) || !ct::eq(&proof, self.0.inviter_proof()) {
            return Err(PairingError::WrongWords);
        }
        let length = reader.word().and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| *length <= MAX_MEMBERSHIP).ok_or(PairingError::Malformed)?;
        Ok(length.saturating_add(Tag::LEN))
    }

    /// Opens the sealed membership behind `head`.
    ///
    /// - Errors: [`PairingError::Malformed`].
    pub fn open(
        self,
        head: &[u8; MESSAGE_4_HEAD],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, PairingError> {
        if self.head(head)? != sealed.len() {
            return Err(PairingError::Malformed);
        }
        open(self.0.inviter_key(), head, sealed)
    }
}

/// Reads what came instead of message 4; nothing if it is the beginning of one.
#[must_use]
pub fn refused(first: u8) -> Option<PairingError> {
    match first {
        ADMITTED => None,
        DECLINED => Some(PairingError::Declined),
        ENDED => Some(PairingError::Ended),
        WRONG => Some(PairingError::WrongWords),
        _ => Some(PairingError::Malformed),
    }
}

/// What the device signs: that it holds its key, in this pairing.
fn possession(agreed: &Agreed) -> [u8; POSSESSION.len() + 32] {
    concat(&[POSSESSION, agreed.transcript()])
}

/// Seals under a key that seals nothing else.
fn seal(key: &Key, head: &[u8], content: &[u8]) -> Result<Vec<u8>, PairingError> {
    let mut body = content.to_vec();
    let tag = seal_in_place(key, &nonce(0), head, &mut body).map_err(|_| PairingError::Malformed)?;
    body.extend(tag.0);
    Ok(body)
}

fn open(key: &Key, head: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, PairingError> {
    let (body, tag) = sealed.split_last_chunk().ok_or(PairingError::Malformed)?;
    let mut content = Zeroizing::new(body.to_vec());
    open_in_place(key, &nonce(0), head, &mut content, &Tag(*tag)).map_err(|_| PairingError::Malformed)?;
    Ok(content)
}

/// Wrong tries after which an invitation ends.
pub const TRIES: u8 = 3;
/// Length of message 1, in bytes.
pub const MESSAGE_1: usize = MAGIC.len() + Element::LEN + kem::PUBLIC_LEN;
/// Length of message 2, in bytes.
pub const MESSAGE_2: usize = Element::LEN + kem::CIPHERTEXT_LEN;
/// Length of message 3, in bytes.
pub const MESSAGE_3: usize = PROOF + REQUEST + Tag::LEN;
/// Length of the head of message 4, in bytes; the sealed membership follows.
pub const MESSAGE_4_HEAD: usize = 1 + PROOF + 4;
/// Longest membership that message 4 brings, in bytes: a certificate and the longest revocation list.
pub const MAX_MEMBERSHIP: usize = 32 + 192 + 32 + 136 + 8 * 65_536;

const MAGIC: &[u8; 4] = b"SCP\x01";
const POSSESSION: &[u8] = b"schwann/1 pairing key\0";
const PROOF: usize = 32;
/// Device's key, signature, length of the name, name.
const REQUEST: usize = 32 + 64 + 1 + 48;
const ADMITTED: u8 = 0;
const WRONG: u8 = 1;
const ENDED: u8 = 2;
const DECLINED: u8 = 3;
