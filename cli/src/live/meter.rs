//! Measures one stream as it arrives: rate, lag and gaps.

use alloc::collections::VecDeque;

/// What has arrived of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// Stamps further apart than this, in seconds, are a gap; none for a stream without a rate.
    gap_from: Option<f64>,
    period: f64,
    sample_count: u64,
    gap_count: u64,
    missing: u64,
    backward_count: u64,
    last_stamp: Option<f64>,
    /// Stamp and count of samples, now and then, over the last [`WINDOW`] seconds.
    window: VecDeque<(f64, u64)>,
    lags: Histogram,
    lag: Option<f64>,
    last_arrival: Option<f64>,
}

/// What a meter shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Samples that have arrived.
    pub(crate) sample_count: u64,
    /// Samples per second over the last seconds, by their stamps; none before there are two.
    pub(crate) rate: Option<f64>,
    /// Age of the newest sample when it arrived, in seconds.
    pub(crate) lag: Option<f64>,
    /// Median age on arrival, in seconds.
    pub(crate) lag_p50: Option<f64>,
    /// Age on arrival that 99 of 100 samples stay below, in seconds.
    pub(crate) lag_p99: Option<f64>,
    /// Oldest age on arrival, in seconds.
    pub(crate) lag_max: Option<f64>,
    /// Places where stamps are further apart than the rate says.
    pub(crate) gap_count: u64,
    /// Samples that are missing there.
    pub(crate) missing: u64,
    /// Places where stamps go backwards.
    pub(crate) backward_count: u64,
    /// When samples last arrived, in seconds on the local clock.
    pub(crate) last_arrival: Option<f64>,
}

impl Meter {
    /// Makes a meter for a stream of this rate, in Hz; 0 if it has none.
    pub(crate) fn new(nominal_rate: f64) -> Self {
        let period = if nominal_rate > 0.0 { 1.0 / nominal_rate } else { 0.0 };
        Self {
            gap_from: (nominal_rate > 0.0).then(|| GAP_SECONDS.max(GAP_PERIODS * period)),
            period,
            sample_count: 0,
            gap_count: 0,
            missing: 0,
            backward_count: 0,
            last_stamp: None,
            window: VecDeque::new(),
            lags: Histogram::default(),
            lag: None,
            last_arrival: None,
        }
    }

    /// Makes a meter that takes every missing sample for a gap, for senders that stamp exactly.
    pub(crate) fn strict(nominal_rate: f64) -> Self {
        let mut meter = Self::new(nominal_rate);
        meter.gap_from = meter.gap_from.map(|_| 1.5 * meter.period);
        meter
    }

    /// Takes in samples that arrived at `now`; `lag` is the age of the newest.
    ///
    /// - Units: seconds; `stamps` on one clock, whichever; `now` on the local clock.
    pub(crate) fn arrived(&mut self, stamps: &[f64], lag: Option<f64>, now: f64) {
        let Some(&newest) = stamps.last() else { return };
        for &stamp in stamps {
            self.follow(stamp);
            if let Some(lag) = lag {
                self.lags.add(lag + (newest - stamp));
            }
        }
        self.sample_count += stamps.len() as u64;
        self.lag = lag.or(self.lag);
        self.last_arrival = Some(now);
        self.remember(newest);
    }

    /// Forgets where the stream was, because what follows is another run of it.
    pub(crate) fn interrupted(&mut self) {
        self.last_stamp = None;
        self.window.clear();
    }

    /// Shows what was measured.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            sample_count: self.sample_count,
            rate: self.rate(),
            lag: self.lag,
            lag_p50: self.lags.quantile(0.5),
            lag_p99: self.lags.quantile(0.99),
            lag_max: self.lags.max(),
            gap_count: self.gap_count,
            missing: self.missing,
            backward_count: self.backward_count,
            last_arrival: self.last_arrival,
        }
    }

    fn follow(&mut self, stamp: f64) {
        if let (Some(last), Some(gap_from)) = (self.last_stamp, self.gap_from) {
            let step = stamp - last;
            if step > gap_from {
                self.gap_count += 1;
                self.missing += ((step / self.period).round() as u64).saturating_sub(1);
            }
        }
        if self.last_stamp.is_some_and(|last| stamp < last) {
            self.backward_count += 1;
            self.window.clear();
        }
        self.last_stamp = Some(stamp);
    }

    fn remember(&mut self, newest: f64) {
        if self.window.back().is_none_or(|(stamp, _)| newest - stamp >= WINDOW / 50.0) {
            self.window.push_back((newest, self.sample_count));
        }
        while self.window.len() > 2 && self.window.front().is_some_and(|(stamp, _)| newest - stamp > WINDOW) {
            self.window.pop_front();
        }
    }

    fn rate(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.window.front()?, self.window.back()?);
        (to > from).then(|| (after - before) as f64 / (to - from))
    }
}

