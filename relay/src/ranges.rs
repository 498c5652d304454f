//! Sets of block numbers, as ranges that neither touch nor overlap.

/// Block numbers `first` to `last`, both included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Range {
    /// The lowest number.
    pub first: u64,
    /// The highest number, at least [`first`](Self::first).
    pub last: u64,
}

impl Range {
    /// One block.
    #[must_use]
    pub fn one(number: u64) -> Self {
        Self { first: number, last: number }
    }

    /// How many blocks.
    #[must_use]
    pub fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether there is none, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Tells whether `number` is among them.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

/// A set of block numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// The ranges, rising.
    #[must_use]
    pub fn as_slice(&self) -> &[Range] {
        &self.0
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many blocks are in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(Range::len).sum()
    }

    /// Tells whether `number` is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.0.get(self.at(number)).is_some_and(|range| range.contains(number))
    }

    /// The lowest number in the set.
    #[must_use]
    pub fn lowest(&self) -> Option<u64> {
        self.0.first().map(|range| range.first)
    }

    /// The highest number in the set.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.0.last().map(|range| range.last)
    }

    /// Adds the numbers of `range`.
    pub fn insert(&mut self, range: Range) {
        // All that touch it become one with it.
        let start = self.0.partition_point(|one| one.last.saturating_add(1) < range.first);
        let end = self.0.partition_point(|one| one.first <= range.last.saturating_add(1));
        let touched = self.0.get(start..end).unwrap_or_default();
        let first = touched.first().map_or(range.first, |one| one.first.min(range.first));
        let last = touched.last().map_or(range.last, |one| one.last.max(range.last));
        self.0.splice(start..end.max(start), [Range { first, last }]);
    }

    /// Takes the numbers of `range` out.
    pub fn remove(&mut self, range: Range) {
        let start = self.0.partition_point(|one| one.last < range.first);
        let end = self.0.partition_point(|one| one.first <= range.last);
        let mut left = Vec::new();
        for one in self.0.get(start..end).unwrap_or_default() {
            if one.first < range.first {
                left.push(Range { first: one.first, last: range.first - 1 });
            }
            if one.last > range.last {
                left.push(Range { first: range.last + 1, last: one.last });
            }
        }
        self.0.splice(start..end.max(start), left);
    }

    /// The numbers of `range` that are not in the set.
    #[must_use]
    pub fn missing(&self, range: Range) -> Self {
        let mut missing = Self(vec![range]);
        for one in &self.0 {
            missing.remove(*one);
        }
        missing
    }

    /// The index of the range that holds `number`, or of the next one.
    fn at(&self, number: u64) -> usize {
        self.0.partition_point(|range| range.last < number)
    }
}

impl FromIterator<Range> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        let mut set = Self::default();
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every operation, against a set of single numbers, on many sequences of small ranges.
    #[test]
    fn ranges_behave_as_a_set_of_numbers() {
        let mut state = 7_u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        // Under miri each takes a second.
        let sequences = if cfg!(miri) { 4 } else { 2000 };
        for _ in 0..sequences {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for _ in 0..12 {
                let first = below(40);
                let range = Range { first, last: first + below(6) };
                if below(3) == 0 {
                    ranges.remove(range);
                    set.retain(|number| !range.contains(*number));
                } else {
                    ranges.insert(range);
                    set.extend(range.first..=range.last);
                }
            }
            let numbers: BTreeSet<u64> =
                ranges.as_slice().iter().flat_map(|range| range.first..=range.last).collect();
            assert_eq!(numbers, set);
            assert!(ranges.as_slice().windows(2).all(|pair| pair[0].last + 1 < pair[1].first), "{ranges:?}");
            let all = Range { first: 0, last: 50 };
            assert_eq!(ranges.missing(all).count() + ranges.count(), 51);
            assert!((0..=50).all(|n| ranges.contains(n) == set.contains(&n)));
            assert_eq!((ranges.lowest(), ranges.highest()), (set.first().copied(), set.last().copied()));
        }
    }
}
