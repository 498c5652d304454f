//! What is wrong with what is around a recording, found while it is read.

use core::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::reader::Damage;

/// Shared by a source, which finds them, and its reader, which reports them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flaws(Option<Arc<Found>>);

#[derive(Debug)]
struct Found {
    /// What is wrong with the end, if anything.
    end: Option<Damage>,
    /// Places that do not open. What is read there stands for nothing.
    holes: Mutex<Vec<Range<u64>>>,
}

impl Flaws {
    /// None yet, but at the end.
    pub(super) fn new(end: Option<Damage>) -> Self {
        Self(Some(Arc::new(Found { end, holes: Mutex::default() })))
    }

    /// Whether there can be any.
    pub(crate) const fn are_possible(&self) -> bool {
        self.0.is_some()
    }

    /// What is wrong with the end.
    pub(crate) fn at_end(&self) -> Option<Damage> {
        self.0.as_ref()?.end
    }

    /// Notes that a place does not open.
    pub(super) fn add_hole(&self, hole: Range<u64>) {
        let Some(found) = &self.0 else { return };
        let mut holes = found.holes();
        if !holes.contains(&hole) {
            holes.push(hole);
        }
    }

    /// Where the first place that does not open begins in a stretch that has been read, if one touches it.
    pub(crate) fn hole_in(&self, from: u64, to: u64) -> Option<u64> {
        let holes = self.0.as_ref()?.holes();
        holes.iter().filter(|hole| hole.start < to && from < hole.end).map(|hole| hole.start.max(from)).min()
    }
}

impl Found {
    fn holes(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.holes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
