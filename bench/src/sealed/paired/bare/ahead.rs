//! Our cipher, with the key stream of each record made before its sample is there.
//!
//! What is left to do then is an exclusive or and a sum. No ChaCha20-Poly1305 does less with a sample in hand.

use schwann_aead::{Ahead, Kernel, Key, Message, Nonce, Tag};

use crate::aead::{Contender, KEY, Workload};

/// Seals one record at a time, each with another nonce.
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
    fn nonce(&self) -> Nonce {
        Nonce(Workload::nonce(self.records))
    }
}

impl Contender for MadeAhead {
    fn name(&self) -> String {
        "ahead".to_owned()
    }

    /// Makes the key stream of the next record, which is as long as that of `work`.
    fn prepare(&mut self, work: &Workload) {
        self.ahead.prepare(self.kernel, &self.key, self.nonce(), work.bytes());
    }

    /// Seals the one message of `work`.
    fn seal(&mut self, work: &mut Workload) {
        let nonce = self.nonce();
        self.records += 1;
        let Some((text, tag)) = work.data.split_last_chunk_mut() else { return };
        let mut message = Message::plain(&self.key, nonce, &work.aad, text);
        *tag = if self.ahead.seal(&mut message) {
            message.tag.0
        } else {
            let sealed = self.kernel.seal_in_place(&self.key, &nonce, &work.aad, text);
            sealed.expect("a workload's messages are short").0
        };
    }

    /// Opens the one message of `work`.
    fn open(&mut self, work: &mut Workload) -> bool {
        let nonce = self.nonce();
        self.records += 1;
        let Some((text, tag)) = work.data.split_last_chunk_mut() else { return false };
        let mut message = Message::sealed(&self.key, nonce, &work.aad, text, Tag(*tag));
        if self.ahead.open(&mut message) {
            message.outcome.is_ok()
        } else {
            self.kernel.open_in_place(&self.key, &nonce, &work.aad, text, &Tag(*tag)).is_ok()
        }
    }
}
