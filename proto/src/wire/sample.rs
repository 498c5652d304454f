//! Samples in data protocol 1.10: a tag, a stamp if it is not deduced, then one value per channel.
//!
//! Both ends agree on a [`Layout`]. It encodes samples from values of any type and decodes them into
//! values of any type. Nothing separates samples, so a reader must know the layout and start at a
//! boundary. Source: lsl-wire §13 (encoding), §21 (conversions).
//!
//! Not here: the handshake that leads to a layout ([`super::feed`]), protocol 1.00 ([`super::archive`]).

mod decode;
mod encode;
mod value;

pub use decode::{Extent, Malformed, ReadError, StampTracker};
pub use encode::EncodeError;
pub use value::Value;

pub(in crate::wire) use decode::walk;
pub(in crate::wire) use encode::put_converted;

use crate::stream::{ChannelFormat, DEDUCED_TIMESTAMP};

/// How the samples of one connection are laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Layout {
    /// Type of the values on the wire.
    pub format: ChannelFormat,
    /// Number of values per sample.
    pub channel_count: usize,
    /// Order of the bytes in stamps, numbers and string lengths.
    pub order: ByteOrder,
    /// Whether a reader replaces subnormal numbers by zero.
    pub subnormals: Subnormals,
    /// Most bytes that the strings of one sample may have together, for a reader.
    pub string_limit: usize,
}

impl Layout {
    /// Describes samples of `channel_count` values that keep subnormals and the default string limit.
    pub const fn new(format: ChannelFormat, channel_count: usize, order: ByteOrder) -> Self {
        Self {
            format,
            channel_count,
            order,
            subnormals: Subnormals::Keep,
            string_limit: DEFAULT_STRING_LIMIT,
        }
    }

    /// Returns the length of a sample's values in bytes, or nothing if it varies.
    pub const fn values_len(&self) -> Option<usize> {
        match self.format.value_size() {
            Some(size) => Some(self.channel_count.saturating_mul(size)),
            None => None,
        }
    }
}

/// Order of the bytes in a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ByteOrder {
    /// Most significant byte first; code 4321.
    Big,
    /// Least significant byte first; code 1234.
    Little,
}

impl ByteOrder {
    /// This processor's order.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Reads the number of a byte-order header; 0 stands for "no preference" and is taken as native.
    ///
    /// Returns nothing for mixed orders (2134, 1, 2), which cannot be decoded.
    pub const fn from_code(code: i32) -> Option<Self> {
        match code {
            1234 => Some(Self::Little),
            4321 => Some(Self::Big),
            // Sent by liblsl around 1.13 for "portable".
            0 => Some(Self::NATIVE),
            _ => None,
        }
    }

    /// Returns the number that headers use.
    pub const fn code(self) -> i32 {
        match self {
            Self::Big => 4321,
            Self::Little => 1234,
        }
    }

    /// Returns the other order.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::Big => Self::Little,
            Self::Little => Self::Big,
        }
    }
}

/// When a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stamp {
    /// One sample period after the one before.
    Deduced,
    /// At this time, in seconds on the sender's clock.
    Sent(f64),
}

impl From<f64> for Stamp {
    /// Takes exactly −1.0 as "deduced", like every sender.
    fn from(seconds: f64) -> Self {
        if seconds == DEDUCED_TIMESTAMP { Self::Deduced } else { Self::Sent(seconds) }
    }
}

impl From<Stamp> for f64 {
    fn from(stamp: Stamp) -> Self {
        match stamp {
            Stamp::Deduced => DEDUCED_TIMESTAMP,
            Stamp::Sent(seconds) => seconds,
        }
    }
}

/// What a reader does with numbers too small for full precision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Subnormals {
    /// Leaves them alone.
    Keep,
    /// Replaces them by zero of the same sign, because the sender asked for it.
    Suppress,
}

/// String limit of [`Layout::new`]: 64 MiB per sample.
pub const DEFAULT_STRING_LIMIT: usize = 64 << 20;

/// Length of a tag in bytes.
const TAG_LEN: usize = 1;
/// Length of a transmitted stamp in bytes, without its tag.
const STAMP_LEN: usize = 8;
/// A deduced stamp follows (nothing).
const TAG_DEDUCED: u8 = 1;
/// A transmitted stamp follows.
const TAG_SENT: u8 = 2;

#[cfg(test)]
mod tests;
