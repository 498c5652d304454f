//! Values to archive bytes.

use super::{ARCHIVE_VERSION, Archive, MAGIC, SAMPLE_CLASS};
use crate::{
    stream::ChannelFormat,
    wire::{
        NoRoom, Sink,
        sample::{EncodeError, Extent, Layout, Stamp, Value},
        sink::whole,
    },
};

impl Archive {
    /// Appends what stands before the first sample: the archive's own header and the stream's description.
    pub fn encode_header(shortinfo: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
        whole(out, |out| {
            out.put(&[MAGIC])?;
            put_unsigned(ARCHIVE_VERSION, out)?;
            put_string(shortinfo.as_bytes(), out)?;
            out.put(&SAMPLE_CLASS)
        })
    }

    /// Appends one sample of as many values as there are channels.
    pub(in crate::wire) fn encode_each<T: Value>(
        &self,
        stamp: Stamp,
        mut values: impl Iterator<Item = T>,
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        whole(out, |out| {
            put_stamp(stamp, out)?;
            match self.format {
                ChannelFormat::Undefined => return Err(EncodeError::Shape),
                ChannelFormat::Float32 => values.try_for_each(|v| put_f32(v.convert(), out)),
                ChannelFormat::Double64 => values.try_for_each(|v| put_f64(v.convert(), out)),
                ChannelFormat::Int32 => values.try_for_each(|v| put_signed(v.convert::<i32>().into(), out)),
                ChannelFormat::Int16 => values.try_for_each(|v| put_signed(v.convert::<i16>().into(), out)),
                ChannelFormat::Int8 => values.try_for_each(|v| put_signed(v.convert::<i8>().into(), out)),
                ChannelFormat::Int64 => values.try_for_each(|v| put_signed(v.convert(), out)),
                ChannelFormat::String => values.try_for_each(|v| put_string(v.text().as_bytes(), out)),
            }?;
            Ok(())
        })
    }

    /// Appends one sample that is given as data protocol 1.10 lays it out.
    ///
    /// - Shape: `layout` has this archive's format and channel count; stamp and values as
    ///   [`Layout::split_sample`] gave them.
    /// - Errors: [`EncodeError`].
    pub fn encode_plain(
        &self,
        layout: &Layout,
        stamp: Stamp,
        values: &[u8],
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        let right_len = layout.values_len().is_none_or(|len| len == values.len());
        let right_layout = (layout.format, layout.channel_count) == (self.format, self.channel_count);
        if !right_len || !right_layout || self.format == ChannelFormat::Undefined {
            return Err(EncodeError::Shape);
        }
        whole(out, |out| {
            put_stamp(stamp, out)?;
            match self.format {
                ChannelFormat::Undefined => {}
                ChannelFormat::Float32 => layout.numbers(values).try_for_each(|value| put_f32(value, out))?,
                ChannelFormat::Double64 => {
                    layout.numbers(values).try_for_each(|value| put_f64(value, out))?
                }
                ChannelFormat::Int32 => put_integers::<i32>(layout, values, out)?,
                ChannelFormat::Int16 => put_integers::<i16>(layout, values, out)?,
                ChannelFormat::Int8 => put_integers::<i8>(layout, values, out)?,
                ChannelFormat::Int64 => put_integers::<i64>(layout, values, out)?,
                ChannelFormat::String => {
                    let mut count = 0;
                    for string in layout.strings(values) {
                        put_string(string, out)?;
                        count += 1;
                    }
                    if count != self.channel_count {
                        return Err(EncodeError::Shape);
                    }
                }
            }
            Ok(())
        })
    }

    /// Appends every complete sample of `bytes`, laid out by `layout`, and returns their number.
    ///
    /// - Shape: `layout` has this archive's format and channel count.
    /// - Errors: [`EncodeError`]; [`EncodeError::Shape`] also for bytes that are no samples.
    pub fn translate(
        &self,
        layout: &Layout,
        bytes: &[u8],
        out: &mut impl Sink,
    ) -> Result<Extent, EncodeError> {
        let mut extent = Extent::default();
        whole(out, |out| {
            let mut rest = bytes;
            while let Some((stamp, values, behind)) =
                layout.split_sample(rest).map_err(|_| EncodeError::Shape)?
            {
                self.encode_plain(layout, stamp, values, out)?;
                rest = behind;
                extent.samples += 1;
            }
            extent.bytes = bytes.len() - rest.len();
            Ok::<_, EncodeError>(())
        })?;
        Ok(extent)
    }

    /// Appends the beginning of a sample: tag and stamp. The values must follow.
    pub fn put_stamp(&self, stamp: Stamp, out: &mut impl Sink) -> Result<(), NoRoom> {
        put_stamp(stamp, out)
    }
}

fn put_integers<T: Value + Into<i64>>(
    layout: &Layout,
    values: &[u8],
    out: &mut impl Sink,
) -> Result<(), NoRoom> {
    layout.numbers::<T>(values).try_for_each(|value| put_signed(value.into(), out))
}

pub(super) fn put_stamp(stamp: Stamp, out: &mut impl Sink) -> Result<(), NoRoom> {
    match stamp {
        Stamp::Deduced => put_unsigned(1, out),
        Stamp::Sent(seconds) => {
            put_unsigned(2, out)?;
            put_f64(seconds, out)
        }
    }
}

/// Every NaN becomes the positive one with all bits set.
pub(super) fn put_f32(value: f32, out: &mut impl Sink) -> Result<(), NoRoom> {
    put_unsigned(u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }), out)
}

/// Every NaN becomes the positive one with all bits set.
pub(super) fn put_f64(value: f64, out: &mut impl Sink) -> Result<(), NoRoom> {
    put_unsigned(if value.is_nan() { 0x7fff_ffff_ffff_ffff } else { value.to_bits() }, out)
}

/// A size byte, then that many bytes; 0 is the size byte alone.
pub(super) fn put_unsigned(value: u64, out: &mut impl Sink) -> Result<(), NoRoom> {
    let len = 8 - value.leading_zeros() / 8;
    put_sized(len.to_le_bytes(), value.to_le_bytes(), len, out)
}

/// Negative numbers have a negative size, and their leading ones are left out.
pub(super) fn put_signed(value: i64, out: &mut impl Sink) -> Result<(), NoRoom> {
    if value >= 0 {
        return put_unsigned(value.unsigned_abs(), out);
    }
    // −1 keeps one byte.
    let len = (8 - value.leading_ones() / 8).max(1);
    put_sized(len.wrapping_neg().to_le_bytes(), value.to_le_bytes(), len, out)
}

fn put_sized([size, ..]: [u8; 4], bytes: [u8; 8], len: u32, out: &mut impl Sink) -> Result<(), NoRoom> {
    let len = usize::try_from(len).map_err(|_| NoRoom)?;
    out.put(&[size])?;
    out.put(bytes.get(..len).ok_or(NoRoom)?)
}

pub(super) fn put_string(text: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
    put_unsigned(u64::try_from(text.len()).map_err(|_| NoRoom)?, out)?;
    out.put(text)
}
