//! What was done or told lately, so that it is not at once done or told again.

use core::time::Duration;
use std::time::Instant;

/// Things of the last while, [`MOST`] at most.
#[derive(Debug)]
pub(crate) struct Lately<T> {
    kept: Duration,
    things: Vec<(T, Instant)>,
}

impl<T: PartialEq> Lately<T> {
    /// Nothing yet; each thing will be known for as long as `kept`.
    pub(crate) const fn new(kept: Duration) -> Self {
        Self { kept, things: Vec::new() }
    }

    /// Whether a thing is not known; it is from `now` on.
    pub(crate) fn is_new(&mut self, thing: T, now: Instant) -> bool {
        self.things.retain(|(_, at)| now.duration_since(*at) < self.kept);
        let is_new = self.things.len() < MOST && self.things.iter().all(|(known, _)| *known != thing);
        if is_new {
            self.things.push((thing, now));
        }
        is_new
    }

    /// How many things are known.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }
}

/// What finds no room counts as known, so a flood gets no long answers.
const MOST: usize = 64;
