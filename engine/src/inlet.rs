//! Inlets: where samples come in.
//!
//! An [`Inlet`] receives one stream. It connects when samples are first asked for and keeps what arrives
//! until it is pulled. If permitted, it finds the stream again after its sender has restarted.
//!
//! Timeouts are in seconds: 0 or less does not wait, [`FOREVER`](schwann_proto::stream::FOREVER) or more
//! waits without limit. No call waits longer than it was told to.
//!
//! Threads: all methods may be called from any thread at the same time. [`Inlet::close_stream`] ends
//! waits of other threads.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread::JoinHandle;

use schwann_proto::stream::BufferUnit;
use schwann_proto::stream_info::StreamInfo;
use schwann_session::{PeerIdentity, Refusal};

pub use self::alarm::{Alarm, AlarmKind};
pub use self::events::StreamEvent;
pub use self::prompt::before_first_wait;
use self::receiver::Wait;
pub use self::samples::{Chunk, Chunks, Sample, Samples};
use self::shared::Phase;
use self::stream::Stream;
pub use self::watch::{Readable, Watch};
use crate::clock::Estimate;
use crate::context::Context;
pub use crate::net::bell::Bell;
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
    /// Every computer on the network can read it.
    Plain,
    /// Only members of the lab can.
    Sealed,
}

/// What an inlet may be told besides the stream's description.
#[derive(Clone, Debug)]
pub struct InletOptions {
    /// How much is kept between pulls, in `buffer_unit`s; beyond that the oldest samples are dropped.
    pub buffer_length: i32,
    /// What `buffer_length` counts.
    pub buffer_unit: BufferUnit,
    /// Samples per send of the outlet; 0 leaves it to the outlet.
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
    /// Makes a receiver for the stream that `info` describes, in the process's context. Nothing
    /// is sent yet.
    ///
    /// - Errors: [`Error::Argument`] if the description is not of a stream that can be received.
    /// - Source: equals liblsl `lsl_create_inlet_ex`.
    pub fn new(info: &StreamInfo, options: &InletOptions) -> Result<Self, Error> {
        Self::in_context(info, options, Arc::clone(Context::get()))
    }

