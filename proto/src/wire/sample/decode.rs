//! Bytes to values.

use super::{
    ByteOrder, Layout, STAMP_LEN, Stamp, Subnormals, TAG_DEDUCED, TAG_LEN, Value, value::sealed::Sealed,
};
use crate::stream::{ChannelFormat, IRREGULAR_RATE};

mod error;

pub use error::{Malformed, ReadError};

/// A number of whole samples, and how much room they take.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Extent {
    /// Samples.
    pub samples: usize,
    /// Bytes on the wire.
    pub bytes: usize,
}

/// Turns what is on the wire into stamps: a deduced one is the previous one plus one sample period.
///
/// One per connection: "previous" begins at 0. lsl-wire §13.
#[derive(Clone, Copy, Debug)]
pub struct StampTracker {
    previous: f64,
    period: f64,
}

impl StampTracker {
    /// Begins a connection.
    ///
    /// - Units: `nominal_rate` in Hz, 0 for a stream without a rate, whose deduced stamps repeat the previous one.
    pub fn new(nominal_rate: f64) -> Self {
        let period = if nominal_rate == IRREGULAR_RATE { 0.0 } else { 1.0 / nominal_rate };
        Self { previous: 0.0, period }
    }

    /// Returns the stamp of the next sample, in seconds on the sender's clock.
    pub fn resolve(&mut self, stamp: Stamp) -> f64 {
        self.previous = match stamp {
            Stamp::Deduced => self.previous + self.period,
            Stamp::Sent(seconds) => seconds,
        };
        self.previous
    }

    /// Returns the latest stamp, in seconds on the sender's clock; 0 before the first.
    pub fn previous(&self) -> f64 {
        self.previous
    }
}

