//! What the edge publishes next, what has arrived for good, and what may leave the journal (relay §7, §8).

use core::fmt;

use schwann_session::{DeviceName, PublicKey};

use crate::{
    block::Hash,
    chain::MAX_HOLES,
    note::{Note, NoteKind},
    ranges::{Range, Ranges},
};

/// The way of one run's blocks from the journal to the hub.
#[derive(Clone, Debug)]
pub struct Outflow {
    /// What the journal holds.
    held: Ranges,
    /// How many blocks were ever appended.
    appended: u64,
    /// The next block that was never published on this connection; below it, `backlog` says what is due.
    live: u64,
    backlog: Ranges,
    asked: Ranges,
    unacknowledged: Ranges,
    connected: bool,
    /// Names of the recorders whose receipts count; any one's do, if there is none.
    required: Vec<DeviceName>,
    receipts: Vec<(PublicKey, DeviceName, Ranges)>,
    /// Which blocks were published again in the present interval.
    answered: Ranges,
    interval_ms: u64,
}

/// What is at stake if blocks leave the journal; the least first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Stake {
    /// Nothing: they have their receipts.
    Delivered,
    /// The hub has acknowledged them, and may still lose them.
    AtHub,
    /// Some may be on this disk alone.
    OnlyHere,
}

impl Outflow {
    /// A run of which the journal holds `held`: nothing at its beginning, what was found there for an earlier run. The hub is
    /// known to have `handed_over` of it. Receipts of all of `required` make a block delivered; that of any recorder does, if
    /// there are none.
    #[must_use]
    pub fn new(held: Ranges, handed_over: &Ranges, required: Vec<DeviceName>) -> Self {
        let appended = held.highest().map_or(0, |highest| highest.saturating_add(1));
        let mut backlog = held.clone();
        handed_over.as_slice().iter().for_each(|range| backlog.remove(*range));
        Self {
            held,
            appended,
            live: appended,
            backlog,
            asked: Ranges::default(),
            unacknowledged: Ranges::default(),
            connected: false,
            required,
            receipts: Vec::new(),
            answered: Ranges::default(),
            interval_ms: 0,
        }
    }

    /// The journal has taken the next block: it may be published now, and not before (relay §8.1).
    pub fn appended(&mut self) {
        self.held.insert(Range::one(self.appended));
        self.appended = self.appended.saturating_add(1);
    }

    /// A connection to the hub stands. `handed_over` is what the hub has of this run; all else that the journal holds is due.
    pub fn connected(&mut self, handed_over: &Ranges) {
        self.connected = true;
        self.unacknowledged = Ranges::default();
        self.live = self.appended;
        self.backlog = self.held.clone();
        handed_over.as_slice().iter().for_each(|range| self.backlog.remove(*range));
        // Live viewers see the present at once; what is older fills in behind it. The newest goes in any case: where it is
        // missing, no member knows how far the run came.
        let newest = self.newest();
        if self.held.contains(newest.last) {
            self.backlog.remove(newest);
            self.live = newest.last;
        }
    }

    /// The connection to the hub is gone. What it did not acknowledge is due again with the next one.
    pub fn disconnected(&mut self) {
        self.connected = false;
    }

    /// The block to publish next. Nothing while there is none, or no connection.
    pub fn next_block(&mut self) -> Option<u64> {
        if !self.connected {
            return None;
        }
        let number = self.take_next()?;
        self.unacknowledged.insert(Range::one(number));
        Some(number)
    }

    fn take_next(&mut self) -> Option<u64> {
        if self.live < self.appended {
            let number = self.live;
            self.live = number.saturating_add(1);
            if self.held.contains(number) {
                return Some(number);
            }
        }
        if let Some(newest) = self.asked.highest() {
            self.asked.remove(Range::one(newest));
            return Some(newest);
        }
        let oldest = self.backlog.lowest()?;
        self.backlog.remove(Range::one(oldest));
        Some(oldest)
    }

    /// The hub says that it has block `number`. That proves nothing; it only is not sent again now (relay §8.2).
    pub fn acknowledged(&mut self, number: u64) {
        self.unacknowledged.remove(Range::one(number));
    }

