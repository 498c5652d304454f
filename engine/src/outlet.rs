//! Outlets: where samples go out.
//!
//! An [`Outlet`] makes a stream known on the network and sends every pushed sample to all connected
//! inlets. A push encodes its samples once, and hands them to the kernel itself as long as all
//! consumers keep up. Samples that a slow consumer does not take in time wait in a bounded log. There
//! the oldest are dropped first, and they never hold up the push.
//!
//! Threads: any thread may push; pushes of several threads take turns. Dropping the outlet ends the
//! stream.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use schwann_proto::stream::{BufferUnit, ChannelFormat};
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::sample::{ByteOrder, Layout, Value};
use schwann_session::HANDSHAKE_PREFIX;

pub use self::fanout::ConsumerStatus;
use self::fanout::{Fanout, Route, Sending};
use self::pending::{Numbers, Pending, Raw, Strings, Values};
use self::producer::{Producer, StampArgument};
use self::view::Counted;
use crate::Error;
use crate::codec::{Encoding, outlet_codecs};
use crate::config::Config;
use crate::context::Context;
use crate::door::Door;
use crate::net::advertisement::Advertisement;
pub use crate::net::link::Carrier;
use crate::net::probes::ProbeSessions;
use crate::process::Maker;
use crate::security::policy::Terms;
use crate::security::{Policy, Watcher};
pub use schwann_proto::wire::feed::{Pace, Report};

/// When pushed samples are handed to the network.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Flush {
    /// With this push.
    #[default]
    Now,
    /// With a later push, or when a chunk is full.
    Later,
}

/// How an outlet delivers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Delivery {
    /// A push never waits; consumers that lag too far lose the oldest samples.
    #[default]
    Queued,
    /// A push returns once every consumer's kernel has the samples (`transp_sync_blocking`). A consumer
    /// that takes nothing for `tuning.SyncSendTimeout` is disconnected.
    Synchronous,
}

/// What an outlet may be told besides its stream's description.
#[derive(Clone, Debug)]
pub struct OutletOptions {
    /// Samples sent at a time; 0 leaves it to the consumers and to [`Flush`].
    pub chunk_samples: u32,
    /// How far a consumer may lag, in `buffer_unit`s.
    pub buffer_length: i32,
    /// What `buffer_length` counts.
    pub buffer_unit: BufferUnit,
    /// How samples are delivered.
    pub delivery: Delivery,
}

impl Default for OutletOptions {
    /// Six minutes of samples are kept for consumers that lag, as liblsl does.
    fn default() -> Self {
        Self {
            chunk_samples: 0,
            buffer_length: 360,
            buffer_unit: BufferUnit::Seconds,
            delivery: Delivery::Queued,
        }
    }
}

/// A stream that others can receive.
pub struct Outlet {
    shared: Arc<Shared>,
    producer: Mutex<Producer>,
    server: Option<JoinHandle<()>>,
    maker: Maker,
}

/// What the pushing threads and the server thread share.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) advertisement: Arc<Advertisement>,
    pub(crate) fanout: Fanout,
    pub(crate) layout: Layout,
    /// How many samples a consumer may lag at most.
    pub(crate) capacity: u64,
    pub(crate) delivery: Delivery,
    pub(crate) terms: Terms,
    pub(crate) door: Option<Arc<dyn Door>>,
    pub(crate) probes: Arc<ProbeSessions>,
    pub(crate) ending: AtomicBool,
    /// What makes this program's streams a number.
    pub(crate) _counted: Counted,
}

/// What the first bytes of a connection say about how it goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Greeting {
    /// A request in the clear, which is permitted.
    Plain,
    /// A handshake, which is not permitted.
    Refused,
    /// A request in the clear, which is not permitted.
    RefusedPlain,
    /// A handshake.
    Sealed,
    /// There are too few bytes to tell.
    Unclear,
}

impl Shared {
    /// Decides how a connection goes on that begins with `bytes`.
    pub(crate) fn greet(&self, bytes: &[u8]) -> Greeting {
        let common = bytes.len().min(HANDSHAKE_PREFIX.len());
        let handshake = bytes.get(..common) == HANDSHAKE_PREFIX.get(..common);
        match (handshake, self.terms.policy) {
            (true, _) if common < HANDSHAKE_PREFIX.len() => Greeting::Unclear,
            (true, Policy::Prefer | Policy::Require) if self.terms.sealing.is_some() => Greeting::Sealed,
            (true, _) => Greeting::Refused,
            (false, Policy::Require) => Greeting::RefusedPlain,
            (false, _) => Greeting::Plain,
        }
    }
}

impl Watcher for Shared {
    fn lab_changed(&self) {
        self.fanout.call_server();
    }
}

