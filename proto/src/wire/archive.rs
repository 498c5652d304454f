//! Samples in protocol 1.00: a portable archive, as very old peers and some configurations want it.
//!
//! After a header with the stream's description, samples follow whose numbers take as few bytes as they need.
//! All other modules handle samples as data protocol 1.10 lays them out. This module translates:
//! [`Archive::encode_plain`] on the way out, [`Archive::decode`] on the way in. Source: lsl-wire §14.

mod decode;
mod encode;

pub(in crate::wire) use decode::Item;
pub use decode::{DecodeError, Header, Malformed};

use super::sample::DEFAULT_STRING_LIMIT;
use crate::stream::ChannelFormat;

/// How the samples of one 1.00 connection are laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Archive {
    /// Type of the values.
    pub format: ChannelFormat,
    /// Number of values per sample.
    pub channel_count: usize,
    /// Most bytes that the strings of one sample may have together, for a reader.
    pub string_limit: usize,
}

impl Archive {
    /// Describes samples of `channel_count` values with the default string limit.
    pub const fn new(format: ChannelFormat, channel_count: usize) -> Self {
        Self { format, channel_count, string_limit: DEFAULT_STRING_LIMIT }
    }
}

/// Longest description that a reader accepts in the header, in bytes.
pub const DESCRIPTION_LIMIT: usize = 1 << 20;

/// First byte of an archive.
const MAGIC: u8 = 0x7f;
/// Version of the archive that we write.
const ARCHIVE_VERSION: u64 = 9;
/// Newest version of the archive that readers accept.
const NEWEST_ARCHIVE_VERSION: u64 = 17;
/// Class id and version of samples, written once before the first.
const SAMPLE_CLASS: [u8; 2] = [0, 0];

#[cfg(test)]
mod tests;
