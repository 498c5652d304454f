//! Every decimal digit of a binary number, and the binary number next to a decimal one.
//!
//! Integers alone, nine digits to a word. The standard library's conversions bring 25 KB of code and
//! tables, too much for a microcontroller. These are slower for numbers that are very large, very small
//! or longer than 15 digits.

use core::cmp::Ordering;

/// A number that is not negative, digit by digit.
pub(super) struct Decimal {
    /// Nine digits each, the least significant first.
    words: [u32; WORDS],
    len: usize,
    /// Which power of ten the last digit counts.
    exponent: i32,
}

impl Decimal {
    /// Takes a number that is finite and not negative.
    pub(super) fn of(value: f64) -> Self {
        let (mantissa, exponent) = parts(value.to_bits());
        Self::new(mantissa, exponent)
    }

    /// Takes `mantissa` times 2^`exponent`: any number of [`of`](Self::of), or the middle between two.
    fn new(mantissa: u64, exponent: i32) -> Self {
        let mut decimal = Self { words: [0; WORDS], len: 0, exponent: exponent.min(0) };
        decimal.multiply_add(1, mantissa);
        // 2^-n is 5^n in units of 10^-n. Either power fits 31 bits.
        let (factor, most) = if exponent < 0 { (5_u32, 13) } else { (2, 30) };
        let mut left = exponent.unsigned_abs();
        while left > 0 {
            let power = left.min(most);
            decimal.multiply_add(factor.pow(power), 0);
            left -= power;
        }
        decimal
    }

    fn multiply_add(&mut self, factor: u32, mut carry: u64) {
        let low = |sum: u64| u32::try_from(sum % BASE).unwrap_or(0);
        for word in self.words.iter_mut().take(self.len) {
            carry += u64::from(*word) * u64::from(factor);
            *word = low(carry);
            carry /= BASE;
        }
        while let (Some(word), true) = (self.words.get_mut(self.len), carry > 0) {
            *word = low(carry);
            carry /= BASE;
            self.len += 1;
        }
    }

    /// The digits from the first that is not 0.
    pub(super) fn digits(&self) -> impl Iterator<Item = u8> {
        let words = self.words.get(..self.len).unwrap_or_default().iter().rev();
        let digits = words.flat_map(|word| TENS.iter().map(move |ten| word / ten % 10));
        digits.skip_while(|digit| *digit == 0).map(|digit| u8::try_from(digit).unwrap_or(0))
    }

    /// Where the point is: the number is 0.digits times ten to this power.
    pub(super) fn point(&self) -> i32 {
        i32::try_from(self.digits().count()).unwrap_or(0).saturating_add(self.exponent)
    }
}

/// Reads `[digits][.[digits]][e[sign]digits]`, rounded to the nearest number, the even one of two; infinity if that is
/// beyond the largest.
///
/// Returns nothing if the text is anything else.
pub(super) fn parse(text: &[u8]) -> Option<f64> {
    let mut halves = text.splitn(2, |byte| matches!(byte, b'e' | b'E'));
    let mantissa = halves.next()?;
    let exponent = halves.next().map_or(Some(0), parse_exponent)?;
    let mut halves = mantissa.splitn(2, |byte| *byte == b'.');
    let (integer, fraction) = (halves.next()?, halves.next().unwrap_or_default());
    let written = integer.iter().chain(fraction);
    if written.clone().next().is_none() || !written.clone().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = written.map(|byte| byte.wrapping_sub(b'0')).skip_while(|digit| *digit == 0);
    let count = i64::try_from(digits.clone().count()).ok()?;
    let point = count.saturating_sub(i64::try_from(fraction.len()).ok()?).saturating_add(exponent);
    match i32::try_from(point.clamp(-1000, 1000)).ok()? {
        _ if count == 0 => Some(0.0),
        // The smallest number is 4.9e-324, the largest 1.8e308.
        ..-330 => Some(0.0),
        310.. => Some(f64::INFINITY),
        point => Some(nearest(digits, count, point)),
    }
}

/// Reads the digits behind an `e`; what is out of every range stays so.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let all_digits = digits.iter().all(u8::is_ascii_digit) && !digits.is_empty();
    all_digits.then(|| super::extract_i64(text))?.map(|exponent| exponent.clamp(-1 << 40, 1 << 40))
}

/// The number nearest to 0.digits times ten to the power of `point`; there are `count` digits.
fn nearest(digits: impl Iterator<Item = u8> + Clone, count: i64, point: i32) -> f64 {
    // 19 digits fit 64 bits.
    let leading = digits.clone().take(19).fold(0_u64, |value, digit| value * 10 + u64::from(digit));
    let power = point - i32::try_from(count.min(19)).unwrap_or(19);
    let estimate = scaled(leading, power);
    // Values up to 15 digits and powers of ten up to 22 are exact, so one operation rounds once
    // (Clinger, PLDI 1990).
    if count <= 15 && power.unsigned_abs() <= 22 {
        return estimate;
    }
    let is_above = |bits: u64| {
        let (mantissa, exponent) = parts(bits);
        let middle = Decimal::new(2 * mantissa + 1, exponent - 1);
        match point.cmp(&middle.point()).then_with(|| compare(digits.clone(), middle.digits())) {
            Ordering::Less => false,
            Ordering::Equal => bits & 1 == 1,
            Ordering::Greater => true,
        }
    };
    // The estimate is wrong by a few roundings; the bits of numbers are in the order of the numbers.
    let mut bits = estimate.min(f64::MAX).to_bits();
    while bits < f64::INFINITY.to_bits() && is_above(bits) {
        bits += 1;
    }
    while bits > 0 && !is_above(bits - 1) {
        bits -= 1;
    }
    f64::from_bits(bits)
}

