//! The C types that programs push and pull.

use core::fmt;

use super::{ByteOrder, Subnormals};
use crate::{
    stream::ChannelFormat,
    wire::{
        convert,
        number::{self, NumberText, TrailingZeros},
    },
};

/// A number that programs push and pull: `f32`, `f64`, `i8`, `i16`, `i32` or `i64`.
pub trait Value: bytemuck::Pod + Default + PartialEq + fmt::Debug + Send + Sync + sealed::Sealed {
    /// The channel format that stores this type without conversion.
    const FORMAT: ChannelFormat;

    /// Converts as a C cast does on x86-64. lsl-wire §21.
    fn convert<U: Value>(self) -> U;

    /// Prints as the original library does: integers in decimal, floats with 8 and 16 significant digits.
    fn text(self) -> NumberText;

    /// Reads a string as a C++ stream does; 0 if it does not begin with a number. For `i8`, the first byte.
    fn parse(text: &[u8]) -> Self;
}

pub(super) mod sealed {
    use super::{ByteOrder, Subnormals};

    pub trait Sealed: Copy {
        fn from_f32(value: f32) -> Self;
        fn from_f64(value: f64) -> Self;
        fn from_i32(value: i32) -> Self;
        fn from_i64(value: i64) -> Self;
        fn swap(self) -> Self;
        fn flush(self) -> Self;

        fn reordered(self, order: ByteOrder) -> Self {
            if order == ByteOrder::NATIVE { self } else { self.swap() }
        }

        fn normalized(self, subnormals: Subnormals) -> Self {
            match subnormals {
                Subnormals::Keep => self,
                Subnormals::Suppress => self.flush(),
            }
        }
    }
}

impl Value for f32 {
    const FORMAT: ChannelFormat = ChannelFormat::Float32;

    fn convert<U: Value>(self) -> U {
        U::from_f32(self)
    }

    fn text(self) -> NumberText {
        number::general(f64::from(self), 8, TrailingZeros::Keep)
    }

    fn parse(text: &[u8]) -> Self {
        number::extract_f32(text).unwrap_or_default()
    }
}

impl sealed::Sealed for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }

    fn from_f64(value: f64) -> Self {
        convert::f32_from_f64(value)
    }

    fn from_i32(value: i32) -> Self {
        convert::f32_from_i32(value)
    }

    fn from_i64(value: i64) -> Self {
        convert::f32_from_i64(value)
    }

    fn swap(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }

    fn flush(self) -> Self {
        if self.is_subnormal() { Self::from_bits(self.to_bits() & (1 << 31)) } else { self }
    }
}

impl Value for f64 {
    const FORMAT: ChannelFormat = ChannelFormat::Double64;

    fn convert<U: Value>(self) -> U {
        U::from_f64(self)
    }

    fn text(self) -> NumberText {
        number::description_number(self)
    }

    fn parse(text: &[u8]) -> Self {
        number::extract_f64(text).unwrap_or_default()
    }
}

impl sealed::Sealed for f64 {
    fn from_f32(value: f32) -> Self {
        Self::from(value)
    }

    fn from_f64(value: f64) -> Self {
        value
    }

    fn from_i32(value: i32) -> Self {
        Self::from(value)
    }

    fn from_i64(value: i64) -> Self {
        convert::f64_from_i64(value)
    }

    fn swap(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }

    fn flush(self) -> Self {
        if self.is_subnormal() { Self::from_bits(self.to_bits() & (1 << 63)) } else { self }
    }
}

macro_rules! integer_value {
    ($type:ty, $format:ident, $wide:ty, $from_wide:ident, $from_f64:path, $from_i64:path, $extract:path) => {
        impl Value for $type {
            const FORMAT: ChannelFormat = ChannelFormat::$format;

            fn convert<U: Value>(self) -> U {
                U::$from_wide(<$wide>::from(self))
            }

            fn text(self) -> NumberText {
                number::integer(i64::from(self))
            }

            fn parse(text: &[u8]) -> Self {
                $extract(text).unwrap_or_default()
            }
        }

        impl sealed::Sealed for $type {
            fn from_f32(value: f32) -> Self {
                // Every single-precision number is a double-precision one.
                $from_f64(f64::from(value))
            }

            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            fn from_i32(value: i32) -> Self {
                $from_i64(i64::from(value))
            }

            fn from_i64(value: i64) -> Self {
                $from_i64(value)
            }

            fn swap(self) -> Self {
                self.swap_bytes()
            }

            fn flush(self) -> Self {
                self
            }
        }
    };
}

integer_value!(i8, Int8, i32, from_i32, convert::i8_from_f64, convert::i8_from_i64, number::extract_i8);
integer_value!(i16, Int16, i32, from_i32, convert::i16_from_f64, convert::i16_from_i64, number::extract_i16);
integer_value!(i32, Int32, i32, from_i32, convert::i32_from_f64, convert::i32_from_i64, number::extract_i32);
integer_value!(
    i64,
    Int64,
    i64,
    from_i64,
    convert::i64_from_f64,
    core::convert::identity,
    number::extract_i64
);
