//! Numbers as text, exactly as C prints them and as C++ streams read them.
//!
//! `printf` is reproduced on top of a number's exact digits. This needs no C library, and no locale can
//! interfere. lsl-wire §2, §4.1, §9, §21.

mod decimal;

use core::{cmp::Ordering, fmt, iter, ops, str};

use self::decimal::Decimal;
use super::{NoRoom, Sink};

/// A number's text, in place.
#[derive(Clone, Copy)]
pub struct NumberText {
    bytes: [u8; Self::CAPACITY],
    len: usize,
}

impl NumberText {
    const CAPACITY: usize = 32;

    const EMPTY: Self = Self { bytes: [0; Self::CAPACITY], len: 0 };

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever put in.
        self.bytes.get(..self.len).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl ops::Deref for NumberText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for NumberText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

impl fmt::Display for NumberText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Sink for NumberText {
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let end = self.len.checked_add(bytes.len()).ok_or(NoRoom)?;
        self.bytes.get_mut(self.len..end).ok_or(NoRoom)?.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// What becomes of zeros at the end of the fraction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrailingZeros {
    /// Dropped, and the point with them if nothing follows it (`%g`).
    Drop,
    /// Kept, and the point always (`%#g`).
    Keep,
}

/// Prints as C's `%.<digits>g` or `%#.<digits>g` in the "C" locale.
///
/// - Units: `digits` is the number of significant digits, 1 to 17; others are brought into this range.
/// - Source: ISO C `printf`; NaN and infinity as the GNU library prints them.
pub fn general(value: f64, digits: u8, zeros: TrailingZeros) -> NumberText {
    let mut text = NumberText::EMPTY;
    let digits = digits.clamp(1, 17);
    // 17 digits, sign, point and exponent take 24 bytes, and a fixed 0.0001 takes 5 more than its digits.
    if put_general(value, digits, zeros, &mut text).is_err() {
        text.truncate(0);
    }
    text
}

/// Prints as C's `%#.16g`: the form of the numbers in stream descriptions.
pub fn description_number(value: f64) -> NumberText {
    general(value, 16, TrailingZeros::Keep)
}

/// Prints an integer in decimal.
pub fn integer(value: i64) -> NumberText {
    let mut text = NumberText::EMPTY;
    // 19 digits and a sign have room.
    if value < 0 {
        text.put(b"-").unwrap_or_default();
    }
    put_digits(value.unsigned_abs(), &mut text);
    text
}

/// Puts the digits of an integer without the formatting machinery, which would fill a chip's flash.
fn put_digits(value: u64, out: &mut NumberText) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut start) = (value, digits.len());
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        (rest, start) = (rest / 10, place);
        if rest == 0 {
            break;
        }
    }
    out.put(digits.get(start..).unwrap_or_default()).unwrap_or_default();
}

/// Reads a leading number as a C++ stream does: white space, then the longest text that looks like a number.
///
/// Returns nothing if there is none. What exceeds the range becomes the largest finite number of that sign.
/// `inf`, `nan` and hexadecimal numbers are not read (`0x10` is 0).
/// - Source: libstdc++ `num_get`, "C" locale.
pub fn extract_f64(text: &[u8]) -> Option<f64> {
    let value = parse_f64(leading_float(text)?)?;
    Some(value.clamp(f64::MIN, f64::MAX))
}

/// Reads a text that is a decimal number and nothing else; what exceeds the range becomes infinite.
///
/// Returns nothing if it is anything else; `inf` and `nan` are.
pub fn parse_f64(text: &str) -> Option<f64> {
    match text.as_bytes() {
        [b'-', digits @ ..] => decimal::parse(digits).map(|value| -value),
        [b'+', digits @ ..] | digits => decimal::parse(digits),
    }
}

/// Reads a leading number in single precision; see [`extract_f64`].
pub fn extract_f32(text: &[u8]) -> Option<f32> {
    let value: f32 = leading_float(text)?.parse().ok()?;
    Some(value.clamp(f32::MIN, f32::MAX))
}

/// Reads a leading decimal integer as a C++ stream does; what exceeds 64 bits becomes the limit.
///
/// Returns nothing if there is none. The caller narrows; C++ clamps to the narrower type's limits, too.
/// - Source: libstdc++ `num_get`, "C" locale.
pub fn extract_i64(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (negative, text) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0i64, |value, digit| {
        let digit = i64::from(digit.wrapping_sub(b'0'));
        let value = value.saturating_mul(10);
        if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) }
    }))
}

/// Reads a leading decimal integer into 32 bits, clamped to their limits; see [`extract_i64`].
pub fn extract_i32(text: &[u8]) -> Option<i32> {
    let value = extract_i64(text)?.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
    i32::try_from(value).ok()
}

/// Reads a leading decimal integer into 16 bits, clamped to their limits; see [`extract_i64`].
pub fn extract_i16(text: &[u8]) -> Option<i16> {
    let value = extract_i64(text)?.clamp(i64::from(i16::MIN), i64::from(i16::MAX));
    i16::try_from(value).ok()
}

/// Reads a C++ `char`: the code of the first byte that is not white space, *not* a number.
pub fn extract_i8(text: &[u8]) -> Option<i8> {
    text.trim_ascii_start().first().map(|byte| i8::from_ne_bytes([*byte]))
}