impl Layout {
    /// Returns the length of the sample that `bytes` begin with, or nothing while it is incomplete.
    ///
    /// - Errors: [`Malformed`]: drop the connection. A string above the limit is refused as soon as its length
    ///   is known, before its bytes have arrived.
    pub fn sample_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some((tag, _)) = bytes.split_first() else { return Ok(None) };
        let head = if *tag == TAG_DEDUCED { TAG_LEN } else { TAG_LEN + STAMP_LEN };
        let len = match self.values_len() {
            Some(values) => head.saturating_add(values),
            None => {
                let Some(values) = bytes.get(head..) else { return Ok(None) };
                let Some(values) = self.strings_len(values)? else { return Ok(None) };
                head.saturating_add(values)
            }
        };
        Ok((len <= bytes.len()).then_some(len))
    }

    /// Splits the sample that `bytes` begin with into its stamp, the bytes of its values and what follows.
    ///
    /// Returns nothing while it is incomplete.
    /// - Errors: [`Malformed`]: drop the connection.
    #[expect(
        clippy::type_complexity,
        reason = "a struct for three parts of one slice would need a name of its own"
    )]
    pub fn split_sample<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<Option<(Stamp, &'a [u8], &'a [u8])>, Malformed> {
        let Some(len) = self.sample_len(bytes)? else { return Ok(None) };
        let Some((sample, rest)) = bytes.split_at_checked(len) else { return Ok(None) };
        Ok(self.split_stamp(sample).map(|(stamp, values)| (stamp, values, rest)))
    }

    /// Counts the complete samples that `bytes` begin with, up to `limit`.
    ///
    /// - Errors: [`Malformed`] if the first sample is; one behind good samples is reported when its turn comes.
    pub fn count(&self, bytes: &[u8], limit: usize) -> Result<Extent, Malformed> {
        self.walk(bytes, limit, |_| ())
    }

    /// Counts like [`Self::count`] and lets `tracker` follow the stamps of the samples passed over.
    pub fn skip(&self, bytes: &[u8], limit: usize, tracker: &mut StampTracker) -> Result<Extent, Malformed> {
        self.walk(bytes, limit, |sample| {
            if let Some((stamp, _)) = self.split_stamp(sample) {
                tracker.resolve(stamp);
            }
        })
    }

    /// Decodes the samples that `bytes` begin with, as many as are complete and as fit, and says how many.
    ///
    /// - Units: `stamps` in seconds on the sender's clock.
    /// - Shape: `out` is samples × channels, one row per sample. `stamps` has one entry per row, or none
    ///   if not wanted.
    /// - Errors: [`Malformed`] if the first sample is; one behind good samples is reported when its turn comes.
    pub fn decode_chunk<T: Value>(
        &self,
        bytes: &[u8],
        out: &mut [T],
        stamps: &mut [f64],
        tracker: &mut StampTracker,
    ) -> Result<Extent, Malformed> {
        let mut rows = out.chunks_exact_mut(self.channel_count.max(1));
        let wanted = if stamps.is_empty() { usize::MAX } else { stamps.len() };
        let limit = rows.len().min(wanted);
        let mut stamps = stamps.iter_mut();
        self.walk(bytes, limit, |sample| {
            let Some((stamp, values)) = self.split_stamp(sample) else { return };
            let stamp = tracker.resolve(stamp);
            if let Some(entry) = stamps.next() {
                *entry = stamp;
            }
            if let Some(row) = rows.next() {
                self.read_row(values, row);
            }
        })
    }

    /// Reads one sample's values, converting them from the stream's format.
    ///
    /// - Shape: `values` as [`Self::split_sample`] gave them; `out` has one entry per channel.
    /// - Errors: [`ReadError`].
    /// - Source: lsl-wire §13, §21.
    pub fn read_values<T: Value>(&self, values: &[u8], out: &mut [T]) -> Result<(), ReadError> {
        self.check_values(values)?;
        if out.len() != self.channel_count {
            return Err(ReadError::Shape);
        }
        self.read_row(values, out);
        Ok(())
    }

    /// Reads one sample's values as this machine stores them, for numeric streams only.
    ///
    /// - Shape: `out` has as many bytes as `values`.
    /// - Errors: [`ReadError::Shape`], also for string streams.
    pub fn read_raw(&self, values: &[u8], out: &mut [u8]) -> Result<(), ReadError> {
        if self.values_len() != Some(values.len()) || out.len() != values.len() {
            return Err(ReadError::Shape);
        }
        out.copy_from_slice(values);
        if self.order != ByteOrder::NATIVE {
            super::encode::reverse_each(out, self.format.value_size().unwrap_or(1));
        }
        match (self.subnormals, self.format) {
            (Subnormals::Suppress, ChannelFormat::Float32) => flush_each(out.as_chunks_mut().0, |bytes| {
                f32::from_ne_bytes(*bytes).normalized(Subnormals::Suppress).to_ne_bytes()
            }),
            (Subnormals::Suppress, ChannelFormat::Double64) => flush_each(out.as_chunks_mut().0, |bytes| {
                f64::from_ne_bytes(*bytes).normalized(Subnormals::Suppress).to_ne_bytes()
            }),
            _ => {}
        }
        Ok(())
    }

    /// Hands one sample's values to `each` as strings, in channel order; numbers are printed.
    ///
    /// - Shape: `values` as [`Self::split_sample`] gave them.
    /// - Errors: [`ReadError`]; then `each` was not called.
    /// - Source: lsl-wire §13, §21.
    pub fn read_strings(&self, values: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
        self.check_values(values)?;
        match self.format {
            ChannelFormat::Undefined => {}
            ChannelFormat::Float32 => {
                self.numbers::<f32>(values).for_each(|value| each(value.text().as_bytes()))
            }
            ChannelFormat::Double64 => {
                self.numbers::<f64>(values).for_each(|value| each(value.text().as_bytes()))
            }
            ChannelFormat::Int32 => {
                self.numbers::<i32>(values).for_each(|value| each(value.text().as_bytes()))
            }
            ChannelFormat::Int16 => {
                self.numbers::<i16>(values).for_each(|value| each(value.text().as_bytes()))
            }
            ChannelFormat::Int8 => self.numbers::<i8>(values).for_each(|value| each(value.text().as_bytes())),
            ChannelFormat::Int64 => {
                self.numbers::<i64>(values).for_each(|value| each(value.text().as_bytes()))
            }
            ChannelFormat::String => self.strings(values).for_each(each),
        }
        Ok(())
    }

    /// Iterates over the strings of one sample of a string stream; numeric streams have none.
    ///
    /// - Shape: `values` as [`Self::split_sample`] gave them.
    pub fn strings<'a>(&self, values: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let layout = *self;
        let count = if self.format == ChannelFormat::String { self.channel_count } else { 0 };
        let mut rest = values;
        core::iter::from_fn(move || {
            let (string, behind) = layout.split_string(rest, usize::MAX).ok()??;
            rest = behind;
            Some(string)
        })
        .take(count)
    }

    fn walk<'a>(
        &self,
        bytes: &'a [u8],
        limit: usize,
        visit: impl FnMut(&'a [u8]),
    ) -> Result<Extent, Malformed> {
        walk(bytes, limit, |rest| self.sample_len(rest), visit)
    }

    /// Splits the stamp from a sample.
    fn split_stamp<'a>(&self, sample: &'a [u8]) -> Option<(Stamp, &'a [u8])> {
        let (tag, rest) = sample.split_first()?;
        // Any other tag is read as "transmitted", like every receiver does.
        if *tag == TAG_DEDUCED {
            return Some((Stamp::Deduced, rest));
        }
        let (stamp, values) = rest.split_first_chunk()?;
        let seconds = match self.order {
            ByteOrder::Big => f64::from_be_bytes(*stamp),
            ByteOrder::Little => f64::from_le_bytes(*stamp),
        };
        Some((Stamp::Sent(seconds), values))
    }

    /// Length of one sample's strings, or nothing while they are incomplete.
    fn strings_len(&self, values: &[u8]) -> Result<Option<usize>, Malformed> {
        if self.format != ChannelFormat::String {
            return Ok(Some(0));
        }
        let mut rest = values;
        let mut room = self.string_limit;
        for _ in 0..self.channel_count {
            let Some((string, behind)) = self.split_string(rest, room)? else { return Ok(None) };
            room -= string.len();
            rest = behind;
        }
        Ok(Some(values.len() - rest.len()))
    }

    /// Splits a string of at most `room` bytes from `bytes`; nothing while it is incomplete.
    #[expect(clippy::type_complexity, reason = "a pair of slices, or not yet, or never")]
    fn split_string<'a>(
        &self,
        bytes: &'a [u8],
        room: usize,
    ) -> Result<Option<(&'a [u8], &'a [u8])>, Malformed> {
        let Some((size, rest)) = bytes.split_first() else { return Ok(None) };
        if !matches!(size, 1 | 2 | 4 | 8) {
            return Err(Malformed::LengthField { size: *size });
        }
        let Some((field, rest)) = rest.split_at_checked(usize::from(*size)) else { return Ok(None) };
        let append = |len: u64, byte: &u8| (len << 8) | u64::from(*byte);
        let announced = match self.order {
            ByteOrder::Big => field.iter().fold(0, append),
            ByteOrder::Little => field.iter().rev().fold(0, append),
        };
        match usize::try_from(announced) {
            Ok(len) if len <= room => Ok(rest.split_at_checked(len)),
            _ => Err(Malformed::TooLong { announced }),
        }
    }

    /// Whether `values` are exactly one sample's.
    fn check_values(&self, values: &[u8]) -> Result<(), ReadError> {
        let expected = match self.values_len() {
            Some(len) => Some(len),
            None => self.strings_len(values)?,
        };
        if expected == Some(values.len()) { Ok(()) } else { Err(ReadError::Shape) }
    }

    /// Reads checked values.
    fn read_row<T: Value>(&self, values: &[u8], out: &mut [T]) {
        if T::FORMAT == self.format
            && self.order == ByteOrder::NATIVE
            && (self.subnormals == Subnormals::Keep || !self.format.is_float())
        {
            let out: &mut [u8] = bytemuck::cast_slice_mut(out);
            if out.len() == values.len() {
                out.copy_from_slice(values);
            }
            return;
        }
        match self.format {
            ChannelFormat::Undefined => out.fill(T::default()),
            ChannelFormat::Float32 => self.read_converted::<f32, T>(values, out),
            ChannelFormat::Double64 => self.read_converted::<f64, T>(values, out),
            ChannelFormat::Int32 => self.read_converted::<i32, T>(values, out),
            ChannelFormat::Int16 => self.read_converted::<i16, T>(values, out),
            ChannelFormat::Int8 => self.read_converted::<i8, T>(values, out),
            ChannelFormat::Int64 => self.read_converted::<i64, T>(values, out),
            ChannelFormat::String => {
                for (to, string) in out.iter_mut().zip(self.strings(values)) {
                    *to = T::parse(string);
                }
            }
        }
    }

    fn read_converted<U: Value, T: Value>(&self, values: &[u8], out: &mut [T]) {
        for (to, value) in out.iter_mut().zip(self.numbers::<U>(values)) {
            *to = value.convert();
        }
    }

    /// Iterates over one sample's values, given that the stream's format is `U`'s.
    pub(in crate::wire) fn numbers<U: Value>(&self, values: &[u8]) -> impl Iterator<Item = U> {
        let (order, subnormals) = (self.order, self.subnormals);
        values.chunks_exact(size_of::<U>()).map(move |bytes| {
            let value: U = bytemuck::try_pod_read_unaligned(bytes).unwrap_or_default();
            value.reordered(order).normalized(subnormals)
        })
    }
}

/// Calls `visit` with each complete sample, up to `limit`.
///
/// - Errors: what `sample_len` says of the first sample; of a later one, it is left for the next time.
pub(in crate::wire) fn walk<'a, E>(
    bytes: &'a [u8],
    limit: usize,
    sample_len: impl Fn(&'a [u8]) -> Result<Option<usize>, E>,
    mut visit: impl FnMut(&'a [u8]),
) -> Result<Extent, E> {
    let mut extent = Extent::default();
    let mut rest = bytes;
    while extent.samples < limit {
        let len = match sample_len(rest) {
            Ok(len) => len,
            Err(why) if extent.samples == 0 => return Err(why),
            Err(_) => break,
        };
        let Some((sample, behind)) = len.and_then(|len| rest.split_at_checked(len)) else { break };
        visit(sample);
        rest = behind;
        extent.samples += 1;
        extent.bytes += sample.len();
    }
    Ok(extent)
}

fn flush_each<const SIZE: usize>(values: &mut [[u8; SIZE]], flush: impl Fn(&[u8; SIZE]) -> [u8; SIZE]) {
    for value in values {
        *value = flush(value);
    }
}
