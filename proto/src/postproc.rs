//! What an inlet may do to stamps before the program sees them: clock sync, dejitter, monotonize.
//!
//! Source: lsl-wire §20. The results equal the original library's bit for bit; the captures are in
//! `tests/vectors/inlet_postproc_*.json`.

use crate::{
    stream::IRREGULAR_RATE,
    wire::convert::{count_u64, saturating_u64},
};

/// What clock sync needs to know.
pub trait Clocks {
    /// Why the offset is not known.
    type Error;

    /// Returns the local time in seconds.
    fn now(&mut self) -> f64;

    /// Returns the seconds to add to the outlet's stamps; may wait up to 5 s for the first measurement.
    fn time_correction(&mut self) -> Result<f64, Self::Error>;

    /// Says once, after the outlet was replaced, that its clock may be another.
    fn was_reset(&mut self) -> bool;
}

/// Processes the stamps of one inlet, in the order the samples are pulled.
#[derive(Clone, Debug)]
pub struct PostProcessor {
    flags: u32,
    sync: ClockSync,
    dejitter: Dejitter,
    last: f64,
}

impl PostProcessor {
    /// Passes stamps unchanged until flags are set.
    ///
    /// - Units: `nominal_rate` in Hz, 0 for a stream without a rate, which is not dejittered; `halftime` in seconds.
    pub fn new(nominal_rate: f64, halftime: f32) -> Self {
        Self {
            flags: 0,
            sync: ClockSync::new(),
            dejitter: Dejitter::new(nominal_rate, halftime),
            last: f64::NEG_INFINITY,
        }
    }

    /// Chooses what is done; bits without a meaning are kept and ignored.
    pub fn set_flags(&mut self, flags: u32) {
        let changed = flags ^ self.flags;
        if changed & DEJITTER != 0 {
            self.dejitter.reset();
        }
        if changed & MONOTONIZE != 0 {
            self.last = f64::NEG_INFINITY;
        }
        self.flags = flags;
    }

    /// Sets the half-life of the dejitter filter's memory, in seconds; acts when the filter starts the next time.
    pub fn set_halftime(&mut self, halftime: f32) {
        self.dejitter.halftime = halftime;
    }

    /// Sets the rate of the stream now connected, in Hz; acts when the filter starts the next time.
    pub fn set_nominal_rate(&mut self, nominal_rate: f64) {
        self.dejitter.nominal_rate = nominal_rate;
    }

    /// Accounts for samples that were dropped unseen.
    pub fn skip(&mut self, samples: u64) {
        self.dejitter.index = self.dejitter.index.wrapping_add(samples);
    }

    /// Processes one stamp; 0 stands for "no sample" and passes unchanged. So do NaN and infinity, which would spoil all
    /// later stamps.
    ///
    /// - Units: seconds on the outlet's clock; with [`CLOCKSYNC`] the result is on the local clock.
    /// - Errors: clock sync could not learn the offset; the stamp is not processed.
    pub fn process<C: Clocks>(&mut self, stamp: f64, clocks: &mut C) -> Result<f64, C::Error> {
        if self.flags & (CLOCKSYNC | DEJITTER | MONOTONIZE) == 0 || stamp == 0.0 {
            return Ok(stamp);
        }
        if !stamp.is_finite() {
            self.skip(1);
            return Ok(stamp);
        }
        let mut stamp = stamp;
        if self.flags & CLOCKSYNC != 0 {
            if let Update::Reset = self.sync.update(clocks)? {
                self.dejitter.reset();
                self.last = f64::NEG_INFINITY;
            }
            stamp += self.sync.offset;
        }
        if self.flags & DEJITTER != 0 {
            stamp = self.dejitter.process(stamp);
        }
        if self.flags & MONOTONIZE != 0 {
            if stamp < self.last {
                stamp = self.last;
            } else {
                self.last = stamp;
            }
        }
        Ok(stamp)
    }
}

/// Follows the offset between the clocks, at most every 51 samples and every half second.
#[derive(Clone, Copy, Debug)]
struct ClockSync {
    offset: f64,
    next_query: f64,
    /// Samples since the last query; wraps, so that a stalled clock is asked again.
    samples: u8,
}

enum Update {
    Kept,
    Reset,
}

impl ClockSync {
    const SAMPLES_BETWEEN_QUERIES: u8 = 50;
    const SECONDS_BETWEEN_QUERIES: f64 = 0.5;

    fn new() -> Self {
        // The first sample queries.
        Self { offset: 0.0, next_query: f64::NEG_INFINITY, samples: Self::SAMPLES_BETWEEN_QUERIES }
    }

