//! Turns samples into one minimum and maximum per channel and pixel column. So the bytes to a browser depend
//! on its window and not on the stream.

use std::collections::VecDeque;

use schwann::ChannelFormat;

use super::{
    filter::{HighPass, Memory},
    gauge::Continuity,
};

/// What a view shows of a stream.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// Channels by number, in the order in which they are drawn.
    pub(super) channels: Vec<u32>,
    /// Seconds per pixel column.
    pub(super) column_seconds: f64,
    /// Columns that are kept for a browser that is slow; then the oldest are dropped.
    pub(super) columns: usize,
    /// Frequency of the high-pass in Hz; 0 for none.
    pub(super) high_pass: f64,
}

/// A pixel column that is complete.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// Time of its left edge on the local clock, in columns.
    pub(super) index: i64,
    /// Shape: minimum and maximum per channel, channel after channel. NaN where no number came.
    pub(super) extremes: Box<[f32]>,
}

/// Makes columns of samples.
#[derive(Debug)]
pub(super) struct Decimator {
    format: ChannelFormat,
    selection: Selection,
    filter: Option<HighPass>,
    memories: Vec<Memory>,
    open: Option<Column>,
    complete: VecDeque<Column>,
    continuity: Continuity,
}

impl Decimator {
    /// Begins without a column.
    ///
    /// - Units: `rate` in Hz, 0 for an irregular stream, which is never filtered.
    pub(super) fn new(format: ChannelFormat, rate: f64, selection: Selection) -> Self {
        Self {
            format,
            filter: HighPass::new(selection.high_pass, rate),
            memories: vec![Memory::default(); selection.channels.len()],
            selection,
            open: None,
            complete: VecDeque::new(),
            continuity: Continuity::Whole,
        }
    }

    /// Takes in one sample.
    ///
    /// A sample that is older than the one before goes into the present column: nothing is drawn twice.
    ///
    /// - Units: `stamp` in seconds on the local clock.
    /// - Shape: `sample` has the bytes of all channels of the stream, as this machine stores them.
    pub(super) fn add(&mut self, stamp: f64, sample: &[u8]) {
        // A float becomes the nearest integer that there is, whatever the stamp.
        let index = (stamp / self.selection.column_seconds).floor() as i64;
        let mut open = match self.open.take() {
            Some(open) if open.index >= index => open,
            other => {
                self.finish(other);
                self.empty_column(index)
            }
        };
        let places =
            self.selection.channels.iter().zip(&mut self.memories).zip(open.extremes.as_chunks_mut().0);
        for ((&channel, memory), [low, high]) in places {
            let value = value(self.format, sample, channel as usize).unwrap_or(f64::NAN);
            let value = self.filter.map_or(value, |filter| filter.next(memory, value)) as f32;
            // Of a number and NaN these give the number.
            *low = low.min(value);
            *high = high.max(value);
        }
        self.open = Some(open);
        while self.complete.len() > self.selection.columns {
            self.complete.pop_front();
        }
    }

    /// Says that samples are missing here: filters start anew, and a column without numbers breaks the line.
    pub(super) fn interrupt(&mut self) {
        self.memories.fill(Memory::default());
        self.continuity = Continuity::Broken;
    }

    fn finish(&mut self, column: Option<Column>) {
        let Some(column) = column else { return };
        let next = column.index.saturating_add(1);
        self.complete.push_back(column);
        if core::mem::replace(&mut self.continuity, Continuity::Whole) == Continuity::Broken {
            self.complete.push_back(self.empty_column(next));
        }
    }

    fn empty_column(&self, index: i64) -> Column {
        Column { index, extremes: vec![f32::NAN; 2 * self.selection.channels.len()].into() }
    }

    /// Takes the columns that were completed since the last call.
    pub(super) fn take(&mut self) -> VecDeque<Column> {
        core::mem::take(&mut self.complete)
    }

    /// The columns that are complete, oldest first.
    pub(super) fn columns(&self) -> &VecDeque<Column> {
        &self.complete
    }
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

    fn selection(channels: &[u32]) -> Selection {
        Selection { channels: channels.to_vec(), column_seconds: 0.5, columns: 4, high_pass: 0.0 }
    }

    fn sample(values: &[i16]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn a_column_has_the_extremes_of_the_chosen_channels() {
        let mut decimator = Decimator::new(ChannelFormat::Int16, 4.0, selection(&[2, 0]));
        for (stamp, values) in
            [(1.0, [1, 9, 5]), (1.2, [-3, 9, 6]), (1.4, [2, 9, -7]), (1.6, [0, 0, 0]), (2.6, [0, 0, 0])]
        {
            decimator.add(stamp, &sample(&values));
        }
        let columns = decimator.take();
        assert_eq!(columns[0], Column { index: 2, extremes: [-7.0, 6.0, -3.0, 2.0].into() });
        assert_eq!(columns[1], Column { index: 3, extremes: [0.0; 4].into() });
        assert_eq!(columns.len(), 2, "the third is still open");
        assert!(decimator.take().is_empty());
    }

    #[test]
    fn a_browser_that_does_not_read_costs_four_columns() {
        let mut decimator = Decimator::new(ChannelFormat::Int16, 4.0, selection(&[0]));
        for n in 0..1_000 {
            decimator.add(f64::from(n) / 2.0, &sample(&[0]));
        }
        let kept: Vec<_> = decimator.take().iter().map(|column| column.index).collect();
        assert_eq!(kept, [995, 996, 997, 998]);
    }

    #[test]
    fn a_line_breaks_where_samples_are_missing() {
        let mut decimator = Decimator::new(ChannelFormat::Int16, 4.0, selection(&[0]));
        decimator.add(1.0, &sample(&[1]));
        decimator.interrupt();
        [3.0, 3.5].into_iter().for_each(|stamp| decimator.add(stamp, &sample(&[1])));
        let columns: Vec<_> = decimator.take().iter().map(|c| (c.index, c.extremes[0].is_nan())).collect();
        assert_eq!(columns, [(2, false), (3, true), (6, false)]);
    }

    #[test]
    fn stamps_that_go_back_or_are_no_numbers_do_no_harm() {
        let mut decimator = Decimator::new(ChannelFormat::Int16, 4.0, selection(&[0, 99]));
        for stamp in [10.0, 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            decimator.add(stamp, &sample(&[1]));
        }
        let columns = decimator.take();
        assert_eq!(columns[0].index, 20);
        assert_eq!(&columns[0].extremes[..2], [1.0, 1.0]);
        assert!(columns[0].extremes[2..].iter().all(|value| value.is_nan()), "there is no channel 99");
    }

    #[test]
    fn every_format_is_read() {
        let cases: [(ChannelFormat, Vec<u8>); 6] = [
            (ChannelFormat::Int8, vec![0, 0xfb]),
            (ChannelFormat::Int16, sample(&[0, -5])),
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
