//! One message at a time.
//!
//! For several messages at hand at once, [`seal_batch`](crate::seal_batch) does the same faster.

use core::fmt;

use crate::kernel::Kernel;
use crate::{Key, Nonce, Tag};

/// Encrypts `buffer` in place and returns the tag over it and `aad`.
///
/// - Errors: [`SealError::TooLong`] above [`MAX_MESSAGE`]; the buffer is untouched.
/// - Source: RFC 8439 §2.8.
pub fn seal_in_place(key: &Key, nonce: &Nonce, aad: &[u8], buffer: &mut [u8]) -> Result<Tag, SealError> {
    Kernel::best().seal_in_place(key, nonce, aad, buffer)
}

/// Checks `tag` over `buffer` and `aad`, then decrypts `buffer` in place.
///
/// - Errors: [`OpenError::Forged`] if the tag does not verify; the buffer is then all zeros.
///   [`OpenError::TooLong`] above [`MAX_MESSAGE`]; the buffer is untouched.
/// - Source: RFC 8439 §2.8.
pub fn open_in_place(
    key: &Key,
    nonce: &Nonce,
    aad: &[u8],
    buffer: &mut [u8],
    tag: &Tag,
) -> Result<(), OpenError> {
    Kernel::best().open_in_place(key, nonce, aad, buffer, tag)
}

/// Why a message was not sealed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SealError {
    /// The caller's message is longer than [`MAX_MESSAGE`]: the key stream would repeat.
    TooLong,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the message is longer than ChaCha20 can seal under one nonce"),
        }
    }
}

impl core::error::Error for SealError {}

/// Why a message was not opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum OpenError {
    /// The tag did not verify: a wrong key, nonce or associated data, damage, or an attack.
    Forged,
    /// The message is longer than [`MAX_MESSAGE`], so no sealer can have made it.
    TooLong,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forged => "the message did not verify",
            Self::TooLong => "the message is longer than ChaCha20 can seal under one nonce",
        })
    }
}

impl core::error::Error for OpenError {}

/// Tells whether a message of `length` bytes would make the block counter wrap.
pub(crate) fn too_long(length: usize) -> bool {
    length as u64 > MAX_MESSAGE
}

/// Longest message, in bytes: all blocks of a 32-bit counter but the first, which keys the tag.
///
/// Source: RFC 8439 §2.8, P_MAX.
pub const MAX_MESSAGE: u64 = 64 * (u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_message_ends_with_the_last_counter() {
        // RFC 8439 §2.8: P_MAX is 274,877,906,880 bytes.
        assert_eq!(MAX_MESSAGE, 274_877_906_880);
        #[cfg(target_pointer_width = "64")]
        {
            assert!(!too_long(274_877_906_880));
            assert!(too_long(274_877_906_881));
        }
    }
}