    fn update<C: Clocks>(&mut self, clocks: &mut C) -> Result<Update, C::Error> {
        self.samples = self.samples.wrapping_add(1);
        if self.samples <= Self::SAMPLES_BETWEEN_QUERIES || clocks.now() <= self.next_query {
            return Ok(Update::Kept);
        }
        self.offset = clocks.time_correction()?;
        self.samples = 0;
        let mut update = Update::Kept;
        if clocks.was_reset() {
            self.offset = clocks.time_correction()?;
            update = Update::Reset;
        }
        self.next_query = clocks.now() + Self::SECONDS_BETWEEN_QUERIES;
        Ok(update)
    }
}

/// Recursive least squares: fits a line through stamps over sample numbers, forgetting old ones.
#[derive(Clone, Debug)]
struct Dejitter {
    nominal_rate: f64,
    halftime: f32,
    /// Whole seconds subtracted from stamps for precision; 0 while the filter is not running.
    base: u64,
    /// Number of the next sample.
    index: u64,
    /// Intercept and slope of the line.
    w0: f64,
    w1: f64,
    /// Inverse covariance.
    p00: f64,
    p01: f64,
    p11: f64,
    /// Weight of the past per sample.
    lambda: f64,
}

impl Dejitter {
    fn new(nominal_rate: f64, halftime: f32) -> Self {
        Self {
            nominal_rate,
            halftime,
            base: 0,
            index: 0,
            w0: 0.0,
            w1: 0.0,
            p00: 0.0,
            p01: 0.0,
            p11: 0.0,
            lambda: 0.0,
        }
    }

    fn reset(&mut self) {
        self.base = 0;
    }

    fn start(&mut self, stamp: f64) {
        self.base = saturating_u64(stamp);
        self.index = 0;
        self.w0 = 0.0;
        self.w1 = 1.0 / self.nominal_rate;
        self.p00 = 1e10;
        self.p01 = 0.0;
        self.p11 = 1e10;
        self.lambda = libm::exp2(-1.0 / (self.nominal_rate * f64::from(self.halftime)));
    }

    /// The order of the operations is the specification's; another order rounds differently.
    fn process(&mut self, stamp: f64) -> f64 {
        if self.nominal_rate == IRREGULAR_RATE {
            return stamp;
        }
        // Stamps below 1 s start the filter every time, as in the original.
        if self.base == 0 {
            self.start(stamp);
        }
        // A memory of no length smooths nothing; neither does one that is no number.
        if self.lambda.is_nan() || self.lambda <= 0.0 {
            return stamp;
        }
        let base = count_u64(self.base);
        let t = stamp - base;
        let u = count_u64(self.index);
        self.index = self.index.wrapping_add(1);
        let p0 = self.p00 + u * self.p01;
        let p1 = self.p01 + u * self.p11;
        let e = t - (self.w0 + u * self.w1);
        let g = 1.0 / (self.lambda + p0 + p1 * u);
        let inverse = 1.0 / self.lambda;
        self.p00 = inverse * (self.p00 - p0 * p0 * g);
        self.p01 = inverse * (self.p01 - p0 * p1 * g);
        self.p11 = inverse * (self.p11 - p1 * p1 * g);
        self.w0 += e * (self.p00 + self.p01 * u);
        self.w1 += e * (self.p01 + self.p11 * u);
        self.w0 + u * self.w1 + base
    }
}

/// Places stamps on the local clock.
pub const CLOCKSYNC: u32 = 1;
/// Smooths stamps with a line fit.
pub const DEJITTER: u32 = 2;
/// Never lets stamps go back.
pub const MONOTONIZE: u32 = 4;

