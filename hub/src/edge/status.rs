//! Where an edge stands, for people.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use schwann::StreamInfo;
use schwann_relay::{Backlog, MAX_MEMBERS, Note, StreamId};
use serde_json::{Value, json};

use super::keep::Unkept;
use super::told::{self, Remainder};
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
    /// Blocks that the hub has not acknowledged, and whose journal was moved or deleted while this ran.
    pub abandoned_blocks: u64,
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
    is_journal_gone: bool,
    bytes: u64,
    pub(super) began: Instant,
    /// When the hub had all blocks last.
    had_all: Instant,
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
            abandoned_blocks: 0,
            journal_bytes: 0,
            dropped_samples: 0,
            unkept_samples: 0,
            unsealed_samples: 0,
            oversized_samples: 0,
            unserved_members: 0,
            receipts: BTreeMap::new(),
            remarks: Remarks::default(),
            is_journal_gone: false,
            bytes: 0,
            began: Instant::now(),
            had_all: Instant::now(),
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
            (self.abandoned_blocks, "blocks are not at the hub, and their journal was moved or deleted"),
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

    /// What the hub has not acknowledged. A stream with a sample a minute is behind once its block has waited, not when it is made.
    pub(super) fn backlog(&self) -> Backlog {
        let (blocks, waited) = (self.waiting_blocks, self.had_all.elapsed().as_secs_f64());
        let of_block = self.began.elapsed().as_secs_f64() / self.blocks as f64;
        // Of the runs before, how long they were is not known while this one has no block.
        let seconds = if blocks == 0 { 0.0 } else { (of_block * blocks as f64).min(waited) };
        Backlog { blocks, seconds }
    }

    fn note_waiting(&mut self) {
        if self.waiting_blocks == 0 {
            self.had_all = Instant::now();
            if self.waiting_words == 0 {
                self.refusal = None;
            }
        }
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
            "abandoned_blocks": self.abandoned_blocks,
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

    /// The journal is still where it was, or not: then what waits in it is gone with the program.
    fn note_journal(&mut self, folder: &Path, is_gone: bool) {
        if is_gone && !self.is_journal_gone {
            self.tell(format!(
                "its journal {} was moved or deleted; end this program once the hub has all, and start it again",
                folder.display()
            ));
        }
        self.is_journal_gone = is_gone;
        self.abandoned_blocks = if is_gone { self.waiting_blocks } else { 0 };
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
        // What the journal has not taken yet waits, too.
        let unkept = self.unkept.iter().filter(|unkept| matches!(unkept, Unkept::Block(..))).count() as u64;
        status.waiting_blocks =
            self.outflows.iter().map(|(_, outflow)| outflow.waiting()).sum::<u64>() + unkept;
        let is_gone = !self.journal.is_there();
        status.note_journal(self.journal.folder(), is_gone);
        status.journal_bytes = self.journal.bytes();
        status.waiting_words = self.words.waiting() as u64;
        status.note_waiting();
        status.dropped_samples = self.live.as_ref().map_or(0, |live| live.inlet.dropped_samples());
        let (then, count) = status.before;
        let seconds = then.elapsed().as_secs_f64().max(0.001);
        status.pace = (status.acknowledged_blocks - count) as f64 / seconds;
        status.before = (Instant::now(), status.acknowledged_blocks);
        let text = status.to_json().to_string();
        drop(status);
        if !is_gone {
            told::write(self.journal.folder(), &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

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
        let losses: [fn(&mut EdgeStatus); 7] = [
            |status| status.dropped_samples = 7,
            |status| status.unkept_samples = 7,
            |status| status.unsealed_samples = 7,
            |status| status.oversized_samples = 7,
            |status| status.lost_blocks = 7,
            |status| status.damaged_blocks = 7,
            |status| status.abandoned_blocks = 7,
        ];
        for loss in losses {
            let mut status = status();
            loss(&mut status);
            let said = status.loss().expect("it is said");
            assert!(said.starts_with("7 ") && status.to_json()["lost"] == said.as_str(), "{said}");
        }
    }

    #[test]
    fn a_backlog_is_as_long_as_its_blocks_and_no_longer_than_they_waited() {
        let ago = |seconds| Instant::now() - Duration::from_secs(seconds);
        let backlog = |blocks, began, waiting, had_all| {
            let mut status = status();
            (status.blocks, status.began, status.waiting_blocks, status.had_all) =
                (blocks, ago(began), waiting, ago(had_all));
            let backlog = status.backlog();
            (backlog.seconds.round() as u64, backlog.is_behind())
        };
        // 50 blocks a second, 10 s of which wait; and one on its way.
        assert_eq!(backlog(5000, 100, 500, 90), (10, true));
        assert_eq!(backlog(5000, 100, 1, 90), (0, false));
        // A block a minute, just made; and the same after ten minutes without a hub.
        assert_eq!(backlog(60, 3600, 1, 0), (0, false));
        assert_eq!(backlog(60, 3600, 10, 600), (600, true));
        // A journal of before, while nothing new is made.
        assert_eq!(backlog(0, 30, 400, 30), (30, true));
        assert_eq!(backlog(0, 30, 0, 0), (0, false));
    }

    #[test]
    fn members_beyond_those_that_are_served_are_told_once() {
        let mut status = status();
        [0, 3, 3].into_iter().for_each(|members| status.unserved(members));
        let said = status.take_remarks();
        assert!(said.len() == 1 && said[0].starts_with("3 members get no keys"), "{said:?}");
        assert_eq!(status.to_json()["unserved_members"], 3);
    }
}
