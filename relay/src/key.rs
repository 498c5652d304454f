//! Epoch keys, and what is made of them (relay §3).

use hkdf::Hkdf;
use schwann_aead::{Key, Nonce, Tag, open_in_place, seal_in_place};
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

/// An epoch key that has sealed no description yet. To seal one uses it up, so no key and nonce meet a second text (relay §5).
pub(crate) struct FreshKey(EpochKey);

impl FreshKey {
    pub(crate) fn draw(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut bytes = Zeroizing::new([0; 32]);
        entropy.fill(bytes.as_mut_slice())?;
        Ok(Self(EpochKey(bytes)))
    }

    /// Seals the description in `body`. Nothing if it is too long for the cipher.
    pub(crate) fn seal_description(
        self,
        scope: &Scope,
        epoch: u32,
        head: &[u8],
        body: &mut [u8],
    ) -> Option<(EpochKey, Tag)> {
        let Self(key) = self;
        let tag = seal_in_place(&key.description_key(scope, epoch), &ONLY_NONCE, head, body).ok()?;
        Some((key, tag))
    }
}

impl EpochKey {
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

    /// Opens the description in `body`; says whether it is genuine.
    pub(crate) fn open_description(
        &self,
        scope: &Scope,
        epoch: u32,
        head: &[u8],
        body: &mut [u8],
        tag: &Tag,
    ) -> bool {
        open_in_place(&self.description_key(scope, epoch), &ONLY_NONCE, head, body, tag).is_ok()
    }

    /// The key that seals the stream's description, once in this epoch.
    fn description_key(&self, scope: &Scope, epoch: u32) -> Key {
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

/// A description key seals one description.
const ONLY_NONCE: Nonce = Nonce([0; Nonce::LEN]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_the_number_behind_four_zeros() {
        assert_eq!(nonce(0x0102).0, [0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    }
}
