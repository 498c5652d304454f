//! What stamps say of a live stream's clock, and what arrivals add to it.

use alloc::collections::VecDeque;

use schwann_xdf::{Drift, Histogram, is_time};

/// What the stamps alone say, in constant memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StampCourse {
    /// Samples with the stamp of the sample before them.
    pub duplicate_count: u64,
    /// Stamps that go back by more than blocks overlap.
    pub backward_count: u64,
    /// How far the worst of them goes back, in seconds.
    pub backward_seconds: f64,
    /// Samples whose stamp is no time: see [`is_time`].
    pub invalid_count: u64,
    sample_count: u64,
    /// How far intervals are from the nominal one, in seconds.
    jitter: Histogram,
}

impl StampCourse {
    /// Takes in the time from one stamp to the next, in seconds; `period` is the nominal one. A gap is no jitter.
    pub(crate) fn add(&mut self, interval: f64, period: f64, is_gap: bool) {
        self.sample_count += 1;
        self.duplicate_count += u64::from(interval == 0.0);
        if interval < -OVERLAP_SECONDS {
            self.backward_count += 1;
            self.backward_seconds = self.backward_seconds.max(-interval);
        }
        if period > 0.0 && !is_gap && interval < LONGEST_INTERVAL {
            self.jitter.add((interval - period).abs());
        }
    }

    /// How far intervals are from the nominal one: the median, and what 99 of 100 stay below, in seconds; none for
    /// senders that stamp whole blocks, and before there is enough.
    pub fn jitter(&self) -> Option<[f64; 2]> {
        let is_enough = self.sample_count >= JITTER_SAMPLES && !self.is_by_block();
        is_enough.then(|| Some([self.jitter.quantile(0.5)?, self.jitter.quantile(0.99)?])).flatten()
    }

    /// How often a stamp is that of the sample before, unless that is the sender's way to stamp a block.
    pub fn duplicates(&self) -> u64 {
        if self.is_by_block() { 0 } else { self.duplicate_count }
    }

    fn is_by_block(&self) -> bool {
        self.duplicate_count * BY_BLOCK_ONE_OF > self.sample_count
    }
}

/// What arrivals say of the clock that stamps a stream.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    period: f64,
    newest: Option<f64>,
    /// The newest sample's age when it came, on our clock and with an unknown constant.
    age: Option<f64>,
    steps: u64,
    last_step: f64,
    began: f64,
    last_step_at: f64,
    /// The least age of each stretch of [`STRETCH`] seconds: when, and how old.
    least: VecDeque<[f64; 2]>,
}

/// How often a stream's clock jumped, and how far at last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// How often.
    pub count: u64,
    /// How far it jumped ahead at last, in seconds.
    pub seconds: f64,
    /// When that was, in seconds since the stream was first seen.
    pub after: f64,
}

impl Pace {
    /// Begins for a stream of this rate, in Hz; 0 if it has none.
    pub fn new(nominal_rate: f64) -> Self {
        Self { period: if nominal_rate > 0.0 { 1.0 / nominal_rate } else { 0.0 }, ..Self::default() }
    }

    /// Takes in stamps on the sender's clock that arrived at `now`, in seconds on the local clock.
    pub fn arrived(&mut self, stamps: &[f64], now: f64) {
        let are_times = stamps.iter().all(|stamp| is_time(*stamp));
        let Some(&newest) = stamps.last().filter(|_| self.period > 0.0 && are_times) else { return };
        let age = now - newest;
        if self.began == 0.0 {
            self.began = now;
        }
        if let (Some(before), Some(age_before)) = (self.newest, self.age) {
            let jump = largest_jump(before, stamps, self.period);
            let moved = age_before - age;
            // Samples that are missing leave the age as it is.
            if jump.abs() > STEP_SECONDS && (moved - jump).abs() < (0.3 * jump.abs()).max(STEP_SECONDS / 2.0)
            {
                (self.steps, self.last_step, self.last_step_at) = (self.steps + 1, jump, now);
                self.least.clear();
            }
        }
        (self.newest, self.age) = (Some(newest), Some(age));
        self.note_age(now, age);
    }

    fn note_age(&mut self, now: f64, age: f64) {
        match self.least.back_mut().filter(|stretch| now - stretch[0] < STRETCH) {
            Some(stretch) => stretch[1] = stretch[1].min(age),
            None => self.least.push_back([now, age]),
        }
        if self.least.len() > STRETCHES {
            self.least.pop_front();
        }
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub fn interrupted(&mut self) {
        (self.newest, self.age) = (None, None);
        self.least.clear();
    }

    /// How often the clock that stamps the stream jumped; none if it never did.
    pub fn steps(&self) -> Option<Steps> {
        (self.steps > 0).then_some(Steps {
            count: self.steps,
            seconds: self.last_step,
            after: self.last_step_at - self.began,
        })
    }

    /// How much faster the stamps run than the local clock; none before that can be told.
    pub fn drift(&self) -> Option<Drift> {
        let (first, last) = (self.least.front()?, self.least.back()?);
        let span = last[0] - first[0];
        if self.least.len() < DRIFT_STRETCHES || span <= 0.0 {
            return None;
        }
        let count = self.least.len() as f64;
        let mean = |of: usize| self.least.iter().map(|stretch| stretch[of] - first[of]).sum::<f64>() / count;
        let (middle, level) = (mean(0), mean(1));
        let about = |stretch: &[f64; 2]| [stretch[0] - first[0] - middle, stretch[1] - first[1] - level];
        let squares: f64 = self.least.iter().map(|stretch| about(stretch)[0].powi(2)).sum();
        let products: f64 = self.least.iter().map(about).map(|[x, y]| x * y).sum();
        let slope = products / squares;
        let left: f64 = self.least.iter().map(about).map(|[x, y]| (y - slope * x).powi(2)).sum();
        let scatter = (left / (count - 2.0)).sqrt();
        let plus_minus = 3.0 * scatter / squares.sqrt() + LATE_SECONDS / span;
        // An age that grows means that the stamps fall behind.
        Some(Drift { ppm: -slope * 1e6, plus_minus: plus_minus * 1e6 })
    }
}

/// How much the longest step of these stamps exceeds the period, or how far they go back, whichever is more.
fn largest_jump(before: f64, stamps: &[f64], period: f64) -> f64 {
    let mut from = before;
    let jumps = stamps.iter().map(|&stamp| stamp - core::mem::replace(&mut from, stamp) - period);
    jumps.fold(0.0, |largest: f64, jump| if jump.abs() > largest.abs() { jump } else { largest })
}

/// Blocks of a program that stamps them by their arrival overlap by less than this, in seconds.
const OVERLAP_SECONDS: f64 = 0.05;
/// A longer interval, in seconds, is a step or a gap.
const LONGEST_INTERVAL: f64 = 3_600.0;
/// Fewer samples say nothing of jitter.
const JITTER_SAMPLES: u64 = 30;
/// A sender of which one sample in so many has the stamp of the one before stamps by the block.
pub(crate) const BY_BLOCK_ONE_OF: u64 = 5;
/// Shorter jumps, in seconds, are not told from a busy computer.
const STEP_SECONDS: f64 = 0.5;
/// Of each stretch of so many seconds the sample that came fastest counts.
const STRETCH: f64 = 0.2;
/// Stretches that are remembered: two minutes.
const STRETCHES: usize = 600;
const DRIFT_STRETCHES: usize = 6;
/// How late even the fastest samples may be, in seconds.
const LATE_SECONDS: f64 = 0.06;
