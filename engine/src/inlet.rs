//! Inlets: where samples come in.
//!
//! An [`Inlet`] receives one stream. It connects when samples are first asked for, keeps what arrives
//! until it is pulled, and, if permitted, finds the stream again when its sender was restarted.
//!
//! Timeouts are in seconds: 0 or less does not wait, [`FOREVER`](schwann_proto::stream::FOREVER) or more
//! waits without limit. No call waits longer than it was told to.
//!
//! Threads: all methods may be called from any thread at the same time. [`Inlet::close_stream`] ends
//! waits of other threads.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use schwann_proto::stream::BufferUnit;
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::sample::Value;
use schwann_session::{PeerIdentity, Refusal};

pub use self::events::StreamEvent;
use self::queue::SampleQueue;
use self::receiver::Wait;
pub use self::samples::{Chunk, Chunks, Sample, Samples};
use self::shared::{Phase, State};
use self::stream::Stream;
use crate::clock::Estimate;
use crate::codec::QueueCodec;
use crate::config::Config;
use crate::net::link::Link;
use crate::process::Maker;
use crate::{Error, local_clock};

/// Whether an inlet looks for its stream again after a loss.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Recover {
    /// A stream with the same source id takes its place. Needs a source id.
    #[default]
    BySourceId,
    /// A lost stream stays lost.
    No,
}

/// How a stream travels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protection {
    /// Everybody on the network can read it.
    Plain,
    /// Only members of the lab can.
    Sealed,
}

/// What an inlet may be told besides the stream's description.
#[derive(Clone, Debug)]
pub struct InletOptions {
    /// How much is kept while nobody pulls, in `buffer_unit`s; then the oldest samples are dropped.
    pub buffer_length: i32,
    /// What `buffer_length` counts.
    pub buffer_unit: BufferUnit,
    /// Samples that the outlet shall send at a time; 0 leaves it to the outlet.
    pub chunk_samples: u32,
    /// What happens when the stream is lost.
    pub recover: Recover,
}

impl Default for InletOptions {
    /// Six minutes are kept, the outlet chooses its chunks, and a lost stream is looked for.
    fn default() -> Self {
        Self {
            buffer_length: 360,
            buffer_unit: BufferUnit::Seconds,
            chunk_samples: 0,
            recover: Recover::BySourceId,
        }
    }
}

/// Bytes of samples that one inlet keeps at most, whatever its buffer length.
const BYTE_LIMIT: usize = 1 << 30;

/// A receiver of one stream.
pub struct Inlet {
    stream: Arc<Stream>,
    connection: Option<JoinHandle<()>>,
    maker: Maker,
    /// Stamp of the newest sample that was pulled, as the bits of an `f64`, on the sender's clock.
    newest_pulled: AtomicU64,
    unwanted_stamps: Mutex<Vec<f64>>,
}

impl Inlet {
    /// Makes a receiver for the stream that `info` describes, with the process's configuration. Nothing
    /// is sent yet.
    ///
    /// - Errors: [`Error::Argument`] if the description is not of a stream that can be received.
    /// - Source: equals liblsl `lsl_create_inlet_ex`.
    pub fn new(info: &StreamInfo, options: &InletOptions) -> Result<Self, Error> {
        Self::with_config(info, options, Arc::clone(Config::get()))
    }

    /// Does what [`Self::new`] does, with a configuration of its own.
    pub fn with_config(
        info: &StreamInfo,
        options: &InletOptions,
        config: Arc<Config>,
    ) -> Result<Self, Error> {
        let stream = Arc::new(Stream::new(info, options, config)?);
        Stream::watch_lab(&stream);
        let for_thread = Arc::clone(&stream);
        let connection = std::thread::Builder::new()
            .name(String::from("lsl-inlet"))
            .spawn(move || connection::run(&for_thread))
            .map_err(|_| Error::System("a thread"))?;
        Ok(Self {
            stream,
            connection: Some(connection),
            maker: Maker::this(),
            newest_pulled: AtomicU64::new(0),
            unwanted_stamps: Mutex::new(Vec::new()),
        })
    }

