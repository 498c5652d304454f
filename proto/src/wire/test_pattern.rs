//! The two samples after the handshake. They show a receiver whether it decodes what the sender encoded.
//!
//! Source: lsl-wire §12.

use core::fmt;

use super::{
    Sink,
    archive::{self, Archive},
    number,
    sample::{self, EncodeError, Layout, Stamp, Value, put_converted},
    sink::whole,
};
use crate::stream::ChannelFormat;

/// Appends both samples in data protocol 1.10.
///
/// - Errors: [`EncodeError`].
pub fn encode(layout: &Layout, out: &mut impl Sink) -> Result<(), EncodeError> {
    whole(out, |out| {
        OFFSETS.into_iter().try_for_each(|offset| {
            layout.put_stamp(Stamp::Sent(STAMP), out)?;
            let mut values = (0..layout.channel_count).map(|channel| value(layout.format, offset, channel));
            let order = layout.order;
            match layout.format {
                ChannelFormat::Undefined => return Err(EncodeError::Shape),
                ChannelFormat::Float32 => values.try_for_each(|v| put_converted::<_, f32>(&[v], order, out)),
                ChannelFormat::Double64 => values.try_for_each(|v| put_converted::<_, f64>(&[v], order, out)),
                ChannelFormat::Int32 => values.try_for_each(|v| put_converted::<_, i32>(&[v], order, out)),
                ChannelFormat::Int16 => values.try_for_each(|v| put_converted::<_, i16>(&[v], order, out)),
                ChannelFormat::Int8 => values.try_for_each(|v| put_converted::<_, i8>(&[v], order, out)),
                ChannelFormat::Int64 => values.try_for_each(|v| put_converted::<_, i64>(&[v], order, out)),
                ChannelFormat::String => {
                    values.try_for_each(|v| layout.put_string(number::integer(v).as_bytes(), out))
                }
            }?;
            Ok(())
        })
    })
}

/// Checks both samples in data protocol 1.10 and returns their length, or nothing while they are incomplete.
///
/// - Errors: [`Mismatch`]: drop the connection.
pub fn verify(layout: &Layout, bytes: &[u8]) -> Result<Option<usize>, Mismatch> {
    let mut rest = bytes;
    for offset in OFFSETS {
        let Some((stamp, values, behind)) = layout.split_sample(rest)? else { return Ok(None) };
        let as_expected = match layout.format {
            ChannelFormat::Undefined => false,
            ChannelFormat::Float32 => numbers_match::<f32>(layout, offset, values),
            ChannelFormat::Double64 => numbers_match::<f64>(layout, offset, values),
            ChannelFormat::Int32 => numbers_match::<i32>(layout, offset, values),
            ChannelFormat::Int16 => numbers_match::<i16>(layout, offset, values),
            ChannelFormat::Int8 => numbers_match::<i8>(layout, offset, values),
            ChannelFormat::Int64 => numbers_match::<i64>(layout, offset, values),
            ChannelFormat::String => layout.strings(values).enumerate().all(|(channel, text)| {
                text == number::integer(value(layout.format, offset, channel)).as_bytes()
            }),
        };
        if stamp != Stamp::Sent(STAMP) || !as_expected {
            return Err(Mismatch::Values);
        }
        rest = behind;
    }
    Ok(Some(bytes.len() - rest.len()))
}

/// Appends both samples in protocol 1.00; they follow [`Archive::encode_header`].
///
/// - Errors: [`EncodeError`].
pub fn encode_archive(archive: &Archive, out: &mut impl Sink) -> Result<(), EncodeError> {
    whole(out, |out| OFFSETS.into_iter().try_for_each(|offset| archive.encode_pattern(STAMP, offset, out)))
}

/// Checks both samples in protocol 1.00 and returns their length, or nothing while they are incomplete.
///
/// - Errors: [`Mismatch`]: drop the connection.
pub fn verify_archive(archive: &Archive, bytes: &[u8]) -> Result<Option<usize>, Mismatch> {
    let mut rest = bytes;
    for offset in OFFSETS {
        let visited = archive.visit(rest, |channel, item| {
            let expected = value(archive.format, offset, channel);
            if item.is_number(archive.format, expected) { Ok(()) } else { Err(Mismatch::Values) }
        })?;
        let Some((stamp, len)) = visited else { return Ok(None) };
        if stamp != Stamp::Sent(STAMP) {
            return Err(Mismatch::Values);
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(Some(bytes.len() - rest.len()))
}

/// The sender encodes other values than we expect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The bytes of protocol 1.00 are no samples.
    Archive(archive::Malformed),
    /// The bytes of protocol 1.10 are no samples.
    Sample(sample::Malformed),
    /// The stamp or a value differs.
    Values,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(why) => why.fmt(out),
            Self::Sample(why) => why.fmt(out),
            Self::Values => out.write_str("the test pattern has other values than expected"),
        }
    }
}

impl core::error::Error for Mismatch {}

impl From<archive::Malformed> for Mismatch {
    fn from(why: archive::Malformed) -> Self {
        Self::Archive(why)
    }
}

impl From<sample::Malformed> for Mismatch {
    fn from(why: sample::Malformed) -> Self {
        Self::Sample(why)
    }
}

/// The value of a channel, exact in every format; for strings, the number to print.
fn value(format: ChannelFormat, offset: i64, channel: usize) -> i64 {
    let sign = if channel.is_multiple_of(2) { 1 } else { -1 };
    let channel = i64::try_from(channel).unwrap_or(i64::MAX);
    let sum = channel.saturating_add(offset);
    let magnitude = match format {
        ChannelFormat::Undefined => 0,
        ChannelFormat::Float32 => sum,
        ChannelFormat::Double64 => sum.saturating_add(16_777_217),
        // The modulus is the type's largest value, not the number of its values.
        ChannelFormat::Int32 => sum.saturating_add(65_537) % i64::from(i32::MAX),
        ChannelFormat::Int16 => sum.saturating_add(257) % i64::from(i16::MAX),
        ChannelFormat::Int8 => sum.saturating_add(1) % i64::from(i8::MAX),
        ChannelFormat::Int64 => sum.saturating_add(2_147_483_649),
        // Both samples are equal.
        ChannelFormat::String => channel.saturating_add(10),
    };
    sign * magnitude
}

fn numbers_match<T: Value>(layout: &Layout, offset: i64, values: &[u8]) -> bool {
    layout
        .numbers::<T>(values)
        .enumerate()
        .all(|(channel, number)| number == value(layout.format, offset, channel).convert())
}

impl Archive {
    fn encode_pattern(&self, stamp: f64, offset: i64, out: &mut impl Sink) -> Result<(), EncodeError> {
        let values = (0..self.channel_count).map(|channel| value(self.format, offset, channel));
        self.encode_each(Stamp::Sent(stamp), values, out)
    }
}

impl archive::Item<'_> {
    /// Whether this is `expected` in a stream of `format`.
    fn is_number(&self, format: ChannelFormat, expected: i64) -> bool {
        match (self, format) {
            (Self::Text(text), _) => *text == number::integer(expected).as_bytes(),
            (Self::Bits(bits), ChannelFormat::Float32) => {
                *bits == u64::from(expected.convert::<f32>().to_bits())
            }
            (Self::Bits(bits), ChannelFormat::Double64) => *bits == expected.convert::<f64>().to_bits(),
            (Self::Bits(bits), _) => i64::from_ne_bytes(bits.to_ne_bytes()) == expected,
        }
    }
}

/// Stamp of both samples, in seconds.
const STAMP: f64 = 123_456.789;
/// What distinguishes the two samples.
const OFFSETS: [i64; 2] = [4, 2];
