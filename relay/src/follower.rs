//! A member's side of one run: it takes what comes from the hub in any order (relay §4 to §7).

use std::collections::BTreeMap;

use schwann_session::{LabId, PublicKey};

use crate::{
    announcement::{Announcement, Before},
    block::{Block, Hash, root},
    chain::{BlockPlace, Chain, LinkError},
    key::{EpochKey, Scope},
    member::WrappingKey,
    names::RunId,
    note::{Note, NoteKind},
    ranges::{Range, Ranges},
    signed::Refused,
    wrapped::Wrapped,
};

/// One run as a member follows it.
pub struct Follower {
    scope: Scope,
    device: PublicKey,
    began: u64,
    before: Before,
    keys: BTreeMap<u32, EpochKey>,
    /// The description, and the blocks; nothing before the first key is here.
    content: Option<(Vec<u8>, Chain)>,
    lost: Ranges,
    /// What the next run's announcement says of this one.
    cut_off: Option<Before>,
    receipted: Ranges,
}

/// What became of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Taken {
    /// Its content, opened for the first time, and its place, which a recorder keeps beside it.
    New(BlockPlace, Vec<u8>),
    /// The device signed it, and its epoch's key or the description is not here yet: take it again later.
    NoKey,
    /// It is here already.
    Repeat,
}

/// How a run ended, as far as is known here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// With its end block.
    Complete,
    /// The next run was announced and there is no end block: some 200 ms may be missing behind the last block.
    CutOff,
    /// It goes on, or nothing is known of its end.
    Open,
}

/// What a member has of a run, and what not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// Blocks that are here.
    pub held: Ranges,
    /// Blocks that were sealed and are not here.
    pub missing: Ranges,
    /// Those of the missing that the edge no longer has.
    pub lost: Ranges,
    /// How the run ended.
    pub end: End,
}

/// What was handed to the disk by now; it becomes receipts after an fsync.
#[must_use = "sync the disk, then pass it to `Follower::synced`"]
pub struct Mark(Vec<(Range, Hash)>);

impl Mark {
    /// Without what is below block `floor`, which was opened and not handed to the disk.
    pub fn from_block(mut self, floor: u64) -> Self {
        self.0.retain(|(range, _)| range.last >= floor);
        self.0.iter_mut().for_each(|(range, _)| range.first = range.first.max(floor));
        self
    }
}

impl Follower {
    /// Follows the run that is announced.
    #[must_use]
    pub fn new(announcement: &Announcement<'_>) -> Self {
        Self {
            scope: announcement.scope,
            device: announcement.certificate.statement.device,
            began: announcement.began.0,
            before: announcement.before,
            keys: BTreeMap::new(),
            content: None,
            lost: Ranges::default(),
            cut_off: None,
            receipted: Ranges::default(),
        }
    }

    /// Lab, stream and run, as notes name them.
    #[must_use]
    pub fn names(&self) -> (LabId, crate::StreamId, RunId) {
        (self.scope.lab, self.scope.stream, self.scope.run)
    }

    /// What the edge had of the run before this one.
    #[must_use]
    pub fn before(&self) -> Before {
        self.before
    }

    /// The stream's description, once a key is here.
    #[must_use]
    pub fn description(&self) -> Option<&[u8]> {
        self.content.as_ref().map(|(description, _)| description.as_slice())
    }

    /// Takes an announcement of this run, also a repeated one, or one of a later epoch.
    ///
    /// - Errors: [`Refused::Foreign`], [`Refused::Fork`] if it contradicts an earlier one, [`Refused::Forged`].
    pub fn announcement(&mut self, announcement: &Announcement<'_>) -> Result<(), Refused> {
        if announcement.scope != self.scope {
            return Err(Refused::Foreign);
        }
        let device = announcement.certificate.statement.device;
        if (device, announcement.began.0, announcement.before) != (self.device, self.began, self.before) {
            return Err(Refused::Fork);
        }
        let Some(key) = self.keys.get(&announcement.epoch) else { return Ok(()) };
        let description = announcement.description(key)?;
        match &self.content {
            Some((known, _)) if *known == description => Ok(()),
            Some(_) => Err(Refused::Fork),
            None => {
                self.restore(description, []);
                Ok(())
            }
        }
    }

