//! What goes in and comes out besides the message: key, nonce, tag.

use zeroize::Zeroize;

/// A 256-bit key. Wiped when dropped; cannot be printed, copied or compared.
pub struct Key {
    /// The key as ChaCha20 reads it: eight little-endian words (RFC 8439 §2.3).
    words: [u32; 8],
}

impl Key {
    /// Length of a key, in bytes.
    pub const LEN: usize = 32;

    /// Makes a key from its bytes. Wiping the caller's copy is the caller's task.
    #[must_use]
    pub fn new(bytes: &[u8; Self::LEN]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self { words }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u32; 8] {
        &self.words
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// A 96-bit nonce: public, and never used twice with the same key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Nonce(pub [u8; Self::LEN]);

impl Nonce {
    /// Length of a nonce, in bytes.
    pub const LEN: usize = 12;

    #[inline]
    pub(crate) fn words(&self) -> [u32; 3] {
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }
}

/// A 128-bit authentication tag. It is public, but comparing it is not: see [`Tag::matches`].
#[derive(Clone, Copy, Debug)]
pub struct Tag(pub [u8; Self::LEN]);

impl Tag {
    /// Length of a tag, in bytes.
    pub const LEN: usize = 16;

    /// Tells in constant time whether both tags are the same.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        crate::ct::eq(&self.0, &other.0)
    }
}

impl From<[u8; Self::LEN]> for Tag {
    fn from(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
