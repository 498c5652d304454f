//! Numbers as XPath reads, rounds and writes them.

use alloc::format;
use alloc::string::String;

use super::token::{is_space, number_length};

/// Reads a number: white space, a minus sign, digits and a point; everything else is NaN, exponents too.
pub(super) fn from_text(text: &[u8]) -> f64 {
    let start = text.iter().take_while(|byte| is_space(**byte)).count();
    let end = text.iter().rev().take_while(|byte| is_space(**byte)).count();
    let trimmed = text.get(start..text.len().saturating_sub(end)).unwrap_or_default();
    let digits = trimmed.strip_prefix(b"-").unwrap_or(trimmed);
    if digits.is_empty() || number_length(digits) != digits.len() {
        return f64::NAN;
    }
    core::str::from_utf8(trimmed).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Writes a number: no exponent, no point in an integer, no minus before zero.
pub(super) fn to_text(number: f64) -> String {
    if number.is_nan() {
        String::from("NaN")
    } else if number.is_infinite() {
        String::from(if number > 0.0 { "Infinity" } else { "-Infinity" })
    } else if number == 0.0 {
        String::from("0")
    } else {
        format!("{number}")
    }
}

/// Returns the largest integer not above.
pub(super) fn floor(number: f64) -> f64 {
    // The remainder of a division by one is exact, and so is the difference. It is NaN for an infinite number.
    let fraction = number % 1.0;
    if number.is_infinite() || fraction == 0.0 {
        number
    } else if fraction < 0.0 {
        number - fraction - 1.0
    } else {
        number - fraction
    }
}

/// Returns the smallest integer not below.
pub(super) fn ceiling(number: f64) -> f64 {
    -floor(-number)
}

/// Returns the nearest integer; of two, the one closer to positive infinity.
pub(super) fn round(number: f64) -> f64 {
    let below = floor(number);
    if number - below >= 0.5 { ceiling(number) } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimal_numbers_are_read() {
        for (text, number) in [("12", 12.0), (" -1.5\n", -1.5), (".5", 0.5), ("3.", 3.0), ("0.1", 0.1)] {
            assert_eq!(from_text(text.as_bytes()), number, "{text}");
        }
        for text in ["", " ", "-", ".", "+1", "1e3", "0x1", "inf", "NaN", "1 2", "--1", "- 1"] {
            assert!(from_text(text.as_bytes()).is_nan(), "{text}");
        }
    }

    #[test]
    fn rounding_follows_the_specification() {
        for (number, down, up, nearest) in [
            (1.5, 1.0, 2.0, 2.0),
            (-1.5, -2.0, -1.0, -1.0),
            (2.5, 2.0, 3.0, 3.0),
            (-2.5, -3.0, -2.0, -2.0),
            (0.499_999_999_999_999_94, 0.0, 1.0, 0.0),
            (4.0, 4.0, 4.0, 4.0),
            (1e300, 1e300, 1e300, 1e300),
            (f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!((floor(number), ceiling(number), round(number)), (down, up, nearest), "{number}");
        }
        assert!(round(f64::NAN).is_nan());
    }

    #[test]
    fn numbers_are_written_without_exponent() {
        for (number, text) in [
            (0.1, "0.1"),
            (-0.0, "0"),
            (100.0, "100"),
            (1e21, "1000000000000000000000"),
            (-1.0 / 0.0, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(to_text(number), text);
        }
    }
}
