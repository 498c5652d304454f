//! Announcements and wrapped keys on their way to the hub. Each is said until the hub acknowledges it: without them no member opens a
//! block.

use std::collections::{BTreeMap, VecDeque};

use schwann_relay::RunId;

use crate::journal::Kept;

/// A word of the journal: its run, and its place among the words of the run.
pub(super) type WordId = (RunId, usize);

/// Words that the hub shall get.
#[derive(Default)]
pub(super) struct Words {
    due: VecDeque<WordId>,
    /// By ticket.
    on_way: BTreeMap<u64, WordId>,
}

impl Words {
    /// A connection stands: all words of `runs` are due, those of the newest run first.
    pub(super) fn begin(&mut self, runs: &[Kept]) {
        self.on_way.clear();
        self.due = runs.iter().rev().flat_map(newest_first).collect();
    }

    /// This word is due before all others.
    pub(super) fn hurry(&mut self, word: WordId) {
        self.due.retain(|one| *one != word);
        self.due.push_front(word);
    }

    /// The word to publish next, under `ticket`; nothing while enough are on their way.
    pub(super) fn next(&mut self, ticket: u64) -> Option<WordId> {
        if self.on_way.len() >= WORDS_IN_FLIGHT {
            return None;
        }
        let word = self.due.pop_front()?;
        self.on_way.insert(ticket, word);
        Some(word)
    }

    /// The hub has the word with this ticket, if it is one.
    pub(super) fn acknowledged(&mut self, ticket: u64) {
        self.on_way.remove(&ticket);
    }

    /// The word with this ticket did not get there, and is due again; says whether it was one.
    pub(super) fn refused(&mut self, ticket: u64) -> bool {
        let word = self.on_way.remove(&ticket);
        word.into_iter().for_each(|word| self.due.push_front(word));
        word.is_some()
    }

    /// How many are on their way.
    pub(super) fn on_way(&self) -> usize {
        self.on_way.len()
    }

    /// How many the hub has not acknowledged.
    pub(super) fn waiting(&self) -> usize {
        self.due.len() + self.on_way.len()
    }

    /// Whether the hub has acknowledged all of them.
    pub(super) fn are_said(&self) -> bool {
        self.waiting() == 0
    }
}

/// The newest announcement makes the run known. Then come the words that open the newest blocks.
fn newest_first(kept: &Kept) -> Vec<WordId> {
    let announcement = announcement(kept);
    let others = (0..kept.words.len()).rev().filter(|at| Some(*at) != announcement);
    announcement.into_iter().chain(others).map(|at| (kept.run, at)).collect()
}

/// The place of a run's newest announcement.
pub(super) fn announcement(kept: &Kept) -> Option<usize> {
    kept.words.iter().rposition(|word| word.starts_with(b"SRA"))
}

/// Words that wait for the hub's acknowledgement at most; blocks need room, too.
const WORDS_IN_FLIGHT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal of `count` runs, each with an announcement and two wrapped keys.
    fn runs(count: u8) -> Vec<Kept> {
        let words = || [b"SRA\x01", b"SRK\x01", b"SRK\x01"].map(|word| word.to_vec()).to_vec();
        (0..count).map(|number| Kept::of_words(RunId([number; 16]), words())).collect()
    }

    #[test]
    fn words_of_a_hundred_runs_are_all_said_the_newest_run_first() {
        let (runs, mut words) = (runs(100), Words::default());
        words.begin(&runs);
        let (mut said, mut ticket) = (Vec::new(), 0);
        while !words.are_said() {
            let oldest = ticket;
            while let Some(word) = words.next(ticket) {
                said.push(word);
                ticket += 1;
            }
            (oldest..ticket).for_each(|ticket| words.acknowledged(ticket));
        }
        assert_eq!(said.len(), 300);
        assert_eq!(said[..3], [0, 2, 1].map(|at| (RunId([99; 16]), at)));
        assert_eq!(said.last(), Some(&(RunId([0; 16]), 1)));
    }

    #[test]
    fn a_word_that_is_refused_is_said_again_and_no_other_waits_for_ever() {
        let (runs, mut words) = (runs(1), Words::default());
        words.begin(&runs);
        let first = words.next(7);
        assert!(words.refused(7) && !words.refused(7) && !words.are_said());
        assert_eq!(words.next(8), first);
    }

    #[test]
    fn the_word_of_a_new_epoch_goes_before_those_of_the_past() {
        let (runs, mut words) = (runs(50), Words::default());
        words.begin(&runs);
        let new = (RunId([49; 16]), 3);
        words.hurry(new);
        assert_eq!(words.next(1), Some(new));
    }
}
