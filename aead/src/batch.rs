//! Many messages at a time: each with its own key, nonce, associated data, length and tag.
//!
//! A batch is what is at hand, never waited for. Its messages are independent: the order does not matter,
//! and one that fails leaves the others as they are.

use core::fmt;

use crate::kernel::Kernel;
use crate::{Key, Nonce, OpenError, SealError, Tag};

/// One message of a batch, in the caller's memory.
pub struct Message<'a> {
    /// The key; messages of one batch may have different ones.
    pub key: &'a Key,
    /// The nonce, never used before with this key, and only once in a batch.
    pub nonce: Nonce,
    /// What the tag covers besides the message.
    pub aad: &'a [u8],
    /// Sealing: plaintext in, ciphertext out. Opening: the reverse, or zeros if the tag does not verify.
    pub buffer: &'a mut [u8],
    /// Sealing writes it, opening reads it.
    pub tag: Tag,
    /// What opening said of this message.
    pub outcome: Result<(), OpenError>,
}

impl<'a> Message<'a> {
    /// Describes a message to be sealed.
    #[must_use]
    pub fn plain(key: &'a Key, nonce: Nonce, aad: &'a [u8], buffer: &'a mut [u8]) -> Self {
        Self::sealed(key, nonce, aad, buffer, Tag([0; Tag::LEN]))
    }

    /// Describes a message to be opened.
    #[must_use]
    pub fn sealed(key: &'a Key, nonce: Nonce, aad: &'a [u8], buffer: &'a mut [u8], tag: Tag) -> Self {
        Self { key, nonce, aad, buffer, tag, outcome: Ok(()) }
    }
}

/// Encrypts every message in place and writes its tag.
///
/// - Errors: [`SealError::TooLong`] if any message is too long; then none is touched.
/// - Source: RFC 8439 §2.8, once per message.
pub fn seal_batch(messages: &mut [Message<'_>]) -> Result<(), SealError> {
    Kernel::best().seal_batch(messages)
}

/// Checks every tag and decrypts, in place, the messages that verify.
///
/// - Errors: [`Refused`] if any message failed. Its `outcome` says so, and its buffer holds zeros (or,
///   if too long, its old content). All others are open.
/// - Source: RFC 8439 §2.8, once per message.
pub fn open_batch(messages: &mut [Message<'_>]) -> Result<(), Refused> {
    Kernel::best().open_batch(messages)
}

/// Some messages of a batch were not opened: those whose `outcome` is an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// Index of the first message that was refused.
    pub first: usize,
    /// How many were refused.
    pub count: usize,
}

impl Refused {
    /// Counts the messages that were refused.
    pub(crate) fn among(messages: &[Message<'_>]) -> Result<(), Self> {
        match messages.iter().position(|message| message.outcome.is_err()) {
            None => Ok(()),
            Some(first) => {
                let count = messages[first..].iter().filter(|message| message.outcome.is_err()).count();
                Err(Self { first, count })
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages did not verify, the first at index {}", self.count, self.first)
    }
}

impl core::error::Error for Refused {}
