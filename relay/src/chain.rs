//! Which blocks of a run are here, how they hang together, and which are missing between them (relay §4).

use core::fmt;

use crate::{
    block::{BlockKind, Hash, Header},
    ranges::{Range, Ranges},
};

/// What a chain keeps of one block, and a recorder writes beside it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BlockPlace {
    /// Its number.
    pub number: u64,
    /// Count of samples in all blocks before it.
    pub first_sample: u64,
    /// Count of samples in it.
    pub count: u32,
    /// What it is.
    pub kind: BlockKind,
    /// Hash of the block before it.
    pub before: Hash,
    /// Its own hash.
    pub hash: Hash,
}

impl BlockPlace {
    pub(crate) fn of(header: &Header, hash: Hash) -> Self {
        let Header { kind, count, number, first_sample, before, .. } = *header;
        Self { number, first_sample, count, kind, before, hash }
    }
}

/// The blocks of one run that are here. It keeps two places a stretch, not one a block.
#[derive(Clone, Debug)]
pub struct Chain {
    /// What block 0 names as the hash before it.
    root: Hash,
    /// Stretches without a hole, rising; each begins and ends with the block that it keeps.
    stretches: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    front: BlockPlace,
    back: BlockPlace,
}

impl Chain {
    /// A run of which nothing is here yet.
    #[must_use]
    pub fn new(root: Hash) -> Self {
        Self { root, stretches: Vec::new() }
    }

    /// Tells whether block `number` is here.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.stretches.get(self.at(number)).is_some_and(|one| one.front.number <= number)
    }

    /// All blocks that are here.
    #[must_use]
    pub fn held(&self) -> Ranges {
        self.stretches.iter().map(|one| Range { first: one.front.number, last: one.back.number }).collect()
    }

    /// The hash of the last block of the stretch that ends with `last`.
    #[must_use]
    pub fn hash_of(&self, last: u64) -> Option<Hash> {
        self.stretches.get(self.at(last)).filter(|one| one.back.number == last).map(|one| one.back.hash)
    }

    /// How many blocks the run has, once its end is here.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        let back = self.stretches.last()?.back;
        (back.kind == BlockKind::End).then(|| back.number.saturating_add(1))
    }

    /// What is missing below block `end`, which need not be here.
    #[must_use]
    pub fn holes(&self, end: u64) -> Ranges {
        match end.checked_sub(1) {
            Some(last) => self.held().missing(Range { first: 0, last }),
            None => Ranges::default(),
        }
    }

    /// Adds a block that is not here, if its neighbours that are agree.
    ///
    /// - Errors: [`LinkError`]; the chain stays as it was.
    pub fn link(&mut self, place: BlockPlace) -> Result<(), LinkError> {
        let next = self.at(place.number);
        let left = next.checked_sub(1).and_then(|at| self.stretches.get(at)).copied();
        let right = self.stretches.get(next).copied();
        if right.is_none() && left.is_some_and(|left| left.back.kind == BlockKind::End) {
            return Err(LinkError::Fork);
        }
        if right.is_some() && place.kind == BlockKind::End {
            return Err(LinkError::Fork);
        }
        let touches_left = left.is_some_and(|left| left.back.number.checked_add(1) == Some(place.number));
        let touches_right =
            right.is_some_and(|right| place.number.checked_add(1) == Some(right.front.number));
        let agrees = self.follows(left.filter(|_| touches_left).map(|one| one.back), &place)
            && right.filter(|_| touches_right).is_none_or(|one| precedes(&place, &one.front));
        if !agrees {
            return Err(LinkError::Fork);
        }
        self.splice(next, place, touches_left, touches_right)
    }

    /// Whether `place` goes on where `before` ends, or where the run begins.
    fn follows(&self, before: Option<BlockPlace>, place: &BlockPlace) -> bool {
        match before {
            Some(before) => precedes(&before, place),
            None if place.number == 0 => place.before == self.root && place.first_sample == 0,
            None => true,
        }
    }

    fn splice(&mut self, next: usize, place: BlockPlace, left: bool, right: bool) -> Result<(), LinkError> {
        let start = if left { next.saturating_sub(1) } else { next };
        let end = if right { next.saturating_add(1) } else { next };
        if !left && !right && self.stretches.len() > MAX_HOLES {
            return Err(LinkError::TooManyHoles);
        }
        let touched = self.stretches.get(start..end).unwrap_or_default();
        let front = touched.first().filter(|_| left).map_or(place, |one| one.front);
        let back = touched.last().filter(|_| right).map_or(place, |one| one.back);
        self.stretches.splice(start..end, [Stretch { front, back }]);
        Ok(())
    }

    /// The index of the stretch that holds `number`, or of the next one.
    fn at(&self, number: u64) -> usize {
        self.stretches.partition_point(|one| one.back.number < number)
    }
}

