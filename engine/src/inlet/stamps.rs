//! Post-processing of the stamps of one inlet.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schwann_proto::postproc::{CLOCKSYNC, Clocks, DEJITTER, MONOTONIZE, PostProcessor};

use super::receiver::Wait;
use super::stream::Stream;
use crate::{Error, local_clock};

/// The post-processor, and its flags where they can be read without a lock.
pub(crate) struct Stamps {
    flags: AtomicU32,
    /// The bits of the greatest lag that is wanted, in seconds; infinite if every sample is.
    max_lag: AtomicU64,
    processor: Mutex<PostProcessor>,
    /// Since when pulls find samples without a clock offset.
    without_offset: Mutex<Option<Instant>>,
}

impl Stamps {
    pub(crate) fn new(nominal_rate: f64, halftime: f32) -> Self {
        Self {
            flags: AtomicU32::new(0),
            max_lag: AtomicU64::new(f64::INFINITY.to_bits()),
            processor: Mutex::new(PostProcessor::new(nominal_rate, halftime)),
            without_offset: Mutex::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PostProcessor> {
        self.processor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_flags(&self, flags: u32) {
        self.lock().set_flags(flags);
        self.flags.store(flags, Ordering::Relaxed);
    }

    pub(crate) fn set_max_lag(&self, seconds: f64) {
        self.max_lag.store(seconds.to_bits(), Ordering::Relaxed);
    }

    /// The stamp, on the sender's clock, before which samples are too old; nothing if they all are wanted.
    ///
    /// - Units: `offset` leads to our clock, in seconds.
    pub(crate) fn oldest_wanted(&self, offset: f64) -> Option<f64> {
        self.max_lag().map(|max_lag| local_clock() - max_lag - offset)
    }

    fn max_lag(&self) -> Option<f64> {
        Some(f64::from_bits(self.max_lag.load(Ordering::Relaxed))).filter(|seconds| seconds.is_finite())
    }

    pub(crate) fn set_halftime(&self, seconds: f32) {
        self.lock().set_halftime(seconds);
    }

    pub(crate) fn set_nominal_rate(&self, nominal_rate: f64) {
        self.lock().set_nominal_rate(nominal_rate);
    }

    /// Accounts for samples that were dropped unseen.
    pub(crate) fn skip(&self, samples: usize) {
        self.lock().skip(samples as u64);
    }

    /// Whether stamps cannot be processed, or judged, before the clock offset is known.
    pub(crate) fn wants_offset(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & CLOCKSYNC != 0 || self.max_lag().is_some()
    }

    /// Waits up to `wait` for the clock offset, before a sample is taken, so that none is lost without
    /// it. Returns whether it is known.
    ///
    /// - Errors: [`Error::Timeout`] if no offset came for five seconds; [`Error::Lost`].
    pub(crate) fn has_offset(&self, stream: &Stream, wait: Wait) -> Result<bool, Error> {
        let mut without_offset = self.without_offset.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = *without_offset.get_or_insert_with(Instant::now) + OFFSET_PATIENCE;
        drop(without_offset);
        let outcome = stream.clock_offset(wait.no_later_than(patience));
        let is_over = Instant::now() >= patience;
        if outcome.is_ok() || is_over {
            *self.without_offset.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        match outcome {
            Ok(_) => Ok(true),
            Err(Error::Timeout) if !is_over => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Processes stamps in place, in the order of their samples.
    ///
    /// - Errors: those of the clock offset; from there on the stamps are unchanged.
    pub(crate) fn process(&self, stamps: &mut [f64], stream: &Stream) -> Result<(), Error> {
        if self.flags.load(Ordering::Relaxed) & (CLOCKSYNC | DEJITTER | MONOTONIZE) == 0 {
            return Ok(());
        }
        let mut processor = self.lock();
        for stamp in stamps {
            *stamp = processor.process(*stamp, &mut StreamClocks(stream))?;
        }
        Ok(())
    }
}

/// The clocks at both ends of a stream.
struct StreamClocks<'a>(&'a Stream);

impl Clocks for StreamClocks<'_> {
    type Error = Error;

    fn now(&mut self) -> f64 {
        local_clock()
    }

    fn time_correction(&mut self) -> Result<f64, Error> {
        // It is known since before the sample was taken, unless the stream has moved in this very moment.
        let wait = Wait::Until(Instant::now() + OFFSET_PATIENCE);
        let known = self.0.known_clock_offset();
        known.map_or_else(|| self.0.clock_offset(wait).map(|estimate| estimate.offset), Ok)
    }

    fn was_reset(&mut self) -> bool {
        self.0.was_clock_reset()
    }
}

/// How long a pull with clock synchronisation waits for the clock offset (lsl-wire §20).
const OFFSET_PATIENCE: Duration = Duration::from_secs(5);
