//! Archive bytes to samples of data protocol 1.10.

use core::fmt;

use super::{Archive, DESCRIPTION_LIMIT, MAGIC, NEWEST_ARCHIVE_VERSION, SAMPLE_CLASS};
use crate::{
    stream::ChannelFormat,
    wire::{
        NoRoom, Sink,
        sample::{ByteOrder, Extent, Layout, Stamp, StampTracker, walk},
        sink::whole,
    },
};

/// The peer broke the protocol; the connection cannot be read any further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Malformed {
    /// Not an archive, or one of an unknown version.
    Header,
    /// A number has more bytes than its type, or a sign that its type lacks.
    Number,
    /// The strings of one sample, or the description, exceed the limit.
    TooLong {
        /// Length of the string that exceeded it, in bytes.
        announced: u64,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => out.write_str("not an archive that we can read"),
            Self::Number => out.write_str("a number does not fit its type"),
            Self::TooLong { announced } => write!(out, "a string of {announced} bytes exceeds the limit"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Why a sample could not be decoded; the sink is as it was before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The peer broke the protocol.
    Malformed(Malformed),
    /// The sink is full: give a larger one.
    NoRoom,
}

impl From<Malformed> for DecodeError {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}

impl From<NoRoom> for DecodeError {
    fn from(NoRoom: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => why.fmt(out),
            Self::NoRoom => NoRoom.fmt(out),
        }
    }
}

impl core::error::Error for DecodeError {}

/// What stands before the first sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header<'a> {
    /// The stream's description; its UID must be the one asked for.
    pub shortinfo: &'a [u8],
    /// Length of the header in bytes; samples follow.
    pub len: usize,
}

/// One channel's value.
pub(in crate::wire) enum Item<'a> {
    /// A number, as the bits of its type, sign-extended.
    Bits(u64),
    /// A string.
    Text(&'a [u8]),
}

