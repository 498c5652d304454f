//! Values to bytes.

use core::fmt;

use super::{ByteOrder, Layout, STAMP_LEN, Stamp, TAG_DEDUCED, TAG_LEN, TAG_SENT, Value};
use crate::{
    stream::ChannelFormat,
    wire::{NoRoom, Sink, sink::whole},
};

/// Why samples could not be encoded; the sink is as it was before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The sink is full: give a larger one.
    NoRoom,
    /// The number of values does not fit the number of channels, or the stream's format cannot hold them.
    Shape,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoRoom => "the samples do not fit into the buffer",
            Self::Shape => "the number or type of the values does not fit the stream",
        })
    }
}

impl core::error::Error for EncodeError {}

impl From<NoRoom> for EncodeError {
    fn from(NoRoom: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl Layout {
    /// Appends one sample, converting its values to the stream's format.
    ///
    /// - Shape: one value per channel.
    /// - Errors: [`EncodeError`].
    /// - Source: lsl-wire §13, §21.
    pub fn encode<T: Value>(
        &self,
        stamp: Stamp,
        values: &[T],
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        if values.len() != self.channel_count {
            return Err(EncodeError::Shape);
        }
        out.reserve(self.sample_capacity());
        whole(out, |out| self.put_sample(stamp, values, out))
    }

    /// Appends a chunk: its first sample with `first`, the others with deduced stamps.
    ///
    /// - Shape: `values` is samples × channels, one row per sample.
    /// - Errors: [`EncodeError`].
    pub fn encode_chunk<T: Value>(
        &self,
        first: Stamp,
        values: &[T],
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        let rows = self.rows(values.len())?;
        out.reserve(self.sample_capacity().saturating_mul(rows));
        whole(out, |out| {
            let stamps = core::iter::once(first).chain(core::iter::repeat(Stamp::Deduced));
            for (row, stamp) in values.chunks_exact(self.channel_count.max(1)).zip(stamps) {
                self.put_sample(stamp, row, out)?;
            }
            Ok(())
        })
    }

    /// Appends a chunk whose samples have a stamp each.
    ///
    /// - Units: `stamps` in seconds on our clock; −1.0 is sent as deduced.
    /// - Shape: `values` is samples × channels, one row per sample; `stamps` has one entry per row.
    /// - Errors: [`EncodeError`].
    pub fn encode_stamped_chunk<T: Value>(
        &self,
        stamps: &[f64],
        values: &[T],
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        let rows = self.rows(values.len())?;
        if stamps.len() != rows {
            return Err(EncodeError::Shape);
        }
        out.reserve(self.sample_capacity().saturating_mul(rows));
        whole(out, |out| {
            for (row, stamp) in values.chunks_exact(self.channel_count.max(1)).zip(stamps) {
                self.put_sample(Stamp::from(*stamp), row, out)?;
            }
            Ok(())
        })
    }

    /// Appends one sample whose values are given as this machine stores them.
    ///
    /// - Shape: the channels' values one after the other, in native byte order.
    /// - Errors: [`EncodeError::Shape`] for another length, and for string streams.
    pub fn encode_raw(&self, stamp: Stamp, native: &[u8], out: &mut impl Sink) -> Result<(), EncodeError> {
        if self.values_len() != Some(native.len()) {
            return Err(EncodeError::Shape);
        }
        out.reserve(self.sample_capacity());
        whole(out, |out| {
            self.put_stamp(stamp, out)?;
            Ok(self.put_reordered(native, out)?)
        })
    }

    /// Appends one sample from strings, which numeric streams read as numbers.
    ///
    /// - Shape: one string per channel.
    /// - Errors: [`EncodeError`].
    /// - Source: lsl-wire §13, §21.
    pub fn encode_strings<'a, I>(
        &self,
        stamp: Stamp,
        strings: I,
        out: &mut impl Sink,
    ) -> Result<(), EncodeError>
    where
        I: IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>,
    {
        let strings = strings.into_iter();
        if strings.len() != self.channel_count || self.format == ChannelFormat::Undefined {
            return Err(EncodeError::Shape);
        }
        whole(out, |out| {
            self.put_stamp(stamp, out)?;
            for text in strings {
                self.put_text_value(text, out)?;
            }
            Ok(())
        })
    }

    /// Appends one sample of a stream of strings; needs none of the conversions that [`encode_strings`] does for others.
    ///
    /// - Shape: one string per channel.
    /// - Errors: [`EncodeError`].
    ///
    /// [`encode_strings`]: Self::encode_strings
    pub fn encode_raw_strings<'a, I>(
        &self,
        stamp: Stamp,
        strings: I,
        out: &mut impl Sink,
    ) -> Result<(), EncodeError>
    where
        I: IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>,
    {
        let mut strings = strings.into_iter();
        if strings.len() != self.channel_count || self.format != ChannelFormat::String {
            return Err(EncodeError::Shape);
        }
        whole(out, |out| {
            self.put_stamp(stamp, out)?;
            Ok(strings.try_for_each(|text| self.put_string(text, out))?)
        })
    }

    /// Appends the beginning of a sample: tag and stamp. The values must follow.
    pub fn put_stamp(&self, stamp: Stamp, out: &mut impl Sink) -> Result<(), NoRoom> {
        let Stamp::Sent(seconds) = stamp else { return out.put(&[TAG_DEDUCED]) };
        let mut bytes = [TAG_SENT; TAG_LEN + STAMP_LEN];
        if let Some((_, stamp)) = bytes.split_first_mut() {
            stamp.copy_from_slice(&match self.order {
                ByteOrder::Big => seconds.to_be_bytes(),
                ByteOrder::Little => seconds.to_le_bytes(),
            });
        }
        out.put(&bytes)
    }

