//! The streams that are looked at: all of a lab, and a bounded number of those that are only announced.
//!
//! What is only announced waits for its [turn](Turns).

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use schwann::{Context, Error, StreamInfo};

use super::probe::{Probe, StreamState};
use super::turns::{Turns, uid};
use super::verdict::Reach;

/// The streams of the lab.
pub struct Probes {
    context: Arc<Context>,
    /// By the UID that the stream was found with.
    entries: BTreeMap<String, Entry>,
    turns: Turns,
    waiting: usize,
}

struct Entry {
    probe: Probe,
    since: Instant,
    /// When the stream was no longer found.
    missed: Option<Instant>,
}

impl Entry {
    /// Whether its sender has not answered yet.
    fn is_half_open(&self) -> bool {
        !self.probe.has_answered()
    }
}

impl Probes {
    /// Looks at nothing yet.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, entries: BTreeMap::new(), turns: Turns::default(), waiting: 0 }
    }

    /// Takes in what was found, and lets go of what has been away for long; says what cannot be looked at, and why.
    pub fn update(&mut self, found: &[StreamInfo]) -> Vec<(StreamInfo, Error)> {
        let now = Instant::now();
        let uids: BTreeSet<_> = found.iter().map(uid).collect();
        self.turns.keep(&uids);
        self.let_go(&uids, now);
        // A stream that came back under another UID is looked at already.
        let present: BTreeSet<_> = self.entries.values().map(|entry| uid(&entry.probe.info())).collect();
        let is_new = |info: &&StreamInfo| {
            let uid = uid(info);
            !present.contains(&uid) && !self.entries.contains_key(&uid)
        };
        let new = self.turns.in_turn(found.iter().filter(is_new));
        let room = self.make_room(new.len(), now);
        self.waiting = new.len().saturating_sub(room);
        new.into_iter().take(room).filter_map(|info| self.start(info, now)).collect()
    }

    /// The state of every stream, by name.
    pub fn states(&self) -> Vec<StreamState> {
        let mut states: Vec<_> = self.entries.values().map(|entry| entry.probe.state()).collect();
        states.sort_by_cached_key(|state| {
            (state.info.name().to_string_lossy().into_owned(), state.info.uid().to_string())
        });
        states
    }

    /// How many streams are announced and not looked at, because too many do not answer.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    fn let_go(&mut self, found: &BTreeSet<String>, now: Instant) {
        let gone = self.entries.extract_if(.., |_, entry| {
            if entry.probe.reach() == Reach::Connected || found.contains(&uid(&entry.probe.info())) {
                entry.missed = None;
            } else if now - *entry.missed.get_or_insert(now) >= SHOWN_AFTER_END || entry.is_half_open() {
                return true;
            }
            false
        });
        end(gone.map(|(_, entry)| entry.probe).collect());
    }

    /// Lets those give way that have had their time, if others wait; returns how many there is room for.
    fn make_room(&mut self, wanted: usize, now: Instant) -> usize {
        let half_open = self.entries.iter().filter(|(_, entry)| entry.is_half_open());
        let half_open = half_open.map(|(uid, entry)| (entry.since, uid.clone()));
        let room = self.turns.make_room(half_open, self.entries.len(), wanted, now);
        end(room.give_way.iter().filter_map(|uid| Some(self.entries.remove(uid)?.probe)).collect());
        room.count
    }

    fn start(&mut self, info: &StreamInfo, now: Instant) -> Option<(StreamInfo, Error)> {
        match Probe::start(info, Arc::clone(&self.context)) {
            Ok(probe) => {
                self.entries.insert(uid(info), Entry { probe, since: now, missed: None });
                None
            }
            Err(error) => Some((info.clone(), error)),
        }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        end(core::mem::take(&mut self.entries).into_values().map(|entry| entry.probe).collect());
    }
}

/// Ends them side by side: one after the other, each would be waited for.
fn end(probes: Vec<Probe>) {
    probes.iter().for_each(Probe::stop);
}

/// A stream that ended is shown as lost for so long.
const SHOWN_AFTER_END: Duration = Duration::from_secs(30);
