//! Taking samples out of an inlet, one or many, as numbers, bytes or strings.

use core::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use schwann_proto::wire::sample::Value;

use super::Inlet;
use super::prompt::about_to_wait;
use super::queue::SampleQueue;
use super::receiver::Wait;
use super::shared::State;
use crate::Error;
use crate::codec::QueueCodec;

impl Inlet {
    /// Pulls the oldest sample that was not pulled yet, and returns its stamp.
    ///
    /// - Units: seconds on the sender's clock, unless post-processing changes that.
    /// - Shape: `out` has one entry per channel, converted from the stream's format.
    /// - Errors: [`Error::ChunkShape`] for another length, and nothing is lost; [`Error::Lost`]. With
    ///   clock synchronisation, [`Error::Timeout`] if the offset is not available. No sample in time is
    ///   not an error: it returns nothing.
    /// - Source: equals liblsl `lsl_pull_sample_*`.
    pub fn pull_sample<T: Value>(&self, out: &mut [T], timeout: f64) -> Result<Option<f64>, Error> {
        if out.len() != self.stream.channel_count {
            return Err(Error::ChunkShape);
        }
        self.pull_one(timeout, |codec, values| codec.read(values, out))
    }

    /// Pulls one sample as this machine stores it.
    ///
    /// - Shape: `out` has the bytes of all channels in the stream's format.
    /// - Errors: [`Error::Argument`] for a stream of strings; otherwise as [`Self::pull_sample`].
    /// - Source: equals liblsl `lsl_pull_sample_v`.
    pub fn pull_raw_sample(&self, out: &mut [u8], timeout: f64) -> Result<Option<f64>, Error> {
        let Some(size) = self.stream.format.value_size() else {
            return Err(Error::Argument("Raw values cannot be pulled from a stream of strings."));
        };
        if out.len() != size * self.stream.channel_count {
            return Err(Error::ChunkShape);
        }
        self.pull_one(timeout, |codec, values| codec.read_raw(values, out))
    }

    /// Pulls one sample as strings: hands one per channel to `each`, numbers printed as decimals.
    ///
    /// - Source: equals liblsl `lsl_pull_sample_buf`. Otherwise as [`Self::pull_sample`].
    pub fn pull_strings(&self, timeout: f64, each: impl FnMut(&[u8])) -> Result<Option<f64>, Error> {
        self.pull_one(timeout, |codec, values| codec.read_strings(values, each))
    }

    fn pull_one(
        &self,
        timeout: f64,
        read: impl FnOnce(&QueueCodec, &[u8]) -> Result<(), Error>,
    ) -> Result<Option<f64>, Error> {
        let Some(mut state) = self.wait_for_samples(Wait::seconds(timeout))? else { return Ok(None) };
        let Some((stamp, outcome)) = state.unread().and_then(|queue| queue.pop(read)) else {
            return Ok(None);
        };
        drop(state);
        outcome?;
        self.delivered(&mut [stamp]).map(|stamp| Some(stamp[0]))
    }

    /// Pulls samples until `out` is full or `timeout` is over; returns how many.
    ///
    /// With a timeout of 0 it takes what has arrived.
    /// - Units: `stamps` as those of [`Self::pull_sample`].
    /// - Shape: `out` is samples × channels, one row per sample; `stamps` has one entry per row, or none
    ///   at all.
    /// - Errors: [`Error::ChunkShape`] if `out` is not a number of rows or `stamps` does not fit.
    ///   [`Error::Lost`] once nothing can be pulled any more.
    /// - Source: equals liblsl `lsl_pull_chunk_*`, but never asks the network for the channel count.
    pub fn pull_chunk<T: Value>(
        &self,
        out: &mut [T],
        stamps: &mut [f64],
        timeout: f64,
    ) -> Result<usize, Error> {
        let channels = self.stream.channel_count.max(1);
        let rows = out.len() / channels;
        if !out.len().is_multiple_of(channels) || (!stamps.is_empty() && stamps.len() != rows) {
            return Err(Error::ChunkShape);
        }
        if !stamps.is_empty() {
            return self.pull_stamped_chunk(out, stamps, timeout);
        }
        // Post-processing and the lag follow every stamp, wanted or not.
        let mut unwanted = core::mem::take(&mut *self.unwanted_stamps());
        unwanted.resize(rows, 0.0);
        let outcome = self.pull_stamped_chunk(out, &mut unwanted, timeout);
        *self.unwanted_stamps() = unwanted;
        outcome
    }

