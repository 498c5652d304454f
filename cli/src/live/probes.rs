//! The streams that are looked at: all there are in a lab, and a bounded number of those that are only announced.
//!
//! Anybody on the network may announce thousands of streams. Each that is looked at costs threads and a socket. So few are
//! looked at that have not answered yet, and of these the oldest gives way when others wait. What answers stays.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use schwann::{Config, Error, StreamInfo};
use schwann_proto::stream_info::IpVersion;
use schwann_session::Network;

use super::probe::{Condition, Probe};
use super::verdict::Reach;

/// The streams of the lab.
pub(crate) struct Probes {
    config: Arc<Config>,
    /// By the UID that the stream was found with.
    entries: BTreeMap<String, Entry>,
    /// How often a stream was looked at in vain, by UID.
    tried: BTreeMap<String, u32>,
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
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self { config, entries: BTreeMap::new(), tried: BTreeMap::new(), waiting: 0 }
    }

    /// Takes in what was found, and lets go of what has been away for long; says what cannot be looked at, and why.
    pub(crate) fn update(&mut self, found: &[StreamInfo]) -> Vec<(StreamInfo, Error)> {
        let now = Instant::now();
        let uids: BTreeSet<_> = found.iter().map(uid).collect();
        self.tried.retain(|tried, _| uids.contains(tried));
        self.let_go(&uids, now);
        // A stream that came back under another UID is looked at already.
        let present: BTreeSet<_> = self.entries.values().map(|entry| uid(&entry.probe.info())).collect();
        let is_new = |info: &&StreamInfo| {
            let uid = uid(info);
            !present.contains(&uid) && !self.entries.contains_key(&uid)
        };
        let new = self.in_turn(found.iter().filter(is_new).collect());
        let room = self.make_room(new.len(), now);
        self.waiting = new.len().saturating_sub(room);
        new.into_iter().take(room).filter_map(|info| self.start(info, now)).collect()
    }

    /// How every stream is, by name.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let mut conditions: Vec<_> = self.entries.values().map(|entry| entry.probe.condition()).collect();
        conditions.sort_by_cached_key(|condition| {
            (condition.info.name().to_string_lossy().into_owned(), condition.info.uid().to_string())
        });
        conditions
    }

    /// How many streams are announced and not looked at, because too many do not answer.
    pub(crate) fn waiting(&self) -> usize {
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

    /// The streams in the order in which they are looked at: first those that were not yet, and of each network one.
    fn in_turn<'a>(&self, new: Vec<&'a StreamInfo>) -> Vec<&'a StreamInfo> {
        let mut ranks = BTreeMap::<Option<Network>, usize>::new();
        let mut turns: Vec<_> = new
            .into_iter()
            .map(|info| {
                let rank = ranks.entry(network(info)).or_default();
                *rank += 1;
                (self.tried.get(&uid(info)).copied().unwrap_or(0), *rank, info)
            })
            .collect();
        turns.sort_by_key(|(tried, rank, _)| (*tried, *rank));
        turns.into_iter().map(|(.., info)| info).collect()
    }

    /// Lets those give way that have had their time, if others wait; returns how many there is room for.
    fn make_room(&mut self, wanted: usize, now: Instant) -> usize {
        let half_open = self.entries.iter().filter(|(_, entry)| entry.is_half_open());
        let mut half_open: Vec<_> = half_open.map(|(uid, entry)| (entry.since, uid.clone())).collect();
        half_open.sort();
        let room =
            HALF_OPEN_MOST.saturating_sub(half_open.len()).min(MOST.saturating_sub(self.entries.len()));
        let had_time = half_open.into_iter().filter(|(since, _)| now - *since >= GIVES_WAY_AFTER);
        let give_way: Vec<_> = had_time.take(wanted.saturating_sub(room)).map(|(_, uid)| uid).collect();
        let count = give_way.len();
        let probes = give_way.into_iter().filter_map(|uid| {
            let entry = self.entries.remove(&uid)?;
            *self.tried.entry(uid).or_default() += 1;
            Some(entry.probe)
        });
        end(probes.collect());
        room + count
    }

    fn start(&mut self, info: &StreamInfo, now: Instant) -> Option<(StreamInfo, Error)> {
        match Probe::start(info, Arc::clone(&self.config)) {
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

fn uid(info: &StreamInfo) -> String {
    info.uid().to_string_lossy().into_owned()
}

/// Where the stream is said to be.
fn network(info: &StreamInfo) -> Option<Network> {
    [IpVersion::V4, IpVersion::V6].into_iter().find_map(|version| {
        let text = info.endpoint(version).address.to_string();
        let address = text.split('%').next().and_then(|text| text.parse::<IpAddr>().ok());
        address.map(Network::from)
    })
}

/// Streams that are looked at altogether; a lab has far fewer.
const MOST: usize = 1024;
/// Streams that are looked at and have not answered yet.
const HALF_OPEN_MOST: usize = 64;
/// Streams of a lab answer within some milliseconds.
const GIVES_WAY_AFTER: Duration = Duration::from_secs(2);
/// A stream that ended is shown as lost for so long.
const SHOWN_AFTER_END: Duration = Duration::from_secs(30);
