//! Finds streams: once, or all the time.
//!
//! A search asks by multicast, and by unicast at the addresses of this computer and of the known peers. If
//! configured, it also asks over TCP. Source: lsl-wire §5 to §8.
//!
//! It stays within its timeout, holds at most one port per IP version, and takes at most 4,096 streams. Where the
//! network is away it goes on asking; it does not fail.

mod burst;
mod calls;
mod found;
mod inquiries;
mod knock;
mod questions;
mod search;
mod silence;
mod tcp;
mod tcp_request;
mod view;

use core::{fmt, time::Duration};
use std::{
    io,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use schwann_proto::{
    resolver::{Duration as SearchDuration, Until, condition},
    stream_info::StreamInfo,
    wire::{
        NoRoom,
        query::{Query, QueryError},
    },
};

pub use self::calls::refused_calls;
pub use self::knock::{Knocked, is_own_address, knock, known_peers, own_ports, peer_ports};
pub use self::silence::unheard;
pub use self::view::{HostView, Viewed, view};
use self::{
    found::Found,
    search::{End, Search, lock},
};
use crate::{
    Error,
    config::Config,
    context::Context,
    local_clock, log,
    net::interrupt::Interrupt,
    process::Maker,
    security::{Trust, policy},
};

/// Why streams could not be searched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResolveError {
    /// The search was ended from another thread.
    Interrupted,
    /// The query is malformed: the caller must correct it. Nothing was sent.
    Query(QueryError),
    /// The system refused a thread or a poller, usually because of its limits.
    System(io::ErrorKind),
    /// Streams must be sealed on this computer, and cannot be: the log and `schwann keys status` say why.
    Unsealed,
}

/// A search to be made once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Where and how to search.
    pub(crate) context: &'a Arc<Context>,
    /// The condition, as XPath.
    pub(crate) query: &'a str,
    /// Streams that are enough; 0 uses the whole time.
    pub(crate) minimum: usize,
    /// Time that is used in any case; a recovery wants to see whether there are several streams.
    pub(crate) minimum_time: Duration,
    /// Time after which the search ends; `None`: never.
    pub(crate) timeout: Option<Duration>,
    /// Ends the search at once.
    pub(crate) interrupt: &'a Interrupt,
}

impl Request<'_> {
    /// Searches now, in this thread.
    ///
    /// - Shape: by ascending UID; may be more than the minimum.
    /// - Errors: [`ResolveError`].
    pub(crate) fn run(&self) -> Result<Vec<StreamInfo>, ResolveError> {
        check(self.query)?;
        let now = local_clock();
        let until = Until {
            minimum: self.minimum,
            earliest: now + self.minimum_time.as_secs_f64(),
            deadline: self.timeout.map_or(f64::INFINITY, |timeout| now + timeout.as_secs_f64()),
        };
        let duration = SearchDuration::OneShot(until);
        let trust = trust(self.context)?;
        let mut search = Search::new(Arc::clone(self.context), trust, self.query, duration)?;
        let found = Mutex::new(Found::default());
        match search.run(&found, self.interrupt)? {
            End::Done => Ok(lock(&found).infos()),
            End::Interrupted => Err(ResolveError::Interrupted),
        }
    }
}

/// Searches the streams that fulfil `query`, until `minimum` are found or `timeout` is over.
///
/// With `minimum` 0 the whole time is used. A timeout of [`FOREVER`] or more never ends. The query is used as it is, without
/// regard to the session; see [`resolve_bypred`] for the usual search.
///
/// - Shape: by ascending UID; may be more than `minimum`. A timeout is not an error, there are then fewer.
/// - Errors: [`ResolveError`].
pub fn resolve(
    context: &Arc<Context>,
    query: &str,
    minimum: usize,
    timeout: Duration,
) -> Result<Vec<StreamInfo>, ResolveError> {
    let interrupt = Interrupt::default();
    let timeout = (timeout < FOREVER).then_some(timeout);
    let minimum_time = Duration::ZERO;
    Request { context, query, minimum, minimum_time, timeout, interrupt: &interrupt }.run()
}

/// Searches all streams of the session for `wait`.
///
/// - Errors: [`ResolveError`].
/// - Source: equals liblsl `lsl_resolve_all`.
pub fn resolve_all(context: &Arc<Context>, wait: Duration) -> Result<Vec<StreamInfo>, ResolveError> {
    resolve_session(context, 0, wait)
}

/// Searches all streams of the session.
///
/// - Errors: [`ResolveError`].
/// - Source: equals liblsl `lsl_resolve_byprop` and `lsl_resolve_bypred` without a property and a predicate.
pub fn resolve_session(
    context: &Arc<Context>,
    minimum: usize,
    timeout: Duration,
) -> Result<Vec<StreamInfo>, ResolveError> {
    resolve(context, &session_query(context), minimum, timeout)
}

/// Searches streams of the session whose `property`, such as `type`, has this value.
///
/// - Errors: [`ResolveError`]. Unlike in the original, the value may have quotes.
/// - Source: equals liblsl `lsl_resolve_byprop`.
pub fn resolve_byprop(
    context: &Arc<Context>,
    property: &str,
    value: &str,
    minimum: usize,
    timeout: Duration,
) -> Result<Vec<StreamInfo>, ResolveError> {
    resolve(context, &property_query(context, property, value), minimum, timeout)
}

/// Searches streams of the session that fulfil `predicate`, such as `type='EEG' and channel_count > 8`.
///
/// - Errors: [`ResolveError`].
/// - Source: equals liblsl `lsl_resolve_bypred`.
pub fn resolve_bypred(
    context: &Arc<Context>,
    predicate: &str,
    minimum: usize,
    timeout: Duration,
) -> Result<Vec<StreamInfo>, ResolveError> {
    resolve(context, &predicate_query(context, predicate)?, minimum, timeout)
}

