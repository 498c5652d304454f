//! Our cipher, with the key stream of each record made before its sample is there.
//!
//! What is left to do then is an exclusive or and a sum: less than that no ChaCha20-Poly1305 does with a sample in hand.

use schwann_aead::{Ahead, Kernel, Key, Message, Nonce, Tag};

use crate::aead::{KEY, Workload};

/// The key stream of the next record.
pub(super) struct MadeAhead {
    ahead: Ahead,
    kernel: Kernel,
    key: Key,
    records: usize,
}

impl Default for MadeAhead {
    fn default() -> Self {
        Self { ahead: Ahead::new(), kernel: Kernel::best(), key: Key::new(&KEY), records: 0 }
    }
}

impl MadeAhead {
    pub(super) const NAME: &str = "ahead";

    /// Makes the key stream of the next record, which is as long as that of `work`.
    pub(super) fn prepare(&mut self, work: &Workload) {
        let length = work.places.first().map_or(0, |place| place.len());
        self.ahead.prepare(self.kernel, &self.key, self.nonce(), length);
    }

    fn nonce(&self) -> Nonce {
        Nonce(Workload::nonce(self.records))
    }

    /// Seals the one message and writes its tag after it.
    pub(super) fn seal(&mut self, work: &mut Workload) {
        let nonce = self.nonce();
        self.records += 1;
        let Some((text, tag)) = parts(&mut work.data) else { return };
        let mut message = Message::plain(&self.key, nonce, &work.aad, text);
        *tag = if self.ahead.seal(&mut message) {
            message.tag.0
        } else {
            let sealed = self.kernel.seal_in_place(&self.key, &nonce, &work.aad, text);
            sealed.expect("a workload's messages are short").0
        };
    }

    /// Opens the one message; says whether its tag verified.
    pub(super) fn open(&mut self, work: &mut Workload) -> bool {
        let nonce = self.nonce();
        self.records += 1;
        let Some((text, tag)) = parts(&mut work.data) else { return false };
        let mut message = Message::sealed(&self.key, nonce, &work.aad, text, Tag(*tag));
        if self.ahead.open(&mut message) {
            message.outcome.is_ok()
        } else {
            self.kernel.open_in_place(&self.key, &nonce, &work.aad, text, &Tag(*tag)).is_ok()
        }
    }
}

/// The text of one message and the tag behind it.
fn parts(data: &mut [u8]) -> Option<(&mut [u8], &mut [u8; 16])> {
    data.split_last_chunk_mut()
}
