//! One row of the list: what is known of a stream, across all runs of its sender.
//!
//! Nothing here waits for a browser, and no recorder waits for anything here. Every inlet has its own connection, and
//! received samples stay in bounded memory. While the sender is gone a row holds no inlet, so it holds no socket,
//! port or thread either; the lab's one search finds the sender when it is back.

mod intake;
mod state;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schwann::{
    ChannelFormat, Context, Error, StreamInfo, local_clock,
    security::{Explained, LastPeer, reason},
};
use schwann_recorder::Gap;

use self::state::{Contact, MonitorState};
use super::{
    chain::{self, Chain, Processing},
    decimate::{Column, Decimator, Selection},
    follow::{Follower, Seats},
    gauge::Gauge,
    history::{Block, History, Room},
    labels::Labels,
    marker::Markers,
    past::Past,
    reading::{Health, Reading, spark_selection, sparkline},
};

/// A stamp on the local clock, in seconds, and a number for each channel where it has one.
pub(super) type StampedValues = (f64, Vec<Option<f64>>);

/// One stream of the lab.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Number of the row, which no other row ever has.
    pub(super) id: u32,
    format: ChannelFormat,
    nominal_rate: f64,
    kind: Kind,
    markers: Arc<Markers>,
    state: Mutex<MonitorState>,
}

/// What is drawn of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Traces.
    Signal,
    /// Events in the lane.
    Markers,
}

/// What stays of a row that no search finds any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    /// What came of it.
    Remembered,
    /// Nothing ever came.
    Unknown,
}

impl Monitor {
    /// Makes the row of a stream that nothing follows yet.
    pub(super) fn new(id: u32, info: &StreamInfo, markers: Arc<Markers>, room: Arc<Room>) -> Self {
        let (format, rate) = (info.channel_format(), info.nominal_rate());
        let sample_len = format.value_size().unwrap_or(0) * info.channel_count() as usize;
        let now = local_clock();
        let state = MonitorState {
            info: info.clone(),
            follower: None,
            contact: Contact::New,
            since: now,
            tried: f64::NEG_INFINITY,
            found: now,
            refusal: None,
            fault: None,
            has_answered: false,
            last_peer: LastPeer::default(),
            dropped: 0,
            gauge: Gauge::new(rate),
            history: History::new(sample_len, room),
            spark: Decimator::new(format, rate, spark_selection()),
            spark_columns: Vec::new(),
            views: Vec::new(),
            labels: Arc::new(Labels::default()),
            clock: None,
        };
        Self { id, format, nominal_rate: rate, kind: kind(info), markers, state: Mutex::new(state) }
    }

    /// Receives the stream from where `info` says that it is now, in place of what was received before. If that cannot
    /// be, its row says why.
    pub(super) fn follow(self: &Arc<Self>, info: &StreamInfo, context: &Arc<Context>, seats: &Seats) {
        // What cannot even be begun waits for its next turn as others do.
        self.lock().tried = local_clock();
        let fault = self.try_to_follow(info, context, seats).err().map(|error| match error {
            Error::Unsealed => reason(),
            error => error.to_string(),
        });
        self.lock().fault = fault;
    }

    fn try_to_follow(
        self: &Arc<Self>,
        info: &StreamInfo,
        context: &Arc<Context>,
        seats: &Seats,
    ) -> Result<(), Error> {
        let follower = Follower::new(info, context, seats)?;
        let before = {
            let mut state = self.lock();
            (state.info, state.clock) = (info.clone(), None);
            (state.tried, state.found) = (local_clock(), local_clock());
            state.follower.replace(Arc::clone(&follower))
        };
        before.inspect(|before| before.end());
        let outcome = Follower::start(&follower, self);
        if outcome.is_err() {
            self.release(&follower);
        }
        outcome
    }

    /// Stops to receive for now, and stays listed. Does not wait for that.
    pub(super) fn rest(&self) {
        let mut state = self.lock();
        let Some(follower) = state.follower.take() else { return };
        state.dropped += follower.inlet.dropped_samples();
        state.change_contact(Contact::New);
        drop(state);
        follower.end();
    }

    /// Takes in that no search finds a row any more that is listed alone.
    pub(super) fn leave(&self) -> Left {
        let mut state = self.lock();
        if !state.has_answered {
            return Left::Unknown;
        }
        state.change_contact(Contact::Gone);
        Left::Remembered
    }

