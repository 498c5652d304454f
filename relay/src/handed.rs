//! What the hub has acknowledged of each run, and how much of that still counts on the next connection (relay §8.3).

use crate::{
    names::RunId,
    ranges::{Range, Ranges},
};

/// The blocks of one stream that the hub has acknowledged.
///
/// The hub gives each message a place in its log, and says it. Places rise. If the last block has a lower place than was
/// acknowledged before, the hub was set back: what came behind that place is no longer there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandedOver {
    /// In the order in which they began.
    runs: Vec<OfRun>,
    /// The highest block that was published: which of the runs, and its number.
    highest: Option<(usize, u64)>,
    /// The highest place that was acknowledged.
    place: u64,
    /// The highest place of a late block.
    late_place: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct OfRun {
    run: RunId,
    acknowledged: Ranges,
    /// Those that were published after a higher one: their numbers do not tell where they are in the log.
    late: Ranges,
}

/// A block in the log of the hub.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AtHub {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub number: u64,
    /// Its place in the hub's log.
    pub place: u64,
}

impl HandedOver {
    /// What an edge wrote down before it ended: its runs in the order in which they began, with what was acknowledged of
    /// each, and the highest [`place`](Self::place).
    #[must_use]
    pub fn new(runs: impl IntoIterator<Item = (RunId, Ranges)>, place: u64) -> Self {
        // In which order the blocks were published was not written down.
        let of_run =
            |(run, acknowledged): (RunId, Ranges)| OfRun { run, late: acknowledged.clone(), acknowledged };
        let runs: Vec<_> = runs.into_iter().map(of_run).collect();
        let highest = |(at, one): (usize, &OfRun)| Some((at, one.acknowledged.highest()?));
        let highest = runs.iter().enumerate().rev().find_map(highest);
        Self { runs, highest, place, late_place: place }
    }

    /// A run begins.
    pub fn begin(&mut self, run: RunId) {
        self.runs.push(OfRun { run, acknowledged: Ranges::default(), late: Ranges::default() });
    }

    /// A block is on its way.
    pub fn published(&mut self, run: RunId, number: u64) {
        let Some((at, one)) = self.runs.iter_mut().enumerate().find(|(_, one)| one.run == run) else {
            return;
        };
        if self.highest.is_none_or(|highest| highest < (at, number)) {
            self.highest = Some((at, number));
        } else if !one.acknowledged.contains(number) {
            one.late.insert(Range::one(number));
        }
    }

    /// The hub says that it has a block, and at which place.
    pub fn acknowledged(&mut self, block: AtHub) {
        let Some(one) = self.runs.iter_mut().find(|one| one.run == block.run) else { return };
        self.place = self.place.max(block.place);
        if one.late.contains(block.number) && !one.acknowledged.contains(block.number) {
            self.late_place = self.late_place.max(block.place);
        }
        one.acknowledged.insert(Range::one(block.number));
    }

    /// A connection stands. `last` is the hub's last block, if it equals the journal's byte for byte. What the hub may have
    /// lost counts as acknowledged no more.
    pub fn connected(&mut self, last: Option<AtHub>) {
        match last {
            // Nothing shows that this hub has any of it.
            None => self.runs.iter_mut().for_each(|one| one.acknowledged = Ranges::default()),
            Some(last) if last.place < self.place => self.set_back(last),
            Some(_) => {}
        }
        let place = last.map_or(0, |last| last.place);
        (self.place, self.late_place) = (place, self.late_place.min(place));
        last.into_iter().for_each(|last| self.acknowledged(last));
    }

    fn set_back(&mut self, last: AtHub) {
        let are_late_in_doubt = last.place < self.late_place;
        let at = self.runs.iter().position(|one| one.run == last.run);
        for (place, one) in self.runs.iter_mut().enumerate() {
            if are_late_in_doubt {
                one.late.as_slice().iter().for_each(|late| one.acknowledged.remove(*late));
            }
            // The others were published as they were sealed.
            if Some(place) == at {
                one.acknowledged.remove(Range { first: last.number, last: u64::MAX });
            } else if at.is_none_or(|at| at < place) {
                one.acknowledged = Ranges::default();
            }
        }
    }

    /// What the hub has acknowledged of a run.
    #[must_use]
    pub fn of(&self, run: RunId) -> Ranges {
        self.runs().find(|(one, _)| *one == run).map_or_else(Ranges::default, |(_, blocks)| blocks.clone())
    }

    /// What the hub has acknowledged, by run.
    pub fn runs(&self) -> impl Iterator<Item = (RunId, &Ranges)> {
        self.runs.iter().map(|one| (one.run, &one.acknowledged))
    }

    /// The highest place in the hub's log that it acknowledged.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.place
    }
}
