//! Where an edge stands, for people.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schwann::StreamInfo;
use schwann::security::keys::store;
use schwann_relay::{Backlog, MAX_MEMBERS, Note, StreamId};
use serde_json::{Value, json};

use super::{Edge, lock};
use crate::address::Address;
use crate::link::Problem;
use crate::remarks::Remarks;

/// Where an edge stands.
#[derive(Clone, Debug)]
pub struct EdgeStatus {
    /// The stream's name.
    pub name: String,
    /// The stream's source id.
    pub source_id: String,
    /// What the hub calls the stream.
    pub stream: String,
    /// Whether a connection to the hub stands, or why not; nothing before the first attempt.
    pub hub: Option<Result<(), Problem>>,
    /// Why the hub does not keep what it gets, if it does not.
    pub refusal: Option<Problem>,
    /// Samples that were sealed in this run.
    pub samples: u64,
    /// Blocks that were sealed in this run.
    pub blocks: u64,
    /// Where the hub is.
    pub hub_address: String,
    /// Blocks of all runs that the hub has not acknowledged.
    pub waiting_blocks: u64,
    /// Announcements and wrapped keys that it has not acknowledged.
    pub waiting_words: u64,
    /// Blocks that the hub acknowledged since the program began.
    pub acknowledged_blocks: u64,
    /// Blocks that the journal let go, and for which no receipt came later either.
    pub lost_blocks: u64,
    /// Blocks that the journal's disk gives back damaged.
    pub damaged_blocks: u64,
    /// Bytes of the journal on disk.
    pub journal_bytes: u64,
    /// Samples that came while nothing could be sealed.
    pub dropped_samples: u64,
    /// Samples that the journal's disk had not taken when the edge ended.
    pub unkept_samples: u64,
    /// Samples that were not sealed.
    pub unsealed_samples: u64,
    /// Samples of more than a block may have.
    pub oversized_samples: u64,
    /// Members that get no keys, because there are too many.
    pub unserved_members: usize,
    /// By device: the highest block of this run that it has on disk.
    pub receipts: BTreeMap<String, u64>,
    remarks: Remarks,
    bytes: u64,
    pub(super) began: Instant,
    /// Seconds for which blocks were acknowledged faster than made, as blocks per second.
    pace: f64,
    before: (Instant, u64),
}

impl EdgeStatus {
    pub(super) fn new(info: &StreamInfo, stream: StreamId, hub: &Address) -> Self {
        let (name, source_id) = (info.name().to_string_lossy(), info.source_id().to_string_lossy());
        Self::named(name.into_owned(), source_id.into_owned(), stream, hub.to_string())
    }

    pub(super) fn of_remainder(remainder: &Remainder, stream: StreamId) -> Self {
        let Remainder { name, source_id, hub, .. } = remainder.clone();
        Self::named(name, source_id, stream, hub)
    }

    fn named(name: String, source_id: String, stream: StreamId, hub_address: String) -> Self {
        Self {
            name,
            source_id,
            stream: stream.to_string(),
            hub_address,
            hub: None,
            refusal: None,
            samples: 0,
            blocks: 0,
            waiting_blocks: 0,
            waiting_words: 0,
            acknowledged_blocks: 0,
            lost_blocks: 0,
            damaged_blocks: 0,
            journal_bytes: 0,
            dropped_samples: 0,
            unkept_samples: 0,
            unsealed_samples: 0,
            oversized_samples: 0,
            unserved_members: 0,
            receipts: BTreeMap::new(),
            remarks: Remarks::default(),
            bytes: 0,
            began: Instant::now(),
            pace: 0.0,
            before: (Instant::now(), 0),
        }
    }

