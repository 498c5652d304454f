//! Where a recording stands: what is here of each run, what is missing, and what is not known.

use core::time::Duration;
use std::collections::BTreeMap;

use schwann_relay::{End, Ranges, RunId};

use super::{Archive, Recording};
use crate::far::{FarRun, Origin, above};
use crate::remote::SILENT;

/// Where one stream of a recording stands.
#[derive(Clone, Debug)]
pub struct RecordedStream {
    /// Its name.
    pub name: String,
    /// The device that sends it.
    pub device: String,
    /// Whether samples come all the time.
    pub is_regular: bool,
    /// Its runs, the oldest first. Each counts its blocks from 0.
    pub runs: Vec<RecordedRun>,
    /// Whether its device sends a run whose key did not come: it may be one of this stream.
    pub may_have_more: bool,
}

/// Where one run of a stream stands.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// When it began, in seconds since 1970 on the sender's clock.
    pub began: u64,
    /// Samples that are here.
    pub samples: u64,
    /// Blocks that are here.
    pub blocks: u64,
    /// Blocks that are missing.
    pub missing: Ranges,
    /// Those of the missing that its edge no longer has.
    pub lost: Ranges,
    /// How it ended.
    pub end: RunEnd,
}

/// How a run ended, as far as is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunEnd {
    /// With its end block.
    Complete,
    /// Its sender was cut off: some 200 ms may be missing behind the last block.
    CutOff,
    /// It goes on: its sender answered in the last seconds in which the hub was listened to.
    Open,
    /// Its sender answers, but samples that should come all the time do not.
    Silent,
    /// Its sender does not answer, so there may be more of it.
    Unknown,
}

impl RecordedStream {
    /// Samples that are here, of all runs.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.runs.iter().map(|run| run.samples).sum()
    }

    /// Blocks that are here, of all runs.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.runs.iter().map(|run| run.blocks).sum()
    }

    /// Whether nothing is missing, and nothing of it is unknown.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let is_empty = self.is_regular && self.samples() == 0;
        !is_empty && !self.may_have_more && self.runs.iter().all(RecordedRun::is_well)
    }
}

impl RecordedRun {
    /// Whether nothing is missing, and its end is known.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.missing.is_empty() && matches!(self.end, RunEnd::Complete | RunEnd::Open)
    }
}

impl Recording {
    /// Where every stream stands, also those of which no block came.
    #[must_use]
    pub fn streams(&self) -> Vec<RecordedStream> {
        let unreadable = self.unreadable();
        let mut streams: BTreeMap<Origin, RecordedStream> = BTreeMap::new();
        for far in self.in_order().into_iter().filter_map(|run| self.far.runs().get(&run)) {
            let entry = streams.entry(far.origin()).or_insert_with(|| RecordedStream {
                name: name(far),
                device: far.device().to_owned(),
                is_regular: far.info().is_some_and(|info| info.nominal_rate() > 0.0),
                runs: Vec::new(),
                may_have_more: unreadable.iter().any(|device| device == far.device()),
            });
            entry.runs.push(self.recorded(far));
        }
        streams.into_values().collect()
    }

    /// Whether a run may go on whose sender has not answered in the last seconds, or has sent nothing in them.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        let runs = self.in_order();
        let mut runs = runs.iter().filter_map(|run| self.far.runs().get(run));
        self.hub.is_ok()
            && runs.any(|far| {
                matches!(self.end(far, far.follower().report().end), RunEnd::Unknown | RunEnd::Silent)
            })
    }

    pub(super) fn recorded(&self, far: &FarRun) -> RecordedRun {
        let report = far.follower().report();
        let archive = self.archives.get(&far.id());
        let mut missing = report.missing;
        // The run went on, and its blocks are not in the recording.
        far.unopened().into_iter().for_each(|range| missing.insert(range));
        let mut missing = above(missing, far.floor());
        let damaged = archive.map(|archive| archive.damaged().as_slice()).unwrap_or_default();
        damaged.iter().for_each(|range| missing.insert(*range));
        RecordedRun {
            began: far.began().0,
            samples: archive.map_or(0, Archive::samples),
            blocks: archive.map_or(0, Archive::blocks),
            missing,
            lost: above(report.lost, far.floor()),
            end: self.end(far, report.end),
        }
    }

    /// How a run ended of which its blocks say this.
    fn end(&self, far: &FarRun, said: End) -> RunEnd {
        let archive = self.archives.get(&far.id());
        match said {
            End::Complete => RunEnd::Complete,
            End::CutOff => RunEnd::CutOff,
            End::Open if self.hub.is_err() || !far.went_on(self.listened) => RunEnd::Unknown,
            End::Open if archive.is_some_and(|archive| self.is_silent(far, archive)) => RunEnd::Silent,
            End::Open => RunEnd::Open,
        }
    }

    fn is_silent(&self, far: &FarRun, archive: &Archive) -> bool {
        let rate = far.info().map_or(0.0, |info| info.nominal_rate());
        rate > 0.0 && self.listened - archive.rose() > SILENT.as_secs_f64().max(SILENT_PERIODS / rate)
    }

    /// The runs that belong to the recording, by stream, device and beginning.
    pub(super) fn in_order(&self) -> Vec<RunId> {
        let belongs = |far: &&FarRun| {
            let is_now = self.chooses(far) && far.went_on(self.listened);
            self.archives.contains_key(&far.id()) || far.is_wanted() || is_now
        };
        let runs = self.far.runs().values().filter(belongs);
        let mut runs: Vec<_> = runs.map(|far| (far.origin(), far.began(), far.id())).collect();
        runs.sort_unstable();
        runs.into_iter().map(|(_, _, run)| run).collect()
    }

    /// The queries that chose no stream.
    pub(super) fn unmatched(&self) -> Vec<String> {
        let found: Vec<_> =
            self.in_order().iter().filter_map(|run| self.far.runs().get(run)?.info()).collect();
        let misses = |one: &&schwann_recorder::Selector| !found.iter().any(|info| one.chooses(info));
        self.selectors.iter().filter(misses).map(ToString::to_string).collect()
    }

    /// Devices that send a stream now, or began to while this recorded, whose key did not come. It may be one that is wanted.
    pub(super) fn unreadable(&self) -> Vec<String> {
        // An edge announces its run every 10 s. What was heard long after the hub was reached is no old announcement.
        let is_now = |far: &FarRun| {
            self.hub.as_ref().is_ok_and(|since| since.elapsed() > TWO_ANNOUNCEMENTS)
                && far.heard().elapsed() < ANNOUNCED
        };
        let is_old = |far: &FarRun| far.known_since().elapsed() > EARLY;
        let locked = self.far.runs().values().filter(|far| far.follower().description().is_none());
        let mut devices: Vec<_> = locked
            .filter(|far| is_old(far) && (self.is_later(far) || is_now(far)))
            .map(|far| far.device().to_owned())
            .collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }
}

pub(super) fn name(far: &FarRun) -> String {
    far.info().map_or_else(String::new, |info| info.name().to_string_lossy().into_owned())
}

/// How long a key may take to come.
const EARLY: Duration = Duration::from_secs(4);
const ANNOUNCED: Duration = Duration::from_secs(15);
const TWO_ANNOUNCEMENTS: Duration = Duration::from_secs(20);
const SILENT_PERIODS: f64 = 3.0;