    /// Appends values as this machine stores them, in the stream's byte order. They follow
    /// [`put_stamp`](Self::put_stamp), all at once or in parts.
    ///
    /// - Shape: any number of values of the stream's format, in native byte order.
    pub fn put_values(&self, native: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
        self.put_reordered(native, out)
    }

    fn put_sample<T: Value>(
        &self,
        stamp: Stamp,
        values: &[T],
        out: &mut impl Sink,
    ) -> Result<(), EncodeError> {
        self.put_stamp(stamp, out)?;
        if T::FORMAT == self.format && self.order == ByteOrder::NATIVE {
            return Ok(out.put(bytemuck::cast_slice(values))?);
        }
        match self.format {
            ChannelFormat::Undefined => return Err(EncodeError::Shape),
            ChannelFormat::Float32 => put_converted::<T, f32>(values, self.order, out)?,
            ChannelFormat::Double64 => put_converted::<T, f64>(values, self.order, out)?,
            ChannelFormat::Int32 => put_converted::<T, i32>(values, self.order, out)?,
            ChannelFormat::Int16 => put_converted::<T, i16>(values, self.order, out)?,
            ChannelFormat::Int8 => put_converted::<T, i8>(values, self.order, out)?,
            ChannelFormat::Int64 => put_converted::<T, i64>(values, self.order, out)?,
            ChannelFormat::String => {
                for value in values {
                    self.put_string(value.text().as_bytes(), out)?;
                }
            }
        }
        Ok(())
    }

    /// Puts one value of the stream's format, given as text.
    fn put_text_value(&self, text: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
        match self.format {
            ChannelFormat::Undefined => Ok(()),
            ChannelFormat::Float32 => put_converted::<_, f32>(&[f32::parse(text)], self.order, out),
            ChannelFormat::Double64 => put_converted::<_, f64>(&[f64::parse(text)], self.order, out),
            ChannelFormat::Int32 => put_converted::<_, i32>(&[i32::parse(text)], self.order, out),
            ChannelFormat::Int16 => put_converted::<_, i16>(&[i16::parse(text)], self.order, out),
            ChannelFormat::Int8 => put_converted::<_, i8>(&[i8::parse(text)], self.order, out),
            ChannelFormat::Int64 => put_converted::<_, i64>(&[i64::parse(text)], self.order, out),
            ChannelFormat::String => self.put_string(text, out),
        }
    }

    pub(in crate::wire) fn put_string(&self, text: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
        if let Ok(len) = u8::try_from(text.len()) {
            out.put(&[1, len])?;
        } else if let Ok(len) = u32::try_from(text.len()) {
            out.put(&[4])?;
            out.put(&match self.order {
                ByteOrder::Big => len.to_be_bytes(),
                ByteOrder::Little => len.to_le_bytes(),
            })?;
        } else {
            // Strings above 4 GiB; a usize has at most 64 bits.
            let len = u64::try_from(text.len()).map_err(|_| NoRoom)?;
            out.put(&[8])?;
            out.put(&match self.order {
                ByteOrder::Big => len.to_be_bytes(),
                ByteOrder::Little => len.to_le_bytes(),
            })?;
        }
        out.put(text)
    }

    fn put_reordered(&self, native: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
        if self.order == ByteOrder::NATIVE {
            return out.put(native);
        }
        let size = self.format.value_size().unwrap_or(1);
        let mut block = [0; BLOCK_VALUES * 8];
        for part in native.chunks(BLOCK_VALUES * size) {
            let block = block.get_mut(..part.len()).ok_or(NoRoom)?;
            block.copy_from_slice(part);
            reverse_each(block, size);
            out.put(block)?;
        }
        Ok(())
    }

    /// Number of samples that `value_count` values make.
    fn rows(&self, value_count: usize) -> Result<usize, EncodeError> {
        match value_count.checked_rem(self.channel_count) {
            Some(0) => Ok(value_count / self.channel_count.max(1)),
            None if value_count == 0 => Ok(0),
            Some(_) | None => Err(EncodeError::Shape),
        }
    }

    /// Room to reserve for one sample; strings are guessed.
    fn sample_capacity(&self) -> usize {
        let values = self.values_len().unwrap_or(self.channel_count.saturating_mul(16));
        values.saturating_add(TAG_LEN + STAMP_LEN)
    }
}

pub(in crate::wire) fn put_converted<T: Value, U: Value>(
    values: &[T],
    order: ByteOrder,
    out: &mut impl Sink,
) -> Result<(), NoRoom> {
    let mut block = [U::default(); BLOCK_VALUES];
    for part in values.chunks(BLOCK_VALUES) {
        let block = block.get_mut(..part.len()).ok_or(NoRoom)?;
        for (to, from) in block.iter_mut().zip(part) {
            *to = from.convert::<U>().reordered(order);
        }
        out.put(bytemuck::cast_slice(block))?;
    }
    Ok(())
}

/// Turns around the bytes of each value of `size` bytes.
pub(super) fn reverse_each(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|value| value.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|value| value.reverse()),
        8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|value| value.reverse()),
        _ => {}
    }
}

/// Values converted at a time, on the stack.
const BLOCK_VALUES: usize = 64;
