//! A stretch of a stream's last seconds at its full rate, as analyses need it.

use super::{
    chain::{Chain, Processing},
    monitor::Monitor,
};

/// Values of some rows, without a gap. Some may be no numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// Hz.
    pub(super) rate: f64,
    /// Stamp of the last value, on the local clock; none if there is no value.
    pub(super) end: Option<f64>,
    /// Shape: rows × samples.
    pub(super) rows: Vec<Vec<f64>>,
}

impl Stretch {
    /// The last values of the rows before `until`: at most so many seconds, and only since the last gap. There are no
    /// more than can be computed in a moment.
    pub(super) fn take(monitor: &Monitor, processing: Processing, seconds: f64, until: f64) -> Self {
        let rate = monitor.info().nominal_rate();
        let mut stretch = Self { rate, end: None, rows: vec![Vec::new(); processing.rows.len()] };
        if rate <= 0.0 || processing.rows.is_empty() {
            return stretch;
        }
        let filters = processing.filters;
        let most = VALUES_MOST / rate / processing.rows.len() as f64;
        let begin = until - seconds.min(most.max(LEAST_SECONDS));
        let from = begin - if filters == Default::default() { 0.0 } else { filters.settling_seconds() };
        let mut chain = monitor.chain(processing);
        let mut before = f64::NAN;
        let blocks = monitor.blocks();
        for block in blocks.iter().filter(|block| block.newest().is_some_and(|newest| newest >= from)) {
            for (stamp, sample) in block.samples_from(0).filter(|(stamp, _)| *stamp >= from && *stamp < until)
            {
                if stamp - before > GAP_SAMPLES / rate {
                    stretch.begin_anew(&mut chain);
                }
                before = stamp;
                stretch.add(&mut chain, stamp, sample, begin);
            }
        }
        stretch
    }

    fn add(&mut self, chain: &mut Chain, stamp: f64, sample: &[u8], begin: f64) {
        let rows = &mut self.rows;
        chain.next(sample, |row, value| {
            if let Some(row) = rows.get_mut(row).filter(|_| stamp >= begin) {
                row.push(value);
            }
        });
        if stamp >= begin {
            self.end = Some(stamp);
        }
    }

    /// What came since no row had a number: so a sender may fill what it missed. A channel may never have one, and takes nothing
    /// from the others.
    pub(super) fn since_numbers(mut self) -> Self {
        let count = self.rows.first().map_or(0, Vec::len);
        let has_number =
            |place: usize| self.rows.iter().any(|row| row.get(place).is_some_and(|value| value.is_finite()));
        let begin = (0..count).rev().find(|place| !has_number(*place)).map_or(0, |place| place + 1);
        self.rows.iter_mut().for_each(|row| drop(row.drain(..begin.min(row.len()))));
        self
    }

    fn begin_anew(&mut self, chain: &mut Chain) {
        chain.interrupt();
        self.rows.iter_mut().for_each(Vec::clear);
    }

    /// How many seconds it has.
    pub(super) fn seconds(&self) -> f64 {
        self.rows.first().map_or(0.0, |row| row.len() as f64 / self.rate)
    }
}

/// Whether all values of a row are numbers.
pub(super) fn are_numbers(row: &[f64]) -> bool {
    row.iter().all(|value| value.is_finite())
}

/// Stamps that are further apart have a gap between them.
const GAP_SAMPLES: f64 = 2.5;
const LEAST_SECONDS: f64 = 0.25;
/// Values that are taken at a time, of all rows: some milliseconds of work.
const VALUES_MOST: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::Stretch;

    #[test]
    fn a_channel_without_numbers_takes_nothing_from_the_others() {
        const NAN: f64 = f64::NAN;
        let of = |rows: [&[f64]; 2]| Stretch {
            rate: 100.0,
            end: Some(0.0),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        };
        let rows = of([&[1.0, 2.0, 3.0], &[NAN; 3]]).since_numbers().rows;
        assert_eq!(rows.first().map(Vec::as_slice), Some(&[1.0, 2.0, 3.0][..]));
        let rows = of([&[1.0, NAN, 3.0], &[NAN, NAN, 6.0]]).since_numbers().rows;
        assert_eq!(rows, [[3.0], [6.0]], "what a sender missed is no number in any channel");
        assert_eq!(of([&[NAN; 2], &[NAN; 2]]).since_numbers().seconds(), 0.0);
    }
}