/// About `leading` times ten to the power of `power`; exactly rounded if both are exact.
fn scaled(leading: u64, power: i32) -> f64 {
    let half = |bits: u64| f64::from(u32::try_from(bits & 0xffff_ffff).unwrap_or(0));
    let mut value = half(leading >> 32) * 4_294_967_296.0 + half(leading);
    let mut left = power.unsigned_abs();
    let mut factor = 1.0;
    for (step, ten) in [(256, 1e256), (128, 1e128), (64, 1e64), (32, 1e32)] {
        if left >= step {
            value = if power < 0 { value / ten } else { value * ten };
            left -= step;
        }
    }
    (0..left).for_each(|_| factor *= 10.0);
    if power < 0 { value / factor } else { value * factor }
}

/// Compares two numbers between 0.1 and 1 by their digits.
fn compare(mut left: impl Iterator<Item = u8>, mut right: impl Iterator<Item = u8>) -> Ordering {
    loop {
        let (one, other) = (left.next(), right.next());
        let order = one.unwrap_or(0).cmp(&other.unwrap_or(0));
        if order.is_ne() || one.is_none() && other.is_none() {
            return order;
        }
    }
}

/// A finite number as an integer times a power of two.
fn parts(bits: u64) -> (u64, i32) {
    let fraction = bits & ((1 << 52) - 1);
    match i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0) {
        0 => (fraction, -1074),
        exponent => (fraction | (1 << 52), exponent - 1075),
    }
}

const BASE: u64 = 1_000_000_000;
const TENS: [u32; 9] = [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
/// The middle between the largest number without a fixed first bit and the next has 768 digits.
const WORDS: usize = 86;

#[cfg(test)]
mod tests {
    use std::{format, string::String, vec::Vec};

    use super::{Decimal, parse};

    /// Numbers of all sizes: random bits, few bits, and what lies at the borders.
    fn numbers() -> Vec<f64> {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        let mut all: Vec<f64> = (0..4000).map(|_| f64::from_bits(next() >> 1)).collect();
        all.extend((0..4000).map(|_| (next() % 10_000_000_000_000) as f64 / 1e6));
        all.extend((0..2046).map(|exponent| f64::from_bits(exponent << 52)));
        all.extend((1..2047).map(|exponent: u64| f64::from_bits((exponent << 52) - 1)));
        all.extend((0..64).map(f64::from_bits));
        all.retain(|number| number.is_finite());
        all
    }

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for number in numbers() {
            let decimal = Decimal::of(number);
            let digits: String = decimal.digits().map(|digit| char::from(b'0' + digit)).collect();
            let expected = format!("{number:.780e}");
            let (mantissa, exponent) = expected.split_once('e').unwrap();
            let expected: String = mantissa.chars().filter(|character| *character != '.').collect();
            assert_eq!(digits.trim_end_matches('0'), expected.trim_end_matches('0'), "{number:e}");
            if number > 0.0 {
                assert_eq!(decimal.point() - 1, exponent.parse::<i32>().unwrap(), "{number:e}");
            }
        }
    }

    #[test]
    fn text_becomes_the_number_that_the_standard_library_makes_of_it() {
        for number in numbers() {
            let exact = format!("{number:.780e}");
            let (mantissa, exponent) = exact.split_once('e').unwrap();
            for text in [
                format!("{number}"),
                format!("{number:e}"),
                format!("{number:.16e}"),
                format!("{number:.3e}"),
                format!("{number:.17e}"),
                // A little above, and as much as a cut below.
                format!("{mantissa}1e{exponent}"),
                format!("{}e{exponent}", &mantissa[..30]),
            ] {
                assert_eq!(parse(text.as_bytes()), text.parse().ok(), "{text}");
            }
        }
    }

    #[test]
    fn the_middle_between_two_numbers_becomes_the_even_one() {
        for number in numbers().into_iter().step_by(7) {
            let bits = number.to_bits();
            let above = f64::from_bits(bits + 1);
            let (mantissa, exponent) = super::parts(bits);
            let middle = Decimal::new(2 * mantissa + 1, exponent - 1);
            let digits: String = middle.digits().map(|digit| char::from(b'0' + digit)).collect();
            let even = if bits & 1 == 0 { number } else { above };
            for (tail, expected) in [("", even), ("0001", above)] {
                let text = format!("0.{digits}{tail}e{}", middle.point());
                assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
                assert_eq!(text.parse(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_kept() {
        let zeros = "0".repeat(400);
        let cases = [
            ("1e309", f64::INFINITY),
            ("1.7976931348623158e308", f64::MAX),
            ("1.7976931348623159e308", f64::INFINITY),
            ("2.4703282292062327e-324", 0.0),
            ("2.4703282292062328e-324", 5e-324),
            ("1e-400", 0.0),
            ("1e99999999999999999999", f64::INFINITY),
            ("0e99999999999999999999", 0.0),
            ("1e-99999999999999999999", 0.0),
            (&format!("0.{zeros}1e401"), 1.0),
            (&format!("1{zeros}e-400"), 1.0),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", ".", "e5", ".e5", "1e", "1e+", "1e5x", "1.2.3", "-1", "+1", "1 ", "0x1", "inf", "1e1.5",
            "1e--1",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        for (text, value) in [("5.", 5.0), (".5", 0.5), ("00012", 12.0), ("1E2", 100.0)] {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text:?}");
        }
    }
}
