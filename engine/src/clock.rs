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
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use mio::{Events, Interest, Poll, Registry, Token, Waker, net::UdpSocket};
use schwann_proto::{
    clock::{ClockEstimate, ClockEstimator, ClockOutput, ClockSettings},
    wire::timedata::{DATAGRAM_LIMIT, Reply, Request},
};

use schwann_session::Datagrams;

use crate::{
    Error,
    config::{Config, Tuning},
    local_clock, log,
    net::{
        bell::{Bell, Bells},
        probes,
        sockets::{self, version_of},
    },
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

impl Worker {
    fn start(shared: &Arc<SharedMeasurement>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let prober =
            Prober { shared: Arc::clone(shared), socket: None, datagram: Vec::new(), sealed: Vec::new() };
        let thread = thread::Builder::new().name("lsl-clock".to_owned()).spawn(move || {
            if let Err(error) = prober.run(poll) {
                log::error!("the clock offset is not measured any more: {error}");
            }
        })?;
        Ok(Self { waker, thread })
    }
}

/// The measuring thread's own things.
#[derive(Debug)]
struct Prober {
    shared: Arc<SharedMeasurement>,
    /// The socket and the outlet that it was opened for.
    socket: Option<(UdpSocket, SocketAddr)>,
    datagram: Vec<u8>,
    sealed: Vec<u8>,
}

/// What the measuring thread must do next.
enum Step {
    Send(Request, SocketAddr),
    Stop,
    WaitFor(Option<Duration>),
}

impl Prober {
    fn run(mut self, mut poll: Poll) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        loop {
            match self.step() {
                Step::Stop => return Ok(()),
                Step::Send(request, target) => self.send(request, target, poll.registry()),
                Step::WaitFor(time) => match poll.poll(&mut events, time) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    outcome => {
                        outcome?;
                        self.receive();
                    }
                },
            }
        }
    }

    fn step(&self) -> Step {
        let mut state = self.shared.lock();
        if state.end != End::None {
            return Step::Stop;
        }
        let Some(endpoint) = state.endpoint else { return Step::WaitFor(None) };
        if matches!(state.secrecy, Secrecy::Awaited) {
            return Step::WaitFor(None);
        }
        let now = local_clock();
        let was_known = state.estimator.estimate().is_some();
        let output = state.estimator.poll(now);
        let is_known = state.estimator.estimate().is_some();
        drop(state);
        if is_known && !was_known {
            self.shared.notify_all();
        }
        match output {
            ClockOutput::Send(request) => Step::Send(request, endpoint),
            ClockOutput::WaitUntil(then) => {
                Step::WaitFor(Some(Duration::try_from_secs_f64(then - now).unwrap_or_default()))
            }
        }
    }

    fn send(&mut self, request: Request, target: SocketAddr, registry: &Registry) {
        if let Err(error) = self.try_send(request, target, registry) {
            // The network may be away for a while; the next wave tries again.
            log::verbose!(1, "a clock probe to {target} was not sent: {error}");
        }
    }

    fn try_send(&mut self, request: Request, target: SocketAddr, registry: &Registry) -> io::Result<()> {
        let is_usable = |(_, opened_for): &(UdpSocket, SocketAddr)| *opened_for == target;
        let socket = match self.socket.take().filter(is_usable) {
            Some((socket, _)) => socket,
            None => {
                let mut socket = sockets::client(version_of(target.ip()))?;
                registry.register(&mut socket, SOCKET, Interest::READABLE)?;
                socket
            }
        };
        let socket = &self.socket.insert((socket, target)).0;
        self.datagram.clear();
        // Stamped again, as late as possible: what passed since the schedule was asked is not the network's.
        let request = Request { sent: local_clock(), ..request };
        request.encode(&mut self.datagram).expect("a vector takes everything");
        if let Secrecy::Sealed(datagrams, maker) = &mut self.shared.lock().secrecy {
            if maker.is_another() || !probes::seal(datagrams, &self.datagram, &mut self.sealed) {
                return Err(io::ErrorKind::Other.into());
            }
            core::mem::swap(&mut self.datagram, &mut self.sealed);
        }
        socket.send_to(&self.datagram, target).map(drop)
    }

    /// Takes in the replies that have arrived, but a limited number of datagrams.
    fn receive(&mut self) {
        let Some((socket, _)) = &self.socket else { return };
        let mut buffer = [0; DATAGRAM_LIMIT];
        for _ in 0..DATAGRAMS_PER_ROUND {
            let length = match socket.recv_from(&mut buffer) {
                Ok((length, _)) => length,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => continue,
                Err(_) => return,
            };
            let received = local_clock();
            // A datagram that is no reply is ignored: any program can send to this port.
            let mut state = self.shared.lock();
            let Some(reply) = state.open(&mut buffer[..length]).and_then(Reply::parse) else { continue };
            state.estimator.handle_reply(&reply, received);
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

const WAKER: Token = Token(0);
const SOCKET: Token = Token(1);

const DATAGRAMS_PER_ROUND: usize = 64;

const MIN_INTERVAL: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
