//! How numbers become whole numbers of a few bits, and the header's words for it.

use schwann_xdf::Format;

use crate::number::is_whole;

/// The scale of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    /// What the header says that the ends mean.
    least: f64,
    most: f64,
    pub(super) digital_least: i64,
    pub(super) digital_most: i64,
}

impl Scale {
    /// The scale of numbers in this range; none if the header cannot say it.
    ///
    /// Whole numbers that fit keep their values.
    pub(super) fn of(range: (f64, f64), format: Format, least: i64, most: i64) -> Option<Self> {
        let digital = (least as f64, most as f64);
        let (low, high) = if range.0 <= range.1 { range } else { (0.0, 0.0) };
        if is_whole(format) && low >= digital.0 && high <= digital.1 {
            return Some(Self {
                least: digital.0,
                most: digital.1,
                digital_least: least,
                digital_most: most,
            });
        }
        let (low, high) = (below(low)?, above(high)?);
        let high = if high > low { high } else { above(low + low.abs().max(1.0))? };
        Some(Self { least: low, most: high, digital_least: least, digital_most: most })
    }

    /// A number as it is in the file, and by how much that differs.
    pub(super) fn digital(&self, value: f64) -> (i64, f64) {
        if !value.is_finite() {
            return (self.nothing(), 0.0);
        }
        let (low, high) = (self.digital_least as f64, self.digital_most as f64);
        let step = (self.most - self.least) / (high - low);
        let digital = ((value - self.least) / step + low).round().clamp(low, high);
        let back = (digital - low) * step + self.least;
        (digital as i64, (back - value).abs())
    }

    /// What stands where there is no value: zero, or the end nearest to it.
    pub(super) fn nothing(&self) -> i64 {
        let (low, high) = (self.digital_least as f64, self.digital_most as f64);
        let step = (self.most - self.least) / (high - low);
        ((0.0 - self.least) / step + low).round().clamp(low, high) as i64
    }

    pub(super) fn least_text(&self) -> String {
        short(self.least).unwrap_or_default()
    }

    pub(super) fn most_text(&self) -> String {
        short(self.most).unwrap_or_default()
    }
}

/// The number with as many digits as eight characters have; none if they have not enough.
pub(super) fn short(number: f64) -> Option<String> {
    // Minus zero is zero.
    let number = number + 0.0;
    let texts = (0..=7).rev().map(|digits| format!("{number:.digits$}"));
    texts.map(|text| trimmed(&text)).find(|text| text.len() <= 8)
}

/// Without zeros at the end of its decimals.
fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// The nearest number that is not above, of those which eight characters say.
fn below(number: f64) -> Option<f64> {
    said(number, f64::floor).find(|said| *said <= number)
}

/// The nearest number that is not below, of those which eight characters say.
fn above(number: f64) -> Option<f64> {
    said(number, f64::ceil).find(|said| *said >= number)
}

fn said(number: f64, side: fn(f64) -> f64) -> impl Iterator<Item = f64> {
    (0..=7).rev().filter_map(move |digits| {
        let scale = 10_f64.powi(digits);
        short(side(number * scale) / scale)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_that_fit_are_exact() {
        let scale = Scale::of((-32_768.0, 32_767.0), Format::Int16, -32_768, 32_767).expect("a scale");
        for value in [-32_768.0, -1.0, 0.0, 12_345.0, 32_767.0] {
            assert_eq!(scale.digital(value), (value as i64, 0.0));
        }
        assert_eq!((scale.least_text(), scale.most_text()), ("-32768".into(), "32767".into()));
        let wide = Scale::of((-8e6, 8e6), Format::Int32, -8_388_608, 8_388_607).expect("a scale");
        assert_eq!(wide.digital(-7_999_999.0), (-7_999_999, 0.0));
        assert_eq!(wide.least_text(), "-8388608");
    }

    #[test]
    fn other_numbers_differ_by_half_a_step_at_most() {
        for (low, high) in
            [(-123.456_789, 987.654_321), (0.0, 1e-3), (-99_999.9, 5.0), (3.0, 3.0), (-1e-5, 2e-5)]
        {
            let scale = Scale::of((low, high), Format::Float32, -32_768, 32_767).expect("a scale");
            assert!(scale.least <= low && scale.most >= high, "{scale:?}");
            assert!(scale.least_text().len() <= 8 && scale.most_text().len() <= 8, "{scale:?}");
            let step = (scale.most - scale.least) / 65_535.0;
            for place in 0..=100 {
                let value = low + (high - low) * f64::from(place) / 100.0;
                let (digital, error) = scale.digital(value);
                assert!(
                    error <= step * 0.5001 && (-32_768..=32_767).contains(&digital),
                    "{value}: {error} {step}"
                );
            }
        }
        assert_eq!(Scale::of((0.0, 1e12), Format::Float32, -32_768, 32_767), None);
        assert!(Scale::of((f64::INFINITY, f64::NEG_INFINITY), Format::Float32, -1, 1).is_some());
    }

    #[test]
    fn a_number_is_said_in_eight_characters() {
        assert_eq!(short(1.0).as_deref(), Some("1"));
        assert_eq!(short(9.000_234_567).as_deref(), Some("9.000235"));
        assert_eq!(short(-1234.5678).as_deref(), Some("-1234.57"));
        assert_eq!(short(123_456_789.0), None);
    }
}
