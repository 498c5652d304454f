//! How a view begins with what is remembered of its stream.

use std::sync::Arc;

use super::{decimate::Decimator, history::Block};

/// Feeds a stretch of the past to a view, after what its filters need to settle.
pub(super) struct Past {
    decimator: Decimator,
    from: f64,
    until: f64,
    before: Option<f64>,
}

impl Past {
    /// Begins a stretch from one moment to another, both on the local clock.
    pub(super) fn new(decimator: Decimator, from: f64, until: f64) -> Self {
        let from = from - decimator.settling_seconds();
        Self { decimator, from, until, before: None }
    }

    /// Seconds before the stretch that its filters need.
    pub(super) fn settling_seconds(&self) -> f64 {
        self.decimator.settling_seconds()
    }

    /// Takes in what is remembered; returns the number of the sample that follows.
    pub(super) fn add_blocks(&mut self, blocks: &[Arc<Block>]) -> u64 {
        let from = self.from;
        for block in blocks.iter().filter(|block| block.newest().is_some_and(|newest| newest >= from)) {
            self.add(block.samples_from(0));
        }
        blocks.last().map_or(0, |block| block.end())
    }

    /// Takes in samples that follow.
    pub(super) fn add<'a>(&mut self, samples: impl Iterator<Item = (f64, &'a [u8])>) {
        for (stamp, sample) in samples {
            if self.before.is_some_and(|before| stamp - before > INTERRUPTED_SECONDS) {
                self.decimator.interrupt();
            }
            self.before = Some(stamp);
            if stamp >= self.from && stamp < self.until {
                self.decimator.add(stamp, sample);
            }
        }
    }

    /// The view, which may go on.
    pub(super) fn into_decimator(self) -> Decimator {
        self.decimator
    }
}

/// A pause that is longer than this breaks the line.
const INTERRUPTED_SECONDS: f64 = 1.0;
