//! Numbers of any format, as bytes, as `f64`, and as text.

use schwann_xdf::{Format, Number, Values};

/// Does one thing with numbers of any format and another with texts.
macro_rules! on_numbers {
    ($values:expr, $numbers:ident => $number_arm:expr, $texts:ident => $text_arm:expr) => {
        match $values {
            Values::Double64($numbers) => $number_arm,
            Values::Float32($numbers) => $number_arm,
            Values::Int16($numbers) => $number_arm,
            Values::Int32($numbers) => $number_arm,
            Values::Int64($numbers) => $number_arm,
            Values::Int8($numbers) => $number_arm,
            Values::String($texts) => $text_arm,
        }
    };
}
pub(crate) use on_numbers;

/// A number that can be compared with others as `f64`.
pub(crate) trait Numeric: Number {
    /// The nearest `f64`; only large `int64` are not exact.
    fn as_f64(self) -> f64;
}

macro_rules! numeric {
    ($($number:ty),*) => {
        $(impl Numeric for $number {
            fn as_f64(self) -> f64 {
                self as f64
            }
        })*
    };
}
numeric!(f64, f32, i16, i32, i64, i8);

/// Appends the numbers in little-endian bytes; texts are left out.
pub(crate) fn put_bytes(values: &Values, out: &mut Vec<u8>) {
    fn put<T: Number>(numbers: &[T], out: &mut Vec<u8>) {
        let at = out.len();
        out.resize(at + size_of_val(numbers), 0);
        T::put(numbers, out.get_mut(at..).unwrap_or_default());
    }
    on_numbers!(values, numbers => put(numbers, out), _texts => ());
}

/// Appends the numbers as `f64`; texts are left out.
pub(crate) fn put_f64(values: &Values, out: &mut Vec<f64>) {
    on_numbers!(values, numbers => out.extend(numbers.iter().map(|number| number.as_f64())), _texts => ());
}

/// Appends the value at a place as text, with as many digits as tell it from every other of its format.
pub(crate) fn put_text(values: &Values, at: usize, out: &mut String) {
    use core::fmt::Write as _;
    // A string takes any text.
    let _ = on_numbers!(values,
        numbers => numbers.get(at).map(|number| write!(out, "{number}")),
        texts => texts.get(at).map(|text| write!(out, "{text}"))
    );
}

/// Whether the format's values are whole numbers.
pub(crate) fn is_whole(format: Format) -> bool {
    matches!(format, Format::Int8 | Format::Int16 | Format::Int32 | Format::Int64)
}
