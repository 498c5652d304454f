//! What is true in a run, and what must hold of it. It sees everything; the processes do not see it.

use std::collections::{BTreeMap, BTreeSet};

use schwann_relay::{BlockPlace, End, Range, Ranges, RunId};

use crate::{
    edge::Edge,
    recorder::{Line, Recorder},
};

#[derive(Default)]
pub struct Oracle {
    runs: Vec<RunId>,
    contents: BTreeMap<(RunId, u64), (Vec<u8>, u64)>,
    published: BTreeSet<(RunId, u64)>,
    trimmed: BTreeSet<(RunId, u64)>,
    /// What the recorder had synced when it said so is looked up here, at each receipt.
    durable: BTreeSet<(RunId, u64)>,
    pub delivered: u64,
    pub cut_off: u64,
}

impl Oracle {
    pub fn begun(&mut self, run: RunId) -> Result<(), String> {
        if self.runs.contains(&run) {
            return Err("a run was begun twice: its nonces repeat".into());
        }
        self.runs.push(run);
        Ok(())
    }

    pub fn sealed(&mut self, run: RunId, place: &BlockPlace, content: Vec<u8>) -> Result<(), String> {
        match self.contents.insert((run, place.number), (content, place.first_sample)) {
            None => Ok(()),
            Some(_) => Err(format!("block {} was sealed twice: its nonce repeats", place.number)),
        }
    }

    pub fn published(&mut self, run: RunId, number: u64) {
        self.published.insert((run, number));
    }

    pub fn trimmed(&mut self, run: RunId, range: Range) {
        for number in range.first..=range.last {
            self.trimmed.insert((run, number));
        }
    }

    /// What lies synced on the recorder's disk now.
    pub fn look_at(&mut self, recorder: &Recorder) {
        self.durable = recorder
            .disk
            .synced_lines()
            .iter()
            .filter_map(|line| match line {
                Line::Block(run, place) => Some((*run, place.number)),
                Line::Description(..) => None,
            })
            .collect();
    }

    /// The edge counts blocks as delivered.
    pub fn receipted(&mut self, run: RunId, ranges: &Ranges) -> Result<(), String> {
        let numbers = ranges.as_slice().iter().flat_map(|range| range.first..=range.last);
        for number in numbers {
            if !self.durable.contains(&(run, number)) {
                return Err(format!("a receipt for block {number}, which is not on the recorder's disk"));
            }
        }
        Ok(())
    }

    pub fn received(&mut self, run: RunId, place: &BlockPlace, content: &[u8]) -> Result<(), String> {
        self.delivered += 1;
        match self.contents.get(&(run, place.number)) {
            Some((sent, first)) if sent == content && *first == place.first_sample => Ok(()),
            Some(_) => Err(format!("block {} is not what was sent", place.number)),
            None => Err(format!("block {} was never sent", place.number)),
        }
    }

    /// A process was killed, and the system goes on: whatever it published must be in its journal.
    pub fn killed(&self, holds: impl Fn(RunId, u64) -> bool) -> Result<(), String> {
        let absent =
            self.published.iter().find(|block| !self.trimmed.contains(block) && !holds(block.0, block.1));
        match absent {
            Some((_, number)) => Err(format!("block {number} was published and is not in the journal")),
            None => Ok(()),
        }
    }

    /// The power failed: what was published may be gone from the journal, and only then.
    pub fn lost_power(&mut self, holds: impl Fn(RunId, u64) -> bool) {
        self.published.retain(|(run, number)| holds(*run, *number));
    }

    /// Everything is quiet: the recorder has it all, or says exactly what is missing.
    pub fn judge(&mut self, edge: &Edge, recorder: &Recorder) -> Result<(), String> {
        let known: BTreeMap<_, _> =
            recorder.followers().map(|(run, follower)| (*run, follower.report())).collect();
        for (at, run) in self.runs.iter().enumerate() {
            let sealed = self.contents.keys().filter(|(of, _)| of == run).count() as u64;
            let Some(report) = known.get(run) else {
                // Power may fail before a run's name is on the disk. Then nothing of it was published.
                if self.published.iter().any(|(of, _)| of == run) {
                    return Err(format!("run {at} is not known to the recorder"));
                }
                continue;
            };
            self.judge_run(*run, sealed, report, edge)?;
            self.cut_off += u64::from(report.end == End::CutOff);
        }
        let open = known.values().filter(|report| report.end == End::Open).count();
        if open > 0 { Err("a run has no end, though all is quiet".into()) } else { Ok(()) }
    }

    fn judge_run(
        &self,
        run: RunId,
        sealed: u64,
        report: &schwann_relay::Report,
        edge: &Edge,
    ) -> Result<(), String> {
        for number in 0..sealed {
            let (held, missing) = (report.held.contains(number), report.missing.contains(number));
            let journaled = edge.holds(run, number);
            match (held, missing) {
                (true, true) => return Err(format!("block {number} is here and missing")),
                (true, false) => {}
                (false, true) if journaled => {
                    return Err(format!("block {number} is missing, and the journal has it"));
                }
                (false, true) if !report.lost.contains(number) => {
                    return Err(format!("block {number} is missing, and its loss was not told"));
                }
                (false, true) => {}
                (false, false) if report.end == End::Complete => {
                    return Err(format!("block {number} is neither here nor missing in a complete run"));
                }
                (false, false) if journaled => {
                    return Err(format!("block {number} of a run that was cut off was not asked for"));
                }
                (false, false) => {}
            }
        }
        let beyond = report.held.highest().is_some_and(|highest| highest >= sealed);
        if beyond { Err("a block beyond the end was taken".into()) } else { Ok(()) }
    }
}

impl Oracle {
    /// The run that was begun last.
    pub fn newest(&self) -> Option<RunId> {
        self.runs.last().copied()
    }
}
