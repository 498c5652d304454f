//! What a member says to a hub: its wrapping key and its receipts, each until it has arrived.

use std::time::Instant;

use schwann_relay::{Hash, Note, NoteKind, Range, RunId, StreamId, Subject};

use super::{Far, Wanted};
use crate::access::now_ms;
use crate::link::{Command, Since};
use crate::wrapping::WrappingKeys;

/// What a member says to a hub until it has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    Key,
    Receipt(RunId, Range),
}

impl Far {
    /// Says what lies on the disk by now: call it after an fsync, with what was marked before it.
    /// What does not get there is said again after the next one.
    pub fn receipt(&mut self, run: RunId, receipts: &[(Range, Hash)]) {
        let Some(one) = self.runs.get(&run) else { return };
        let names = one.follower().names();
        for (range, hash) in receipts {
            let is_on_way = self.is_connected && {
                let note = self.note(NoteKind::Receipt(*hash), names, &[*range]);
                self.link.publish(Subject::Notes(names.0, names.1), note, Some(self.next_ticket))
            };
            if is_on_way {
                self.on_way.insert(self.next_ticket, Said::Receipt(run, *range));
                self.next_ticket += 1;
            } else {
                self.say_again(Said::Receipt(run, *range));
            }
        }
    }

    /// Something did not get to the hub.
    pub(super) fn say_again(&mut self, said: Said) {
        match said {
            Said::Key => self.is_key_due = true,
            Said::Receipt(run, range) => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.follower_mut().receipt_again(range);
                }
            }
        }
    }

    /// Makes the own key known, and asks for what was said before.
    pub(super) fn greet(&mut self) {
        self.is_key_due = true;
        let access = &self.access;
        if self.wanted == Wanted::Newest {
            // Receipts come every moment, and a key is an hour old at most.
            self.questions.begin([
                Command::History(access.subjects(["revoked", "*.m"]), Since::LastOfEach),
                Command::History(access.subjects(["*.k"]), Since::Seconds(RECENT_KEYS)),
            ]);
        } else {
            let past = access.subjects(["revoked", "*.m", "*.k", "*.r"]);
            self.questions.begin([Command::History(past, Since::Beginning)]);
        }
        self.rereads = Instant::now();
    }

    /// A new wrapping key every 30 days.
    pub(super) fn renew_keys(&mut self) {
        if !self.keys.are_due() {
            return;
        }
        match WrappingKeys::open(&self.access, self.history) {
            Ok(keys) => {
                self.keys = keys;
                self.greet();
            }
            Err(error) => self.remarks.tell(format!(
                "no new wrapping key can be made, and senders serve the present one for a day at most: {error}; look at the \
                 folder relay among the keys"
            )),
        }
    }

    /// Makes the own key known, until the hub has it: edges wrap for it.
    pub(super) fn publish_key(&mut self) {
        if !self.is_key_due {
            return;
        }
        let (members, key) = (Subject::Members(self.access.lab_id()), self.keys.publication().to_vec());
        if self.link.publish(members, key, Some(self.next_ticket)) {
            self.is_key_due = false;
            self.on_way.insert(self.next_ticket, Said::Key);
            self.next_ticket += 1;
        }
    }

    pub(super) fn note(
        &self,
        kind: NoteKind,
        names: (schwann_session::LabId, StreamId, RunId),
        ranges: &[Range],
    ) -> Vec<u8> {
        self.access.sealing(|moment| Note::encode(kind, names, ranges, now_ms(), moment.credentials))
    }
}

/// A key is an hour old at most; as much again for clocks that differ.
const RECENT_KEYS: u64 = 7200;