    /// Goes on with what a recorder kept on its disk: the description, and the places of its blocks. What does not fit is
    /// left out, and so asked for again.
    pub fn restore(&mut self, description: Vec<u8>, places: impl IntoIterator<Item = BlockPlace>) {
        let mut chain = Chain::new(root(&self.scope, &self.device, &description));
        for place in places {
            if !chain.contains(place.number) {
                // A damaged line is as good as a missing one.
                let _ = chain.link(place);
            }
        }
        self.receipted = Ranges::default();
        self.content = Some((description, chain));
    }

    /// Takes wrapped keys; tells whether one was for `member` and new.
    ///
    /// - Errors: [`Refused`].
    pub fn wrapped(&mut self, message: &[u8], member: &WrappingKey) -> Result<bool, Refused> {
        let wrapped = Wrapped::parse(message)?;
        if wrapped.scope != self.scope {
            return Err(Refused::Foreign);
        }
        if self.keys.contains_key(&wrapped.epoch) {
            return Ok(false);
        }
        let Some(key) = wrapped.open(&self.device, member)? else { return Ok(false) };
        if self.keys.len() >= MAX_EPOCHS {
            return Err(Refused::TooManyEpochs);
        }
        self.keys.insert(wrapped.epoch, key);
        Ok(true)
    }

    /// Takes a block: checks its signature, opens it and links it to its neighbours.
    ///
    /// - Errors: [`Refused`]; nothing of it is delivered.
    pub fn take(&mut self, block: &Block<'_>) -> Result<Taken, Refused> {
        if block.header.scope() != self.scope {
            return Err(Refused::Foreign);
        }
        if self.chain().is_some_and(|chain| chain.contains(block.number())) {
            return Ok(Taken::Repeat);
        }
        block.verify(&self.device)?;
        let Some((_, chain)) = &mut self.content else { return Ok(Taken::NoKey) };
        let Some(key) = self.keys.get(&block.header.epoch) else { return Ok(Taken::NoKey) };
        let content = block.open(key)?;
        let place = BlockPlace::of(&block.header, block.hash());
        chain.link(place).map_err(|error| match error {
            LinkError::Fork => Refused::Fork,
            LinkError::TooManyHoles => Refused::TooManyHoles,
        })?;
        Ok(Taken::New(place, content))
    }

    /// Checks and opens a block without keeping where it belongs; nothing while its epoch's key is not here.
    ///
    /// - Errors: [`Refused`].
    pub fn look_at(&self, block: &Block<'_>) -> Result<Option<Vec<u8>>, Refused> {
        if block.header.scope() != self.scope {
            return Err(Refused::Foreign);
        }
        block.verify(&self.device)?;
        self.keys.get(&block.header.epoch).map(|key| block.open(key)).transpose()
    }

    /// Takes the edge's word that it no longer has some blocks.
    ///
    /// - Errors: [`Refused::Foreign`] if it is not this run's device that says so.
    pub fn loss(&mut self, note: &Note) -> Result<(), Refused> {
        let ours = (note.stream, note.run) == (self.scope.stream, self.scope.run);
        if !ours || note.kind != NoteKind::Loss || note.certificate.statement.device != self.device {
            return Err(Refused::Foreign);
        }
        note.ranges.as_slice().iter().for_each(|range| self.lost.insert(*range));
        Ok(())
    }

    /// The next run was announced: `before` says what its edge has of this one.
    ///
    /// - Errors: [`Refused::Fork`] if its hash contradicts the block that is here.
    pub fn followed_by(&mut self, next: &Announcement<'_>) -> Result<(), Refused> {
        let same = (next.scope.stream, next.before.run) == (self.scope.stream, self.scope.run);
        if !same || next.certificate.statement.device != self.device {
            return Err(Refused::Foreign);
        }
        let known = next.before.blocks.checked_sub(1).and_then(|last| self.chain()?.hash_of(last));
        if known.is_some_and(|hash| hash != next.before.hash) {
            return Err(Refused::Fork);
        }
        self.cut_off = Some(next.before);
        Ok(())
    }

