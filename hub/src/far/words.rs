//! Announcements, wrapped keys and revocation lists at the far end: which runs there are, and what opens them.

use schwann::security::refused_from_hub;
use schwann_relay::{Announcement, Refused, RunId};

use super::{Far, FarRun, News};
use crate::refused;

impl Far {
    pub(super) fn announcement(&mut self, message: &[u8], news: &mut Vec<News>) {
        // Announcements are repeated to the letter: one look is enough.
        if self.runs.values_mut().any(|run| run.heard_again(message)) {
            return;
        }
        let parsed = self.access.checking(|lab, _, revoked| {
            Announcement::parse(message, lab, revoked).map(|one| (one.run(), one.stream(), FarRun::new(&one)))
        });
        let (id, stream, fresh) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => return refused::name("announcement", "", why),
        };
        if self.runs.len() >= MAX_RUNS && !self.runs.contains_key(&id) {
            self.remarks
                .tell(format!("{TOO_MANY}; no new stream is taken until this command is started again"));
            return refused_from_hub("announcement", &stream.to_string(), &TOO_MANY);
        }
        let run = self.runs.entry(id).or_insert(fresh);
        let described = run.is_described();
        if let Err(why) = run.announced(message, &self.access) {
            return refused::name("announcement", &stream.to_string(), why);
        }
        news.push(News::Word(id, message.to_vec()));
        self.link_runs(id);
        self.retry(id, described, news);
        for stray in core::mem::take(&mut self.strays) {
            self.wrapped(&stray, news);
        }
    }

    /// Tells each run what the next one says of it.
    pub(super) fn link_runs(&mut self, id: RunId) {
        let Some(run) = self.runs.get(&id) else { return };
        let (before, text) = (run.follower().before().run, run.announcement().to_vec());
        let stream = run.stream().to_string();
        if let Some(Err(why)) =
            self.runs.get_mut(&before).map(|earlier| earlier.followed_by(&text, &self.access))
        {
            refused::name("announcement", &stream, why);
        }
        let next = self.runs.values().find(|run| run.follower().before().run == id);
        let next = next.map(|run| run.announcement().to_vec());
        if let (Some(text), Some(run)) = (next, self.runs.get_mut(&id)) {
            // It was named when it came.
            let _ = run.followed_by(&text, &self.access);
        }
    }

    pub(super) fn wrapped(&mut self, message: &[u8], news: &mut Vec<News>) {
        let names = message.get(20..36).zip(message.get(36..52));
        let id = names.and_then(|(_, run)| run.try_into().ok()).map(RunId);
        let Some(id) = id else {
            return refused::name("wrapped key", "", Refused::Malformed);
        };
        let Some(run) = self.runs.get_mut(&id) else {
            if self.strays.len() >= MAX_STRAYS {
                self.strays.pop_front();
            }
            self.strays.push_back(message.to_vec());
            return;
        };
        let described = run.is_described();
        match run.unwrap(message, &self.keys, &self.access) {
            Ok(true) => {
                news.push(News::Word(id, message.to_vec()));
                self.retry(id, described, news);
            }
            Ok(false) => {}
            Err(why) => {
                let (stream, device) = (run.stream().to_string(), run.device().to_owned());
                refused::name("wrapped key", &stream, why);
                if why == Refused::TooManyEpochs {
                    self.remarks.tell(format!("a stream of {device} cannot be read any more: {why}"));
                }
            }
        }
    }

    /// A new revocation list ends the runs of devices that it has (relay §9).
    pub(super) fn follow_list(&mut self) {
        let number = self.access.list_number();
        if core::mem::replace(&mut self.list_number, number) == number {
            return;
        }
        let mut told = Vec::new();
        for run in self.runs.values_mut() {
            if run.is_newly_revoked(&self.access) {
                refused_from_hub("run", &run.stream().to_string(), &REVOKED);
                let name =
                    run.info().map_or_else(String::new, |info| info.name().to_string_lossy().into_owned());
                told.push(format!("{name} of {}: {REVOKED}, and nothing more of it is taken", run.device()));
            }
        }
        told.into_iter().for_each(|what| self.remarks.tell(what));
    }
}

const REVOKED: &str = "its device was revoked";
const MAX_RUNS: usize = 4096;
const TOO_MANY: &str = "more than 4096 runs are known";
const MAX_STRAYS: usize = 256;
