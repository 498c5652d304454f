//! What is known of a stream now, and what that says of how it is doing.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use schwann::{
    StreamInfo, local_clock,
    security::{LastPeer, Refusal},
};
use schwann_recorder::{ClockSeen, Evidence, Reach, Trouble, Verdict, judge};

use crate::{
    decimate::{Column, Decimator},
    follow::Follower,
    gauge::Gauge,
    history::History,
    labels::Labels,
    reading::Health,
};

/// What is known of a stream now.
#[derive(Debug)]
pub(super) struct MonitorState {
    pub(super) info: StreamInfo,
    /// What receives it now.
    pub(super) follower: Option<Arc<Follower>>,
    pub(super) contact: Contact,
    /// Since when the link is as it is.
    pub(super) since: f64,
    /// When it was last tried to connect; before all time if never.
    pub(super) tried: f64,
    /// When a search has last found the sender.
    pub(super) found: f64,
    pub(super) refusal: Option<Refusal>,
    /// Why it could not be received when that was last tried.
    pub(super) fault: Option<String>,
    /// Whether there ever was a connection.
    pub(super) has_answered: bool,
    pub(super) last_peer: LastPeer,
    /// Samples that earlier followers dropped.
    pub(super) dropped: u64,
    pub(super) gauge: Gauge,
    pub(super) history: History,
    pub(super) spark: Decimator,
    pub(super) spark_columns: Vec<Column>,
    pub(super) views: Vec<Weak<Mutex<Decimator>>>,
    pub(super) labels: Arc<Labels>,
    pub(super) clock: Option<Clock>,
}

/// How the sender's clock is to ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Seconds to add to the sender's stamps.
    pub(super) offset: f64,
    /// How sure that is: at most half of this is wrong, in seconds.
    pub(super) uncertainty: f64,
    /// When it was measured, in seconds on the local clock.
    pub(super) measured: f64,
}

/// Whether there is a connection to the sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Contact {
    /// Its sender answers.
    Connected,
    /// Its sender has ended, or is out of reach.
    Gone,
    /// It was never connected.
    New,
}

impl MonitorState {
    /// How its samples are.
    pub(super) fn verdict(&self, now: f64) -> Verdict {
        let reach = match self.contact {
            Contact::New => Reach::Connecting,
            Contact::Connected => Reach::Connected,
            Contact::Gone => Reach::Away,
        };
        let clock = ClockSeen::at(now, self.since, self.clock.map(|clock| clock.measured));
        let evidence = self.gauge.evidence(reach, self.since, self.clock.is_some());
        judge(&Evidence { clock, ..evidence }, now)
    }

    /// How it is doing.
    pub(super) fn health(&self, now: f64) -> Health {
        match (self.contact, self.verdict(now).trouble()) {
            (Contact::Gone, _) => Health::Stopped,
            (Contact::New, _) if self.follower.is_none() => Health::Listed,
            (Contact::New, _) => Health::Connecting,
            (_, Some(Trouble::NoSamples { .. } | Trouble::Stopped { .. })) => Health::Silent,
            (Contact::Connected, _) => Health::Live,
        }
    }

    /// For how many seconds there has been no sender, if no search finds one either.
    pub(super) fn gone(&self, now: f64) -> Option<f64> {
        let is_gone = self.contact == Contact::Gone && now - self.found > FOUND_SECONDS;
        is_gone.then_some(now - self.since)
    }

    /// Takes in that the connection is another one than before.
    pub(super) fn change_contact(&mut self, contact: Contact) {
        if self.contact == contact {
            return;
        }
        (self.contact, self.since) = (contact, local_clock());
        self.gauge.disconnected();
        // What comes later is no continuation of what came before.
        for view in self.views.iter().filter_map(Weak::upgrade) {
            view.lock().unwrap_or_else(PoisonError::into_inner).interrupt();
        }
    }
}

/// A search that has not noted a stream for this long does not find it.
const FOUND_SECONDS: f64 = 1.0;