    /// The hub refused block `number`, or did not answer in time: it is due again.
    pub fn refused(&mut self, number: u64) {
        self.unacknowledged.remove(Range::one(number));
        if self.held.contains(number) {
            self.backlog.insert(Range::one(number));
        }
    }

    /// A recorder's receipt. `hash` is that of the journal's block with the receipt's highest number.
    ///
    /// - Errors: [`ReceiptFault`]; the receipt counts for nothing.
    pub fn receipt(&mut self, note: &Note, hash: Option<Hash>) -> Result<(), ReceiptFault> {
        let NoteKind::Receipt(claimed) = note.kind else { return Err(ReceiptFault::NoReceipt) };
        if note.ranges.highest().is_none_or(|highest| highest >= self.appended) {
            return Err(ReceiptFault::NeverSealed);
        }
        if hash.ok_or(ReceiptFault::Unknown)? != claimed {
            return Err(ReceiptFault::OtherBlocks);
        }
        let (device, name) = (note.certificate.statement.device, note.certificate.statement.name);
        if !self.required.is_empty() && !self.required.contains(&name) {
            return Ok(());
        }
        let ranges = match self.receipts.iter_mut().position(|(key, ..)| *key == device) {
            Some(at) => self.receipts.get_mut(at),
            None if self.receipts.len() < MAX_RECORDERS => {
                self.receipts.push((device, name, Ranges::default()));
                self.receipts.last_mut()
            }
            None => return Err(ReceiptFault::TooManyRecorders),
        };
        if let Some((.., ranges)) = ranges {
            note.ranges.as_slice().iter().for_each(|range| ranges.insert(*range));
        }
        Ok(())
    }

    /// A member asks for blocks. Those that the journal holds are due again; those that it dropped are returned, for a loss.
    pub fn hole_request(&mut self, note: &Note, now_ms: u64) -> Ranges {
        // A calendar that is set back must not silence the edge until it has caught up.
        if now_ms.abs_diff(self.interval_ms) >= ANSWER_INTERVAL_MS {
            (self.answered, self.interval_ms) = (Ranges::default(), now_ms);
        }
        let mut dropped = Ranges::default();
        for range in note.ranges.as_slice() {
            let Some(range) = self.sealed(*range) else { break };
            for fresh in self.answered.missing(range).as_slice() {
                self.within(*fresh).as_slice().iter().for_each(|held| self.asked.insert(*held));
                self.held.missing(*fresh).as_slice().iter().for_each(|gone| dropped.insert(*gone));
            }
            if self.answered.as_slice().len() < MAX_HOLES {
                self.answered.insert(range);
            }
        }
        dropped
    }

    /// What of `range` was ever sealed.
    fn sealed(&self, range: Range) -> Option<Range> {
        let newest = self.appended.checked_sub(1)?;
        (range.first <= newest).then(|| Range { first: range.first, last: range.last.min(newest) })
    }

    /// The blocks that count as delivered (relay §7.1).
    #[must_use]
    pub fn delivered(&self) -> Ranges {
        let of = |wanted: Option<&DeviceName>| -> Ranges {
            let receipts = self.receipts.iter().filter(|(_, name, _)| wanted.is_none_or(|one| one == name));
            receipts.flat_map(|(.., ranges)| ranges.as_slice().to_vec()).collect()
        };
        let Some((first, others)) = self.required.split_first() else { return of(None) };
        others.iter().fold(of(Some(first)), |all, name| {
            let receipts = of(Some(name));
            all.as_slice().iter().flat_map(|range| common(&receipts, *range).as_slice().to_vec()).collect()
        })
    }

    /// Blocks that no receipt covers yet: what the edge still owes.
    #[must_use]
    pub fn owed(&self) -> Ranges {
        let mut owed = self.held.clone();
        self.delivered().as_slice().iter().for_each(|range| owed.remove(*range));
        owed
    }