    /// Stops to receive. Does not wait for that.
    pub(super) fn stop(&self) {
        let follower = self.lock().follower.clone();
        follower.inspect(|follower| self.release(follower));
    }

    /// A follower has ended: there is no connection any more, unless another one has taken its place.
    pub(super) fn release(&self, follower: &Arc<Follower>) {
        let mut state = self.lock();
        if state.follower.as_ref().is_some_and(|present| Arc::ptr_eq(present, follower)) {
            state.follower = None;
            state.dropped += follower.inlet.dropped_samples();
            state.change_contact(Contact::Gone);
        }
        drop(state);
        follower.end();
    }

    /// Opens a view that goes on: what is remembered is in it at once, and new samples follow.
    ///
    /// It ends when the caller drops it.
    pub(super) fn open_view(&self, selection: Selection) -> Arc<Mutex<Decimator>> {
        let from = local_clock() - selection.window();
        let blocks = self.lock().history.blocks();
        let mut past = Past::new(self.decimator(selection), from, f64::INFINITY);
        let end = past.add_blocks(&blocks);
        let mut state = self.lock();
        // What came while the lock was not held.
        past.add(state.history.samples_from(end));
        let view = Arc::new(Mutex::new(past.into_decimator()));
        state.views.push(Arc::downgrade(&view));
        view
    }

    /// What was seen until a moment on the local clock, as far as it is remembered.
    pub(super) fn look_back(&self, selection: Selection, until: f64) -> VecDeque<Column> {
        let from = until - selection.window();
        let blocks = self.lock().history.blocks();
        let mut past = Past::new(self.decimator(selection), from, until);
        past.add_blocks(&blocks);
        past.into_decimator().finish_all()
    }

    /// What is remembered, oldest first.
    pub(super) fn blocks(&self) -> Vec<Arc<Block>> {
        self.lock().history.blocks()
    }

    /// Number of the sample that follows the newest one.
    pub(super) fn newest(&self) -> u64 {
        self.lock().history.end()
    }

    /// Samples from number `next` on, which is moved on, with their stamps on the local clock; and how many are passed
    /// over, because they have too many values or are no longer kept.
    ///
    /// - Shape: samples × channels.
    pub(super) fn samples(&self, next: &mut u64, values_most: usize) -> (Vec<StampedValues>, u64) {
        let state = self.lock();
        let channels = state.info.channel_count() as usize;
        let most = (values_most / channels.max(1)).max(1);
        let new = state.history.samples_from(*next).take(most);
        let new: Vec<(f64, Vec<u8>)> = new.map(|(stamp, sample)| (stamp, sample.to_vec())).collect();
        let passed_over = state.history.end() - *next - new.len() as u64;
        *next = state.history.end();
        drop(state);
        let value = |sample: &[u8], channel| chain::value(self.format, sample, channel);
        let values = |sample: &[u8]| (0..channels).map(|channel| value(sample, channel)).collect();
        (new.iter().map(|(stamp, sample)| (*stamp, values(sample))).collect(), passed_over)
    }

    /// Bytes of one sample; 0 for texts.
    pub(super) fn sample_len(&self) -> usize {
        self.format.value_size().unwrap_or(0) * self.info().channel_count() as usize
    }

    /// A memory for its samples that is empty yet.
    pub(super) fn empty_history(&self) -> History {
        History::new(self.sample_len(), Arc::default())
    }

    /// Remembers these samples in place of all others.
    pub(super) fn remember(&self, history: History) {
        self.lock().history = history;
    }

    /// What processes its samples.
    pub(super) fn chain(&self, processing: Processing) -> Chain {
        Chain::new(self.format, self.nominal_rate, processing)
    }

    /// What makes columns of its samples.
    pub(super) fn decimator(&self, selection: Selection) -> Decimator {
        Decimator::new(self.format, self.nominal_rate, selection)
    }

    /// The stream as its newest sender describes it.
    pub(super) fn info(&self) -> StreamInfo {
        self.lock().info.clone()
    }

    /// What is drawn of it.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Names and units of its channels, as far as they are known by now.
    pub(super) fn labels(&self) -> Arc<Labels> {
        Arc::clone(&self.lock().labels)
    }

    /// How it is doing.
    pub(super) fn health(&self) -> Health {
        self.lock().health(local_clock())
    }

    /// A search has found its sender.
    pub(super) fn note_found(&self) {
        self.lock().found = local_clock();
    }

