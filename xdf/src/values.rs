//! Samples in memory: typed, one row of channels after another.

use crate::wire::Format;

/// Values of one stream, row after row: the channels of the first sample, then of the second …
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `double64`
    Double64(Vec<f64>),
    /// `float32`
    Float32(Vec<f32>),
    /// `int16`
    Int16(Vec<i16>),
    /// `int32`
    Int32(Vec<i32>),
    /// `int64`
    Int64(Vec<i64>),
    /// `int8`
    Int8(Vec<i8>),
    /// `string`. Bytes that are not UTF-8 are replaced, as pyxdf does.
    String(Vec<String>),
}

/// Runs one expression on the vector that a [`Values`] holds.
macro_rules! on_values {
    ($values:expr, $vector:ident => $body:expr, text => $text:expr) => {
        match $values {
            Values::Double64($vector) => $body,
            Values::Float32($vector) => $body,
            Values::Int16($vector) => $body,
            Values::Int32($vector) => $body,
            Values::Int64($vector) => $body,
            Values::Int8($vector) => $body,
            Values::String($vector) => $text,
        }
    };
    ($values:expr, numbers $vector:ident => $body:expr) => {
        match $values {
            Values::Double64($vector) => $body,
            Values::Float32($vector) => $body,
            Values::Int16($vector) => $body,
            Values::Int32($vector) => $body,
            Values::Int64($vector) => $body,
            Values::Int8($vector) => $body,
            Values::String(_) => {}
        }
    };
    ($values:expr, $vector:ident => $body:expr) => {
        on_values!($values, $vector => $body, text => $body)
    };
}

pub(crate) use on_values;

impl Values {
    /// Returns an empty set of values.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        match format {
            Format::Double64 => Self::Double64(Vec::new()),
            Format::Float32 => Self::Float32(Vec::new()),
            Format::Int16 => Self::Int16(Vec::new()),
            Format::Int32 => Self::Int32(Vec::new()),
            Format::Int64 => Self::Int64(Vec::new()),
            Format::Int8 => Self::Int8(Vec::new()),
            Format::String => Self::String(Vec::new()),
        }
    }

    /// Returns the values' format.
    #[must_use]
    pub const fn format(&self) -> Format {
        match self {
            Self::Double64(_) => Format::Double64,
            Self::Float32(_) => Format::Float32,
            Self::Int16(_) => Format::Int16,
            Self::Int32(_) => Format::Int32,
            Self::Int64(_) => Format::Int64,
            Self::Int8(_) => Format::Int8,
            Self::String(_) => Format::String,
        }
    }

    /// Returns how many values there are: samples × channels.
    #[must_use]
    pub fn len(&self) -> usize {
        on_values!(self, values => values.len())
    }

    /// Says whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        on_values!(self, values => values.clear());
    }

    /// Keeps the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        on_values!(self, values => values.truncate(len));
    }

    /// Removes the first `count` values, or all if there are fewer.
    pub fn remove_front(&mut self, count: usize) {
        on_values!(self, values => drop(values.drain(..count.min(values.len()))));
    }

    /// Appends the values of `other`; nothing happens if the formats differ.
    pub fn append(&mut self, other: &Self) {
        match (self, other) {
            (Self::Double64(all), Self::Double64(more)) => all.extend_from_slice(more),
            (Self::Float32(all), Self::Float32(more)) => all.extend_from_slice(more),
            (Self::Int16(all), Self::Int16(more)) => all.extend_from_slice(more),
            (Self::Int32(all), Self::Int32(more)) => all.extend_from_slice(more),
            (Self::Int64(all), Self::Int64(more)) => all.extend_from_slice(more),
            (Self::Int8(all), Self::Int8(more)) => all.extend_from_slice(more),
            (Self::String(all), Self::String(more)) => all.extend_from_slice(more),
            _ => debug_assert!(false, "values of two formats"),
        }
    }

    /// Appends numbers from their little-endian bytes; a remainder of less than a value is left out.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) {
        match self {
            Self::Double64(all) => extend(all, bytes),
            Self::Float32(all) => extend(all, bytes),
            Self::Int16(all) => extend(all, bytes),
            Self::Int32(all) => extend(all, bytes),
            Self::Int64(all) => extend(all, bytes),
            Self::Int8(all) => extend(all, bytes),
            Self::String(_) => debug_assert!(false, "text has no fixed bytes"),
        }
    }

    /// Appends one text; nothing happens if the values are numbers.
    pub(crate) fn append_text(&mut self, text: &[u8]) {
        if let Self::String(all) = self {
            all.push(String::from_utf8_lossy(text).into_owned());
        }
    }
}

/// A number that XDF can store.
pub trait Number: Copy + Sized + private::Sealed {
    /// The format whose values this type holds.
    const FORMAT: Format;

    /// Writes `values` to `out` in little-endian bytes; `out` has exactly the room.
    fn put(values: &[Self], out: &mut [u8]);

    /// The number for a picture: with seven digits at least.
    fn to_f32(self) -> f32;

    /// Appends the numbers in little-endian `bytes` to `out`.
    fn take(bytes: &[u8], out: &mut Vec<Self>);
}

fn extend<T: Number>(all: &mut Vec<T>, bytes: &[u8]) {
    T::take(bytes, all);
}

mod private {
    /// Keeps [`Number`](super::Number) to the formats that the specification names.
    pub trait Sealed {}
}

/// Stamps a number type.
macro_rules! number {
    ($type:ty, $format:ident) => {
        impl private::Sealed for $type {}

        impl Number for $type {
            const FORMAT: Format = Format::$format;

            fn put(values: &[Self], out: &mut [u8]) {
                for (value, out) in values.iter().zip(out.as_chunks_mut().0) {
                    *out = value.to_le_bytes();
                }
            }

            fn to_f32(self) -> f32 {
                self as f32
            }

            fn take(bytes: &[u8], out: &mut Vec<Self>) {
                out.extend(bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)));
            }
        }
    };
}

number!(f64, Double64);
number!(f32, Float32);
number!(i16, Int16);
number!(i32, Int32);
number!(i64, Int64);
number!(i8, Int8);
