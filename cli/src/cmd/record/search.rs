//! Which streams are to be recorded, and which queries have found none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use schwann::resolver::{ContinuousResolver, FORGET_AFTER};
use schwann::{Config, StreamInfo};

use super::{Arguments, LOOK_EVERY, seconds_or_forever};
use crate::exit::Problem;
use crate::live::nearest::nearest;
use crate::live::query::Selector;
use crate::live::recorder::{Phase, StreamStatus};
use crate::live::turns::uid;
use crate::live::verdict::is_same_source;
use crate::stop::Stop;
use crate::terminal::printable;

/// Looks for streams all the time.
pub(super) struct Search {
    /// Finds all streams, so that a query that finds none can be told what there is instead.
    resolver: ContinuousResolver,
    /// What to record; nothing for all streams.
    wanted: Vec<Selector>,
    /// Streams that are recorded or were, by UID.
    known: Vec<String>,
}

/// A query that has found no stream.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Unmatched {
    /// The query.
    pub(super) query: String,
    /// Names, types and source ids that are there and come nearest.
    pub(super) nearest: Vec<String>,
    /// The names of what is there.
    pub(super) found: Vec<String>,
}

impl Search {
    pub(super) fn start(arguments: &Arguments, config: &Arc<Config>) -> Result<Self, Problem> {
        let resolver = ContinuousResolver::all(Arc::clone(config), FORGET_AFTER);
        let resolver = resolver.map_err(|error| Problem::with("search", error))?;
        // Required streams beside no query mean: all streams, and these in any case.
        let wanted = match &arguments.queries[..] {
            [] => Vec::new(),
            queries => queries.iter().chain(&arguments.require).cloned().collect(),
        };
        Ok(Self { resolver, wanted, known: Vec::new() })
    }

    /// Waits for every required stream; returns what is there then, or nothing if told to stop before.
    pub(super) fn wait_for_required(
        &mut self,
        arguments: &Arguments,
        stop: &Stop,
    ) -> Result<Option<Vec<StreamInfo>>, Problem> {
        let until = Instant::now() + seconds_or_forever(arguments.wait);
        loop {
            let found = self.resolver.results();
            let missing = without_match(&arguments.require, &found, &found);
            if missing.is_empty() {
                return Ok(Some(self.new_streams(&[])));
            }
            if Instant::now() >= until {
                let there = missing.first().map_or_else(String::new, Unmatched::there);
                let missing: Vec<_> = missing.iter().map(Unmatched::guess).collect();
                return Err(Problem::Failed(format!(
                    "required streams are not there after {} s: {}; {there}; nothing was recorded",
                    arguments.wait,
                    missing.join(", ")
                )));
            }
            if stop.wait(LOOK_EVERY) {
                return Ok(None);
            }
        }
    }

    /// Returns the streams that were not recorded before, and are not the return of one that is being recorded.
    pub(super) fn new_streams(&mut self, recorded: &[StreamStatus]) -> Vec<StreamInfo> {
        let found = self.resolver.results();
        let present: Vec<_> = found.iter().map(uid).collect();
        // A stream that came back has another UID.
        self.known.extend(recorded.iter().map(|stream| uid(&stream.info)));
        self.known.sort();
        self.known.dedup();
        let mut new = Vec::new();
        for info in found {
            let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(|one| one.chooses(&info));
            let is_return = recorded.iter().any(|stream| {
                let is_away = stream.phase == Phase::Recovering || !present.contains(&uid(&stream.info));
                stream.phase != Phase::Lost && is_away && is_same_source(&stream.info, &info)
            });
            if is_wanted && !self.known.contains(&uid(&info)) && !is_return {
                new.push(info);
            }
        }
        new
    }

    /// Takes streams that gave way to others for new again.
    pub(super) fn forget(&mut self, uids: &[String]) {
        self.known.retain(|known| !uids.contains(known));
    }

    /// The queries that have found nothing, given what is recorded.
    pub(super) fn unmatched(&self, recorded: &[StreamStatus]) -> Vec<Unmatched> {
        if self.wanted.is_empty() {
            return Vec::new();
        }
        let recorded: Vec<_> = recorded.iter().map(|stream| stream.info.clone()).collect();
        without_match(&self.wanted, &recorded, &self.resolver.results())
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
    pub(super) fn guess(&self) -> String {
        let query = printable(&self.query);
        match &self.nearest[..] {
            [] => query.into_owned(),
            near => format!("{query} (did you mean {}?)", printable(&near.join(", "))),
        }
    }

    /// What there is instead.
    pub(super) fn there(&self) -> String {
        match &self.found[..] {
            [] => "found: none at all; why: schwann doctor".to_owned(),
            names => format!("found: {}", printable(&names.join(", "))),
        }
    }
}

/// Names that are listed where a query finds nothing.
const NAMES_SHOWN: usize = 12;
