//! Times by their size: quantiles in constant memory.

/// Counts of times by their size, within 3 % and in constant memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max: f64::NEG_INFINITY }
    }
}

impl Histogram {
    /// Counts one more time, in seconds.
    pub fn add(&mut self, seconds: f64) {
        // What seems to come from the future, because clocks are only so well known, has no lag.
        let is_short = seconds.is_nan() || seconds <= SMALLEST;
        let bucket = if is_short { 0 } else { ((seconds / SMALLEST).log2() * PER_OCTAVE) as usize };
        if let Some(count) = self.counts.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.total += 1;
        self.max = self.max.max(seconds);
    }

    /// Returns what this share of the times stays below; none before there is a time.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted
        })?;
        // The last bucket holds all that is longer than it can tell.
        let is_last = bucket + 1 == BUCKETS;
        let upper = if is_last { self.max } else { SMALLEST * ((bucket + 1) as f64 / PER_OCTAVE).exp2() };
        Some(upper.min(self.max))
    }

    /// The counts between `from` and `to` in `bins` steps of equal ratio, for a picture.
    ///
    /// - Units: seconds.
    #[must_use]
    pub fn bins(&self, from: f64, to: f64, bins: usize) -> Vec<u64> {
        let mut out = vec![0; bins];
        let ratio = (to / from).ln();
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let seconds = SMALLEST * ((bucket as f64 + 0.5) / PER_OCTAVE).exp2();
            let place = ((seconds / from).ln() / ratio * bins as f64).max(0.0) as usize;
            if let Some(bin) = out.get_mut(place.min(bins.saturating_sub(1))) {
                *bin += count;
            }
        }
        out
    }

    /// How many times were counted.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The longest time; none before there is one.
    #[must_use]
    pub fn longest(&self) -> Option<f64> {
        (self.total > 0).then_some(self.max)
    }
}

/// The shortest time that is told apart from none, in seconds.
const SMALLEST: f64 = 1e-6;
const PER_OCTAVE: f64 = 24.0;
/// Up to 2³⁰ µs, which is 18 minutes.
const BUCKETS: usize = 30 * 24;