    /// Connects, and returns once samples arrive from then on.
    ///
    /// - Errors: [`Error::Timeout`], also if another thread closes the stream; [`Error::Lost`];
    ///   [`Error::Forked`] in a child process.
    /// - Source: equals liblsl `lsl_open_stream`.
    pub fn open_stream(&self, timeout: f64) -> Result<(), Error> {
        self.maker.check()?;
        let wait = Wait::seconds(timeout);
        let mut state = self.stream.shared.lock();
        let closings = state.closings;
        loop {
            match state.phase {
                Phase::Open => return Ok(()),
                Phase::Lost => return Err(Error::Lost),
                _ if state.closings != closings => return Err(Error::Timeout),
                _ => self.stream.shared.ask_to_open(&mut state),
            }
            if wait.is_over() {
                return Err(Error::Timeout);
            }
            state = self.stream.shared.wait_changed(state, wait);
        }
    }

    /// Disconnects and drops what was not pulled. A later pull or [`Self::open_stream`] connects anew.
    ///
    /// - Source: equals liblsl `lsl_close_stream` of version 1.18.
    pub fn close_stream(&self) {
        if self.maker.check().is_ok() {
            self.stream.close();
        }
    }

    /// Pulls the oldest sample that was not pulled yet, and returns its stamp.
    ///
    /// - Units: seconds on the sender's clock, unless post-processing changes that.
    /// - Shape: `out` has one entry per channel, converted from the stream's format.
    /// - Errors: [`Error::ChunkShape`] for another length, and nothing is lost; [`Error::Lost`]; with
    ///   clock synchronisation [`Error::Timeout`] if the offset cannot be had. No sample in time is not
    ///   an error: it returns nothing.
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
    /// - Errors: [`Error::ChunkShape`] if `out` is not a number of rows or `stamps` does not fit;
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

    /// Pulls up to `rows` samples as strings: `each` gets the sample's number and a string per channel,
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

