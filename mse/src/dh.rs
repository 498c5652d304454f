//! Key agreement: Diffie-Hellman over one of two fixed groups, with 160-bit exponents.
//!
//! Arithmetic on secrets takes the same time for every secret: no branch and no memory index depends
//! on one (`field.rs`). What this does not do: authenticate a peer. An attacker who sits between two peers
//! and knows the info hash can run one exchange with each of them.

mod field;

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use self::field::{EXPONENT, Field};
use crate::error::HandshakeError;

/// The group both peers compute in.
///
/// The wire has no field for it, so it is never negotiated. Every client in the world uses
/// [`Self::Mse768`]. [`Self::Oakley1024`] works only between peers *configured* for it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Group {
    /// The 768-bit group of the MSE specification (mse §2).
    #[default]
    Mse768,
    /// The 1,024-bit group 2 of RFC 2409 §6.2; private to configured peers (mse §9).
    Oakley1024,
}

impl Group {
    /// Length of a public key and of the shared secret, in bytes.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Mse768 => 96,
            Self::Oakley1024 => 128,
        }
    }
}

/// A private exponent and the public key that belongs to it. Wiped when dropped.
pub struct KeyPair {
    exponent: [u8; EXPONENT],
    public: Number,
}

impl KeyPair {
    /// Draws a key pair from `fill`, which must write random bytes.
    ///
    /// A public key that begins with 0x13 is drawn again. Transmission 3.x takes that byte for a plain
    /// handshake and closes (mse §7.1).
    pub fn random(group: Group, mut fill: impl FnMut(&mut [u8])) -> Self {
        loop {
            let mut exponent = [0; EXPONENT];
            fill(&mut exponent);
            let pair = Self::from_exponent(group, exponent);
            exponent.zeroize();
            if pair.public_key().first() != Some(&0x13) {
                return pair;
            }
        }
    }

    /// Makes the pair of a given exponent (160 bits, big-endian); for tests and captured sessions.
    #[must_use]
    pub fn from_exponent(group: Group, exponent: [u8; 20]) -> Self {
        let public = match group {
            Group::Mse768 => Number::from_words(group, &MSE_768.power_of_two(&exponent)),
            Group::Oakley1024 => Number::from_words(group, &OAKLEY_1024.power_of_two(&exponent)),
        };
        Self { exponent, public }
    }

    /// The group of this pair.
    #[must_use]
    pub fn group(&self) -> Group {
        self.public.group
    }

    /// The public key as it goes on the wire: big-endian, padded to [`Group::key_len`].
    #[must_use]
    pub fn public_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    /// Computes the secret shared with the owner of `peer`.
    ///
    /// - Errors: [`HandshakeError::PublicKeyOutOfRange`] if `peer` belongs to another group.
    pub fn shared_secret(&self, peer: &PublicKey) -> Result<SharedSecret, HandshakeError> {
        let group = self.group();
        if peer.0.group != group {
            return Err(HandshakeError::PublicKeyOutOfRange);
        }
        Ok(SharedSecret(match group {
            Group::Mse768 => Number::from_words(group, &MSE_768.power(&peer.0.words(), &self.exponent)),
            Group::Oakley1024 => {
                Number::from_words(group, &OAKLEY_1024.power(&peer.0.words(), &self.exponent))
            }
        }))
    }
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        self.exponent.zeroize();
    }
}

impl ZeroizeOnDrop for KeyPair {}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("group", &self.group()).finish_non_exhaustive()
    }
}

/// A peer's public key, known to be in range.
pub struct PublicKey(Number);

impl PublicKey {
    /// Parses a key as received: big-endian, [`Group::key_len`] bytes.
    ///
    /// - Errors: [`HandshakeError::PublicKeyOutOfRange`] unless `2 <= key <= P - 2`: every other key
    ///   makes the secret predictable.
    pub fn parse(group: Group, bytes: &[u8]) -> Result<Self, HandshakeError> {
        let highest = match group {
            Group::Mse768 => Number::from_words(group, &less_two(&MSE_768_PRIME)),
            Group::Oakley1024 => Number::from_words(group, &less_two(&OAKLEY_1024_PRIME)),
        };
        // A public key is public, so these comparisons may stop early. Big-endian strings of one length
        // compare as the numbers do.
        let fits = bytes.len() == group.key_len() && bytes <= highest.as_bytes();
        let (last, others) = bytes.split_last().ok_or(HandshakeError::PublicKeyOutOfRange)?;
        if !fits || (*last < 2 && others.iter().all(|&byte| byte == 0)) {
            return Err(HandshakeError::PublicKeyOutOfRange);
        }
        let mut key = Number { group, bytes: [0; MAX_KEY] };
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(Self(key))
    }
}

