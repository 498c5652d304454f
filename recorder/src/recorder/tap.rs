//! A stream that is being recorded, as the recorder sees it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use schwann::{Inlet, local_clock};

use super::lock;
use crate::certificate::{Gathered, Rule, Sender, StreamAccount};
use crate::meter::Meter;
use crate::status::{Phase, RecordingStream};
use crate::stop::Stop;
use crate::verdict::Limits;

/// One stream, seen from outside its thread.
pub(super) struct Tap {
    /// The UID with which it was found.
    pub(super) uid: String,
    pub(super) since: Instant,
    pub(super) shared: Arc<TappedInlet>,
    pub(super) stop: StopAtLast,
    pub(super) thread: JoinHandle<()>,
}

/// Tells a stream's thread to end, at the latest when the recorder is gone: else it would record for ever.
pub(super) struct StopAtLast(pub(super) Arc<Stop>);

impl StopAtLast {
    pub(super) fn raise(&self) {
        self.0.raise();
    }
}

impl Drop for StopAtLast {
    fn drop(&mut self) {
        self.raise();
    }
}

impl Tap {
    /// Whether its sender has never answered.
    pub(super) fn is_half_open(&self) -> bool {
        lock(&self.shared.state).contact != Contact::Answered
    }

    /// Ends it if its sender has still not answered; says whether it ends. Nothing of it is in the file then.
    pub(super) fn give_way(&self) -> bool {
        let mut state = lock(&self.shared.state);
        if state.contact == Contact::Answered {
            return false;
        }
        state.contact = Contact::GivenUp;
        drop(state);
        self.stop.raise();
        self.shared.inlet.end();
        true
    }

    pub(super) fn status(&self) -> RecordingStream {
        self.shared.status()
    }
}

pub(super) struct TappedInlet {
    pub(super) inlet: Inlet,
    pub(super) state: Mutex<TapState>,
    pub(super) limits: Limits,
}

/// Whether a sender is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Contact {
    /// It has sent its description.
    Answered,
    /// It is asked.
    Asked,
    /// It gave way to others before it answered.
    GivenUp,
}

pub(super) struct TapState {
    pub(super) contact: Contact,
    pub(super) phase: Phase,
    pub(super) since: f64,
    pub(super) meter: Meter,
    pub(super) recoveries: u64,
    pub(super) away_seconds: f64,
    pub(super) unrecorded: u64,
    pub(super) is_description_cut: bool,
    /// When the sender's clock was last measured, in seconds on the local clock.
    pub(super) measured: Option<f64>,
    /// For the certificate.
    pub(super) gathered: Gathered,
}

impl TapState {
    pub(super) fn new(meter: Meter) -> Self {
        let (phase, since) = (Phase::Connecting, local_clock());
        Self {
            contact: Contact::Asked,
            phase,
            since,
            meter,
            recoveries: 0,
            away_seconds: 0.0,
            unrecorded: 0,
            is_description_cut: false,
            measured: None,
            gathered: Gathered::default(),
        }
    }

    pub(super) fn change(&mut self, phase: Phase) {
        let now = local_clock();
        self.away_seconds = self.away_seconds(now);
        (self.phase, self.since) = (phase, now);
    }

    pub(super) fn away_seconds(&self, now: f64) -> f64 {
        let is_away = matches!(self.phase, Phase::Failed | Phase::Lost | Phase::Recovering);
        self.away_seconds + if is_away { now - self.since } else { 0.0 }
    }
}

impl TappedInlet {
    /// What is known of the stream now, with how it was judged.
    pub(super) fn account(&self, rules: Vec<Rule>) -> StreamAccount {
        let (stream, sender) = (self.status(), self.inlet.peer().map(Sender::from));
        let state = lock(&self.state);
        let mut gathered = Gathered { gaps: state.meter.gaps().to_vec(), ..state.gathered.clone() };
        gathered.sender = sender.or(gathered.sender);
        StreamAccount { stream, rules, gathered }
    }

    /// Notes how the sender's clock was measured, and which device it is.
    ///
    /// - Units: seconds; `collected` on the sender's clock.
    pub(super) fn note_offset(&self, collected: f64, offset: f64, round_trip: f64) {
        let sender = self.inlet.peer().map(Sender::from);
        let mut state = lock(&self.state);
        state.gathered.measured(collected, offset, round_trip);
        state.gathered.sender = sender.or_else(|| state.gathered.sender.take());
    }

    /// Notes that the sender has answered, unless it was given up before; says whether to go on.
    pub(super) fn note_answer(&self) -> bool {
        let mut state = lock(&self.state);
        if state.contact == Contact::Asked {
            state.contact = Contact::Answered;
        }
        state.contact == Contact::Answered
    }

    pub(super) fn status(&self) -> RecordingStream {
        let (info, protection) = (self.inlet.info(), self.inlet.protection());
        let (refusal, now, state) = (self.inlet.refusal(), local_clock(), lock(&self.state));
        RecordingStream {
            info,
            protection,
            refusal,
            phase: state.phase,
            has_answered: state.contact == Contact::Answered,
            since: state.since,
            reading: state.meter.reading(now),
            recoveries: state.recoveries,
            away_seconds: state.away_seconds(now),
            unrecorded: state.unrecorded + self.inlet.dropped_samples(),
            is_description_cut: state.is_description_cut,
            measured: state.measured,
            limits: self.limits,
        }
    }
}