    /// What happened since this was last called.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.remarks.take()
    }

    /// What is lost, as words; nothing if nothing is.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        let counts = [
            (self.dropped_samples, "samples came while nothing could be sealed"),
            (self.unkept_samples, "samples never reached the journal, whose disk takes nothing"),
            (self.unsealed_samples, "samples could not be sealed"),
            (self.oversized_samples, "samples have more than 1 MiB"),
            (self.lost_blocks, "blocks left the full journal without a receipt"),
            (self.damaged_blocks, "blocks are damaged on the journal's disk"),
        ];
        let said: Vec<_> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Bytes that the hub has not acknowledged, as far as blocks are of one size.
    fn waiting_bytes(&self) -> u64 {
        self.bytes.checked_div(self.blocks).unwrap_or_default().saturating_mul(self.waiting_blocks)
    }

    /// What the hub has not acknowledged.
    pub(super) fn backlog(&self) -> Backlog {
        let made = self.began.elapsed().as_secs_f64() / self.blocks.max(1) as f64;
        let seconds = if self.blocks == 0 { 0.0 } else { made * self.waiting_blocks as f64 };
        Backlog { blocks: self.waiting_blocks, seconds }
    }

    /// Seconds until the hub has everything, at the pace of the last seconds; nothing if it does not come closer.
    #[must_use]
    pub fn catch_up_seconds(&self) -> Option<f64> {
        let made = self.blocks as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        if self.waiting_blocks == 0 {
            return Some(0.0);
        }
        (self.pace > made * 1.01).then(|| self.waiting_blocks as f64 / (self.pace - made))
    }

    /// The status as a program reads it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "source_id": self.source_id,
            "stream": self.stream,
            "hub_address": self.hub_address,
            "hub": match &self.hub {
                None => String::from("not asked yet"),
                Some(Ok(())) => String::from("connected"),
                Some(Err(problem)) => problem.to_string(),
            },
            "refusal": self.refusal.as_ref().map(ToString::to_string),
            "samples": self.samples,
            "blocks": self.blocks,
            "waiting_blocks": self.waiting_blocks,
            "waiting_words": self.waiting_words,
            "waiting_bytes": self.waiting_bytes(),
            "waiting_seconds": self.backlog().seconds,
            "is_behind": self.backlog().is_behind(),
            "catch_up_seconds": self.catch_up_seconds(),
            "lost": self.loss(),
            "lost_blocks": self.lost_blocks,
            "damaged_blocks": self.damaged_blocks,
            "journal_bytes": self.journal_bytes,
            "dropped_samples": self.dropped_samples,
            "unkept_samples": self.unkept_samples,
            "unsealed_samples": self.unsealed_samples,
            "oversized_samples": self.oversized_samples,
            "unserved_members": self.unserved_members,
            "receipts": self.receipts,
        })
    }

    pub(super) fn tell(&mut self, what: String) {
        self.remarks.tell(what);
    }

    /// The journal's disk gives so many more blocks back damaged.
    pub(super) fn damaged(&mut self, count: u64) {
        self.damaged_blocks = self.damaged_blocks.saturating_add(count);
        if count > 0 {
            self.tell(format!(
                "{} blocks are damaged on the journal's disk; only what the hub or a recorder has of them is left; replace that disk",
                self.damaged_blocks
            ));
        }
    }

    pub(super) fn unserved(&mut self, members: usize) {
        if members > 0 && self.unserved_members == 0 {
            self.tell(format!(
                "{members} members get no keys, because an edge serves {MAX_MEMBERS}; revoke devices that are no more"
            ));
        }
        self.unserved_members = members;
    }

    pub(super) fn sealed(&mut self, samples: u32, bytes: usize) {
        self.samples += u64::from(samples);
        self.blocks += 1;
        self.bytes += bytes as u64;
    }

    pub(super) fn connected(&mut self) {
        self.hub = Some(Ok(()));
        self.tell(String::from("the hub is reached"));
    }

    pub(super) fn disconnected(&mut self, problem: Problem) {
        let again = matches!(&self.hub, Some(Err(known)) if *known == problem);
        if !again {
            self.tell(format!("{problem}; the journal keeps everything meanwhile"));
        }
        self.hub = Some(Err(problem));
    }

    pub(super) fn acknowledged(&mut self) {
        self.acknowledged_blocks += 1;
        self.refusal = None;
    }

    pub(super) fn refused(&mut self, problem: Problem) {
        if self.refusal.as_ref() != Some(&problem) {
            self.tell(format!("{problem}; the journal keeps everything meanwhile"));
        }
        self.refusal = Some(problem);
    }

    pub(super) fn receipted(&mut self, device: &str, note: &Note, is_present: bool) {
        let Some(highest) = note.ranges.highest().filter(|_| is_present) else { return };
        let known = self.receipts.entry(device.to_owned()).or_insert(highest);
        *known = highest.max(*known);
    }
}

impl Edge {
    /// Counts, and writes the status where `schwann relay status` finds it.
    pub(super) fn update_status(&self) {
        let (unserved, lost_blocks) = (self.unserved_members(), self.lost_blocks());
        let mut status = lock(&self.status);
        status.unserved(unserved);
        status.lost_blocks = lost_blocks;
        status.waiting_blocks = self.outflows.iter().map(|(_, outflow)| outflow.waiting()).sum();
        status.journal_bytes = self.journal.bytes();
        status.waiting_words = self.words.waiting() as u64;
        status.dropped_samples = self.live.as_ref().map_or(0, |live| live.inlet.dropped_samples());
        let (then, count) = status.before;
        let seconds = then.elapsed().as_secs_f64().max(0.001);
        status.pace = (status.acknowledged_blocks - count) as f64 / seconds;
        status.before = (Instant::now(), status.acknowledged_blocks);
        let text = status.to_json().to_string();
        drop(status);
        // Where the disk takes no status, the program's own lines say why.
        let _ = store::write_private(&self.journal.folder().join(STATUS), text.as_bytes());
    }
}

