//! The rows, and how many of them are followed.
//!
//! Any computer may announce thousands of streams, and each that is followed takes threads and a socket. So a row by
//! itself takes neither: it is listed. Rows are followed up to a limit, and those that have not answered yet share a
//! smaller one. Who does not answer gives its place away and waits for the next turn.

use std::{collections::HashSet, sync::Arc};

use crate::{follow::Seats, monitor::Monitor};

/// All rows, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) monitors: Vec<Arc<Monitor>>,
    pub(super) next_id: u32,
    /// Streams that were found at the last look and have no row, for want of room.
    pub(super) unlisted: usize,
    /// Those of them whose row gave way, by their uid.
    set_aside: HashSet<String>,
}

impl Rows {
    /// Says whether there is room for one more row. If not, one that is gone gives way, or one that never answered.
    pub(super) fn make_room(&mut self) -> bool {
        if self.monitors.len() < MAX_ROWS {
            return true;
        }
        let rows = self.monitors.iter().enumerate();
        let gone = rows.clone().filter_map(|(at, row)| Some((at, row.gone()?)));
        let longest = gone.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let silent = || rows.clone().find(|(_, row)| row.has_failed()).map(|(at, _)| at);
        let Some(at) = longest.map(|(at, _)| at).or_else(silent) else { return false };
        let row = self.monitors.remove(at);
        self.set_aside.insert(row.info().uid().to_string_lossy().into_owned());
        row.stop();
        true
    }

    /// Notes how many streams have no row: those `without_room` that never had one, and those whose row gave way and
    /// that are still found.
    pub(super) fn count_unlisted(&mut self, without_room: usize, is_found: impl Fn(&str) -> bool) {
        self.set_aside.retain(|uid| is_found(uid));
        self.unlisted = without_room + self.set_aside.len();
    }

    /// How many rows are followed.
    pub(super) fn followed(&self) -> usize {
        self.monitors.iter().filter(|row| row.is_followed()).count()
    }

    /// Rows that are listed alone and may be followed now, first who was tried longest ago.
    pub(super) fn waiting(&self) -> Vec<&Arc<Monitor>> {
        let mut waiting: Vec<_> =
            self.monitors.iter().filter_map(|row| Some((row.waits_since()?, row))).collect();
        waiting.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        waiting.into_iter().map(|(_, row)| row).collect()
    }

    /// Whether one more stream may be followed that has not answered yet. A follower counts until it has ended, and not
    /// only until it was told to.
    pub(super) fn has_seat(&self, seats: &Seats) -> bool {
        let answered = self.monitors.iter().filter(|row| row.is_answered()).count();
        seats.taken().saturating_sub(answered) < UNANSWERED_MOST
    }

    /// Takes the place of the row that has been without an answer longest, once it has had its time; says whether the
    /// place is free already.
    pub(super) fn give_way(&self, seats: &Seats) -> bool {
        let unanswered = self.monitors.iter().filter_map(|row| Some((row.unanswered()?, row)));
        let longest = unanswered.max_by(|(one, _), (other, _)| one.total_cmp(other));
        if let Some((_, row)) = longest.filter(|(seconds, _)| *seconds >= GIVES_WAY_SECONDS) {
            row.rest();
        }
        self.has_seat(seats)
    }
}

/// Rows that are followed at the same time.
pub(super) const FOLLOWED_MOST: usize = 200;
/// Streams of a lab answer within some milliseconds.
const GIVES_WAY_SECONDS: f64 = 2.0;
/// Rows at most.
const MAX_ROWS: usize = 2_000;
/// Streams that are followed and have not answered yet, with those that are ending.
const UNANSWERED_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use schwann::{ChannelFormat, StreamInfo};

    use super::*;

    #[test]
    fn beyond_so_many_rows_there_is_no_room() {
        let mut rows = Rows::default();
        let stream = |id: u32| {
            let info = StreamInfo::new(format!("EEG {id}"), "EEG", 1, 100.0, ChannelFormat::Float32, "");
            Arc::new(Monitor::new(id, &info.expect("a stream"), Arc::default(), Arc::default()))
        };
        for id in 0..MAX_ROWS as u32 {
            assert!(rows.make_room(), "{id}");
            rows.monitors.push(stream(id));
        }
        // None was tried yet, so none is worth less than another.
        assert!(!rows.make_room());
        assert_eq!(rows.monitors.len(), MAX_ROWS);
    }
}