impl Archive {
    /// Reads the header that a connection begins with, or returns nothing while it is incomplete.
    ///
    /// - Errors: [`Malformed`]: drop the connection.
    pub fn decode_header(bytes: &[u8]) -> Result<Option<Header<'_>>, Malformed> {
        let Some((magic, rest)) = bytes.split_first() else { return Ok(None) };
        if *magic != MAGIC {
            return Err(Malformed::Header);
        }
        let Some((version, rest)) = split_unsigned(rest, 2)? else { return Ok(None) };
        if version > NEWEST_ARCHIVE_VERSION {
            return Err(Malformed::Header);
        }
        let Some((shortinfo, rest)) = split_string(rest, DESCRIPTION_LIMIT)? else { return Ok(None) };
        match rest.split_first_chunk() {
            None => Ok(None),
            Some((&SAMPLE_CLASS, rest)) => Ok(Some(Header { shortinfo, len: bytes.len() - rest.len() })),
            Some(_) => Err(Malformed::Header),
        }
    }

    /// Returns the length of the sample that `bytes` begin with, or nothing while it is incomplete.
    ///
    /// - Errors: [`Malformed`]: drop the connection.
    pub fn sample_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let visited = self.visit(bytes, |_, _| Ok::<_, Malformed>(()))?;
        Ok(visited.map(|(_, len)| len))
    }

    /// Splits the sample that `bytes` begin with into its stamp, the bytes of its values and what follows.
    ///
    /// Returns nothing while it is incomplete. The values can be sent with another stamp: [`Self::put_stamp`].
    /// - Errors: [`Malformed`]: drop the connection.
    #[expect(clippy::type_complexity, reason = "the same shape as `Layout::split_sample`")]
    pub fn split_sample<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<Option<(Stamp, &'a [u8], &'a [u8])>, Malformed> {
        let Some(len) = self.sample_len(bytes)? else { return Ok(None) };
        let Some((sample, rest)) = bytes.split_at_checked(len) else { return Ok(None) };
        Ok(self.split_stamp(sample)?.map(|(stamp, values)| (stamp, values, rest)))
    }

    /// Counts the complete samples that `bytes` begin with, up to `limit`, and lets `tracker` follow their stamps.
    ///
    /// - Errors: [`Malformed`] if the first sample is; one behind good samples is reported when its turn comes.
    pub fn skip(&self, bytes: &[u8], limit: usize, tracker: &mut StampTracker) -> Result<Extent, Malformed> {
        let track = |sample| {
            if let Ok(Some((stamp, _))) = self.split_stamp(sample) {
                tracker.resolve(stamp);
            }
        };
        walk(bytes, limit, |rest| self.sample_len(rest), track)
    }

    /// Translates the sample that `bytes` begin with and appends it as [`Self::plain_layout`] lays it out.
    ///
    /// Returns how many bytes were read, or nothing while the sample is incomplete; `out` is then unchanged.
    /// - Errors: [`DecodeError`].
    pub fn decode(&self, bytes: &[u8], out: &mut impl Sink) -> Result<Option<usize>, DecodeError> {
        // Measure first: copying the part of a long sample that has arrived again with every piece would
        // add up.
        let Some(len) = self.sample_len(bytes)? else { return Ok(None) };
        let Some((stamp, _)) = self.split_stamp(bytes)? else { return Ok(None) };
        let layout = self.plain_layout();
        whole(out, |out| {
            layout.put_stamp(stamp, out)?;
            self.visit(bytes, |_, item| self.put_plain(&layout, &item, out))?;
            Ok::<_, DecodeError>(())
        })?;
        Ok(Some(len))
    }

    /// Returns the layout of what [`Self::decode`] appends: this machine's byte order.
    pub const fn plain_layout(&self) -> Layout {
        let mut layout = Layout::new(self.format, self.channel_count, ByteOrder::NATIVE);
        layout.string_limit = self.string_limit;
        layout
    }

    /// Calls `visit` with each channel's number and value, and returns stamp and length of the sample.
    pub(in crate::wire) fn visit<'a, E: From<Malformed>>(
        &self,
        bytes: &'a [u8],
        mut visit: impl FnMut(usize, Item<'a>) -> Result<(), E>,
    ) -> Result<Option<(Stamp, usize)>, E> {
        let Some((stamp, mut rest)) = self.split_stamp(bytes)? else { return Ok(None) };
        let mut room = self.string_limit;
        for channel in 0..self.channel_count {
            let item = match self.format {
                ChannelFormat::Undefined => Some((Item::Bits(0), rest)),
                ChannelFormat::Float32 => split_unsigned(rest, 4)?.map(as_bits),
                ChannelFormat::Double64 => split_unsigned(rest, 8)?.map(as_bits),
                ChannelFormat::Int32 => split_integer(rest, 4)?.map(as_bits),
                ChannelFormat::Int16 => split_integer(rest, 2)?.map(as_bits),
                ChannelFormat::Int8 => split_integer(rest, 1)?.map(as_bits),
                ChannelFormat::Int64 => split_integer(rest, 8)?.map(as_bits),
                ChannelFormat::String => split_string(rest, room)?.map(|(text, rest)| {
                    room -= text.len();
                    (Item::Text(text), rest)
                }),
            };
            let Some((item, behind)) = item else { return Ok(None) };
            visit(channel, item)?;
            rest = behind;
        }
        Ok(Some((stamp, bytes.len() - rest.len())))
    }

    fn split_stamp<'a>(&self, bytes: &'a [u8]) -> Result<Option<(Stamp, &'a [u8])>, Malformed> {
        let Some((tag, rest)) = split_unsigned(bytes, 1)? else { return Ok(None) };
        if tag == 1 {
            return Ok(Some((Stamp::Deduced, rest)));
        }
        Ok(split_unsigned(rest, 8)?.map(|(bits, rest)| (Stamp::Sent(f64::from_bits(bits)), rest)))
    }

    fn put_plain(&self, layout: &Layout, item: &Item<'_>, out: &mut impl Sink) -> Result<(), DecodeError> {
        match item {
            Item::Text(text) => layout.put_string(text, out)?,
            Item::Bits(bits) => {
                let size = self.format.value_size().unwrap_or(0);
                let (native, len) = (bits.to_ne_bytes(), size_of_val(bits));
                let bytes = match ByteOrder::NATIVE {
                    ByteOrder::Big => native.get(len - size..),
                    ByteOrder::Little => native.get(..size),
                };
                out.put(bytes.unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

fn as_bits((bits, rest): (u64, &[u8])) -> (Item<'_>, &[u8]) {
    (Item::Bits(bits), rest)
}

/// Splits off a number that may be negative, of at most `width` bytes, sign-extended.
fn split_integer(bytes: &[u8], width: usize) -> Result<Option<(u64, &[u8])>, Malformed> {
    let Some((size, rest)) = bytes.split_first() else { return Ok(None) };
    let size = i8::from_ne_bytes([*size]);
    let len = usize::from(size.unsigned_abs());
    if len > width {
        return Err(Malformed::Number);
    }
    let Some((digits, rest)) = rest.split_at_checked(len) else { return Ok(None) };
    let fill = if size < 0 { u64::MAX } else { 0 };
    // A width of 8 shifts out the whole fill, one byte at a time.
    let bits = digits.iter().rev().fold(fill, |bits, byte| (bits << 8) | u64::from(*byte));
    Ok(Some((bits, rest)))
}

/// Splits off a number that cannot be negative, of at most `width` bytes.
fn split_unsigned(bytes: &[u8], width: usize) -> Result<Option<(u64, &[u8])>, Malformed> {
    if bytes.first().is_some_and(|size| i8::from_ne_bytes([*size]) < 0) {
        return Err(Malformed::Number);
    }
    split_integer(bytes, width)
}

/// Splits off a string of at most `room` bytes.
#[expect(clippy::type_complexity, reason = "a pair of slices, or not yet, or never")]
fn split_string(bytes: &[u8], room: usize) -> Result<Option<(&[u8], &[u8])>, Malformed> {
    let Some((announced, rest)) = split_unsigned(bytes, 8)? else { return Ok(None) };
    match usize::try_from(announced) {
        Ok(len) if len <= room => Ok(rest.split_at_checked(len)),
        _ => Err(Malformed::TooLong { announced }),
    }
}