/// The states of all edges of this computer whose journals are in `folder`, as [`EdgeStatus::to_json`] has them. `is_running` says
/// whether the edge still tells it: one that was killed leaves its last.
#[must_use]
pub fn read_all(folder: &Path) -> Vec<Value> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| read(&entry.ok()?.path().join(STATUS))).collect()
}

fn read(path: &Path) -> Option<Value> {
    let mut status: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    // A calendar that was set back makes it no older.
    let age = fs::metadata(path).ok()?.modified().ok()?.elapsed().unwrap_or_default();
    status.as_object_mut()?.insert(String::from("is_running"), Value::from(age < TOLD_LATELY));
    Some(status)
}

/// The journal of a stream that was relayed, whose edge ended or was killed before the hub had all of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Remainder {
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// The stream's name.
    pub(crate) name: String,
    /// The stream's source id.
    pub(crate) source_id: String,
    /// The hub that shall get it.
    pub(crate) hub: String,
    /// How many blocks waited when that was told last.
    pub(crate) blocks: u64,
}

/// The journals in `folder` that still have a status. The edge of one may run.
pub(crate) fn remainders(folder: &Path) -> Vec<Remainder> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders.into_iter().filter_map(remainder).collect()
}

fn remainder(folder: PathBuf) -> Option<Remainder> {
    let status = read(&folder.join(STATUS))?;
    let text = |key: &str| status.get(key).and_then(Value::as_str).map(str::to_owned);
    let blocks = status.get("waiting_blocks").and_then(Value::as_u64).unwrap_or_default();
    let (name, source_id) = (text("name")?, text("source_id").unwrap_or_default());
    Some(Remainder { folder, name, source_id, hub: text("hub_address")?, blocks })
}

/// The edge has ended: its status is no longer one.
pub(super) fn remove(folder: &Path) {
    // It may never have been written.
    let _ = fs::remove_file(folder.join(STATUS));
}

/// It is told every second; a disk may be slow.
const TOLD_LATELY: Duration = Duration::from_secs(10);
const STATUS: &str = "status.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> EdgeStatus {
        EdgeStatus::named(
            String::from("EEG"),
            String::new(),
            StreamId([1; 16]),
            String::from("tls://hub:4222"),
        )
    }

    #[test]
    fn every_kind_of_loss_is_said() {
        assert_eq!((status().loss(), &status().to_json()["lost"]), (None, &Value::Null));
        let losses: [fn(&mut EdgeStatus); 6] = [
            |status| status.dropped_samples = 7,
            |status| status.unkept_samples = 7,
            |status| status.unsealed_samples = 7,
            |status| status.oversized_samples = 7,
            |status| status.lost_blocks = 7,
            |status| status.damaged_blocks = 7,
        ];
        for loss in losses {
            let mut status = status();
            loss(&mut status);
            let said = status.loss().expect("it is said");
            assert!(said.starts_with("7 ") && status.to_json()["lost"] == said.as_str(), "{said}");
        }
    }

    #[test]
    fn members_beyond_those_that_are_served_are_told_once() {
        let mut status = status();
        [0, 3, 3].into_iter().for_each(|members| status.unserved(members));
        let said = status.take_remarks();
        assert!(said.len() == 1 && said[0].starts_with("3 members get no keys"), "{said:?}");
        assert_eq!(status.to_json()["unserved_members"], 3);
    }

    #[test]
    fn a_journal_whose_status_stayed_is_found_again() {
        let all = std::env::temp_dir().join(format!("schwann-remainder-{}", std::process::id()));
        let folder = all.join("journal");
        fs::create_dir_all(&folder).expect("a temporary folder");
        assert_eq!(remainders(&all), []);
        let mut told = status();
        told.waiting_blocks = 12;
        fs::write(folder.join(STATUS), told.to_json().to_string()).expect("written");
        let (name, source_id, hub) = (String::from("EEG"), String::new(), String::from("tls://hub:4222"));
        assert_eq!(
            remainders(&all),
            [Remainder { folder: folder.clone(), name, source_id, hub, blocks: 12 }]
        );
        remove(&folder);
        assert_eq!(remainders(&all), []);
        let _left = fs::remove_dir_all(&all);
    }
}