/// What both peers know after the exchange: `S`, always at its full length. Wiped when dropped.
pub struct SharedSecret(Number);

impl SharedSecret {
    /// The secret, big-endian, with its leading zeros: every hash runs over the whole length.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether the first byte is zero, which deployed peers get wrong (mse §7.12). Dialling again
    /// with a fresh key is the cure.
    #[must_use]
    pub fn starts_with_zero(&self) -> bool {
        self.as_bytes().first() == Some(&0)
    }
}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.0.bytes.zeroize();
    }
}

impl ZeroizeOnDrop for SharedSecret {}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

/// A group element as bytes; the first [`Group::key_len`] of them count.
struct Number {
    group: Group,
    bytes: [u8; MAX_KEY],
}

impl Number {
    fn from_words(group: Group, words: &[u64]) -> Self {
        let mut bytes = [0; MAX_KEY];
        for (out, word) in bytes.chunks_exact_mut(8).zip(words.iter().rev()) {
            out.copy_from_slice(&word.to_be_bytes());
        }
        Self { group, bytes }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.group.key_len()]
    }

    /// Least significant word first.
    fn words<const N: usize>(&self) -> [u64; N] {
        let mut words = [0; N];
        for (word, chunk) in words.iter_mut().rev().zip(self.bytes.as_chunks::<8>().0) {
            *word = u64::from_be_bytes(*chunk);
        }
        words
    }
}

/// Both primes are odd and not 1, so only the lowest word changes.
fn less_two<const N: usize>(prime: &[u64; N]) -> [u64; N] {
    let mut out = *prime;
    out[0] -= 2;
    out
}

/// Length of the longest public key, in bytes.
const MAX_KEY: usize = 128;

static MSE_768: Field<12> = Field::new(MSE_768_PRIME);
static OAKLEY_1024: Field<16> = Field::new(OAKLEY_1024_PRIME);

/// Close to the 768-bit group of RFC 2409 §6.1 but not equal: they differ in the last 65 bits. So do
/// not write it from memory or take a library's (mse §2). Words run from the least significant.
const MSE_768_PRIME: [u64; 12] = [
    0x0000_0000_0009_0563,
    0xf44c_42e9_a63a_3621,
    0xe485_b576_625e_7ec6,
    0x4fe1_356d_6d51_c245,
    0x302b_0a6d_f25f_1437,
    0xef95_19b3_cd3a_431b,
    0x514a_0879_8e34_04dd,
    0x020b_bea6_3b13_9b22,
    0x2902_4e08_8a67_cc74,
    0xc4c6_628b_80dc_1cd1,
    0xc90f_daa2_2168_c234,
    0xffff_ffff_ffff_ffff,
];

/// RFC 2409 §6.2, least significant word first.
const OAKLEY_1024_PRIME: [u64; 16] = [
    0xffff_ffff_ffff_ffff,
    0x4928_6651_ece6_5381,
    0xae9f_2411_7c4b_1fe6,
    0xee38_6bfb_5a89_9fa5,
    0x0bff_5cb6_f406_b7ed,
    0xf44c_42e9_a637_ed6b,
    0xe485_b576_625e_7ec6,
    0x4fe1_356d_6d51_c245,
    0x302b_0a6d_f25f_1437,
    0xef95_19b3_cd3a_431b,
    0x514a_0879_8e34_04dd,
    0x020b_bea6_3b13_9b22,
    0x2902_4e08_8a67_cc74,
    0xc4c6_628b_80dc_1cd1,
    0xc90f_daa2_2168_c234,
    0xffff_ffff_ffff_ffff,
];

#[cfg(test)]
mod tests;
