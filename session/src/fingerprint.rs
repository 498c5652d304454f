//! A public key as people compare it: read aloud, or side by side on two screens.

use core::fmt::{self, Write};

use sha2::{Digest, Sha256};

/// The first 160 bits of SHA-256 over a public key, shown as eight groups of four base32 letters.
///
/// - Source: secure-session §2.6; RFC 4648 §6 for the alphabet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Fingerprint([u8; Self::LEN]);

impl Fingerprint {
    /// Length in bytes: 160 bits, so that no attacker finds a second key with the same one.
    pub const LEN: usize = 20;

    /// Computes the fingerprint of `public`, an encoded public key.
    #[must_use]
    pub fn of(public: &[u8; 32]) -> Self {
        let digest: [u8; 32] = Sha256::digest(public).into();
        digest.first_chunk().map_or(Self([0; Self::LEN]), |first| Self(*first))
    }

    /// The bytes behind the letters.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Five bytes are eight letters, two groups.
        for (index, five) in self.0.as_chunks::<5>().0.iter().enumerate() {
            let bits = five.iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
            for letter in 0..8_usize {
                if letter % 4 == 0 && (index, letter) != (0, 0) {
                    f.write_char('-')?;
                }
                let value = (bits >> (35 - 5 * letter)) & 31;
                let value = usize::try_from(value).unwrap_or(0);
                f.write_char(char::from(ALPHABET.get(value).copied().unwrap_or(b'?')))?;
            }
        }
        Ok(())
    }
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn letters_are_base32_of_the_bytes() {
        // RFC 4648 §10: BASE32("fooba") = "MZXW6YTB".
        let fingerprint = Fingerprint(*b"foobafoobafoobafooba");
        assert_eq!(fingerprint.to_string(), "MZXW-6YTB-MZXW-6YTB-MZXW-6YTB-MZXW-6YTB");
    }

    #[test]
    fn a_fingerprint_is_the_front_of_the_hash() {
        // SHA-256 of 32 zero bytes.
        let expected = [0x66, 0x68, 0x7a, 0xad, 0xf8, 0x62, 0xbd, 0x77];
        assert_eq!(Fingerprint::of(&[0; 32]).as_bytes().first_chunk(), Some(&expected));
    }
}
