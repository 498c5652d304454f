use std::collections::VecDeque;

/// Gives times to samples that have none: their arrival times, smoothed by the sampling rate.
#[derive(Debug)]
pub(super) struct Stamps {
    /// Seconds between samples; 0 without a rate.
    period: f64,
    blocks: VecDeque<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first: u32,
    last: u32,
    /// Of the last sample.
    stamp: f64,
}

impl Stamps {
    /// - Units: `rate` in Hz, 0 for none.
    pub(super) fn new(rate: f64) -> Self {
        Self { period: if rate > 0.0 { rate.recip() } else { 0.0 }, blocks: VecDeque::new() }
    }

    /// Returns the stamp of the last of `count` samples that arrived `now`.
    pub(super) fn append(&mut self, first: u32, count: u32, now: f64) -> f64 {
        let last = first.saturating_add(count.saturating_sub(1));
        let expected = self.blocks.back().map(|block| block.stamp_of(last, self.period));
        let stamp = match expected {
            Some(expected) if self.period > 0.0 && (now - expected).abs() < INTERRUPTED => {
                expected + TRUST * (now - expected)
            }
            _ => now,
        };
        if self.blocks.len() == KEPT {
            self.blocks.pop_front();
        }
        self.blocks.push_back(Block { first, last, stamp });
        stamp
    }

    /// The stamp that a sample was given; of one before what is remembered, what it would have been. None if it has
    /// not come yet.
    pub(super) fn of(&self, sample: u32) -> Option<f64> {
        if self.blocks.back()?.last < sample {
            return None;
        }
        let block = self.blocks.iter().rev().find(|block| block.first <= sample);
        Some(block.or(self.blocks.front())?.stamp_of(sample, self.period))
    }
}

impl Block {
    fn stamp_of(self, sample: u32, period: f64) -> f64 {
        self.stamp + (f64::from(sample) - f64::from(self.last)) * period
    }
}

/// How much an arrival counts against the rate: a late block moves the stamps by this part of its delay.
const TRUST: f64 = 0.02;
/// Seconds beyond which samples did not come late, but were not taken.
const INTERRUPTED: f64 = 0.5;
/// Blocks that an event may be older than.
const KEPT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_blocks_hardly_move_the_stamps() {
        let mut stamps = Stamps::new(100.0);
        assert_eq!(stamps.append(0, 10, 5.0), 5.0);
        assert!((stamps.append(10, 10, 5.15) - 5.101).abs() < 1e-9);
        assert_eq!(stamps.append(20, 10, 9.0), 9.0);
    }

    #[test]
    fn an_event_has_the_stamp_of_its_sample() {
        let mut stamps = Stamps::new(100.0);
        assert_eq!(stamps.of(0), None);
        stamps.append(10, 10, 5.0);
        assert_eq!((stamps.of(19), stamps.of(20)), (Some(5.0), None));
        assert!((stamps.of(9).expect("older than what is known") - 4.9).abs() < 1e-9);
        let last = stamps.append(20, 10, 5.2);
        assert_eq!((stamps.of(19), stamps.of(29)), (Some(5.0), Some(last)));
    }

    #[test]
    fn without_a_rate_samples_have_the_time_of_their_arrival() {
        let mut stamps = Stamps::new(0.0);
        assert_eq!((stamps.append(0, 4, 1.0), stamps.append(4, 4, 1.25)), (1.0, 1.25));
        assert_eq!(stamps.of(1), Some(1.0));
    }
}
