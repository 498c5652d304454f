//! Clients that the outlet parts from: those that left, broke, fell silent, or may not listen any more.

use std::time::Instant;

use super::Server;
use super::conversation::Conversation;

impl Server {
    pub(super) fn part(&mut self, token: usize) {
        let Some(mut conversation) = self.conversations.remove(&token) else { return };
        if let Some(consumer) = conversation.consumer() {
            self.shared.fanout.leave(consumer);
        }
        if let Some(session) = conversation.session() {
            self.shared.probes.remove(session);
        }
        // The descriptor is closed next, which unregisters it as well.
        let _ = self.poll.registry().deregister(conversation.watched());
        conversation.end();
    }

    /// Holds every connection against a revocation list that has come into force, and hands the list on.
    pub(super) fn follow_lab(&mut self) {
        let Some(member) = self.shared.terms.sealing.clone() else { return };
        member.refresh();
        let changes = member.changes();
        if core::mem::replace(&mut self.lab_changes, changes) == changes {
            return;
        }
        self.dismiss();
        self.conversations.values().for_each(Conversation::offer_update);
    }

    /// Parts from every client that would not be let in any more.
    pub(super) fn dismiss(&mut self) {
        let due = self.conversations.iter().filter_map(|(token, one)| Some((*token, one.dismissal()?)));
        for (token, refusal) in due.collect::<Vec<_>>() {
            if let Some(conversation) = self.conversations.get(&token) {
                // So that nothing is sent to it any more.
                conversation.consumer().into_iter().for_each(|consumer| self.shared.fanout.leave(consumer));
                conversation.note_dismissed(&self.shared, refusal);
            }
            self.part(token);
        }
    }

    pub(super) fn part_from_broken(&mut self, failed: &[u64]) {
        for consumer in failed {
            let token = self.conversations.iter().find(|(_, one)| one.consumer() == Some(*consumer));
            if let Some(token) = token.map(|(token, _)| *token) {
                self.part(token);
            }
        }
    }

    pub(super) fn part_from_silent(&mut self, now: Instant) {
        let late = |one: &Conversation| one.deadline().is_some_and(|deadline| deadline <= now);
        let silent: Vec<_> =
            self.conversations.iter().filter(|(_, one)| late(one)).map(|(token, _)| *token).collect();
        for token in silent {
            if let Some(conversation) = self.conversations.get(&token) {
                conversation.note_silence(&self.shared);
            }
            self.part(token);
        }
    }
}