    /// Waits until a sample can be taken and its stamp processed; nothing after `wait`.
    fn wait_for_samples(&self, wait: Wait) -> Result<Option<MutexGuard<'_, State>>, Error> {
        self.maker.check()?;
        loop {
            let state = match self.stream.shared.wait_for_samples(wait) {
                Err(Error::Timeout) => return Ok(None),
                other => other?,
            };
            if !self.stream.stamps.wants_offset() || self.stream.known_clock_offset().is_some() {
                return Ok(Some(state));
            }
            drop(state);
            if !self.stream.stamps.has_offset(&self.stream, wait)? {
                return Ok(None);
            }
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

    /// How many samples a pull would find, counting those that the system has received.
    ///
    /// - Source: equals liblsl `lsl_samples_available`.
    pub fn samples_available(&self) -> usize {
        if self.maker.check().is_err() {
            return 0;
        }
        self.stream.shared.drain(self.stream.shared.lock()).0.sample_count()
    }

    /// Drops what has arrived and returns how many samples that were.
    ///
    /// - Source: equals liblsl `lsl_inlet_flush`.
    pub fn flush(&self) -> usize {
        if self.maker.check().is_err() {
            return 0;
        }
        let (mut state, _) = self.stream.shared.drain(self.stream.shared.lock());
        let dropped = state.flush();
        drop(state);
        self.stream.stamps.skip(dropped);
        dropped
    }

    /// The stream's whole description, from its outlet; asked for once, then remembered.
    ///
    /// - Errors: [`Error::Timeout`], [`Error::Lost`].
    /// - Source: equals liblsl `lsl_get_fullinfo`.
    pub fn full_info(&self, timeout: f64) -> Result<StreamInfo, Error> {
        self.maker.check()?;
        full_info::fetch(&self.stream, Wait::seconds(timeout))
    }

    /// Number of values per sample.
    pub fn channel_count(&self) -> usize {
        self.stream.channel_count
    }

    /// The description that the inlet works with: the one it was made from, or that of the stream that
    /// took its place.
    pub fn info(&self) -> StreamInfo {
        self.stream.info()
    }

    /// How far the sender's clock is from ours: add `offset` to a sender's stamp to have it on our clock.
    ///
    /// The first call measures for about two thirds of a second; later ones return the newest estimate.
    /// - Errors: [`Error::Timeout`], [`Error::Lost`].
    /// - Source: equals liblsl `lsl_time_correction_ex`.
    pub fn clock_offset(&self, timeout: f64) -> Result<Estimate, Error> {
        self.maker.check()?;
        self.stream.clock_offset(Wait::seconds(timeout))
    }

    /// Whether the sender's clock may have changed since this was last asked.
    ///
    /// - Source: equals liblsl `lsl_was_clock_reset`.
    pub fn was_clock_reset(&self) -> bool {
        self.stream.was_clock_reset()
    }

    /// Chooses how stamps are processed before a pull returns them.
    ///
    /// - Source: equals liblsl `lsl_set_postprocessing`.
    pub fn set_post_processing(&self, flags: u32) {
        self.stream.stamps.set_flags(flags);
        if self.stream.stamps.wants_offset() {
            // Begins to measure, so that the first pull finds the offset; whether it works shows there.
            let _ = self.stream.clock_offset(Wait::No);
        }
    }

    /// Sets the time after which a stamp weighs half as much in the de-jittering filter; acts when the
    /// filter next begins anew.
    ///
    /// - Units: seconds.
    /// - Source: equals liblsl `lsl_smoothing_halftime`.
    pub fn set_smoothing_halftime(&self, seconds: f32) {
        self.stream.stamps.set_halftime(seconds);
    }

    /// How old the newest pulled sample is, if any was pulled: seconds on the local clock, corrected by
    /// the clock offset where it is known.
    pub fn lag(&self) -> Option<f64> {
        let stamp = f64::from_bits(self.newest_pulled.load(Ordering::Relaxed));
        let offset = self.stream.known_clock_offset().unwrap_or(0.0);
        (stamp != 0.0).then(|| local_clock() - (stamp + offset))
    }

    /// Samples that arrived and were dropped because nobody pulled them in time.
    pub fn dropped_samples(&self) -> u64 {
        self.stream.shared.lock().dropped()
    }

    /// Bytes of samples that wait to be pulled.
    pub fn buffered_bytes(&self) -> usize {
        self.stream.shared.lock().byte_len()
    }

    /// How the samples travel; nothing while there is no connection.
    pub fn protection(&self) -> Option<Protection> {
        let state = self.stream.shared.lock();
        let sealed = |link: &Arc<Link>| if link.is_sealed() { Protection::Sealed } else { Protection::Plain };
        state.link.as_ref().filter(|_| state.phase == Phase::Open).map(sealed)
    }

    /// Who sends the stream, as the lab's authority says; nothing while there is no sealed connection.
    pub fn peer(&self) -> Option<PeerIdentity> {
        self.stream.peer()
    }

    /// Why there is no connection, if it is because there is no session with the outlet;
    /// [`advice`](crate::security::advice) says what mends that.
    pub fn refusal(&self) -> Option<Refusal> {
        self.stream.refusal()
    }

    /// Ends the stream for every thread that waits in it: each comes back, with [`Error::Lost`] or with nothing. Dropping does
    /// that as well; this is for an inlet that several threads share.
    ///
    /// *Source*: `lsl_destroy_inlet`.
    pub fn end(&self) {
        // A child's copy of the parent's locks may be held by threads that the child does not have.
        if !self.maker.is_another() {
            self.stream.end();
        }
    }

    /// The oldest event of the connection that was not taken yet, waiting for one if there is none. Nothing if none came within
    /// `timeout` seconds, or if the stream was [ended](Self::end).
    pub fn next_event(&self, timeout: f64) -> Option<StreamEvent> {
        self.stream.events.next(Wait::seconds(timeout))
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        if self.maker.is_another() {
            core::mem::forget((self.connection.take(), Arc::clone(&self.stream)));
            return;
        }
        self.stream.end();
        if let Some(connection) = self.connection.take() {
            // A panic of the thread was reported when it happened.
            let _ = connection.join();
        }
    }
}

impl core::fmt::Debug for Inlet {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Inlet").field("stream", &self.stream.info().name()).finish_non_exhaustive()
    }
}

pub(crate) use self::handshake::{HandshakeError, connect_tcp, exchange_lists, no_stream, prepare};
pub(crate) use self::request::Asking;

mod connection;
mod events;
mod full_info;
mod handshake;
mod queue;
mod receiver;
mod request;
mod samples;
mod shared;
mod stamps;
mod stream;