/// Whether `second` names `first` as the block before it, and counts its samples.
fn precedes(first: &BlockPlace, second: &BlockPlace) -> bool {
    second.before == first.hash
        && first.first_sample.checked_add(u64::from(first.count)) == Some(second.first_sample)
}

/// Why a block is not added to a chain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LinkError {
    /// It contradicts a block that is here; both are signed by the same device.
    Fork,
    /// It would open one hole too many.
    TooManyHoles,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fork => "the block contradicts one that is here",
            Self::TooManyHoles => "too many blocks are missing before it",
        })
    }
}

impl core::error::Error for LinkError {}

/// Most holes in a chain (relay §9).
pub const MAX_HOLES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Hash = [0xEE; 32];

    /// A run of `count` blocks with two samples each and an end.
    fn run(count: u64) -> Vec<BlockPlace> {
        let hash = |number: u64| -> Hash { [u8::try_from(number % 251).unwrap() + 1; 32] };
        (0..count)
            .map(|number| {
                let kind = if number + 1 == count { BlockKind::End } else { BlockKind::Samples };
                let before = if number == 0 { ROOT } else { hash(number - 1) };
                let samples = if kind == BlockKind::End { 0 } else { 2 };
                BlockPlace {
                    number,
                    first_sample: 2 * number,
                    count: samples,
                    kind,
                    before,
                    hash: hash(number),
                }
            })
            .collect()
    }

    #[test]
    fn blocks_in_any_order_become_one_stretch() {
        // All 5,040 orders; 24 under miri.
        let count = if cfg!(miri) { 4 } else { 7 };
        let places = run(count);
        let mut order: Vec<usize> = (0..places.len()).collect();
        permute(&mut order, 0, &mut |order| {
            let mut chain = Chain::new(ROOT);
            for at in order {
                assert!(!chain.contains(places[*at].number));
                chain.link(places[*at]).unwrap();
                assert!(chain.contains(places[*at].number));
            }
            assert_eq!((chain.length(), chain.holes(count).count()), (Some(count), 0));
            assert_eq!(chain.hash_of(count - 1), places.last().map(|place| place.hash));
        });
    }

    fn permute(order: &mut Vec<usize>, from: usize, each: &mut impl FnMut(&[usize])) {
        if from == order.len() {
            return each(order);
        }
        for at in from..order.len() {
            order.swap(from, at);
            permute(order, from + 1, each);
            order.swap(from, at);
        }
    }

    #[test]
    fn a_block_that_contradicts_a_neighbour_is_a_fork() {
        let places = run(5);
        let spoil: [fn(&mut BlockPlace); 3] = [
            |place| place.before[0] ^= 1,
            |place| place.first_sample += 1,
            |place| place.kind = BlockKind::End,
        ];
        for spoil in spoil {
            let mut chain = Chain::new(ROOT);
            chain.link(places[0]).unwrap();
            chain.link(places[2]).unwrap();
            let mut place = places[1];
            spoil(&mut place);
            assert_eq!(chain.link(place), Err(LinkError::Fork));
            chain.link(places[1]).unwrap();
        }
        let mut chain = Chain::new([0; 32]);
        assert_eq!(chain.link(places[0]), Err(LinkError::Fork), "another root");
    }

    #[test]
    fn nothing_follows_the_end() {
        let places = run(3);
        let mut chain = Chain::new(ROOT);
        chain.link(places[2]).unwrap();
        assert_eq!(chain.link(BlockPlace { number: 9, ..places[1] }), Err(LinkError::Fork));
        assert_eq!(chain.holes(3).as_slice(), [Range { first: 0, last: 1 }]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "4,096 stretches take miri many minutes")]
    fn holes_are_bounded() {
        let mut chain = Chain::new(ROOT);
        let place = |number| BlockPlace { number, ..run(2)[0] };
        for hole in 0..=MAX_HOLES as u64 {
            chain.link(place(2 * hole + 1)).unwrap();
        }
        assert_eq!(chain.link(place(1 << 40)), Err(LinkError::TooManyHoles));
    }
}
