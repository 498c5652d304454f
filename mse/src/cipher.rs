//! One direction of a connection after the handshake: nothing, RC4, or a private method.

mod ctr;
mod rc4;

use alloc::boxed::Box;
use core::fmt;

pub use self::ctr::Ctr;
pub use self::rc4::Rc4;
use crate::method::Method;

/// What is applied to one direction's bytes, for the life of the connection.
///
/// Two ends in the same state make the same keystream. So every byte must pass through exactly once and
/// in order. The states are boxed: one direction takes what its method needs, and a move copies no key.
#[non_exhaustive]
pub enum Cipher {
    /// AES-128 in counter mode.
    Aes128(Box<Ctr<aes::Aes128Enc>>),
    /// AES-256 in counter mode.
    Aes256(Box<Ctr<aes::Aes256Enc>>),
    /// Bytes as they are.
    Plain,
    /// RC4.
    Rc4(Rc4),
}

impl Cipher {
    /// Encrypts or decrypts `data` in place; the two are the same operation.
    #[inline]
    pub fn apply(&mut self, data: &mut [u8]) {
        match self {
            Self::Aes128(cipher) => cipher.apply(data),
            Self::Aes256(cipher) => cipher.apply(data),
            Self::Plain => {}
            Self::Rc4(cipher) => cipher.apply(data),
        }
    }

    /// The method this cipher carries out.
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Self::Aes128(_) => Method::Aes128Ctr,
            Self::Aes256(_) => Method::Aes256Ctr,
            Self::Plain => Method::Plaintext,
            Self::Rc4(_) => Method::Rc4,
        }
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({:?})", self.method())
    }
}

#[cfg(test)]
mod tests;
