//! From the values of a sample to what is drawn: first the montage, then filters with the memory of each row.

use schwann::ChannelFormat;
use schwann_recorder::Sections;

use super::filter::Filters;

/// What becomes of samples before they are drawn or analysed. It never touches what is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Processing {
    /// What is shown, in the order in which it is drawn.
    pub(super) rows: Vec<Row>,
    /// Channels whose mean is the common average.
    pub(super) averaged: Vec<u32>,
    pub(super) filters: Filters,
}

/// One channel, or the difference of two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Row {
    pub(super) channel: u32,
    pub(super) minus: Minus,
}

/// What is subtracted from a channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Minus {
    Nothing,
    /// The mean of [`Processing::averaged`].
    Average,
    Channel(u32),
}

/// Processes one sample after the other.
#[derive(Debug)]
pub(super) struct Chain {
    format: ChannelFormat,
    processing: Processing,
    sections: Sections,
    delays: Vec<[f64; 2]>,
    /// Rows whose filter begins with the next value.
    fresh: Vec<bool>,
}

impl Chain {
    /// Begins at rest.
    ///
    /// - Units: `rate` in Hz, 0 for an irregular stream, which is never filtered.
    pub(super) fn new(format: ChannelFormat, rate: f64, processing: Processing) -> Self {
        let sections = processing.filters.sections(rate);
        let rows = processing.rows.len();
        let delays = vec![[0.0; 2]; rows * sections.len()];
        Self { format, processing, sections, delays, fresh: vec![true; rows] }
    }

    /// How many rows there are.
    pub(super) fn row_count(&self) -> usize {
        self.processing.rows.len()
    }

    /// Seconds after which the filters have forgotten how they began.
    pub(super) fn settling_seconds(&self) -> f64 {
        if self.sections.is_empty() { 0.0 } else { self.processing.filters.settling_seconds() }
    }

    /// Hands on each row's value of one sample; what is no number starts the row's filter anew.
    ///
    /// - Shape: `sample` has the bytes of all channels, as this machine stores them.
    pub(super) fn next(&mut self, sample: &[u8], mut take: impl FnMut(usize, f64)) {
        let value = |channel: u32| value(self.format, sample, channel as usize).unwrap_or(f64::NAN);
        let average = mean(self.processing.averaged.iter().map(|&channel| value(channel)));
        let length = self.sections.len();
        let fresh = self.fresh.iter_mut();
        for (place, (row, fresh)) in self.processing.rows.iter().zip(fresh).enumerate() {
            let raw = match row.minus {
                Minus::Nothing => value(row.channel),
                Minus::Average => value(row.channel) - average,
                Minus::Channel(other) => value(row.channel) - value(other),
            };
            let Some(delays) = self.delays.get_mut(place * length..(place + 1) * length) else { continue };
            if length == 0 || !raw.is_finite() {
                *fresh = true;
                take(place, raw);
                continue;
            }
            if core::mem::take(fresh) {
                self.sections.settle(delays, raw);
            }
            take(place, self.sections.next(delays, raw));
        }
    }

    /// Says that samples are missing here.
    pub(super) fn interrupt(&mut self) {
        self.fresh.fill(true);
    }
}

/// The mean of those that are numbers; 0 without any, so that nothing is subtracted.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values.filter(|value| value.is_finite()) {
        (sum, count) = (sum + value, count + 1);
    }
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// Reads one channel of a sample; nothing if there is no such channel or the stream has no numbers.
pub(super) fn value(format: ChannelFormat, sample: &[u8], channel: usize) -> Option<f64> {
    fn bytes<const N: usize>(sample: &[u8], channel: usize) -> Option<[u8; N]> {
        sample.as_chunks().0.get(channel).copied()
    }
    Some(match format {
        ChannelFormat::Float32 => f32::from_ne_bytes(bytes(sample, channel)?).into(),
        ChannelFormat::Double64 => f64::from_ne_bytes(bytes(sample, channel)?),
        ChannelFormat::Int8 => i8::from_ne_bytes(bytes(sample, channel)?).into(),
        ChannelFormat::Int16 => i16::from_ne_bytes(bytes(sample, channel)?).into(),
        ChannelFormat::Int32 => i32::from_ne_bytes(bytes(sample, channel)?).into(),
        // Drawn in pixels: 53 bits are enough.
        ChannelFormat::Int64 => i64::from_ne_bytes(bytes(sample, channel)?) as f64,
        ChannelFormat::String | ChannelFormat::Undefined => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn processed(chain: &mut Chain, values: &[f64]) -> Vec<f64> {
        let mut rows = vec![0.0; chain.row_count()];
        chain.next(&sample(values), |row, value| rows[row] = value);
        rows
    }

    #[test]
    fn a_row_is_a_channel_or_a_difference() {
        let row = |channel, minus| Row { channel, minus };
        let rows = vec![row(2, Minus::Nothing), row(0, Minus::Average), row(1, Minus::Channel(0))];
        let processing = Processing { rows, averaged: vec![0, 1, 3], filters: Filters::default() };
        let mut chain = Chain::new(ChannelFormat::Double64, 100.0, processing);
        assert_eq!(processed(&mut chain, &[1.0, 5.0, 7.0, 9.0]), [7.0, -4.0, 4.0]);
        assert_eq!(
            processed(&mut chain, &[1.0, 5.0, 7.0, f64::NAN]),
            [7.0, -2.0, 4.0],
            "no number is in no mean"
        );
    }

    #[test]
    fn an_offset_vanishes_at_once_and_nothing_infinite_stays() {
        let filters = Filters { high_pass: 0.5, ..Filters::default() };
        let rows = vec![Row { channel: 0, minus: Minus::Nothing }];
        let processing = Processing { rows, averaged: Vec::new(), filters };
        let mut chain = Chain::new(ChannelFormat::Double64, 1_000.0, processing);
        assert!(processed(&mut chain, &[4_500.0])[0].abs() < 1e-9);
        assert!(processed(&mut chain, &[f64::NAN])[0].is_nan());
        assert!(processed(&mut chain, &[-7.0])[0].abs() < 1e-9);
        chain.interrupt();
        assert!(processed(&mut chain, &[900.0])[0].abs() < 1e-9);
    }

    #[test]
    fn every_format_is_read() {
        let cases: [(ChannelFormat, Vec<u8>); 6] = [
            (ChannelFormat::Int8, vec![0, 0xfb]),
            (ChannelFormat::Int16, [0, -5_i16].map(i16::to_ne_bytes).concat()),
            (ChannelFormat::Int32, [0, -5_i32].map(i32::to_ne_bytes).concat()),
            (ChannelFormat::Int64, [0, -5_i64].map(i64::to_ne_bytes).concat()),
            (ChannelFormat::Float32, [0.0, -5.0_f32].map(f32::to_ne_bytes).concat()),
            (ChannelFormat::Double64, [0.0, -5.0_f64].map(f64::to_ne_bytes).concat()),
        ];
        for (format, bytes) in cases {
            assert_eq!(value(format, &bytes, 1), Some(-5.0), "{format}");
            assert_eq!(value(format, &bytes, 2), None, "{format}");
        }
        assert_eq!(value(ChannelFormat::String, b"12345678", 0), None);
    }
}
