//! Sealing, and the journal. Sealed blocks are kept before they are published, and none is lost in silence (relay §8).

use std::io;

use schwann_relay::{Block, Outflow, Range, RunId, SealError, Sealed, Stake};

use super::Edge;

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
                    if !(full && self.make_room(Stake::AtHub)) {
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
        while self.journal.bytes() > self.settings.limit_bytes && self.make_room(Stake::OnlyHere) {}
    }

    /// Lets the one file of the journal go of which least is lost, the oldest of several such; says whether there was one. No more
    /// than `most` may be at stake.
    fn make_room(&mut self, most: Stake) -> bool {
        let files = self.journal.closed_files();
        let mut stakes: Vec<_> = files
            .into_iter()
            .filter_map(|(run, range)| Some((self.stake(run, range)?, run, range)))
            .collect();
        stakes.retain(|(stake, ..)| *stake <= most);
        let Some((_, run, range)) = stakes.into_iter().min_by_key(|(stake, ..)| *stake) else { return false };
        let outflow = self.outflows.iter_mut().find(|(one, _)| *one == run);
        let owed = outflow.map(|(_, outflow)| outflow.let_go(range)).unwrap_or_default();
        self.journal.forget(run, range);
        owed.as_slice().iter().for_each(|range| self.tell_gone(run, *range));
        true
    }

    /// What is at stake with a file; nothing if it must stay.
    fn stake(&self, run: RunId, range: Range) -> Option<Stake> {
        let at = self.outflows.iter().position(|(one, _)| *one == run)?;
        let (_, outflow) = self.outflows.get(at)?;
        let must_stay = at >= self.past_runs() && outflow.has_newest_in(range);
        (!must_stay).then(|| outflow.stake(range))
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
