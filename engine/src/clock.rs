//! Measures how far an outlet's clock is ahead, by probes to its time service.
//!
//! A thread of its own sends the probes, started by the first question, because most inlets never ask.
//! [`schwann_proto::clock`] says when to send and what the replies mean. Here are the socket, the thread and the
//! waiting.
//!
//! Source: lsl-wire §9, §19. This module does not decide where the outlet is: the recovery of
//! a stream sets it with `ClockOffset::set_endpoint`.

use core::{
    fmt,
    hash::{BuildHasher, Hasher},
    net::SocketAddr,
    time::Duration,
};
use std::{
    hash::RandomState,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Instant,
};

use mio::Waker;
use schwann_proto::clock::{ClockEstimate, ClockEstimator, ClockSettings};

use schwann_session::Datagrams;

use crate::{
    Error,
    config::{Config, Tuning},
    log,
    net::bell::{Bell, Bells},
    process::Maker,
};

/// How far an outlet's clock is from the local one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds to add to the outlet's stamps to place them on the local clock.
    pub offset: f64,
    /// Round trip of the probe that counted, in seconds; the error is at most half of it.
    pub uncertainty: f64,
    /// When it was measured, in seconds on the outlet's clock.
    pub remote_time: f64,
}

/// The clock offset to one outlet.
///
/// Every method may be called from any thread.
#[derive(Debug)]
pub(crate) struct ClockOffset {
    shared: Arc<SharedMeasurement>,
}

impl ClockOffset {
    /// Prepares to measure; nothing is sent before the first question.
    pub(crate) fn new(config: &Config) -> Self {
        // The standard library's hash keys are random, which is all that is needed here.
        let seed = RandomState::new().build_hasher().finish() as u32;
        let bells = Bells::default();
        let state = Measurement {
            estimator: ClockEstimator::new(settings(&config.tuning), seed),
            endpoint: None,
            secrecy: Secrecy::Plain,
            end: End::None,
            worker: None,
        };
        Self {
            shared: Arc::new(SharedMeasurement { state: Mutex::new(state), changed: Condvar::new(), bells }),
        }
    }

    /// Says where the outlet's time service is; `None` while that is unknown. Earlier measurements are
    /// discarded.
    pub(crate) fn set_endpoint(&self, endpoint: Option<SocketAddr>) {
        self.change(|state| {
            if state.endpoint != endpoint {
                state.endpoint = endpoint;
                state.estimator.forget();
            }
        });
    }

    /// Sends no probe in the clear: waits for the keys of a sealed connection.
    pub(crate) fn wait_for_keys(&self) {
        self.change(|state| state.secrecy = Secrecy::Awaited);
    }

    /// Whether probes wait for the keys of a sealed connection.
    pub(crate) fn waits_for_keys(&self) -> bool {
        matches!(self.shared.lock().secrecy, Secrecy::Awaited)
    }

    /// Seals probes from now on.
    pub(crate) fn seal_with(&self, datagrams: Datagrams) {
        self.change(|state| state.secrecy = Secrecy::Sealed(Box::new(datagrams), Maker::this()));
    }

    /// Sends probes in the clear: the outlet does not seal.
    pub(crate) fn permit_plain(&self) {
        self.change(|state| state.secrecy = Secrecy::Plain);
    }

    /// Forgets what was measured, because the outlet may have another clock now.
    pub(crate) fn reset(&self) {
        self.change(|state| state.estimator.forget());
    }

    /// Gives up for good; every waiting caller gets [`Error::Lost`].
    pub(crate) fn lose(&self) {
        self.change(|state| state.end = state.end.max(End::Lost));
    }

    /// Ends the thread and all waits; does not wait for it.
    pub(crate) fn end(&self) {
        self.change(|state| state.end = End::Stopped);
    }

    /// The latest estimate; waits for the first one, up to `timeout` (`None`: without limit).
    ///
    /// The first one takes 0.64 s with the usual configuration.
    ///
    /// - Errors: [`Error::Timeout`] if too few replies came in time, [`Error::Lost`], and [`Error::System`] if no
    ///   thread can be made.
    pub(crate) fn estimate(&self, timeout: Option<Duration>) -> Result<Estimate, Error> {
        // A deadline beyond the clock's range counts as none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.shared.lock();
        loop {
            if state.end != End::None {
                return Err(Error::Lost);
            }
            if let Some(estimate) = state.estimator.estimate() {
                return Ok(estimate.into());
            }
            if state.worker.is_none() {
                state.worker = Some(Worker::start(&self.shared).map_err(|error| {
                    log::error!("the clock offset cannot be measured: {error}");
                    Error::System("a thread to measure the clock offset")
                })?);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(Error::Timeout);
            }
            state = self.shared.wait(state, left);
        }
    }

