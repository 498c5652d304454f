//! What an edge and its hub say to each other.

use core::time::Duration;
use std::time::Instant;

use schwann::local_clock;
use schwann::security::refused_from_hub;
use schwann_relay::{
    AtHub, Block, ClockAnswer, ClockMessage, Note, NoteKind, Outflow, Range, Refused, RunId, Subject,
    WrappingPublic,
};

use super::{Edge, handed, lock, words};
use crate::access::now_ms;
use crate::link::{Command, EVENTS_AT_ONCE, Event, Last, Problem, Since};
use crate::wall;

impl Edge {
    /// Takes in what the hub said, but no more of it than samples can wait for.
    pub(super) fn hear(&mut self) {
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.link.event(Duration::ZERO) else { return };
            match event {
                Event::Connected => self.greet(),
                Event::Disconnected(problem) => self.disconnected(problem),
                // What an earlier connection was asked says nothing of this one.
                Event::Last(_) if !self.is_connected => {}
                Event::Last(last) => self.resume(last.as_ref()),
                Event::Acknowledged(ticket, place) => self.acknowledged(ticket, place),
                Event::Refused(ticket, problem) => self.take_back(ticket, problem),
                Event::Answered(question) => self.questions.answered(&question),
                Event::Unanswered(question, problem) => {
                    self.questions.unanswered(question);
                    self.tell(problem.to_string());
                }
                Event::Message(message, came) if message.starts_with(b"SRC") => {
                    self.answer_probe(&message, came)
                }
                Event::Message(message, _) => self.listen(&message),
            }
        }
    }

    fn disconnected(&mut self, problem: Problem) {
        self.is_connected = false;
        self.outflows.iter_mut().for_each(|(_, outflow)| outflow.disconnected());
        lock(&self.status).disconnected(problem);
    }

    /// The hub keeps the word or the block with this ticket, at this place of its log.
    fn acknowledged(&mut self, ticket: u64, place: u64) {
        self.words.acknowledged(ticket);
        if let Some((run, outflow, number)) = self.outflow_of(ticket) {
            outflow.acknowledged(number);
            self.handed_over.acknowledged(AtHub { run, number, place });
            lock(&self.status).acknowledged();
        }
    }

    /// The hub did not keep the word or the block with this ticket.
    fn take_back(&mut self, ticket: u64, problem: Problem) {
        self.refused |= self.words.refused(ticket);
        if let Some((_, outflow, number)) = self.outflow_of(ticket) {
            outflow.refused(number);
            self.refused = true;
        }
        if self.refused {
            lock(&self.status).refused(problem);
        }
    }

    /// A connection stands: the hub is told what members must know, and asked how far it came.
    fn greet(&mut self) {
        self.is_connected = true;
        self.tickets.clear();
        self.words.begin(self.journal.runs());
        lock(&self.status).connected();
        self.told_list = 0;
        let (lab, stream) = (self.access.lab_id(), self.journal.stream());
        let past = [Subject::Revoked(lab), Subject::Members(lab), Subject::Notes(lab, stream)]
            .map(|subject| subject.to_string());
        self.questions.begin([
            Command::Last(Subject::Blocks(lab, stream).to_string()),
            Command::History(past.to_vec(), Since::Beginning),
        ]);
    }

    /// Goes on with what the hub has not acknowledged. Its last block, if that is ours byte for byte, shows whether it still has
    /// the others (relay §8.3).
    fn resume(&mut self, last: Option<&Last>) {
        let last = last.and_then(|last| Some((Block::parse(&last.message).ok()?, last.place)));
        let last = last.filter(|(block, _)| {
            self.journal.block(block.run(), block.number()).as_deref() == Some(block.as_bytes())
        });
        let last = last.map(|(block, place)| AtHub { run: block.run(), number: block.number(), place });
        self.handed_over.connected(last);
        // Before anything is published: the hub may have lost what was written down before.
        if !self.write_handed_over() {
            handed::remove(self.journal.folder());
        }
        for (run, outflow) in &mut self.outflows {
            outflow.connected(&self.handed_over.of(*run));
        }
    }

    /// Publishes what is due: the present run first.
    pub(super) fn publish(&mut self) {
        if core::mem::take(&mut self.refused) {
            // A hub that is full is asked again in the next turn, not at once.
            return;
        }
        if self.is_connected {
            self.questions.ask(&self.link);
            self.publish_words();
        }
        for at in (0..self.outflows.len()).rev() {
            if !self.publish_run(at) {
                // Nothing takes it now, and the next turn tries again.
                return;
            }
        }
    }

    /// Publishes the blocks of a run that are due, as far as there is room; says whether all were taken.
    fn publish_run(&mut self, at: usize) -> bool {
        let subject = Subject::Blocks(self.access.lab_id(), self.journal.stream());
        while self.link.has_room()
            && self.tickets.len() + self.words.on_way() < IN_FLIGHT
            && let Some((run, outflow)) = self.outflows.get_mut(at)
            && let Some(number) = outflow.next_block()
        {
            let run = *run;
            let Some(block) = self.journal.block(run, number) else {
                outflow.damaged(Range::one(number));
                lock(&self.status).damaged(1);
                continue;
            };
            self.next_ticket += 1;
            if !self.link.publish(subject, block, Some(self.next_ticket)) {
                outflow.refused(number);
                return false;
            }
            self.handed_over.published(run, number);
            self.tickets.insert(self.next_ticket, (run, number));
        }
        true
    }

    /// Publishes announcements and wrapped keys that are due, before the blocks that they open.
    fn publish_words(&mut self) {
        let (lab, stream) = (self.access.lab_id(), self.journal.stream());
        while self.link.has_room()
            && let Some((run, at)) = self.words.next(self.next_ticket + 1)
        {
            self.next_ticket += 1;
            let kept = self.journal.runs().iter().find(|kept| kept.run == run);
            let Some(word) = kept.and_then(|kept| kept.words.get(at)).cloned() else {
                self.words.acknowledged(self.next_ticket);
                continue;
            };
            let is_announcement = word.starts_with(b"SRA");
            let subject = if is_announcement {
                Subject::Announcements(lab, stream)
            } else {
                Subject::Keys(lab, stream)
            };
            if !self.link.publish(subject, word, Some(self.next_ticket)) {
                self.words.refused(self.next_ticket);
                return;
            }
        }
    }

    /// Says again that the stream is here.
    pub(super) fn announce(&mut self) {
        let Some(kept) = self.journal.runs().last() else { return };
        if let Some(at) = words::announcement(kept) {
            self.words.hurry((kept.run, at));
        }
    }

    /// Tells the hub of the newest revocation list: members of other sites learn of it there.
    pub(super) fn publish_list(&mut self) {
        let number = self.access.list_number();
        if number != self.told_list && self.outflows.iter().any(|(_, outflow)| outflow.is_connected()) {
            let list = self.access.newest_list();
            if self.link.publish(Subject::Revoked(self.access.lab_id()), list, None) {
                self.told_list = number;
            }
        }
    }

    /// Takes in a revocation list, a member's key, a receipt or a request.
    fn listen(&mut self, message: &[u8]) {
        if message.starts_with(b"SCR") {
            if let Err(why) = self.access.take_list(message) {
                self.refuse("revocation list", &why);
            }
            return;
        }
        if message.starts_with(b"SRM") {
            let member =
                self.access.checking(|lab, now, revoked| WrappingPublic::parse(message, lab, now, revoked));
            match member {
                Ok(member) => self.members.know(member),
                Err(why) => crate::refused::name("wrapping key", "", why),
            }
            return;
        }
        match self.access.checking(|lab, now, revoked| Note::parse(message, lab, now, revoked)) {
            Ok(note) if note.stream == self.journal.stream() => self.note(&note),
            Ok(_) => self.refuse("note", &Refused::Foreign),
            Err(why) => crate::refused::name("note", "", why),
        }
    }

    /// Says what the clocks show, of this computer and of the stream (relay §12).
    fn answer_probe(&mut self, message: &[u8], received: f64) {
        if self.probes.0.elapsed() >= PROBES_EVERY {
            self.probes = (Instant::now(), 0);
        }
        self.probes.1 += 1;
        if self.probes.1 > MOST_PROBES {
            return;
        }
        let parsed =
            self.access.checking(|lab, now, revoked| ClockMessage::parse(message, lab, now, revoked));
        let probe = match parsed {
            Ok(probe) if probe.answer.is_none() => probe,
            Ok(_) => return,
            Err(why) => return crate::refused::name("clock probe", "", why),
        };
        // Only of the present run there is a clock.
        let Some(live) = self.live.as_ref().filter(|live| live.run.id() == probe.run) else { return };
        // The first question begins the measurement.
        let Ok(estimate) = live.inlet.clock_offset(0.0) else { return self.tell_unknown_clock() };
        let (stream_offset, stream_bound) = (estimate.offset, estimate.uncertainty / 2.0);
        let (lab, stream) = (self.access.lab_id(), self.journal.stream());
        let backlog = lock(&self.status).backlog();
        let answer = self.access.sealing(|moment| {
            let (wall, wall_bound) = wall::read();
            let sent = local_clock();
            let answer =
                ClockAnswer { received, sent, stream_offset, stream_bound, wall, wall_bound, backlog };
            ClockMessage::encode((lab, stream, probe.run), probe.probe, Some(answer), moment.credentials)
        });
        self.link.send(Subject::Clock(lab, stream), answer);
    }

    /// Says once that the stream's clock does not answer, so that no other site can place its stamps.
    fn tell_unknown_clock(&mut self) {
        let Some(live) = self.live.as_mut().filter(|live| !live.is_clock_missed) else { return };
        if live.asked.get_or_insert_with(Instant::now).elapsed() < CLOCK_PATIENCE {
            return;
        }
        live.is_clock_missed = true;
        self.tell(String::from(
            "its sender's clock does not answer, so other sites cannot place its stamps; why: schwann doctor HOST, with its computer",
        ));
    }

    fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Receipt(_) => self.take_receipt(note),
            NoteKind::HoleRequest => self.take_request(note),
            NoteKind::Loss => {}
        }
    }

    /// A recorder has blocks on its disk.
    fn take_receipt(&mut self, note: &Note) {
        let Some((_, outflow)) = self.outflows.iter_mut().find(|(run, _)| *run == note.run) else { return };
        let hash = note.ranges.highest().and_then(|number| {
            let bytes = self.journal.block(note.run, number)?;
            Some(Block::parse(&bytes).ok()?.hash())
        });
        let taken = outflow.receipt(note, hash);
        let device = note.certificate.statement.name;
        match taken {
            Ok(()) => {
                let is_present = self.live.as_ref().is_some_and(|live| live.run.id() == note.run);
                lock(&self.status).receipted(device.as_str(), note, is_present);
            }
            Err(schwann_relay::ReceiptFault::Unknown) => {}
            Err(why) => self.refuse("receipt", &why),
        }
    }

    /// A recorder lacks blocks: they are handed over again, and those that are lost are named.
    fn take_request(&mut self, note: &Note) {
        let Some((_, outflow)) = self.outflows.iter_mut().find(|(run, _)| *run == note.run) else { return };
        let lost = outflow.hole_request(note, now_ms());
        if !lost.is_empty() {
            let names = (self.access.lab_id(), note.stream, note.run);
            let loss = self.access.sealing(|moment| {
                Note::encode(NoteKind::Loss, names, lost.as_slice(), now_ms(), moment.credentials)
            });
            // The member asks again if it hears nothing.
            let _ = self.link.publish(Subject::Notes(names.0, names.1), loss, None);
        }
    }

    fn outflow_of(&mut self, ticket: u64) -> Option<(RunId, &mut Outflow, u64)> {
        let (run, number): (RunId, u64) = self.tickets.remove(&ticket)?;
        let (_, outflow) = self.outflows.iter_mut().find(|(one, _)| *one == run)?;
        Some((run, outflow, number))
    }

    fn refuse(&self, what: &str, why: &dyn core::fmt::Display) {
        refused_from_hub(what, &lock(&self.status).stream, why);
    }
}

/// Clock probes that are looked at in [`PROBES_EVERY`] at most.
const MOST_PROBES: u32 = 64;
const PROBES_EVERY: Duration = Duration::from_secs(1);
/// A clock that has not answered by then does not answer.
const CLOCK_PATIENCE: Duration = Duration::from_secs(20);
/// Blocks that wait for the hub's acknowledgement at most.
const IN_FLIGHT: usize = 64;