/// Counts of times by their size, within 3 % and in constant memory.
#[derive(Clone, Debug)]
struct Histogram {
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
    fn add(&mut self, seconds: f64) {
        // What seems to come from the future, because clocks are only so well known, has no lag.
        let bucket = ((seconds.max(SMALLEST) / SMALLEST).log2() * PER_OCTAVE) as usize;
        if let Some(count) = self.counts.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.total += 1;
        self.max = self.max.max(seconds);
    }

    /// Returns what this share of the times stays below; none before there is a time.
    fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted
        })?;
        Some((SMALLEST * ((bucket + 1) as f64 / PER_OCTAVE).exp2()).min(self.max))
    }

    fn max(&self) -> Option<f64> {
        (self.total > 0).then_some(self.max)
    }
}

/// The rate is measured over this many seconds.
const WINDOW: f64 = 5.0;
/// A regular stream has a gap where stamps are further apart than this and than [`GAP_PERIODS`] periods, as
/// in `schwann info`: senders that stamp on arrival jitter.
const GAP_SECONDS: f64 = 0.1;
const GAP_PERIODS: f64 = 2.5;
/// The shortest time that is told apart from none, in seconds.
const SMALLEST: f64 = 1e-6;
const PER_OCTAVE: f64 = 24.0;
/// Up to 2³⁰ µs, which is 18 minutes.
const BUCKETS: usize = 30 * 24;

#[cfg(test)]
mod tests {
    use super::Meter;

    fn regular(from: u32, to: u32) -> Vec<f64> {
        (from..to).map(|n| 100.0 + f64::from(n) / 1000.0).collect()
    }

    #[test]
    fn the_rate_is_that_of_the_stamps() {
        let mut meter = Meter::new(1000.0);
        for from in (0..7_000).step_by(20) {
            meter.arrived(&regular(from, from + 20), None, 0.0);
        }
        let rate = meter.reading().rate.expect("there are stamps");
        assert!((rate - 1000.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_gap_is_counted_with_what_is_missing_in_it() {
        let mut meter = Meter::new(1000.0);
        meter.arrived(&regular(0, 500), None, 0.0);
        meter.arrived(&regular(1500, 1600), None, 0.0);
        let reading = meter.reading();
        assert_eq!((reading.sample_count, reading.gap_count, reading.missing), (600, 1, 1000));
    }

    #[test]
    fn a_strict_meter_sees_a_single_missing_sample() {
        let (mut loose, mut strict) = (Meter::new(1000.0), Meter::strict(1000.0));
        for meter in [&mut loose, &mut strict] {
            meter.arrived(&regular(0, 10), None, 0.0);
            meter.arrived(&regular(11, 20), None, 0.0);
        }
        assert_eq!(
            (loose.reading().gap_count, strict.reading().gap_count, strict.reading().missing),
            (0, 1, 1)
        );
    }

    #[test]
    fn a_stream_without_a_rate_has_no_gaps() {
        let mut meter = Meter::new(0.0);
        meter.arrived(&[1.0, 50.0, 50.0, 49.0], None, 0.0);
        let reading = meter.reading();
        assert_eq!((reading.gap_count, reading.backward_count), (0, 1));
    }

    #[test]
    fn another_run_of_a_stream_is_no_gap() {
        let mut meter = Meter::new(1000.0);
        meter.arrived(&regular(0, 10), None, 0.0);
        meter.interrupted();
        meter.arrived(&regular(5_000, 5_010), None, 0.0);
        assert_eq!(meter.reading().gap_count, 0);
    }

    #[test]
    fn lags_are_told_by_their_quantiles() {
        let mut meter = Meter::new(0.0);
        for n in 1..=1000 {
            meter.arrived(&[f64::from(n)], Some(f64::from(n) * 1e-5), 0.0);
        }
        let reading = meter.reading();
        let (p50, p99) = (reading.lag_p50.expect("lags"), reading.lag_p99.expect("lags"));
        assert!((p50 / 5e-3 - 1.0).abs() < 0.03 && (p99 / 9.9e-3 - 1.0).abs() < 0.03, "{p50} {p99}");
        assert_eq!((reading.lag, reading.lag_max), (Some(0.01), Some(0.01)));
    }

    #[test]
    fn every_sample_of_a_chunk_has_its_own_lag() {
        let mut meter = Meter::new(1000.0);
        meter.arrived(&regular(0, 101), Some(0.0), 0.0);
        assert!((meter.reading().lag_max.expect("lags") - 0.1).abs() < 1e-9);
    }
}
