//! What may happen to the bytes after the handshake, and the bit fields that say so.

use core::fmt;

/// A way to treat the payload.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// AES-128 in counter mode: private to Schwann peers (mse §9).
    Aes128Ctr,
    /// AES-256 in counter mode: private to Schwann peers (mse §9).
    Aes256Ctr,
    /// None: only the handshake is obfuscated.
    Plaintext,
    /// RC4, which every client speaks.
    Rc4,
}

impl Method {
    /// Every method, the one we would rather have first.
    pub const ALL: [Self; 4] = [Self::Aes128Ctr, Self::Aes256Ctr, Self::Rc4, Self::Plaintext];

    /// The method's bit in `crypto_provide` and `crypto_select`.
    #[must_use]
    pub const fn bit(self) -> u32 {
        match self {
            Self::Aes128Ctr => 0x0100_0000,
            Self::Aes256Ctr => 0x0200_0000,
            Self::Plaintext => 0x01,
            Self::Rc4 => 0x02,
        }
    }

    /// The method whose bit is the only one set in `bits`.
    #[must_use]
    pub fn from_bit(bits: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.bit() == bits)
    }

    /// The method's short name, as commands print and read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ctr => "aes-128-ctr",
            Self::Aes256Ctr => "aes-256-ctr",
            Self::Plaintext => "plaintext",
            Self::Rc4 => "rc4",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of methods, as `crypto_provide` carries it. Unknown bits are kept and mean nothing.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Methods(u32);

impl Methods {
    /// RC4 or nothing: what to offer to strangers.
    pub const RC4: Self = Self(0x02);
    /// RC4, and both private methods for a peer that knows them.
    pub const PRIVATE: Self = Self(0x0300_0002);

    /// The set with exactly these bits.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The set of these methods.
    #[must_use]
    pub fn of(methods: &[Method]) -> Self {
        Self(methods.iter().fold(0, |bits, method| bits | method.bit()))
    }

    /// The bits as the wire carries them.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether the set has this method.
    #[must_use]
    pub const fn contains(self, method: Method) -> bool {
        self.0 & method.bit() != 0
    }

    /// What both sets have.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The method to select: `preferred` if the set has it, else the first of [`Method::ALL`] that it has.
    #[must_use]
    pub fn choose(self, preferred: Method) -> Option<Method> {
        [preferred].into_iter().chain(Method::ALL).find(|&method| self.contains(method))
    }
}

impl fmt::Debug for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Methods({:#x})", self.0)
    }
}
