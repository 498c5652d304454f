//! What a recorder lacks, and how it asks for that (relay §7.2).

use core::time::Duration;
use std::time::Instant;

use schwann_relay::{NoteKind, Range, Ranges, Subject};

use super::Far;
use crate::link::{Command, Since};

impl Far {
    /// Asks edges for what is missing, and reads the hub's log again where that does not help.
    pub(super) fn ask_for_holes(&mut self) {
        let mut streams = Vec::new();
        for run in self.runs.values().filter(|run| run.is_wanted()) {
            let holes = run.holes();
            if holes.is_empty() {
                continue;
            }
            streams.push(run.stream());
            let names = run.follower().names();
            let request = self.note(NoteKind::HoleRequest, names, holes.as_slice());
            // Asked again while there are holes.
            let _ = self.link.publish(Subject::Notes(names.0, names.1), request, None);
        }
        if !streams.is_empty() && self.rereads.elapsed() >= REREAD_EVERY {
            self.rereads = Instant::now();
            let lab = self.access.lab_id();
            let subjects = streams.into_iter().map(|stream| Subject::Blocks(lab, stream).to_string());
            self.questions.add(Command::History(subjects.collect(), Since::Beginning));
        }
    }
}

/// What of `ranges` is `floor` or above.
pub(crate) fn above(mut ranges: Ranges, floor: u64) -> Ranges {
    if let Some(last) = floor.checked_sub(1) {
        ranges.remove(Range { first: 0, last });
    }
    ranges
}

const REREAD_EVERY: Duration = Duration::from_secs(8);
