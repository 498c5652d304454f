//! Sealing, and the journal. Sealed blocks are kept before they are published, and none is lost in silence (relay §8).

use std::io;

use schwann_relay::{Block, Outflow, Range, RunId, SealError, Sealed, Spare};

use super::Edge;
use crate::journal::Kept;

/// What the disk did not take yet.
pub(super) enum Unkept {
    Block(u64, Vec<u8>),
    Word(Vec<u8>),
}

impl Unkept {
    fn bytes(&self) -> usize {
        match self {
            Self::Block(_, bytes) | Self::Word(bytes) => bytes.len(),
        }
    }
}

impl Edge {
    /// Seals what was gathered.
    pub(super) fn seal(&mut self) {
        while let Some((sealed, count)) = self.seal_gathered() {
            match sealed {
                Ok(sealed) => self.keep(sealed, count),
                Err(error) => {
                    super::lock(&self.status).unsealed_samples += u64::from(count);
                    self.tell(format!("{count} samples were not sealed, and are lost: {error}"));
                }
            }
        }
    }

    /// Seals what was gathered, under a new run if the present one takes nothing; nothing if nothing was gathered.
    fn seal_gathered(&mut self) -> Option<(Result<Sealed, SealError>, u32)> {
        let mut sealed = self.try_seal()?;
        if matches!(sealed.0, Err(SealError::OtherDevice | SealError::Exhausted)) && self.begin_next_run() {
            sealed = self.try_seal()?;
        }
        let live = self.live.as_mut()?;
        live.gathering.clear();
        live.since = None;
        Some(sealed)
    }

    fn try_seal(&mut self) -> Option<(Result<Sealed, SealError>, u32)> {
        let live = self.live.as_mut().filter(|live| !live.gathering.is_empty())?;
        let (content, count) = live.gathering.content();
        Some((self.access.sealing(|moment| live.run.seal(content, count, moment)), count))
    }

    /// Seals the block that ends the run.
    pub(super) fn seal_end(&mut self) {
        let Some(live) = &mut self.live else { return };
        match self.access.sealing(|moment| live.run.end(moment)) {
            Ok(sealed) => self.keep(sealed, 0),
            Err(error) => self.tell(format!("the end was not sealed: {error}")),
        }
    }

    fn keep(&mut self, sealed: Sealed, count: u32) {
        if sealed.new_epoch {
            self.keep_epoch();
        }
        super::lock(&self.status).sealed(count, sealed.bytes.len());
        self.unkept.push_back(Unkept::Block(sealed.place.number, sealed.bytes));
        self.keep_unkept();
    }

    /// Keeps announcement and wrapped keys of the present epoch, before the first block under them.
    pub(super) fn keep_epoch(&mut self) {
        let members = self.admitted();
        let Some(live) = &self.live else { return };
        self.unkept.push_back(Unkept::Word(live.run.announcement().to_vec()));
        let keys =
            self.access.sealing(|moment| live.run.wrapped(&members.iter().collect::<Vec<_>>(), moment));
        self.members.begin_epoch(&members);
        self.forget_past_epochs();
        match keys {
            Ok(keys) => self.unkept.push_back(Unkept::Word(keys)),
            Err(error) => self.tell(format!("keys cannot be wrapped: {error}")),
        }
        self.keep_unkept();
    }

    /// Hands what waits to the disk, in order, and makes room where it is full.
    pub(super) fn keep_unkept(&mut self) {
        while let Some(first) = self.unkept.pop_front() {
            let kept = match &first {
                Unkept::Word(word) => self.journal.keep_word(word.clone()),
                Unkept::Block(number, bytes) => self.journal.append(*number, bytes),
            };
            match kept {
                Ok(()) => self.let_out(first),
                Err(error) => {
                    self.unkept.push_front(first);
                    let full =
                        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
                    if !(full && self.make_room(Spare::AtHub)) {
                        self.tell(format!(
                            "the journal takes nothing: {error}; give its disk room, samples wait in memory meanwhile"
                        ));
                        return;
                    }
                }
            }
        }
    }

    /// What the journal has may go to the hub.
    fn let_out(&mut self, kept: Unkept) {
        match kept {
            Unkept::Block(..) => {
                if let Some((_, outflow)) = self.outflows.last_mut() {
                    outflow.appended();
                }
            }
            Unkept::Word(_) => {
                let newest = self.journal.runs().last();
                let at = newest.and_then(|kept| Some((kept.run, kept.words.len().checked_sub(1)?)));
                at.into_iter().for_each(|word| self.words.hurry(word));
            }
        }
    }