/// Searches all the time, in a thread of its own, and knows what was there lately.
#[derive(Debug)]
pub struct ContinuousResolver {
    found: Arc<Mutex<Found>>,
    forget_after: Duration,
    interrupt: Interrupt,
    thread: Option<JoinHandle<()>>,
    maker: Maker,
}

impl ContinuousResolver {
    /// Starts to search the streams that fulfil `query`, without regard to the session.
    ///
    /// - Units: a stream is forgotten when its last reply is older than `forget_after`.
    /// - Errors: [`ResolveError`].
    pub fn new(context: Arc<Context>, query: &str, forget_after: Duration) -> Result<Self, ResolveError> {
        check(query)?;
        let trust = trust(&context)?;
        let mut search = Search::new(context, trust, query, SearchDuration::Continuous)?;
        let found = Arc::new(Mutex::new(Found::default()));
        let interrupt = Interrupt::default();
        let (results, stop) = (Arc::clone(&found), interrupt.clone());
        let thread = thread::Builder::new().name("lsl-resolver".to_owned()).spawn(move || {
            if let Err(error) = search.run(&results, &stop) {
                log::error!("a continuous resolver has ended: {error}");
            }
        })?;
        Ok(Self { found, forget_after, interrupt, thread: Some(thread), maker: Maker::this() })
    }

    /// Starts to search all streams of the session.
    ///
    /// - Errors: [`ResolveError`].
    /// - Source: equals liblsl `lsl_create_continuous_resolver`.
    pub fn all(context: Arc<Context>, forget_after: Duration) -> Result<Self, ResolveError> {
        let query = session_query(&context);
        Self::new(context, &query, forget_after)
    }

    /// Starts to search streams of the session whose `property` has this value.
    ///
    /// - Errors: [`ResolveError`].
    /// - Source: equals liblsl `lsl_create_continuous_resolver_byprop`.
    pub fn by_property(
        context: Arc<Context>,
        property: &str,
        value: &str,
        forget_after: Duration,
    ) -> Result<Self, ResolveError> {
        let query = property_query(&context, property, value);
        Self::new(context, &query, forget_after)
    }

    /// Starts to search streams of the session that fulfil `predicate`.
    ///
    /// - Errors: [`ResolveError`].
    /// - Source: equals liblsl `lsl_create_continuous_resolver_bypred`.
    pub fn by_predicate(
        context: Arc<Context>,
        predicate: &str,
        forget_after: Duration,
    ) -> Result<Self, ResolveError> {
        let query = predicate_query(&context, predicate)?;
        Self::new(context, &query, forget_after)
    }

    /// The streams that were there lately, by ascending UID. Does not wait.
    ///
    /// - Source: equals liblsl `lsl_resolver_results`.
    pub fn results(&self) -> Vec<StreamInfo> {
        let mut found = lock(&self.found);
        found.forget_older_than(self.forget_after, local_clock());
        found.infos()
    }
}

impl Drop for ContinuousResolver {
    fn drop(&mut self) {
        if self.maker.is_another() {
            core::mem::forget(self.thread.take());
            return;
        }
        self.interrupt.raise();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread of a continuous resolver has panicked");
        }
    }
}

impl From<io::Error> for ResolveError {
    fn from(error: io::Error) -> Self {
        Self::System(error.kind())
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("the search was interrupted"),
            Self::Query(error) => write!(f, "the query is malformed: {error}"),
            Self::System(kind) => write!(f, "the system does not permit a search: {kind}"),
            Self::Unsealed => Error::Unsealed.fmt(f),
        }
    }
}

impl core::error::Error for ResolveError {}

/// With what a search is sealed.
///
/// - Errors: [`ResolveError::Unsealed`]: it must be, and cannot.
fn trust(context: &Context) -> Result<Arc<Trust>, ResolveError> {
    context.trust().map_err(|error| {
        policy::unsealed(&error);
        ResolveError::Unsealed
    })
}

fn check(query: &str) -> Result<(), ResolveError> {
    Query::parse(query).map(|_| ()).map_err(ResolveError::Query)
}

fn session_query(config: &Config) -> String {
    query(|out| condition::session(&config.lab.session_id, out))
}

fn property_query(config: &Config, property: &str, value: &str) -> String {
    query(|out| condition::property(&config.lab.session_id, property, value, out))
}

fn predicate_query(config: &Config, predicate: &str) -> Result<String, ResolveError> {
    // Alone first: `a) or (b` must not become valid inside of our parentheses.
    check(predicate)?;
    Ok(query(|out| condition::predicate(&config.lab.session_id, predicate, out)))
}

/// The text of a query that proto writes.
pub(crate) fn query(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), NoRoom>) -> String {
    let mut out = Vec::new();
    encode(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("made of text alone")
}

/// How long a continuous search remembers a stream that no longer answers, unless a program says otherwise.
///
/// - Source: liblsl `lsl_cpp.h`, the default of `continuous_resolver`.
pub const FORGET_AFTER: Duration = Duration::from_secs(5);

/// A timeout of this length or more never ends; liblsl calls it `LSL_FOREVER`.
pub const FOREVER: Duration = Duration::from_secs(32_000_000);

/// What a member searches for that looks for streams in the clear; sealed outlets know that it is none of theirs.
/// Source: secure-session §5.4.
pub const PLAIN_STREAMS: &str = "name!='' and 'plain'!='sealed'";

#[cfg(test)]
mod tests;
