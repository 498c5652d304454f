//! Why bytes are no sample.

use core::fmt;

/// The peer broke the protocol; the connection cannot be read any further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Malformed {
    /// A string's length field has this many bytes instead of 1, 2, 4 or 8.
    LengthField {
        /// The size that the peer announced, in bytes.
        size: u8,
    },
    /// The strings of one sample exceed the layout's limit.
    TooLong {
        /// Length of the string that exceeded it, in bytes.
        announced: u64,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthField { size } => write!(out, "a string's length field claims {size} bytes"),
            Self::TooLong { announced } => write!(out, "a string of {announced} bytes exceeds the limit"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Why a sample's values could not be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ReadError {
    /// The peer broke the protocol.
    Malformed(Malformed),
    /// The caller's array does not have one entry per channel, or the bytes are not one sample's values.
    Shape,
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => why.fmt(out),
            Self::Shape => out.write_str("the array does not fit the number of channels"),
        }
    }
}

impl core::error::Error for ReadError {}

impl From<Malformed> for ReadError {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}