fn put_general(value: f64, digits: u8, zeros: TrailingZeros, out: &mut NumberText) -> Result<(), NoRoom> {
    if value.is_sign_negative() {
        out.put(b"-")?;
    }
    if !value.is_finite() {
        return out.put(if value.is_nan() { b"nan" } else { b"inf" });
    }
    let (significant, exponent) = significant(value.abs(), digits)?;
    let (integer, fraction) = significant.split_at_checked(1).ok_or(NoRoom)?;
    if exponent < -4 || exponent >= i32::from(digits) {
        put_decimal(integer, fraction, zeros, out)?;
        out.put(if exponent < 0 { b"e-" } else { b"e+" })?;
        let exponent = exponent.unsigned_abs();
        if exponent < 10 {
            out.put(b"0")?;
        }
        put_digits(exponent.into(), out);
        return Ok(());
    }
    match usize::try_from(exponent) {
        Ok(shift) => {
            let (more, fraction) = fraction.split_at_checked(shift).ok_or(NoRoom)?;
            out.put(integer.as_bytes())?;
            put_decimal(more, fraction, zeros, out)
        }
        Err(_) => {
            let leading = usize::try_from(-exponent - 1).map_err(|_| NoRoom)?;
            let leading = "000".get(..leading).ok_or(NoRoom)?;
            put_fraction_below_one(leading, integer, fraction, zeros, out)
        }
    }
}

/// The first `count` digits, rounded as the C library rounds, and the power of ten that the first one counts.
fn significant(value: f64, count: u8) -> Result<(NumberText, i32), NoRoom> {
    let decimal = Decimal::of(value);
    let mut digits = decimal.digits();
    let mut text = NumberText::EMPTY;
    for digit in digits.by_ref().chain(iter::repeat(0)).take(count.into()) {
        text.put(&[b'0' + digit])?;
    }
    let is_odd = text.bytes().next_back().is_some_and(|digit| digit & 1 == 1);
    let rounds_up = match digits.next().unwrap_or(0).cmp(&5) {
        Ordering::Less => false,
        Ordering::Equal => is_odd || digits.any(|digit| digit != 0),
        Ordering::Greater => true,
    };
    let exponent = if value == 0.0 { 0 } else { decimal.point() - 1 };
    let carried = rounds_up && round_up(text.bytes.get_mut(..text.len).unwrap_or_default());
    Ok((text, exponent + i32::from(carried)))
}

/// Adds one to the last digit; tells whether that made a number of nines the next power of ten.
fn round_up(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return false;
        }
        *digit = b'0';
    }
    if let Some(first) = digits.first_mut() {
        *first = b'1';
    }
    true
}

fn put_fraction_below_one(
    leading: &str,
    digit: &str,
    digits: &str,
    zeros: TrailingZeros,
    out: &mut NumberText,
) -> Result<(), NoRoom> {
    let mut fraction = NumberText::EMPTY;
    for part in [leading, digit, digits] {
        fraction.put(part.as_bytes())?;
    }
    put_decimal("0", &fraction, zeros, out)
}

/// Puts `<integer>.<fraction>`, without what `zeros` drops.
fn put_decimal(
    integer: &str,
    fraction: &str,
    zeros: TrailingZeros,
    out: &mut NumberText,
) -> Result<(), NoRoom> {
    out.put(integer.as_bytes())?;
    let fraction = match zeros {
        TrailingZeros::Keep => fraction,
        TrailingZeros::Drop => fraction.trim_end_matches('0'),
    };
    if zeros == TrailingZeros::Keep || !fraction.is_empty() {
        out.put(b".")?;
    }
    out.put(fraction.as_bytes())
}

/// Cuts out what a C++ stream would collect for a float; the text may still not be a number (`1e`).
fn leading_float(text: &[u8]) -> Option<&str> {
    let text = text.trim_ascii_start();
    let mut part = FloatPart::Sign;
    let mut mantissa_digits = false;
    let mut len = 0;
    for byte in text {
        part = match (part, byte) {
            (FloatPart::Sign, b'+' | b'-') => FloatPart::Integer,
            (FloatPart::Sign | FloatPart::Integer, b'0'..=b'9') => {
                mantissa_digits = true;
                FloatPart::Integer
            }
            (FloatPart::Sign | FloatPart::Integer, b'.') => FloatPart::Fraction,
            (FloatPart::Fraction, b'0'..=b'9') => {
                mantissa_digits = true;
                FloatPart::Fraction
            }
            (FloatPart::Integer | FloatPart::Fraction, b'e' | b'E') if mantissa_digits => {
                FloatPart::ExponentSign
            }
            (FloatPart::ExponentSign, b'+' | b'-' | b'0'..=b'9') => FloatPart::Exponent,
            (FloatPart::Exponent, b'0'..=b'9') => FloatPart::Exponent,
            _ => break,
        };
        len += 1;
    }
    str::from_utf8(text.get(..len)?).ok()
}

#[derive(Clone, Copy)]
enum FloatPart {
    Sign,
    Integer,
    Fraction,
    ExponentSign,
    Exponent,
}

#[cfg(test)]
mod tests;