    /// Whether so much waits for the disk that no more is sealed.
    pub(super) fn is_stuck(&self) -> bool {
        self.unkept.iter().map(Unkept::bytes).sum::<usize>() > UNKEPT_BYTES
    }

    /// Counts the samples that the disk never took.
    pub(super) fn give_up_unkept(&mut self) {
        let samples = |unkept: Unkept| match unkept {
            Unkept::Block(_, bytes) => Block::parse(&bytes).map_or(0, |block| u64::from(block.place().count)),
            Unkept::Word(_) => 0,
        };
        let count: u64 = self.unkept.drain(..).map(samples).sum();
        super::lock(&self.status).unkept_samples += count;
    }

    /// Keeps the journal within its limit.
    pub(super) fn stay_within_limit(&mut self) {
        while self.journal.bytes() > self.settings.limit_bytes && self.make_room(Spare::Any) {}
    }

    /// Lets the oldest file of the journal go, delivered blocks before others; says whether that made room.
    fn make_room(&mut self, spare: Spare) -> bool {
        let before = self.journal.bytes();
        for at in 0..self.outflows.len() {
            let Some((run, outflow)) = self.outflows.get_mut(at) else { break };
            let run = *run;
            for trimmed in outflow.trim(TRIMMED_AT_ONCE, spare) {
                self.journal.forget(run, trimmed.range);
                if trimmed.lost {
                    self.tell_gone(run, trimmed.range);
                }
            }
            if self.journal.bytes() < before {
                return true;
            }
        }
        self.let_past_go(spare);
        self.journal.bytes() < before
    }

    /// Lets delivered blocks go after their time. What is not delivered stays, whatever the wall clock says.
    pub(super) fn let_old_go(&mut self) {
        let past = self.past_runs();
        for (run, range) in self.journal.older_than(self.settings.keep_delivered) {
            let mut outflows = self.outflows.iter_mut().enumerate();
            let Some((at, (_, outflow))) = outflows.find(|(_, (one, _))| *one == run) else { continue };
            let mut gone = outflow.let_delivered_go(range);
            if at < past && outflow.owed().is_empty() {
                outflow.damaged(range);
                gone.insert(range);
            }
            gone.as_slice().iter().for_each(|range| self.journal.forget(run, *range));
        }
    }

    /// How many runs came before the present one and the one before that. The last block of those says nothing any more.
    fn past_runs(&self) -> usize {
        self.outflows.len().saturating_sub(2)
    }

    /// Lets all of past runs go, also their last blocks.
    fn let_past_go(&mut self, spare: Spare) {
        for at in 0..self.past_runs() {
            let Some((run, outflow)) = self.outflows.get_mut(at) else { return };
            if spare == Spare::AtHub && outflow.waiting() > 0 {
                continue;
            }
            let (run, owed) = (*run, outflow.owed());
            let held = self.journal.runs().iter().find(|kept| kept.run == run).map(Kept::held);
            for range in held.unwrap_or_default().as_slice() {
                outflow.damaged(*range);
                self.journal.forget(run, *range);
            }
            owed.as_slice().iter().for_each(|range| self.tell_gone(run, *range));
        }
    }

    /// How many blocks left the journal and were never receipted. A receipt may name them after they went.
    pub(super) fn lost_blocks(&self) -> u64 {
        let lost = |(run, outflow): &(RunId, Outflow)| -> u64 {
            let Some(gone) = self.gone.get(run) else { return 0 };
            let delivered = outflow.delivered();
            gone.as_slice().iter().map(|range| delivered.missing(*range).count()).sum()
        };
        self.outflows.iter().map(lost).sum()
    }

    fn tell_gone(&mut self, run: RunId, range: Range) {
        self.gone.entry(run).or_default().insert(range);
        self.tell(format!(
            "the journal is full: blocks {} to {} went without a receipt; give it more room with --journal-limit, and look why \
             no recorder receipts them",
            range.first, range.last
        ));
    }
}

/// What waits for a disk at most, in bytes: then the inlet keeps what comes, for six minutes.
const UNKEPT_BYTES: usize = 64 << 20;
/// Blocks that go at once.
const TRIMMED_AT_ONCE: u64 = 256;