impl Outlet {
    /// Makes a stream known and starts to serve it, in the process's context.
    ///
    /// - Errors: [`Error::System`] if no socket or thread can be made; [`Error::Argument`] for
    ///   a synchronous outlet of strings.
    /// - Source: equals liblsl `lsl_create_outlet_ex`.
    pub fn new(info: &StreamInfo, options: &OutletOptions) -> Result<Self, Error> {
        Self::in_context(info, options, Arc::clone(Context::get()))
    }

    /// Does what [`Self::new`] does, in a context of its own.
    pub fn in_context(
        info: &StreamInfo,
        options: &OutletOptions,
        context: Arc<Context>,
    ) -> Result<Self, Error> {
        if options.delivery == Delivery::Synchronous && info.channel_format() == ChannelFormat::String {
            return Err(Error::Argument("Synchronous outlets cannot carry strings."));
        }
        let capacity = options.buffer_unit.samples(options.buffer_length, info.nominal_rate());
        let capacity = u64::try_from(capacity).unwrap_or(1);
        let layout = Layout::new(info.channel_format(), info.channel_count() as usize, ByteOrder::NATIVE);
        let codecs = outlet_codecs(layout, info.nominal_rate());
        let chunk_samples = if options.chunk_samples > 0 { options.chunk_samples.into() } else { capacity };
        let producer = Producer {
            pending: Pending::new(&codecs[Encoding::Native.index()]),
            codecs,
            sending: Sending::new(),
            chunk_samples,
            last_flush: 0.0,
        };
        warn_of_cut_description(info);
        let (shared, server) = server::start(info, &context, codecs, layout, capacity, options.delivery)?;
        Ok(Self { shared, producer: Mutex::new(producer), server: Some(server), maker: Maker::this() })
    }

    /// Answers clock probes as if this computer's clock were so many seconds ahead. It serves a program that passes
    /// on a stream of another computer with its stamps.
    ///
    /// - Units: seconds to add to [`local_clock`](crate::local_clock) to have the clock of the stamps.
    pub fn set_clock_shift(&self, seconds: f64) {
        self.shared.advertisement.set_clock_shift(seconds);
    }

    /// Pushes one sample.
    ///
    /// - Units: `stamp` is in seconds on the local clock. 0.0 stands for now, and −1.0 for one
    ///   sample period after the previous sample.
    /// - Shape: one value per channel, converted to the stream's format.
    /// - Errors: [`Error::ChunkShape`] for another number of values; [`Error::Forked`] in a child process.
    /// - Source: equals liblsl `lsl_push_sample_*tp`.
    pub fn push_sample<T: Value>(&self, values: &[T], stamp: f64, flush: Flush) -> Result<(), Error> {
        self.push(&Numbers(values), Shape::Sample, StampArgument::Last(stamp), flush)
    }

    /// Pushes one sample as this machine stores it.
    ///
    /// - Shape: the values of all channels one after the other, in the stream's format.
    /// - Errors: [`Error::Argument`] for a stream of strings, [`Error::ChunkShape`] for another length.
    /// - Source: equals liblsl `lsl_push_sample_vtp`.
    pub fn push_raw_sample(&self, native: &[u8], stamp: f64, flush: Flush) -> Result<(), Error> {
        self.push(&Raw(native), Shape::Sample, StampArgument::Last(stamp), flush)
    }

    /// Pushes one sample of strings; a numeric stream reads them as numbers.
    ///
    /// - Source: equals liblsl `lsl_push_sample_buftp`. Otherwise as [`Self::push_sample`].
    pub fn push_strings(&self, strings: &[&[u8]], stamp: f64, flush: Flush) -> Result<(), Error> {
        self.push(&Strings(strings), Shape::Sample, StampArgument::Last(stamp), flush)
    }

    /// Pushes many samples.
    ///
    /// - Units: `stamp` is that of the *last* sample, in seconds on the local clock; 0.0 stands for now.
    ///   The others precede it at the stream's rate.
    /// - Shape: samples × channels, one row per sample; none at all is permitted.
    /// - Errors: [`Error::ChunkShape`] if the last row is incomplete.
    /// - Source: equals liblsl `lsl_push_chunk_*tp`.
    pub fn push_chunk<T: Value>(&self, values: &[T], stamp: f64, flush: Flush) -> Result<(), Error> {
        self.push(&Numbers(values), Shape::Chunk, StampArgument::Last(stamp), flush)
    }

    /// Pushes many samples with a stamp each.
    ///
    /// - Shape: `values` is samples × channels; `stamps` has one entry per row.
    /// - Source: equals liblsl `lsl_push_chunk_*tnp`. Otherwise as [`Self::push_chunk`].
    pub fn push_chunk_stamped<T: Value>(
        &self,
        values: &[T],
        stamps: &[f64],
        flush: Flush,
    ) -> Result<(), Error> {
        self.push(&Numbers(values), Shape::Chunk, StampArgument::Each(stamps), flush)
    }

