//! Turns samples into one minimum and maximum per channel and pixel column. So the bytes to a browser depend
//! on its window and not on the stream.

use std::collections::VecDeque;

use schwann::ChannelFormat;

use super::{
    chain::{Chain, Processing},
    gauge::Continuity,
};

/// What a view shows of a stream.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) processing: Processing,
    /// Seconds per pixel column.
    pub(super) column_seconds: f64,
    /// Columns that are kept for a browser that is slow; then the oldest are dropped.
    pub(super) columns: usize,
}

impl Selection {
    /// Seconds from the first column to the last one.
    pub(super) fn window(&self) -> f64 {
        self.column_seconds * self.columns as f64
    }
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
    column_seconds: f64,
    columns: usize,
    chain: Chain,
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
            column_seconds: selection.column_seconds,
            columns: selection.columns,
            chain: Chain::new(format, rate, selection.processing),
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
        let index = (stamp / self.column_seconds).floor() as i64;
        let mut open = match self.open.take() {
            Some(open) if open.index >= index => open,
            other => {
                self.finish(other);
                self.empty_column(index)
            }
        };
        let places = open.extremes.as_chunks_mut().0;
        self.chain.next(sample, |row, value| {
            let (Some([low, high]), value) = (places.get_mut(row), value as f32) else { return };
            // Of a number and NaN these give the number.
            *low = low.min(value);
            *high = high.max(value);
        });
        self.open = Some(open);
        while self.complete.len() > self.columns {
            self.complete.pop_front();
        }
    }

    /// Seconds that the filters need before what they make can be trusted.
    pub(super) fn settling_seconds(&self) -> f64 {
        self.chain.settling_seconds()
    }

    /// Completes the present column, for a view that goes no further.
    pub(super) fn finish_all(&mut self) -> VecDeque<Column> {
        let open = self.open.take();
        self.finish(open);
        self.take()
    }

    /// Says that samples are missing here: filters start anew, and a column without numbers breaks the line.
    pub(super) fn interrupt(&mut self) {
        self.chain.interrupt();
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
        Column { index, extremes: vec![f32::NAN; 2 * self.chain.row_count()].into() }
    }

    /// Takes the columns that were completed since the last call.
    pub(super) fn take(&mut self) -> VecDeque<Column> {
        core::mem::take(&mut self.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Minus, Row};

    fn selection(channels: &[u32]) -> Selection {
        let rows = channels.iter().map(|&channel| Row { channel, minus: Minus::Nothing }).collect();
        let processing = Processing { rows, ..Processing::default() };
        Selection { processing, column_seconds: 0.5, columns: 4 }
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
}
