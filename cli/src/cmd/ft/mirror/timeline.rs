use std::collections::VecDeque;

use schwann_xdf::{ANOTHER_CLOCK, is_time};

/// When the newest samples of an acquisition were taken, on the clock of the stream.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Number of the first sample in `stamps`.
    first: u64,
    stamps: VecDeque<f64>,
}

impl Timeline {
    /// Adds the stamps of the next samples.
    pub(super) fn append(&mut self, stamps: &[f64]) {
        for &stamp in stamps {
            let newest = self.stamps.back().copied().unwrap_or(f64::NEG_INFINITY);
            if is_time(stamp) && stamp < newest - ANOTHER_CLOCK {
                self.begin_again();
            }
            // Small steps back are jitter, and some stamps are no times; a search needs order.
            let newest = self.stamps.back().copied().unwrap_or(f64::NEG_INFINITY);
            self.stamps.push_back(if is_time(stamp) { stamp.max(newest) } else { newest });
        }
        let surplus = self.stamps.len().saturating_sub(KEPT);
        self.stamps.drain(..surplus);
        self.first += surplus as u64;
    }

    /// Forgets the stamps, but not how many there were: the clock is another one.
    pub(super) fn begin_again(&mut self) {
        self.first = self.next_sample();
        self.stamps.clear();
    }

    /// The sample whose stamp is nearest to `time`; none if later samples may be nearer, or if it is no time.
    pub(super) fn sample_at(&self, time: f64) -> Option<u64> {
        if !is_time(time) {
            return None;
        }
        let after = self.stamps.partition_point(|&stamp| stamp < time);
        let next = self.stamps.get(after)?;
        let is_before = after.checked_sub(1).and_then(|before| self.stamps.get(before));
        let nearest = match is_before {
            Some(before) if time - before < next - time => after - 1,
            _ => after,
        };
        Some(self.first + nearest as u64)
    }

    /// Number of the sample that comes next.
    pub(super) fn next_sample(&self) -> u64 {
        self.first + self.stamps.len() as u64
    }
}

/// Samples that a marker may be older than: a minute of 30 kHz.
const KEPT: usize = 1_800_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_belongs_to_the_nearest_sample() {
        let mut timeline = Timeline::default();
        timeline.append(&[10.0, 10.25, 10.5]);
        timeline.append(&[10.75]);
        for (time, sample) in [(3.0, Some(0)), (10.25, Some(1)), (10.35, Some(1)), (10.4, Some(2))] {
            assert_eq!(timeline.sample_at(time), sample, "{time}");
        }
        assert_eq!(timeline.sample_at(10.76), None, "a later sample may be nearer");
        assert_eq!(timeline.next_sample(), 4);
    }

    #[test]
    fn numbers_go_on_when_the_clock_does_not() {
        let mut timeline = Timeline::default();
        timeline.append(&[1000.0, 1000.5]);
        timeline.append(&[5.0, 5.5]);
        assert_eq!((timeline.sample_at(5.4), timeline.next_sample()), (Some(3), 4));
        timeline.begin_again();
        assert_eq!((timeline.sample_at(5.4), timeline.next_sample()), (None, 4));
    }

    #[test]
    fn stamps_that_are_no_times_move_nothing() {
        let mut timeline = Timeline::default();
        timeline.append(&[f64::NAN, 1.0, f64::INFINITY, 1.2, f64::NEG_INFINITY, f64::NAN, 1.4]);
        let places = [1.0, 1.2, 1.4, f64::NAN, f64::INFINITY].map(|time| timeline.sample_at(time));
        assert_eq!(places, [Some(1), Some(3), Some(6), None, None]);
    }

    #[test]
    fn jitter_does_not_confuse_the_search() {
        let mut timeline = Timeline::default();
        timeline.append(&[1.0, 1.2, 1.19, 1.3]);
        assert_eq!(timeline.sample_at(1.29), Some(3));
    }
}