    /// Pushes many samples of strings, as [`Self::push_chunk`] does numbers.
    pub fn push_string_chunk(&self, strings: &[&[u8]], stamp: f64, flush: Flush) -> Result<(), Error> {
        self.push(&Strings(strings), Shape::Chunk, StampArgument::Last(stamp), flush)
    }

    /// Pushes many samples of strings, as [`Self::push_chunk_stamped`] does numbers.
    pub fn push_string_chunk_stamped(
        &self,
        strings: &[&[u8]],
        stamps: &[f64],
        flush: Flush,
    ) -> Result<(), Error> {
        self.push(&Strings(strings), Shape::Chunk, StampArgument::Each(stamps), flush)
    }

    fn push(
        &self,
        values: &impl Values,
        shape: Shape,
        stamps: StampArgument<'_>,
        flush: Flush,
    ) -> Result<(), Error> {
        self.maker.check()?;
        let producer = &mut *self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        let codec = &producer.codecs[Encoding::Native.index()];
        let count = match (shape, values.sample_count(codec)?) {
            // The sample of a stream without channels is its stamp; how many a chunk has cannot be told.
            (Shape::Sample, 0) if codec.layout().channel_count == 0 => 1,
            (_, count) => count,
        };
        match (shape, stamps) {
            (Shape::Sample, _) if count != 1 => return Err(Error::ChunkShape),
            (_, StampArgument::Each(stamps)) if stamps.len() != count => return Err(Error::ChunkShape),
            _ if count == 0 => return Ok(()),
            _ => {}
        }
        producer.push(&self.shared, values, stamps, count, flush)
    }

    /// Whether an inlet receives the stream.
    ///
    /// - Source: equals liblsl `lsl_have_consumers`.
    pub fn have_consumers(&self) -> bool {
        self.consumer_count() > 0
    }

    /// Number of inlets that receive the stream.
    pub fn consumer_count(&self) -> usize {
        if self.maker.check().is_ok() { self.shared.fanout.count() } else { 0 }
    }

    /// Waits until `count` inlets receive the stream, and says whether they do.
    ///
    /// - Units: no `timeout` waits without limit.
    /// - Source: with a `count` of 1 equals liblsl `lsl_wait_for_consumers`.
    pub fn wait_for_consumers(&self, count: usize, timeout: Option<Duration>) -> bool {
        self.maker.check().is_ok() && self.shared.fanout.wait_for(count, timeout)
    }

    /// Flushes what was pushed with [`Flush::Later`] and waits until the kernel has all of it.
    ///
    /// - Errors: [`Error::Timeout`] if some consumer has not taken its part by then; nothing is lost. [`Error::Forked`].
    pub fn flush(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.maker.check()?;
        {
            let producer = &mut *self.producer.lock().unwrap_or_else(PoisonError::into_inner);
            producer.flush(&self.shared, Route::Direct);
        }
        if self.shared.fanout.wait_until_sent(timeout) { Ok(()) } else { Err(Error::Timeout) }
    }

    /// The description of the stream as it is on the network: with uid, host name and ports.
    ///
    /// - Source: equals liblsl `lsl_get_info`.
    pub fn info(&self) -> &StreamInfo {
        self.shared.advertisement.info()
    }

    /// One entry per connected inlet.
    pub fn consumers(&self) -> Vec<ConsumerStatus> {
        self.shared.fanout.status()
    }

    /// Samples that consumers, present or gone, were too slow for.
    pub fn dropped_samples(&self) -> u64 {
        self.shared.fanout.totals().0
    }

    /// Bytes that wait for consumers that lag.
    pub fn buffered_bytes(&self) -> usize {
        self.shared.fanout.totals().1
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        if self.maker.is_another() {
            core::mem::forget(self.server.take());
            return;
        }
        {
            let producer = &mut *self.producer.lock().unwrap_or_else(PoisonError::into_inner);
            producer.flush(&self.shared, Route::Direct);
        }
        self.shared.ending.store(true, Ordering::Release);
        self.shared.fanout.call_server();
        if let Some(server) = self.server.take() {
            // A panic of the server thread was reported when it happened.
            let _ = server.join();
        }
    }
}

impl core::fmt::Debug for Outlet {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Outlet")
            .field("name", &self.shared.advertisement.info().name())
            .finish_non_exhaustive()
    }
}

/// Tells the program's developer of a name that XML does not permit: no receiver reads what follows it.
fn warn_of_cut_description(info: &StreamInfo) {
    let read = StreamInfo::parse(&info.fullinfo());
    if let Some(fault) = read.ok().and_then(|read| read.document_error()) {
        crate::log::warning!(
            "{}: receivers read its description up to an element that is no XML alone: {fault}",
            info.name()
        );
    }
}

/// How many samples a push must have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    Sample,
    Chunk,
}

mod fanout;
mod log;
mod pending;
mod producer;
mod server;
mod view;
