//! A look at streams from outside: the newest block of each once a second, of which nothing is kept.

use core::time::Duration;
use std::time::Instant;

use schwann_relay::{Block, Subject};

use super::{Far, News};
use crate::link::Command;
use crate::refused;

impl Far {
    /// Asks for the newest blocks, as many at once as there is room for.
    pub(super) fn ask_for_newest(&mut self) {
        if self.due.is_empty() && self.rereads.elapsed() >= NEWEST_EVERY {
            self.rereads = Instant::now();
            self.due = self.runs.values().map(super::FarRun::stream).collect();
            self.due.sort_unstable();
            self.due.dedup();
        }
        while self.link.has_room()
            && let Some(stream) = self.due.pop()
        {
            // Asked again in a second.
            let _again =
                self.link.ask(Command::Last(Subject::Blocks(self.access.lab_id(), stream).to_string()));
        }
    }

    /// Takes in a stream's newest block. A hub that shows an older one again shows nothing.
    pub(super) fn newest(&mut self, message: &[u8], came: i64, news: &mut Vec<News>) {
        let block = match Block::parse(message) {
            Ok(block) => block,
            Err(why) => return refused::name("block", "", why),
        };
        // A run that is not announced yet is looked at once it is.
        let Some(run) = self.runs.get_mut(&block.run()).filter(|run| !run.is_revoked()) else { return };
        match run.look_at(&block) {
            Ok(Some((place, content))) => {
                news.push(News::Newest { run: block.run(), place, content, came });
            }
            Ok(None) => {}
            Err(why) => refused::name("block", &run.stream().to_string(), why),
        }
    }
}

const NEWEST_EVERY: Duration = Duration::from_secs(1);
