//! What stands in for ML-KEM-768 where the feature `hybrid` is off: nothing that could pass for it.
//!
//! The hybrid suite is refused before any of this is reached, and its messages need no room.

use zeroize::Zeroizing;

pub(crate) type SharedSecret = Zeroizing<[u8; 32]>;

pub(crate) struct Seed;

impl Seed {
    pub(crate) fn new(_: Zeroizing<[u8; 64]>) -> Self {
        Self
    }

    pub(crate) fn public(&self) -> Option<[u8; PUBLIC_LEN]> {
        None
    }

    pub(crate) fn decapsulate(&self, _: &[u8; CIPHERTEXT_LEN]) -> Option<SharedSecret> {
        None
    }
}

pub(crate) fn encapsulate(
    _: &[u8; PUBLIC_LEN],
    _: &Zeroizing<[u8; 32]>,
) -> Option<([u8; CIPHERTEXT_LEN], SharedSecret)> {
    None
}

/// Whether the hybrid suite is there.
pub(crate) const AVAILABLE: bool = false;
pub(crate) const PUBLIC_LEN: usize = 0;
pub(crate) const CIPHERTEXT_LEN: usize = 0;
