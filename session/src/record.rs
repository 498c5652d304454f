//! One direction of a session: a key, a counter, and the records they make.
//!
//! ```text
//!   0        1                4
//!   | type   | length (LE 24) | ciphertext (length bytes) | tag (16) |
//!     ------- AAD -----------
//! ```
//!
//! The counter is the nonce. It lives in here, starts at zero with the handshake's key and only ever rises,
//! also across rekeying. So no key ever meets a nonce twice.
//!
//! - Source: secure-session §4; Noise rev. 34 §5.1, §11.3 and §12.3.

use schwann_aead::{Key, Nonce, Tag, seal_in_place};
use zeroize::Zeroizing;

use crate::LayerError;

mod frame;
mod receiver;
mod sender;

pub(crate) use frame::RecordType;
pub(crate) use receiver::{Plain as OpenedRecord, Receiver};
pub(crate) use sender::Sender;

/// Noise's nonce for ChaCha20-Poly1305: 32 zero bits, then the counter (Noise rev. 34 §12.3).
#[inline]
pub(crate) fn nonce(counter: u64) -> Nonce {
    let [a, b, c, d, e, f, g, h] = counter.to_le_bytes();
    Nonce([0, 0, 0, 0, a, b, c, d, e, f, g, h])
}

/// Noise's `REKEY(k)`: the key stream of a nonce that no message has (Noise rev. 34 §4.2).
fn next_key(key: &Key) -> Result<Key, LayerError> {
    let mut next = Zeroizing::new([0; Key::LEN]);
    seal_in_place(key, &nonce(u64::MAX), &[], next.as_mut_slice()).map_err(|_| LayerError::Exhausted)?;
    Ok(Key::new(&next))
}

/// The last nonce belongs to [`next_key`].
#[inline]
fn advance(counter: u64, by: u64) -> Result<u64, LayerError> {
    counter.checked_add(by).filter(|after| *after < u64::MAX).ok_or(LayerError::Exhausted)
}

/// Most records given to the cipher in one call: the lanes of its widest kernel.
const BATCH: usize = 16;

/// The least plaintext that every receiver must accept in a record, in bytes.
pub(crate) const MIN_RECORD: usize = 256;
/// Most bytes of plaintext in a record.
pub const MAX_RECORD: usize = 16_384;
/// Bytes that a record adds to its plaintext: header and tag.
pub const RECORD_OVERHEAD: usize = RECORD_HEAD + Tag::LEN;
/// Bytes of a record before its text.
pub const RECORD_HEAD: usize = 4;