    /// Does what [`Self::new`] does, in a context of its own.
    pub fn in_context(
        info: &StreamInfo,
        options: &InletOptions,
        context: Arc<Context>,
    ) -> Result<Self, Error> {
        let stream = Arc::new(Stream::new(info, options, context)?);
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

    /// Connects, and returns once samples arrive from then on. A stream that was open and is looked for again after a loss counts
    /// as open, until it is closed.
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
                _ if state.was_open => return Ok(()),
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

    /// How many samples a pull would find, including samples that the system has
    /// received.
    ///
    /// - Source: equals liblsl `lsl_samples_available`.
    pub fn samples_available(&self) -> usize {
        if self.maker.check().is_err() {
            return 0;
        }
        self.stream.shared.drain(self.stream.shared.lock()).0.sample_count()
    }

    /// How many samples a pull would find without asking the system for more. It costs no system call, so a program that
    /// hands samples on can ask it after each.
    pub fn samples_at_hand(&self) -> usize {
        if self.maker.check().is_err() {
            return 0;
        }
        self.stream.shared.lock().sample_count()
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
    /// - Errors: [`Error::Timeout`], [`Error::Lost`], [`Error::Undescribed`].
    /// - Source: equals liblsl `lsl_get_fullinfo`, which asks again and again for one that it cannot read.
    pub fn full_info(&self, timeout: f64) -> Result<StreamInfo, Error> {
        self.maker.check()?;
        full_info::fetch(&self.stream, Wait::seconds(timeout))
    }

    /// Number of values per sample.
    pub fn channel_count(&self) -> usize {
        self.stream.channel_count
    }

    /// The description in use: the one given at the start, or the successor stream's.
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

    /// Makes pulls pass over samples older than this. A program that cannot keep up then sees the present.
    /// Infinity, the initial value, delivers every sample. What was passed over counts as
    /// [dropped](Self::dropped_samples).
    ///
    /// A sample's age is that of its stamp, so the first pull waits for the clock offset. Stamps that are not of the
    /// sender's [`local_clock`] have no age: leave this alone then.
    ///
    /// - Units: seconds; 0 or less, or not a number, counts as infinity.
    pub fn set_max_lag(&self, seconds: f64) {
        self.stream.stamps.set_max_lag(if seconds > 0.0 { seconds } else { f64::INFINITY });
        if self.stream.stamps.wants_offset() {
            // As for post-processing.
            let _ = self.stream.clock_offset(Wait::No);
        }
    }

    /// Calls `tell` when the program falls behind by more than `max_lag`, or a regular stream is silent for
    /// that long. It calls again when that is over. Skipped samples count as behind, however new the others
    /// are. The same goes to [`next_event`](Self::next_event).
    ///
    /// The inlet's own thread looks at least ten times a second, whether the program pulls or not, and calls.
    /// Return soon: it takes in no samples meanwhile. A sample's age is that of its stamp, as for
    /// [`set_max_lag`](Self::set_max_lag).
    ///
    /// - Units: seconds; 0 or less, or not a number, has only skipped samples told.
    pub fn set_alarm(&self, max_lag: f64, tell: impl Fn(Alarm) + Send + Sync + 'static) {
        self.stream.alarms.set(max_lag, Some(Box::new(tell)));
        if self.stream.alarms.has_limit() {
            // As for post-processing.
            let _ = self.stream.clock_offset(Wait::No);
        }
    }

    /// Ends the calls of [`set_alarm`](Self::set_alarm), except one that has begun.
    pub fn clear_alarm(&self) {
        self.stream.alarms.set(f64::INFINITY, None);
    }

    /// Sets the time after which a stamp weighs half as much in the de-jittering filter. It acts when
    /// the filter next begins anew.
    ///
    /// - Units: seconds.
    /// - Source: equals liblsl `lsl_smoothing_halftime`.
    pub fn set_smoothing_halftime(&self, seconds: f32) {
        self.stream.stamps.set_halftime(seconds);
    }

    /// How old the newest pulled sample is, in seconds. Nothing before one was pulled and the sender's clock offset
    /// is known ([`clock_offset`](Self::clock_offset) has it measured). Until then its stamp says nothing by this
    /// clock.
    pub fn lag(&self) -> Option<f64> {
        let stamp = f64::from_bits(self.newest_pulled.load(Ordering::Relaxed));
        let offset = self.stream.known_clock_offset()?;
        (stamp != 0.0).then(|| local_clock() - (stamp + offset))
    }

    /// Arrived samples that the program will not get, because it did not pull them in time. They were too old for
    /// [`set_max_lag`](Self::set_max_lag), or there was no room for them. The count is exact. What its outlet
    /// dropped, only the outlet knows.
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
        let sealed =
            |link: &Arc<Link>| if link.layer().is_sealed() { Protection::Sealed } else { Protection::Plain };
        state.link.as_ref().filter(|_| state.phase == Phase::Open).map(sealed)
    }

    /// The sender of the stream, as the lab's authority says; nothing while there is no sealed
    /// connection.
    pub fn peer(&self) -> Option<PeerIdentity> {
        self.stream.peer()
    }

    /// Why there is no connection, if the cause is a missing session with the outlet.
    /// [`advice`](crate::security::advice) says how to mend it.
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

    /// The oldest event of the connection that was not taken yet. Waits for one if needed. Nothing if none came
    /// within `timeout` seconds, or if the stream was [ended](Self::end).
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
            // An alarm's receiver may let go of the inlet: it runs on that thread, which ends by itself.
            if connection.thread().id() != std::thread::current().id() {
                // A panic of the thread was reported when it happened.
                let _ = connection.join();
            }
        }
    }
}

impl core::fmt::Debug for Inlet {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Inlet").field("stream", &self.stream.info().name()).finish_non_exhaustive()
    }
}

/// Bytes of samples that one inlet keeps at most, with any buffer length.
const BYTE_LIMIT: usize = 1 << 30;

mod alarm;
mod connection;
mod events;
mod full_info;
mod prompt;
mod pull;
mod queue;
mod receiver;
mod samples;
mod shared;
mod stamps;
mod stream;
mod watch;