    /// Remembers what was handed to the disk by now. Sync the disk, then call [`synced`](Self::synced).
    pub fn mark(&self) -> Mark {
        let held = self.chain().map(Chain::held).unwrap_or_default();
        let hash = |range: &Range| Some((*range, self.chain()?.hash_of(range.last)?));
        Mark(held.as_slice().iter().filter_map(hash).collect())
    }

    /// The disk has synced what `mark` remembered: returns what is new to say in receipts.
    pub fn synced(&mut self, mark: Mark) -> Vec<(Range, Hash)> {
        let mut fresh = mark.0;
        fresh.retain(|(range, _)| !self.receipted.missing(*range).is_empty());
        fresh.iter().for_each(|(range, _)| self.receipted.insert(*range));
        fresh
    }

    /// Receipts of these blocks may not have arrived: [`synced`](Self::synced) says them again.
    pub fn receipt_again(&mut self, range: Range) {
        self.receipted.remove(range);
    }

    /// Blocks that were sealed, are not here, and may still be had: what to ask for.
    #[must_use]
    pub fn holes(&self) -> Ranges {
        let Report { mut missing, lost, .. } = self.report();
        lost.as_slice().iter().for_each(|range| missing.remove(*range));
        missing
    }

    /// What is here and what is not.
    #[must_use]
    pub fn report(&self) -> Report {
        let held = self.chain().map(Chain::held).unwrap_or_default();
        let complete = self.chain().and_then(Chain::length);
        let known = self.cut_off.map_or(0, |before| before.blocks);
        let seen = held.highest().map_or(0, |highest| highest.saturating_add(1));
        let told = self.lost.highest().map_or(0, |highest| highest.saturating_add(1));
        let length = complete.unwrap_or(seen.max(known).max(told));
        let missing = match length.checked_sub(1) {
            Some(last) => held.missing(Range { first: 0, last }),
            None => Ranges::default(),
        };
        let lost = self.gone(&missing);
        let end = match (complete, self.cut_off) {
            (Some(_), _) => End::Complete,
            (None, Some(_)) => End::CutOff,
            (None, None) => End::Open,
        };
        Report { held, missing, lost, end }
    }

    /// What of `missing` the edge no longer has: it says so, or its journal never came that far.
    fn gone(&self, missing: &Ranges) -> Ranges {
        let mut there = missing.clone();
        self.lost.as_slice().iter().for_each(|range| there.remove(*range));
        if let Some(before) = self.cut_off {
            there.remove(Range { first: before.blocks, last: u64::MAX });
        }
        let mut gone = missing.clone();
        there.as_slice().iter().for_each(|range| gone.remove(*range));
        gone
    }

    fn chain(&self) -> Option<&Chain> {
        self.content.as_ref().map(|(_, chain)| chain)
    }
}

/// Most epoch keys that are kept of one run: an epoch an hour, for seven weeks.
const MAX_EPOCHS: usize = 1200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Fixture, NOW, Seeded};
    use crate::{Moment, Run, Start, StreamId};
    use zeroize::Zeroizing;

    #[test]
    #[cfg_attr(miri, ignore = "signatures take minutes there")]
    fn a_key_beyond_the_epochs_that_are_kept_is_named() {
        let (fixture, mut entropy) = (Fixture::the(), Seeded::new(1));
        let mut moment =
            Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
        let (lab, stream) = (fixture.lab_id(), StreamId([3; 16]));
        let start = Start { lab, stream, description: b"<info/>".to_vec(), before: Before::NONE };
        let run = Run::begin(start, &mut moment).unwrap();
        let keys = run.wrapped(&[&fixture.recorder.public], &mut moment).unwrap();
        let none = run.wrapped(&[], &mut moment).unwrap();
        let announcement = Announcement::parse(run.announcement(), &fixture.lab, &fixture.lists[0]).unwrap();
        let mut follower = Follower::new(&announcement);
        for epoch in 1..=MAX_EPOCHS as u32 {
            follower.keys.insert(epoch, EpochKey::from_bytes(Zeroizing::new([1; 32])));
        }
        assert_eq!(follower.wrapped(&keys, &fixture.recorder.wrapping), Err(Refused::TooManyEpochs));
        assert_eq!(follower.wrapped(&none, &fixture.recorder.wrapping), Ok(false), "it is for no member");
    }
}