    /// Rings `bell` when there is an estimate, and when there will be none.
    pub(crate) fn ring_when_known(&self, bell: &Arc<Bell>) {
        self.shared.bells.add(bell);
    }

    /// The latest estimate, if there is one.
    pub(crate) fn known(&self) -> Option<Estimate> {
        self.shared.lock().estimator.estimate().map(Estimate::from)
    }

    /// Whether a known offset was forgotten since the last call.
    ///
    /// - Source: equals liblsl `lsl_was_clock_reset`.
    pub(crate) fn was_reset(&self) -> bool {
        self.shared.lock().estimator.take_was_reset()
    }

    /// Changes the state and wakes all waiting threads to look at it.
    fn change(&self, change: impl FnOnce(&mut Measurement)) {
        let waker = {
            let mut state = self.shared.lock();
            change(&mut state);
            state.worker.as_ref().map(|worker| Arc::clone(&worker.waker))
        };
        self.shared.notify_all();
        if let Some(Err(error)) = waker.map(|waker| waker.wake()) {
            log::error!("the thread that measures the clock offset cannot be woken: {error}");
        }
    }
}

impl Drop for ClockOffset {
    fn drop(&mut self) {
        self.end();
        let worker = self.shared.lock().worker.take();
        if worker.is_some_and(|worker| worker.thread.join().is_err()) {
            log::error!("the thread that measures the clock offset has panicked");
        }
    }
}

impl From<ClockEstimate> for Estimate {
    fn from(estimate: ClockEstimate) -> Self {
        let ClockEstimate { correction: offset, uncertainty, remote_time } = estimate;
        Self { offset, uncertainty, remote_time }
    }
}

/// What the asking threads and the measuring one have in common.
#[derive(Debug)]
struct SharedMeasurement {
    state: Mutex<Measurement>,
    /// Notified when there is an estimate, and when there will be none.
    changed: Condvar,
    /// Of loops that wait for the same.
    bells: Bells,
}

#[derive(Debug)]
struct Measurement {
    estimator: ClockEstimator,
    endpoint: Option<SocketAddr>,
    secrecy: Secrecy,
    end: End,
    worker: Option<Worker>,
}

/// How probes travel.
enum Secrecy {
    /// Sealed, once there are keys.
    Awaited,
    Plain,
    /// Only the process that owns the keys seals. A child that a fork made would have the same counter.
    Sealed(Box<Datagrams>, Maker),
}

impl fmt::Debug for Secrecy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Awaited => "Awaited",
            Self::Plain => "Plain",
            Self::Sealed(..) => "Sealed",
        })
    }
}

/// Whether it is over.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum End {
    None,
    Lost,
    Stopped,
}

/// The measuring thread, as others see it.
#[derive(Debug)]
struct Worker {
    waker: Arc<Waker>,
    thread: JoinHandle<()>,
}

impl Measurement {
    /// What a datagram says; nothing if it is not as it should be.
    fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        match &mut self.secrecy {
            Secrecy::Awaited => None,
            Secrecy::Plain => Some(datagram),
            Secrecy::Sealed(datagrams, _) => {
                let plain = datagrams.open(datagram).ok()?;
                datagram.get(plain)
            }
        }
    }
}

impl SharedMeasurement {
    fn notify_all(&self) {
        self.changed.notify_all();
        self.bells.ring();
    }

    fn lock(&self) -> MutexGuard<'_, Measurement> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has changed, for `left` at most.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, Measurement>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, Measurement> {
        match left {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

fn settings(tuning: &Tuning) -> ClockSettings {
    let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
    ClockSettings {
        // A configuration of zeros must not become a flood.
        update_interval: tuning.time_update_interval.max(MIN_INTERVAL).as_secs_f64(),
        min_probes: count(tuning.time_update_min_probes),
        probe_count: count(tuning.time_probe_count),
        probe_interval: tuning.time_probe_interval.max(MIN_INTERVAL).as_secs_f64(),
        probe_max_rtt: tuning.time_probe_max_rtt.as_secs_f64(),
    }
}

const MIN_INTERVAL: Duration = Duration::from_millis(1);

mod prober;
#[cfg(test)]
mod tests;