    /// The memory for stamps that a caller does not want.
    fn unwanted_stamps(&self) -> MutexGuard<'_, Vec<f64>> {
        self.unwanted_stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pulls a chunk whose arrays were checked to fit.
    fn pull_stamped_chunk<T: Value>(
        &self,
        out: &mut [T],
        stamps: &mut [f64],
        timeout: f64,
    ) -> Result<usize, Error> {
        let channels = self.stream.channel_count.max(1);
        let mut done = 0;
        let outcome = self.pull_rows(stamps.len(), timeout, |queue| {
            let values = out.get_mut(done * channels..).unwrap_or_default();
            let count = queue.pop_chunk(values, stamps.get_mut(done..).unwrap_or_default());
            done += count;
            count
        });
        self.delivered(stamps.get_mut(..done).unwrap_or_default())?;
        if done == 0 { outcome.map(|()| 0) } else { Ok(done) }
    }

    /// Pulls up to `rows` samples as strings. `each` gets the sample's number and a string per channel,
    /// `stamped` its number and stamp.
    ///
    /// - Errors: as [`Self::pull_chunk`].
    /// - Source: equals liblsl `lsl_pull_chunk_buf`.
    pub fn pull_string_chunk(
        &self,
        rows: usize,
        timeout: f64,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<Vec<f64>, Error> {
        let mut stamps = Vec::new();
        let outcome = self.pull_rows(rows, timeout, |queue| {
            let row = stamps.len();
            let popped = queue.pop(|codec, values| codec.read_strings(values, |text| each(row, text)));
            stamps.extend(popped.map(|(stamp, _)| stamp));
            stamps.len() - row
        });
        self.delivered(&mut stamps)?;
        if stamps.is_empty() { outcome.map(|()| stamps) } else { Ok(stamps) }
    }

    /// Calls `take` with the queue until it has taken `rows` samples or `timeout` is over.
    fn pull_rows(
        &self,
        rows: usize,
        timeout: f64,
        mut take: impl FnMut(&mut SampleQueue) -> usize,
    ) -> Result<(), Error> {
        let wait = Wait::seconds(timeout);
        let mut done = 0;
        while done < rows {
            let Some(mut state) = self.wait_for_samples(wait)? else { return Ok(()) };
            while done < rows
                && let Some(queue) = state.unread()
            {
                let taken = take(queue);
                debug_assert!(taken > 0, "whole samples were counted when they arrived");
                if taken == 0 {
                    return Ok(());
                }
                done += taken;
            }
        }
        Ok(())
    }

    /// Waits until a sample can be pulled, and says whether one can; takes none.
    ///
    /// - Errors: as [`Self::pull_sample`].
    pub fn wait_for_sample(&self, timeout: f64) -> Result<bool, Error> {
        self.wait_for_samples(Wait::seconds(timeout)).map(|state| state.is_some())
    }

    /// Waits until a sample can be taken and its stamp processed; nothing after `wait`.
    fn wait_for_samples(&self, wait: Wait) -> Result<Option<MutexGuard<'_, State>>, Error> {
        self.maker.check()?;
        if self.stream.context.tuning.prompt_readers && !matches!(wait, Wait::No) {
            about_to_wait();
        }
        loop {
            let mut state = match self.stream.shared.wait_for_samples(wait) {
                Err(Error::Timeout) => return Ok(None),
                other => other?,
            };
            if !self.stream.stamps.wants_offset() || self.stream.known_clock_offset().is_some() {
                self.pass_over_late(&mut state);
                if state.unread().is_some() {
                    return Ok(Some(state));
                }
                continue;
            }
            drop(state);
            if !self.stream.stamps.has_offset(&self.stream, wait)? {
                return Ok(None);
            }
        }
    }

    /// Drops what is older than is wanted.
    fn pass_over_late(&self, state: &mut State) {
        let Some(offset) = self.stream.known_clock_offset() else { return };
        if let Some(oldest) = self.stream.stamps.oldest_wanted(offset) {
            self.stream.stamps.skip(state.drop_before(oldest));
        }
    }

    /// Notes how new the samples are and post-processes their stamps.
    fn delivered<'a>(&self, stamps: &'a mut [f64]) -> Result<&'a mut [f64], Error> {
        if let Some(newest) = stamps.last() {
            self.newest_pulled.store(newest.to_bits(), Ordering::Relaxed);
        }
        self.stream.stamps.process(stamps, &self.stream)?;
        Ok(stamps)
    }
}
