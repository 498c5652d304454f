//! Epoch keys, and what is made of them (relay §3).

use hkdf::Hkdf;
use schwann_aead::{Key, Nonce};
use schwann_session::{Entropy, LabId, NoEntropy};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::names::{RunId, StreamId};

/// Whose key it is: one lab, stream, run and epoch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Scope {
    pub(crate) lab: LabId,
    pub(crate) stream: StreamId,
    pub(crate) run: RunId,
}

/// The secret of one epoch of one run. Wiped when dropped; cannot be printed, copied or compared.
pub(crate) struct EpochKey(Zeroizing<[u8; 32]>);

impl EpochKey {
    pub(crate) fn draw(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut bytes = Zeroizing::new([0; 32]);
        entropy.fill(bytes.as_mut_slice())?;
        Ok(Self(bytes))
    }

    pub(crate) fn from_bytes(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key of the blocks of this epoch.
    pub(crate) fn block_key(&self, scope: &Scope, epoch: u32) -> Key {
        self.derive(b"schwann/1 relay block", scope, epoch)
    }

    /// The key that seals the stream's description, once in this epoch.
    pub(crate) fn description_key(&self, scope: &Scope, epoch: u32) -> Key {
        self.derive(b"schwann/1 relay description", scope, epoch)
    }

    fn derive(&self, label: &[u8], scope: &Scope, epoch: u32) -> Key {
        let epoch = epoch.to_le_bytes();
        let info = [label, &scope.lab.0, &scope.stream.0, &scope.run.0, &epoch];
        let mut key = Zeroizing::new([0; 32]);
        // RFC 5869 §2.3: 32 bytes are one block, far below the limit of 255.
        let made = Hkdf::<Sha256>::new(None, self.0.as_slice()).expand_multi_info(&info, key.as_mut_slice());
        debug_assert!(made.is_ok(), "HKDF makes one block");
        Key::new(&key)
    }
}

/// The nonce of block `number`: it never repeats within a run (relay §3).
pub(crate) fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; Nonce::LEN];
    if let Some(counter) = nonce.last_chunk_mut() {
        *counter = number.to_le_bytes();
    }
    Nonce(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_the_number_behind_four_zeros() {
        assert_eq!(nonce(0x0102).0, [0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    }
}
