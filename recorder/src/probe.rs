//! Receives a stream to see how it is, and keeps nothing of it.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use schwann::clock::Estimate;
use schwann::inlet::{InletOptions, Protection};
use schwann::security::{PeerIdentity, Refusal};
use schwann::{Context, Error, Inlet, StreamInfo, local_clock};

use super::chunk::{Chunk, PULL_SECONDS, pause};
use super::meter::Reading;
use super::observed::Observed;
use super::verdict::{ClockSeen, Evidence, Limits, Reach, Trouble, Verdict, judge, troubles};

/// A stream that is being looked at, until this is dropped.
pub struct Probe {
    shared: Arc<ProbedInlet>,
    thread: Option<JoinHandle<()>>,
}

/// The state of a stream that a [`Probe`] looks at.
#[derive(Clone, Debug)]
pub struct StreamState {
    /// The description of the stream.
    pub info: StreamInfo,
    /// Whether its sender can be reached.
    pub reach: Reach,
    /// Since when, in seconds on the local clock.
    pub since: f64,
    /// What was measured.
    pub reading: Reading,
    /// How far the sender's clock is away, once it is known.
    pub clock: Option<Estimate>,
    /// How the stream travels, once it is known.
    pub protection: Option<Protection>,
    /// Who sends the stream, if that is proven.
    pub peer: Option<PeerIdentity>,
    /// Why there is no session with the sender.
    pub refusal: Option<Refusal>,
    /// Times that the connection broke.
    pub breaks: u64,
}

impl StreamState {
    /// How the stream is now; `has_twin` says whether another one claims to be the same.
    pub fn verdict(&self, has_twin: bool) -> Verdict {
        self.verdict_by(has_twin, &Limits::USUAL)
    }

    /// As [`Self::verdict`], by other limits.
    pub fn verdict_by(&self, has_twin: bool, limits: &Limits) -> Verdict {
        let now = local_clock();
        judge(&self.evidence(has_twin, limits, now), now)
    }

    /// All that is wrong with the stream now, the worst first.
    pub fn troubles(&self, has_twin: bool, limits: &Limits) -> Vec<Trouble> {
        let now = local_clock();
        troubles(&self.evidence(has_twin, limits, now), now)
    }

    fn evidence(&self, has_twin: bool, limits: &Limits, now: f64) -> Evidence {
        let reach = self.refusal.map_or(self.reach, |_| Reach::Refused);
        let measured = self.clock.map(|clock| clock.remote_time + clock.offset);
        let clock = ClockSeen::at(now, self.since, measured);
        Evidence { has_twin, clock, limits: *limits, ..self.reading.evidence(reach, self.since) }
    }
}

impl Probe {
    /// Begins to look at a stream.
    ///
    /// - Errors: [`Error`] of the inlet, or no thread.
    pub fn start(info: &StreamInfo, context: Arc<Context>) -> Result<Self, Error> {
        let inlet = Inlet::in_context(info, &InletOptions::default(), context)?;
        let state = Observed::new(info.nominal_rate());
        let shared = Arc::new(ProbedInlet { inlet, state: Mutex::new(state), end: AtomicBool::new(false) });
        let pulling = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name(format!("look at {}", info.name()))
            .spawn(move || pulling.pull())
            .map_err(|_| Error::System("a thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Tells the thread to end; does not wait for it.
    pub fn stop(&self) {
        self.shared.end.store(true, Ordering::Relaxed);
        self.shared.inlet.end();
    }

    /// The state of the stream now.
    pub fn state(&self) -> StreamState {
        let inlet = &self.shared.inlet;
        let (info, protection) = (inlet.info(), inlet.protection());
        // The question begins a measurement in a thread of its own, which a stranger does not get.
        let clock = self.has_answered().then(|| inlet.clock_offset(0.0).ok()).flatten();
        let state = self.shared.lock();
        StreamState {
            info,
            reach: state.reach,
            since: state.since,
            reading: state.reading(),
            clock,
            protection,
            peer: inlet.peer(),
            refusal: inlet.refusal(),
            breaks: state.breaks,
        }
    }
}

impl Probe {
    /// The present description of the stream.
    pub fn info(&self) -> StreamInfo {
        self.shared.inlet.info()
    }

    /// Whether its sender can be reached.
    pub fn reach(&self) -> Reach {
        self.shared.lock().reach
    }

    /// Whether there ever was a connection.
    pub fn has_answered(&self) -> bool {
        self.shared.lock().has_answered
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct ProbedInlet {
    inlet: Inlet,
    state: Mutex<Observed>,
    end: AtomicBool,
}

impl ProbedInlet {
    fn pull(&self) {
        let Some(mut chunk) = self.open() else { return };
        let info = self.inlet.info();
        let pause = pause(info.nominal_rate());
        // Everybody wants to know the clock; the first question starts the measurement, in a thread of its own.
        let _ = self.inlet.clock_offset(0.0);
        while !self.end.load(Ordering::Relaxed) {
            let pulled = chunk.pull(&self.inlet, PULL_SECONDS);
            self.lock().pulled(&self.inlet, &chunk, &pulled);
            if matches!(pulled, Err(Error::Lost)) {
                return;
            }
            if !pause.is_zero() {
                thread::sleep(pause);
            }
        }
    }

    /// Connects; none if this is to end before, or if there is nothing to receive.
    fn open(&self) -> Option<Chunk> {
        while !self.end.load(Ordering::Relaxed) {
            let opened = Chunk::open(&self.inlet, PULL_SECONDS);
            let mut state = self.lock();
            state.follow_events(&self.inlet);
            match opened {
                Ok(chunk) => return chunk,
                Err(Error::Lost) => {
                    state.reach = Reach::Gone;
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, Observed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
