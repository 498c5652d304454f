//! How the samples of a stream lie in a chunk.

use crate::header::StreamHeader;
use crate::values::Values;
use crate::wire::{Format, VarLen, read_var_len};

/// What one must know of a stream to find its samples' ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    channel_count: usize,
    /// Bytes of one sample's values; none for text.
    row_bytes: Option<usize>,
}

/// What stands at the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// A whole sample.
    Sample {
        /// In seconds; none if deduced from the one before.
        stamp: Option<f64>,
        /// Where its values begin.
        values: usize,
        /// Where it ends.
        end: usize,
    },
    /// The beginning of a sample, perhaps.
    Incomplete,
    /// No sample.
    Invalid,
}

impl Layout {
    pub(crate) fn new(header: &StreamHeader) -> Self {
        let row_bytes = header.format.value_bytes().map(|bytes| bytes * header.channel_count);
        Self { channel_count: header.channel_count, row_bytes }
    }

    /// Measures the sample at the front of `bytes`.
    pub(crate) fn measure(&self, bytes: &[u8]) -> Measure {
        let (stamp, values) = match bytes.split_first() {
            None => return Measure::Incomplete,
            Some((0, _)) => (None, 1),
            Some((8, rest)) => match rest.first_chunk() {
                Some(stamp) => (Some(f64::from_le_bytes(*stamp)), 9),
                None => return Measure::Incomplete,
            },
            Some(_) => return Measure::Invalid,
        };
        let Some(row_bytes) = self.row_bytes else { return self.measure_text(bytes, stamp, values) };
        let end = values + row_bytes;
        if bytes.len() < end { Measure::Incomplete } else { Measure::Sample { stamp, values, end } }
    }

    /// Says whether `count` samples can take `bytes` bytes.
    pub(crate) fn permits(&self, count: u64, bytes: u64) -> bool {
        let least = match self.row_bytes {
            Some(row_bytes) => 1 + row_bytes as u64,
            None => 1 + 2 * self.channel_count as u64,
        };
        let most = self.row_bytes.map_or(u64::MAX, |row_bytes| 9 + row_bytes as u64);
        count.checked_mul(least).is_some_and(|least| least <= bytes) && bytes <= count.saturating_mul(most)
    }

    fn measure_text(&self, bytes: &[u8], stamp: Option<f64>, values: usize) -> Measure {
        let mut end = values;
        for _ in 0..self.channel_count {
            match read_var_len(bytes.get(end..).unwrap_or_default()) {
                VarLen::Number { value, taken } => {
                    let Some(text_end) =
                        usize::try_from(value).ok().and_then(|len| (end + taken).checked_add(len))
                    else {
                        return Measure::Invalid;
                    };
                    if text_end > bytes.len() {
                        return if value > TEXT_BYTES_MAX { Measure::Invalid } else { Measure::Incomplete };
                    }
                    end = text_end;
                }
                VarLen::Incomplete => return Measure::Incomplete,
                VarLen::Invalid => return Measure::Invalid,
            }
        }
        Measure::Sample { stamp, values, end }
    }
}

/// Appends the values of one measured sample.
pub(crate) fn append_row(values: &mut Values, mut row: &[u8]) {
    if values.format() != Format::String {
        values.append_bytes(row);
        return;
    }
    while let VarLen::Number { value, taken } = read_var_len(row) {
        let end = usize::try_from(value).map_or(usize::MAX, |len| taken.saturating_add(len));
        let Some((text, rest)) = row.split_at_checked(end) else { return };
        values.append_text(text.get(taken..).unwrap_or_default());
        row = rest;
    }
}

/// The longest text that we believe in.
const TEXT_BYTES_MAX: u64 = 1 << 28;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(format: &str, channels: usize) -> Layout {
        let xml = format!(
            "<info><channel_count>{channels}</channel_count><nominal_srate>0</nominal_srate>\
             <channel_format>{format}</channel_format></info>"
        );
        Layout::new(&StreamHeader::parse(1, xml.as_bytes()).unwrap())
    }

    #[test]
    fn samples_of_the_published_example_are_measured() {
        // From minimal.xdf of the XDF example files (MIT), bytes 1,004 and 1,061, after the chunks' heads.
        let numbers = layout("int16", 3);
        let bytes = b"\x08\xcd\xcc\xcc\xcc\xcc\xcc\x14@\x0c\x00\x16\x00 \x00\x00\r\x00\x17\x00!\x00";
        assert_eq!(numbers.measure(bytes), Measure::Sample { stamp: Some(5.2), values: 9, end: 15 });
        assert_eq!(numbers.measure(&bytes[15..]), Measure::Sample { stamp: None, values: 1, end: 7 });
        let mut values = Values::new(Format::Int16);
        append_row(&mut values, &bytes[9..15]);
        assert_eq!(values, Values::Int16(vec![12, 22, 32]));

        let text = layout("string", 1);
        let bytes = b"\x08\xcd\xcc\xcc\xcc\xcc\xcc\x14@\x01\x05Hello\x00\x01\x05World";
        assert_eq!(text.measure(bytes), Measure::Sample { stamp: Some(5.2), values: 9, end: 16 });
        let mut values = Values::new(Format::String);
        append_row(&mut values, &bytes[9..16]);
        assert_eq!(values, Values::String(vec!["Hello".into()]));
    }

    #[test]
    fn no_beginning_of_a_sample_passes_for_a_sample() {
        for (layout, sample) in [
            (layout("int64", 1), &b"\x0812345678abcdefgh"[..]),
            (layout("string", 2), b"\x00\x01\x02ab\x04\x01\x00\x00\x00c"),
        ] {
            assert!(matches!(layout.measure(sample), Measure::Sample { end, .. } if end == sample.len()));
            for end in 0..sample.len() {
                assert_eq!(layout.measure(&sample[..end]), Measure::Incomplete);
            }
        }
        assert_eq!(layout("int8", 1).measure(b"\x04aaaa"), Measure::Invalid);
        assert_eq!(layout("string", 1).measure(b"\x00\x02a"), Measure::Invalid);
        assert_eq!(
            layout("string", 1).measure(b"\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff"),
            Measure::Invalid
        );
    }

    #[test]
    fn a_count_that_the_length_contradicts_is_not_permitted() {
        let numbers = layout("int16", 3);
        assert!(numbers.permits(2, 14) && numbers.permits(2, 30) && numbers.permits(0, 0));
        assert!(!numbers.permits(2, 13) && !numbers.permits(2, 31) && !numbers.permits(u64::MAX, 100));
        assert!(!layout("string", 3).permits(2, 13));
    }
}
