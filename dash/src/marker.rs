//! The newest markers of all streams, for the event lane.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Marker {
    /// Row of the stream that it came from.
    pub(super) stream: u32,
    /// Seconds on the local clock.
    pub(super) time: f64,
    /// What the sender calls it.
    pub(super) text: String,
}

/// A log that many read, each from where it was.
#[derive(Debug, Default)]
pub(super) struct Markers(Mutex<Log>);

#[derive(Debug, Default)]
struct Log {
    /// How many were ever added.
    count: u64,
    newest: VecDeque<Marker>,
}

impl Markers {
    /// Adds a marker and forgets the oldest one.
    pub(super) fn add(&self, marker: Marker) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.count += 1;
        log.newest.push_back(marker);
        if log.newest.len() > KEPT {
            log.newest.pop_front();
        }
    }

    /// The markers that were added since this reader's last call, oldest first, as far as they are still known.
    pub(super) fn since(&self, seen: &mut u64) -> Vec<Marker> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = usize::try_from(log.count - *seen).unwrap_or(usize::MAX);
        *seen = log.count;
        let skipped = log.newest.len().saturating_sub(new);
        log.newest.iter().skip(skipped).cloned().collect()
    }
}

const KEPT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_gets_every_marker_once_and_old_ones_go() {
        let log = Markers::default();
        let add = |n: u32| log.add(Marker { stream: 0, time: f64::from(n), text: String::new() });
        let (mut fast, mut slow) = (0, 0);
        add(0);
        assert_eq!(log.since(&mut fast).len(), 1);
        assert_eq!(log.since(&mut fast).len(), 0);
        (1..=600).for_each(add);
        assert_eq!(log.since(&mut slow).first().map(|marker| marker.time), Some(89.0));
        assert_eq!(log.since(&mut fast).len(), KEPT);
    }
}