/// Half-life of the dejitter filter's memory, in seconds, if nothing else is configured.
pub const SMOOTHING_HALFTIME: f32 = 90.0;

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::{CLOCKSYNC, Clocks, DEJITTER, MONOTONIZE, PostProcessor, SMOOTHING_HALFTIME};

    /// A clock that advances with each sample, and an offset that can be missing.
    struct Scripted {
        now: f64,
        correction: Result<f64, &'static str>,
        queries: usize,
        reset: bool,
    }

    impl Clocks for Scripted {
        type Error = &'static str;

        fn now(&mut self) -> f64 {
            self.now
        }

        fn time_correction(&mut self) -> Result<f64, &'static str> {
            self.queries += 1;
            self.correction
        }

        fn was_reset(&mut self) -> bool {
            core::mem::take(&mut self.reset)
        }
    }

    struct NoClocks;

    impl Clocks for NoClocks {
        type Error = Infallible;

        fn now(&mut self) -> f64 {
            0.0
        }

        fn time_correction(&mut self) -> Result<f64, Infallible> {
            Ok(0.0)
        }

        fn was_reset(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn the_offset_is_asked_for_every_51_samples_and_half_second() {
        let mut clocks = Scripted { now: 0.0, correction: Ok(-1000.0), queries: 0, reset: false };
        let mut processor = PostProcessor::new(100.0, SMOOTHING_HALFTIME);
        processor.set_flags(CLOCKSYNC);
        for sample in 0..200u32 {
            clocks.now = f64::from(sample) * 0.01;
            let stamp = 2000.0 + clocks.now;
            assert_eq!(processor.process(stamp, &mut clocks), Ok(stamp - 1000.0));
            let expected = 1 + usize::try_from(sample / 51).unwrap();
            assert_eq!(clocks.queries, expected, "sample {sample}");
        }
        // A fast stream waits for the half second.
        let mut clocks = Scripted { now: 0.0, correction: Ok(0.0), queries: 0, reset: false };
        let mut processor = PostProcessor::new(1000.0, SMOOTHING_HALFTIME);
        processor.set_flags(CLOCKSYNC);
        for sample in 0..1000 {
            clocks.now = f64::from(sample) * 0.001;
            processor.process(1.0, &mut clocks).unwrap();
        }
        assert_eq!(clocks.queries, 2);
    }

    #[test]
    fn a_failed_query_is_repeated_with_the_next_sample() {
        let mut clocks = Scripted { now: 0.0, correction: Err("timeout"), queries: 0, reset: false };
        let mut processor = PostProcessor::new(100.0, SMOOTHING_HALFTIME);
        processor.set_flags(CLOCKSYNC);
        assert_eq!(processor.process(5.0, &mut clocks), Err("timeout"));
        clocks.correction = Ok(2.0);
        assert_eq!(processor.process(5.0, &mut clocks), Ok(7.0));
    }

    #[test]
    fn a_new_clock_restarts_the_other_steps() {
        let mut clocks = Scripted { now: 0.0, correction: Ok(0.0), queries: 0, reset: false };
        let mut processor = PostProcessor::new(100.0, SMOOTHING_HALFTIME);
        processor.set_flags(CLOCKSYNC | MONOTONIZE);
        assert_eq!(processor.process(900.0, &mut clocks), Ok(900.0));
        (clocks.now, clocks.reset) = (1.0, true);
        for _ in 0..50 {
            assert_eq!(processor.process(10.0, &mut clocks), Ok(900.0));
        }
        assert_eq!(processor.process(10.0, &mut clocks), Ok(10.0));
        assert_eq!(clocks.queries, 3, "asked again after the reset");
    }

    #[test]
    fn a_stamp_that_is_no_number_passes_and_spoils_no_other() {
        for flags in [CLOCKSYNC, DEJITTER, MONOTONIZE, CLOCKSYNC | DEJITTER | MONOTONIZE] {
            for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut processor = PostProcessor::new(100.0, SMOOTHING_HALFTIME);
                processor.set_flags(flags);
                for n in 0..200_u32 {
                    let (is_odd, even) = (n % 50 == 9, 1000.0 + f64::from(n) / 100.0);
                    let stamp = processor.process(if is_odd { odd } else { even }, &mut NoClocks).unwrap();
                    let is_right = if is_odd { !stamp.is_finite() } else { (stamp - even).abs() < 1e-6 };
                    assert!(is_right, "flags {flags}, {odd}: {n}: {stamp}");
                }
            }
        }
    }

    #[test]
    fn streams_without_a_rate_are_not_dejittered() {
        let mut processor = PostProcessor::new(0.0, SMOOTHING_HALFTIME);
        processor.set_flags(DEJITTER);
        for stamp in [5.0, 5.5, 5.2] {
            assert_eq!(processor.process(stamp, &mut NoClocks), Ok(stamp));
        }
    }

    #[test]
    fn a_memory_of_no_length_smooths_nothing() {
        for halftime in [0.0, f32::NAN] {
            let mut processor = PostProcessor::new(100.0, halftime);
            processor.set_flags(DEJITTER);
            for stamp in [5.0, 5.013, 5.02] {
                assert_eq!(processor.process(stamp, &mut NoClocks), Ok(stamp));
            }
        }
    }

    #[test]
    fn dropped_samples_keep_the_line() {
        let mut processor = PostProcessor::new(10.0, SMOOTHING_HALFTIME);
        processor.set_flags(DEJITTER);
        for sample in 0..50u32 {
            let _ = processor.process(100.0 + f64::from(sample) * 0.1, &mut NoClocks);
        }
        processor.skip(70);
        let stamp = processor.process(112.0, &mut NoClocks).unwrap();
        assert!((stamp - 112.0).abs() < 1e-6, "{stamp}");
    }
}