    /// What is at stake if the blocks of a range leave the journal (relay §8.4).
    #[must_use]
    pub fn stake(&self, range: Range) -> Stake {
        let (owed, waiting) = (common(&self.owed(), range), self.waiting_blocks());
        if owed.is_empty() {
            return Stake::Delivered;
        }
        match owed.as_slice().iter().all(|range| common(&waiting, *range).is_empty()) {
            true => Stake::AtHub,
            false => Stake::OnlyHere,
        }
    }

    /// Whether the newest block is in a range. It says how far the run came.
    #[must_use]
    pub fn has_newest_in(&self, range: Range) -> bool {
        range.contains(self.newest().first)
    }

    /// Lets the blocks of a range go, and returns those that no receipt covers.
    pub fn let_go(&mut self, range: Range) -> Ranges {
        let owed = common(&self.owed(), range);
        self.damaged(range);
        owed
    }

    /// Lets the delivered blocks of a range go, and returns them. The newest stays: it says how far the run came.
    pub fn let_delivered_go(&mut self, range: Range) -> Ranges {
        let mut gone = common(&self.held_and_delivered(), range);
        gone.remove(self.newest());
        gone.as_slice().iter().for_each(|range| self.damaged(*range));
        gone
    }

    fn newest(&self) -> Range {
        Range::one(self.appended.saturating_sub(1))
    }

    fn held_and_delivered(&self) -> Ranges {
        let mut delivered = self.held.clone();
        self.owed().as_slice().iter().for_each(|range| delivered.remove(*range));
        delivered
    }

    /// Whether a connection to the hub stands.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// How many blocks were not acknowledged yet, or not since they became due again.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let fresh = self.appended.saturating_sub(self.live);
        [&self.backlog, &self.asked, &self.unacknowledged]
            .iter()
            .fold(fresh, |sum, ranges| sum.saturating_add(ranges.count()))
    }

    /// The same blocks.
    fn waiting_blocks(&self) -> Ranges {
        let mut waiting = self.within(Range { first: self.live, last: u64::MAX });
        let others = [&self.backlog, &self.asked, &self.unacknowledged];
        others.iter().flat_map(|ranges| ranges.as_slice()).for_each(|range| waiting.insert(*range));
        waiting
    }

    /// The journal no longer holds these blocks, because they are damaged. They are not due any more, and a request for them is
    /// answered with a loss.
    pub fn damaged(&mut self, range: Range) {
        self.unacknowledged.remove(range);
        self.drop_range(range);
    }

    fn drop_range(&mut self, range: Range) {
        self.held.remove(range);
        self.backlog.remove(range);
        self.asked.remove(range);
    }

    /// What of `range` the journal holds.
    fn within(&self, range: Range) -> Ranges {
        common(&self.held, range)
    }
}

/// The numbers of `range` that are in `set`.
fn common(set: &Ranges, range: Range) -> Ranges {
    let absent = set.missing(range);
    let mut present = Ranges::default();
    present.insert(range);
    absent.as_slice().iter().for_each(|one| present.remove(*one));
    present
}

/// Why a receipt counts for nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ReceiptFault {
    /// It speaks of blocks that this run never sealed.
    NeverSealed,
    /// It is another kind of note.
    NoReceipt,
    /// Its hash is that of other blocks: the recorder has something else on its disk.
    OtherBlocks,
    /// More than 64 devices send receipts.
    TooManyRecorders,
    /// The journal no longer holds the block that it names, so nothing can be compared.
    Unknown,
}

impl fmt::Display for ReceiptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverSealed => "the receipt speaks of blocks that were never sealed",
            Self::NoReceipt => "this is no receipt",
            Self::OtherBlocks => "the receipt is for other blocks than were sealed",
            Self::TooManyRecorders => "more than 64 devices send receipts",
            Self::Unknown => "the journal no longer holds the block that the receipt names",
        })
    }
}

impl core::error::Error for ReceiptFault {}

/// Most recorders whose receipts are kept apart.
const MAX_RECORDERS: usize = 64;
/// How often a block is published again at most, in milliseconds (relay §7.2).
const ANSWER_INTERVAL_MS: u64 = 5000;
