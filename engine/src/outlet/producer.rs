//! What a push does before the samples go to their consumers.

use super::fanout::{Route, Sending};
use super::pending::{Pending, Stamps, Values, first_stamp};
use super::{Delivery, Flush, Shared};
use crate::codec::{Encoding, SampleCodec};
use crate::{ChannelFormat, Error, local_clock};

/// The pushing side; one thread at a time.
pub(super) struct Producer {
    pub(super) codecs: [SampleCodec; Encoding::COUNT],
    pub(super) sending: Sending,
    pub(super) pending: Pending,
    /// Samples after which pending ones are flushed in any case.
    pub(super) chunk_samples: u64,
    pub(super) last_flush: f64,
}

/// The stamps as the caller gave them.
#[derive(Clone, Copy, Debug)]
pub(super) enum StampArgument<'a> {
    /// Of the last sample.
    Last(f64),
    /// Of each sample.
    Each(&'a [f64]),
}

impl Producer {
    /// Adds `count` samples to what is pending, and sends that if it is time.
    pub(super) fn push(
        &mut self,
        shared: &Shared,
        values: &impl Values,
        stamps: StampArgument<'_>,
        count: usize,
        flush: Flush,
    ) -> Result<(), Error> {
        if self.sending.is_stale(&shared.fanout) {
            // What is pending was pushed before the newcomers came.
            self.flush(shared, Route::Direct);
            self.sending.renew(&shared.fanout);
        }
        if self.sending.encodings.is_empty() {
            return unheard(shared);
        }
        let now = local_clock();
        let rate = shared.advertisement.info().nominal_rate();
        let own_clock = shared.config.tuning.force_default_timestamps;
        // A stamp of 0.0 asks for the time of the push (lsl-wire §15.1).
        let or_now = |stamp| if own_clock || stamp == 0.0 { now } else { stamp };
        let spelt_out: Vec<f64>;
        let stamps = match stamps {
            StampArgument::Last(last) => Stamps::First(first_stamp(or_now(last), count, rate)),
            StampArgument::Each(stamps) if own_clock || stamps.contains(&0.0) => {
                spelt_out = stamps.iter().copied().map(or_now).collect();
                Stamps::Each(&spelt_out)
            }
            StampArgument::Each(stamps) => Stamps::Each(stamps),
        };
        self.pending.add(&self.codecs, self.sending.encodings, values, &stamps, count)?;
        let wanted = self.sending.chunk_samples.unwrap_or(self.chunk_samples).min(self.chunk_samples);
        // A synchronous push returns when the samples are with the kernels, with either flag (lsl-wire §15.6).
        let now_or_sync = flush == Flush::Now || shared.delivery == Delivery::Synchronous;
        if now_or_sync || self.pending.samples() >= wanted || self.pending.len() > PENDING_LIMIT {
            let direct = now - self.last_flush >= DIRECT_INTERVAL;
            self.last_flush = now;
            self.flush(shared, if direct { Route::Direct } else { Route::Server });
        }
        Ok(())
    }

    /// Gives what is pending to the consumers.
    pub(super) fn flush(&mut self, shared: &Shared, route: Route) {
        if self.pending.samples() == 0 {
            return;
        }
        match shared.delivery {
            Delivery::Queued => shared.fanout.flush(&mut self.sending, &mut self.pending, route),
            Delivery::Synchronous => shared.fanout.flush_blocking(
                &mut self.sending,
                &mut self.pending,
                shared.config.tuning.sync_send_timeout,
            ),
        }
    }
}

/// What a push says that no one listens to. A stream without a format could not be sent to anyone.
fn unheard(shared: &Shared) -> Result<(), Error> {
    match shared.advertisement.info().channel_format() {
        ChannelFormat::Undefined => Err(Error::Argument("The stream has no channel format.")),
        _ => Ok(()),
    }
}

/// If pushes follow each other faster than this, in seconds, the server thread sends them, many at a
/// time. A system call for each would cost more than it saves.
const DIRECT_INTERVAL: f64 = 50e-6;
/// Pending samples are flushed when they reach this many bytes, even without the caller's wish.
const PENDING_LIMIT: usize = 1 << 20;
