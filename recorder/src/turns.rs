//! Which announced streams are connected to next, and which give way to them.
//!
//! Anybody on the network may announce thousands of streams. Each that is connected to costs threads and a socket. So few of
//! them have not answered yet, and of these the oldest gives way when others wait. What answers stays.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use schwann::StreamInfo;
use schwann::security::Network;
use schwann_proto::stream_info::IpVersion;

/// Who had a turn, and gave way.
#[derive(Default)]
pub(crate) struct Turns {
    /// How often a stream was connected to in vain, by UID.
    tried: BTreeMap<String, u32>,
}

/// What there is room for.
pub(crate) struct Room {
    /// Streams that may be connected to, once the others have given way.
    pub(crate) count: usize,
    /// The UIDs of those that give way.
    pub(crate) give_way: Vec<String>,
}

impl Turns {
    /// Forgets what is not announced any more.
    pub(crate) fn keep(&mut self, announced: &BTreeSet<String>) {
        self.tried.retain(|tried, _| announced.contains(tried));
    }

    /// The streams in the order in which they have turns: first those that had none yet, and of each network one.
    pub(crate) fn in_turn<'a>(&self, new: impl Iterator<Item = &'a StreamInfo>) -> Vec<&'a StreamInfo> {
        let mut ranks = BTreeMap::<Option<Network>, usize>::new();
        let mut turns: Vec<_> = new
            .map(|info| {
                let rank = ranks.entry(network(info)).or_default();
                *rank += 1;
                (self.tried.get(&uid(info)).copied().unwrap_or(0), *rank, info)
            })
            .collect();
        turns.sort_by_key(|(tried, rank, _)| (*tried, *rank));
        turns.into_iter().map(|(.., info)| info).collect()
    }

    /// Notes that a stream was tried in vain, so that others come before it; says whether that was the first time.
    pub(crate) fn note_vain(&mut self, uid: String) -> bool {
        let tried = self.tried.entry(uid).or_default();
        *tried = tried.saturating_add(1);
        *tried == 1
    }

    /// Lets those give way that have had their time, if `wanted` others wait.
    ///
    /// - Shape: `half_open` has since when each stream that has not answered is connected to, and its UID; `all` counts those that
    ///   have answered as well.
    pub(crate) fn make_room(
        &mut self,
        half_open: impl Iterator<Item = (Instant, String)>,
        all: usize,
        wanted: usize,
        now: Instant,
    ) -> Room {
        let mut half_open: Vec<_> = half_open.collect();
        half_open.sort();
        let room = HALF_OPEN_MOST.saturating_sub(half_open.len()).min(MOST.saturating_sub(all));
        let had_time = half_open.into_iter().filter(|(since, _)| now - *since >= GIVES_WAY_AFTER);
        let give_way: Vec<_> = had_time.take(wanted.saturating_sub(room)).map(|(_, uid)| uid).collect();
        for uid in &give_way {
            self.note_vain(uid.clone());
        }
        Room { count: room + give_way.len(), give_way }
    }
}

/// The UID of a stream, as text.
pub(crate) fn uid(info: &StreamInfo) -> String {
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

/// Streams that are connected to altogether; a lab has far fewer.
const MOST: usize = 1024;
/// Streams that are connected to and have not answered yet.
const HALF_OPEN_MOST: usize = 64;
/// Streams of a lab answer within some milliseconds.
const GIVES_WAY_AFTER: Duration = Duration::from_secs(2);
