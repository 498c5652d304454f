//! Which streams are to be recorded, and which queries have found none.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use schwann::resolver::{ContinuousResolver, FORGET_AFTER, ResolveError};
use schwann::{Context, StreamInfo};

use super::nearest::nearest;
use super::query::Selector;
use super::status::{Phase, RecordingStream};
use super::stop::Stop;
use super::turns::uid;
use super::verdict::is_same_source;

/// Looks for streams all the time.
pub struct Search {
    /// Finds all streams, so that a query that finds none can be told what there is instead.
    resolver: ContinuousResolver,
    /// What to record; nothing for all streams.
    wanted: Vec<Selector>,
    /// What must be there.
    required: Vec<Selector>,
    /// What is recorded beside what is wanted, and is no loss if it does not come.
    welcome: Vec<Selector>,
    /// Streams that are recorded or were, by UID.
    known: Vec<String>,
    began: Instant,
}

/// A query that has found no stream.
#[derive(Clone, Debug)]
pub struct Unmatched {
    /// The query.
    pub query: String,
    /// Names, types and source ids that are there and come nearest.
    pub nearest: Vec<String>,
    /// The names of what is there.
    pub found: Vec<String>,
}

/// Streams that are required were not found in time.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The queries that found nothing; at least one.
    pub queries: Vec<Unmatched>,
    /// How long they were looked for.
    pub after: Duration,
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queries: Vec<_> = self.queries.iter().map(Unmatched::guess).collect();
        let there = self.queries.first().map_or_else(String::new, Unmatched::there);
        let (seconds, queries) = (self.after.as_secs_f64(), queries.join(", "));
        write!(out, "required streams are not there after {seconds} s: {queries}; {there}")
    }
}

impl core::error::Error for Missing {}

impl Search {
    /// Begins to look for streams: those that `wanted` or `required` choose, or all if `wanted` is empty.
    ///
    /// - Errors: [`ResolveError`].
    pub fn start(
        context: Arc<Context>,
        wanted: &[Selector],
        required: &[Selector],
    ) -> Result<Self, ResolveError> {
        let resolver = ContinuousResolver::all(context, FORGET_AFTER)?;
        let wanted = joined(wanted, required);
        let (required, welcome, known) = (required.to_vec(), Vec::new(), Vec::new());
        Ok(Self { resolver, wanted, required, welcome, known, began: Instant::now() })
    }

    /// Waits for every required stream; returns what is there then, or nothing if told to stop before.
    ///
    /// - Errors: [`Missing`] once `patience` is over.
    pub fn wait_for_required(
        &mut self,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Option<Vec<StreamInfo>>, Missing> {
        let began = Instant::now();
        loop {
            let queries = self.missing();
            if queries.is_empty() {
                return Ok(Some(self.new_streams(&[])));
            }
            if began.elapsed() >= patience {
                return Err(Missing { queries, after: patience });
            }
            if stop.wait(LOOK_EVERY) {
                return Ok(None);
            }
        }
    }

    /// Returns the streams that were not recorded before, and are not the return of one that is being recorded.
    pub fn new_streams(&mut self, recorded: &[RecordingStream]) -> Vec<StreamInfo> {
        let found = self.resolver.results();
        let present: Vec<_> = found.iter().map(uid).collect();
        // A stream that came back has another UID.
        self.known.extend(recorded.iter().map(|stream| uid(&stream.info)));
        self.known.sort();
        self.known.dedup();
        let mut new = Vec::new();
        for info in found {
            let mut chosen = self.wanted.iter().chain(&self.welcome);
            let is_wanted = self.wanted.is_empty() || chosen.any(|one| one.chooses(&info));
            let is_return = recorded.iter().any(|stream| {
                let is_away = stream.phase == Phase::Recovering || !present.contains(&uid(&stream.info));
                let is_over = matches!(stream.phase, Phase::Failed | Phase::Lost);
                !is_over && is_away && is_same_source(&stream.info, &info)
            });
            if is_wanted && !self.known.contains(&uid(&info)) && !is_return {
                new.push(info);
            }
        }
        new
    }

    /// The streams that are there.
    pub fn found(&self) -> Vec<StreamInfo> {
        self.resolver.results()
    }

    /// Takes every stream for new, as another recording does, and records `wanted` from now on: all if it is empty.
    pub fn begin_anew(&mut self, wanted: &[Selector]) {
        self.known.clear();
        self.wanted = joined(wanted, &self.required);
    }

    /// Demands these streams from now on.
    pub fn require(&mut self, required: &[Selector]) {
        self.required = required.to_vec();
    }

    /// Records these as well from now on, if they come.
    pub fn welcome(&mut self, welcome: &[Selector]) {
        self.welcome = welcome.to_vec();
    }

    /// The required streams that are not there.
    pub fn missing(&self) -> Vec<Unmatched> {
        let found = self.resolver.results();
        without_match(&self.required, &found, &found)
    }

    /// Takes streams that gave way to others for new again.
    pub fn forget(&mut self, uids: &[String]) {
        self.known.retain(|known| !uids.contains(known));
    }

    /// Whether streams that are there have had time to answer: before, no query has found nothing.
    pub fn has_looked(&self) -> bool {
        self.began.elapsed() >= FIRST_ANSWERS
    }

    /// The queries that have found nothing, given what is recorded.
    pub fn unmatched(&self, recorded: &[RecordingStream]) -> Vec<Unmatched> {
        if self.wanted.is_empty() {
            return Vec::new();
        }
        let recorded: Vec<_> = recorded.iter().map(|stream| stream.info.clone()).collect();
        without_match(&self.wanted, &recorded, &self.resolver.results())
    }
}

/// Required streams beside no query mean: all streams, and these in any case.
fn joined(wanted: &[Selector], required: &[Selector]) -> Vec<Selector> {
    match wanted {
        [] => Vec::new(),
        wanted => wanted.iter().chain(required).cloned().collect(),
    }
}

/// The selectors that choose none of `chosen`, with what there is instead in `found`.
fn without_match(selectors: &[Selector], chosen: &[StreamInfo], found: &[StreamInfo]) -> Vec<Unmatched> {
    let missing = selectors.iter().filter(|selector| !chosen.iter().any(|info| selector.chooses(info)));
    let missing: BTreeSet<_> = missing.map(Selector::to_string).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let texts = |info: &StreamInfo| {
        [info.name(), info.stream_type(), info.source_id()].map(|text| text.to_string_lossy().into_owned())
    };
    let words: BTreeSet<_> = found.iter().flat_map(texts).collect();
    let names: BTreeSet<_> = found.iter().map(|info| info.name().to_string_lossy().into_owned()).collect();
    let unmatched = missing.into_iter().map(|query| Unmatched {
        nearest: nearest(&query, words.iter().map(String::as_str)).into_iter().map(str::to_owned).collect(),
        found: names.iter().take(NAMES_SHOWN).cloned().collect(),
        query,
    });
    unmatched.collect()
}

impl Unmatched {
    /// The query, and what may have been meant.
    pub fn guess(&self) -> String {
        match &self.nearest[..] {
            [] => self.query.clone(),
            near => format!("{} (did you mean {}?)", self.query, near.join(", ")),
        }
    }

    /// What there is instead.
    pub fn there(&self) -> String {
        match &self.found[..] {
            [] => "found: none at all; why: schwann doctor".to_owned(),
            names => format!("found: {}", names.join(", ")),
        }
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time in which streams that are there have answered.
const FIRST_ANSWERS: Duration = Duration::from_secs(2);
/// Names that are listed where a query finds nothing.
const NAMES_SHOWN: usize = 12;
