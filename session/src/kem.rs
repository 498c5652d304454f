//! ML-KEM-768: the secret that a future quantum computer does not learn from a recording.
//!
//! Source: FIPS 203, through the `ml-kem` crate. Keys are made anew for every handshake.

use ml_kem::{
    Decapsulate, KeyExport,
    ml_kem_768::{Ciphertext, DecapsulationKey, EncapsulationKey},
};
use zeroize::{Zeroize, Zeroizing};

/// A shared secret of 32 bytes.
pub(crate) type SharedSecret = Zeroizing<[u8; 32]>;

/// The initiator's half, kept as the 64-byte seed `d | z`. A second expansion costs microseconds and
/// keeps kilobytes out of a half-open session.
pub(crate) struct Seed(Zeroizing<[u8; 64]>);

impl Seed {
    pub(crate) fn new(seed: Zeroizing<[u8; 64]>) -> Self {
        Self(seed)
    }

    fn expand(&self) -> DecapsulationKey {
        let mut seed = (*self.0).into();
        let key = DecapsulationKey::from_seed(seed);
        seed.zeroize();
        key
    }

    /// The encapsulation key that goes to the responder.
    pub(crate) fn public(&self) -> Option<[u8; PUBLIC_LEN]> {
        Some(self.expand().encapsulation_key().to_bytes().into())
    }

    /// Opens what the responder sent. A wrong ciphertext gives a wrong secret, never an error (FIPS 203 §6.3).
    pub(crate) fn decapsulate(&self, ciphertext: &[u8; CIPHERTEXT_LEN]) -> Option<SharedSecret> {
        let mut secret = self.expand().decapsulate(&Ciphertext::from(*ciphertext));
        let shared = Zeroizing::new(secret.into());
        secret.zeroize();
        Some(shared)
    }
}

/// Makes a shared secret for the holder of `public` out of 32 random bytes.
///
/// Returns nothing if `public` is not a valid encapsulation key (FIPS 203 §7.2).
pub(crate) fn encapsulate(
    public: &[u8; PUBLIC_LEN],
    random: &Zeroizing<[u8; 32]>,
) -> Option<([u8; CIPHERTEXT_LEN], SharedSecret)> {
    let key = EncapsulationKey::new(&(*public).into()).ok()?;
    let mut message = (**random).into();
    let (ciphertext, mut secret) = key.encapsulate_deterministic(&message);
    message.zeroize();
    let shared = Zeroizing::new(secret.into());
    secret.zeroize();
    Some((ciphertext.into(), shared))
}

/// Whether the hybrid suite is there; see `kem_absent.rs`.
pub(crate) const AVAILABLE: bool = true;
/// Length of an encapsulation key, in bytes (FIPS 203 §8, table 3).
pub(crate) const PUBLIC_LEN: usize = 1184;
/// Length of a ciphertext, in bytes (FIPS 203 §8, table 3).
pub(crate) const CIPHERTEXT_LEN: usize = 1088;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_get_the_same_secret() {
        let seed = Seed::new(Zeroizing::new([7; 64]));
        let (ciphertext, ours) = encapsulate(&seed.public().unwrap(), &Zeroizing::new([9; 32])).unwrap();
        assert_eq!(*seed.decapsulate(&ciphertext).unwrap(), *ours);
        let mut wrong = ciphertext;
        wrong[500] ^= 1;
        assert_ne!(*seed.decapsulate(&wrong).unwrap(), *ours);
    }

    #[test]
    fn an_encapsulation_key_out_of_range_is_refused() {
        // Every coefficient must be below q = 3329 (FIPS 203 §7.2); 0xfff is not.
        assert!(encapsulate(&[0xff; PUBLIC_LEN], &Zeroizing::new([0; 32])).is_none());
    }
}