    /// Whether its sender, which a search finds, should be tried once more.
    pub(super) fn is_due(&self) -> bool {
        let state = self.lock();
        state.contact == Contact::Gone
            && state.follower.is_none()
            && local_clock() - state.tried > RETRY_SECONDS
    }

    /// Whether neither samples nor answers to a search have come for long: the computer is off, or its cable out.
    pub(super) fn is_forsaken(&self) -> bool {
        let (now, state) = (local_clock(), self.lock());
        let last = state.gauge.last_arrival().unwrap_or(state.since).max(state.found);
        state.follower.is_some() && now - last > FORSAKEN_SECONDS
    }

    /// Whether it is received, or tried to.
    pub(super) fn is_followed(&self) -> bool {
        self.lock().follower.is_some()
    }

    /// Whether a page shows it.
    pub(super) fn is_seen(&self) -> bool {
        self.lock().views.iter().any(|view| view.strong_count() > 0)
    }

    /// Whether its sender has ever answered.
    pub(super) fn has_answered(&self) -> bool {
        self.lock().has_answered
    }

    /// Whether it was tried and has never answered, and nothing tries now.
    pub(super) fn has_failed(&self) -> bool {
        let state = self.lock();
        !state.has_answered && state.follower.is_none() && state.tried > 0.0
    }

    /// Since when it is listed alone, if it may be tried now.
    pub(super) fn waits_since(&self) -> Option<f64> {
        let state = self.lock();
        let is_listed = state.contact == Contact::New && state.follower.is_none();
        (is_listed && local_clock() - state.tried > RETRY_SECONDS).then_some(state.tried)
    }

    /// Whether its sender has answered, and it is still received.
    pub(super) fn is_answered(&self) -> bool {
        let state = self.lock();
        state.has_answered && state.follower.is_some()
    }

    /// For how many seconds it has been tried without an answer of its sender, if there never was one.
    pub(super) fn unanswered(&self) -> Option<f64> {
        let state = self.lock();
        (!state.has_answered && state.follower.is_some()).then(|| local_clock() - state.tried)
    }

    /// For how many seconds it has been gone, if it is.
    pub(super) fn gone(&self) -> Option<f64> {
        self.lock().gone(local_clock())
    }

    /// Its newest gaps, oldest first.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        self.lock().gauge.gaps().copied().collect()
    }

    /// All that its row shows.
    pub(super) fn reading(&self) -> Reading {
        let (now, state) = (local_clock(), self.lock());
        let inlet = state.follower.as_ref().map(|follower| &follower.inlet);
        let gone = state.gone(now);
        let is_listed = state.health(now) == Health::Listed;
        Reading {
            health: state.health(now),
            protection: inlet.and_then(|inlet| inlet.protection()),
            sender: inlet.and_then(|inlet| inlet.peer()).map(|peer| peer.statement.name.as_str().to_owned()),
            // A sender that is not there refuses nothing.
            refusal: state.refusal.filter(|_| gone.is_none()).map(|refusal| Explained(refusal).to_string()),
            fault: state.fault.clone().filter(|_| gone.is_none()),
            gone,
            verdict: state.verdict(now),
            rate: state.gauge.rate(now),
            lag: state.gauge.lag(),
            clock_offset: state.clock.map(|clock| clock.offset),
            clock_uncertainty: state.clock.map(|clock| clock.uncertainty),
            total: state.gauge.course().sample_count(),
            gap_count: state.gauge.course().gap_count(),
            missing: state.gauge.course().missing(),
            dropped: state.dropped + inlet.map_or(0, |inlet| inlet.dropped_samples()),
            oldest: state.history.oldest(),
            spark: if is_listed { Vec::new() } else { sparkline(&state.spark_columns, now) },
        }
    }

    fn lock(&self) -> MutexGuard<'_, MonitorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind(info: &StreamInfo) -> Kind {
    let named = info.stream_type().to_string_lossy().to_lowercase().contains("marker");
    let is_text = info.channel_format() == ChannelFormat::String;
    let is_number = named && info.nominal_rate() == 0.0 && info.channel_count() == 1;
    if is_text || is_number { Kind::Markers } else { Kind::Signal }
}

/// Longer than a busy computer takes to answer a search.
const FORSAKEN_SECONDS: f64 = 15.0;
/// Pause between two attempts to connect to a sender that is found and cannot be reached.
const RETRY_SECONDS: f64 = 2.0;
