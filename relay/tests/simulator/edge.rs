//! The edge: seals, keeps a journal, publishes, and answers members.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schwann_relay::{
    AtHub, Before, BlockPlace, HandedOver, Moment, Note, NoteKind, Outflow, Ranges, Run, RunId, Stake, Start,
    StreamId,
};
use schwann_session::UnixSeconds;

mod room;

use crate::{
    connection::connect,
    disk::Disk,
    hub::Hub,
    lab::{Fixture, Seeded},
    oracle::Oracle,
    world::{Bug, Now},
};

/// A line of the journal. All of it may lie on a stolen disk: it is sealed or signed.
pub enum Line {
    Announcement(RunId, Vec<u8>),
    Keys(RunId, Vec<u8>),
    Block(RunId, BlockPlace, Vec<u8>),
}

impl Line {
    /// What a loss of power leaves of a line that was being written.
    fn tear(&mut self, chance: &mut Seeded) {
        let (Self::Announcement(_, bytes) | Self::Keys(_, bytes) | Self::Block(_, _, bytes)) = self;
        bytes.truncate(chance.below(bytes.len()));
    }
}

pub struct Edge {
    stream: StreamId,
    pub journal: Disk<Line>,
    process: Option<Process>,
    /// What was written down of what the hub has; it may be old.
    handed: HandedOver,
    /// What the hub ever acknowledged.
    acknowledged: BTreeSet<(RunId, u64)>,
    /// Whether the guest is a member, too: its key costs as much as all else.
    has_guest: bool,
    bug: Option<Bug>,
    restarts: u64,
    /// Lines that the disk did not take at once.
    pub held_up: u64,
    pub torn: u64,
}

pub struct Process {
    pub run: Run,
    /// What the disk did not take yet, in order.
    unkept: VecDeque<Line>,
    pub outflows: BTreeMap<RunId, Outflow>,
    pub handed: HandedOver,
    entropy: Seeded,
    pub connected: bool,
    read: usize,
    ended: bool,
}

impl Edge {
    pub fn new(stream: StreamId, has_guest: bool, bug: Option<Bug>) -> Self {
        Self {
            stream,
            journal: Disk::default(),
            process: None,
            handed: HandedOver::default(),
            acknowledged: BTreeSet::new(),
            has_guest,
            bug,
            restarts: 0,
            held_up: 0,
            torn: 0,
        }
    }

    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    /// Starts: reads the journal and begins a new run.
    pub fn start(&mut self, seed: u64, now: &Now, oracle: &mut Oracle) -> Result<(), String> {
        self.restarts += 1;
        let seed = if self.bug == Some(Bug::RepeatedRandomness) { 5 } else { seed + self.restarts };
        let mut entropy = Seeded::new(seed);
        self.journal.open(self.bug != Some(Bug::TornLineIsRead));
        let mut outflows = BTreeMap::new();
        let mut before = Before::NONE;
        let mut known = Vec::new();
        for (run, held, last) in self.journaled() {
            let blocks = last.map_or(0, |place| place.number + 1);
            before = Before { run, blocks, hash: last.map_or([0; 32], |place| place.hash) };
            let handed = self.handed.of(run);
            outflows.insert(run, Outflow::new(held, &handed, Vec::new()));
            known.push((run, handed));
        }
        let mut handed = HandedOver::new(known, self.handed.place());
        let fixture = Fixture::the();
        let start =
            Start { lab: fixture.lab_id(), stream: self.stream, description: b"<info/>".to_vec(), before };
        let run =
            Run::begin(start, &mut now.moment(&mut entropy, self.bug)).map_err(|fault| fault.to_string())?;
        oracle.begun(run.id())?;
        outflows.insert(run.id(), Outflow::new(Ranges::default(), &Ranges::default(), Vec::new()));
        handed.begin(run.id());
        let (unkept, connected, read, ended) = (VecDeque::new(), false, 0, false);
        self.process = Some(Process { run, unkept, outflows, handed, entropy, connected, read, ended });
        self.keep_epoch(now, oracle)
    }

    /// The runs of which the journal has an announcement, in order, with the blocks that it holds and the last that it ever held.
    fn journaled(&self) -> Vec<(RunId, Ranges, Option<BlockPlace>)> {
        let mut runs: Vec<(RunId, Ranges, Option<BlockPlace>)> = Vec::new();
        for line in self.journal.lines() {
            match line {
                Line::Announcement(run, _) if runs.iter().all(|(one, ..)| one != run) => {
                    runs.push((*run, Ranges::default(), None));
                }
                Line::Block(run, place, _) => {
                    if let Some((_, held, last)) = runs.iter_mut().find(|(one, ..)| one == run) {
                        held.insert(schwann_relay::Range::one(place.number));
                        *last = Some(*place);
                    }
                }
                Line::Announcement(..) | Line::Keys(..) => {}
            }
        }
        runs
    }

    /// Keeps announcement and wrapped keys of the present epoch in the journal, before the first block under them.
    fn keep_epoch(&mut self, now: &Now, oracle: &mut Oracle) -> Result<(), String> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let fixture = Fixture::the();
        let list = now.list(self.bug);
        let guest = Some(&fixture.guest.public).filter(|_| self.has_guest);
        let members: Vec<_> = [Some(&fixture.recorder.public), guest]
            .into_iter()
            .flatten()
            .filter(|member| member.admitted(now.calendar(), list))
            .collect();
        let id = process.run.id();
        let text = |fault: schwann_relay::SealError| fault.to_string();
        let announcement = process.run.announcement().to_vec();
        let mut moment = now.moment(&mut process.entropy, self.bug);
        let keys = process.run.wrapped(&members, &mut moment).map_err(text)?;
        process.unkept.extend([Line::Announcement(id, announcement), Line::Keys(id, keys)]);
        self.keep(oracle);
        Ok(())
    }

    /// Hands what waits to the disk, in order, and makes room where it is full. What the disk has, it lets out.
    pub fn keep(&mut self, oracle: &mut Oracle) {
        while let Some(process) = &mut self.process
            && let Some(line) = process.unkept.pop_front()
        {
            let is_block = matches!(line, Line::Block(..));
            match self.journal.append(line) {
                Ok(()) => {}
                Err(_) if is_block && self.bug == Some(Bug::FullDiskIsIgnored) => {}
                Err(line) => {
                    process.unkept.push_front(line);
                    self.held_up += 1;
                    if self.trim(1, Stake::AtHub, oracle) {
                        continue;
                    }
                    return;
                }
            }
            if is_block {
                process.outflows.entry(process.run.id()).and_modify(Outflow::appended);
            } else {
                self.journal.sync();
                // Words on the journal are published when a connection begins.
                process.connected = false;
            }
        }
    }

    /// Seals a block, appends it to the journal, and only then lets it out.
    pub fn produce(
        &mut self,
        now: &Now,
        last: bool,
        hub: &mut Hub,
        oracle: &mut Oracle,
    ) -> Result<(), String> {
        let Some(process) = self.process.as_mut().filter(|process| !process.ended) else { return Ok(()) };
        if process.unkept.len() > MOST_UNKEPT {
            return Ok(());
        }
        let content: Vec<u8> =
            (0..1 + process.entropy.below(3)).flat_map(|_| process.entropy.draw().to_le_bytes()).collect();
        let count = (content.len() / 8) as u32;
        let mut moment = now.moment(&mut process.entropy, self.bug);
        let sealed =
            if last { process.run.end(&mut moment) } else { process.run.seal(&content, count, &mut moment) };
        let sealed = sealed.map_err(|fault| fault.to_string())?;
        process.ended = last;
        let id = process.run.id();
        oracle.sealed(id, &sealed.place, if last { Vec::new() } else { content })?;
        if self.bug == Some(Bug::PublishedBeforeJournal) && process.entropy.once_in(3) {
            hub.publish(sealed.bytes, &mut process.entropy);
            oracle.published(id, sealed.place.number);
            self.process = None;
            return Ok(());
        }
        if sealed.new_epoch {
            self.keep_epoch(now, oracle)?;
        }
        let block = Line::Block(id, sealed.place, sealed.bytes);
        if let Some(process) = &mut self.process {
            process.unkept.push_back(block);
        }
        self.keep(oracle);
        Ok(())
    }

    /// Publishes some of what is due.
    pub fn publish(&mut self, most: usize, hub: &mut Hub, chance: &mut Seeded, oracle: &mut Oracle) {
        self.keep(oracle);
        let Some(process) = &mut self.process else { return };
        if !process.connected {
            connect(process, &self.journal, self.bug, hub, chance);
        }
        let mut left = most;
        for (run, outflow) in process.outflows.iter_mut().rev() {
            while left > 0
                && let Some(number) = outflow.next_block()
            {
                left -= 1;
                let Some(block) = block_of(&self.journal, *run, number) else { continue };
                oracle.published(*run, number);
                process.handed.published(*run, number);
                if let Some(place) = hub.publish(block.to_vec(), chance) {
                    outflow.acknowledged(number);
                    process.handed.acknowledged(AtHub { run: *run, number, place });
                    self.acknowledged.insert((*run, number));
                    if self.bug == Some(Bug::AcknowledgedIsDelivered) && !hub.honest {
                        self.journal.remove(
                            |line| matches!(line, Line::Block(r, p, _) if r == run && p.number == number),
                        );
                    }
                } else {
                    outflow.refused(number);
                }
            }
        }
        if chance.once_in(4) {
            self.handed = process.handed.clone();
        }
    }

    /// What the edge no longer counts as waiting was acknowledged at some time, or lies at the hub.
    pub fn check_handed_over(&self, hub: &Hub) -> Result<(), String> {
        let Some(process) = &self.process else { return Ok(()) };
        for line in self.journal.lines() {
            let Line::Block(run, BlockPlace { number, .. }, bytes) = line else { continue };
            let is_waiting = process.outflows.get(run).is_none_or(|outflow| outflow.waiting() > 0);
            if !is_waiting && !self.acknowledged.contains(&(*run, *number)) && !hub.has(bytes) {
                return Err(format!("block {number} counts as handed over, and never was"));
            }
        }
        Ok(())
    }

    /// Reads what members say.
    pub fn listen(
        &mut self,
        now: &Now,
        hub: &mut Hub,
        chance: &mut Seeded,
        oracle: &mut Oracle,
    ) -> Result<(), String> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let (messages, read) = hub.since(process.read, chance);
        process.read = read;
        let fixture = Fixture::the();
        for message in messages {
            let Ok(note) = Note::parse(&message, &fixture.lab, now.calendar(), now.list(self.bug)) else {
                continue;
            };
            let Some(outflow) = process.outflows.get_mut(&note.run).filter(|_| note.stream == self.stream)
            else {
                continue;
            };
            match note.kind {
                NoteKind::Receipt(_) => {
                    let hash =
                        note.ranges.highest().and_then(|number| place_of(&self.journal, note.run, number));
                    if outflow.receipt(&note, hash.map(|place| place.hash)).is_ok() {
                        oracle.receipted(note.run, &note.ranges)?;
                    }
                }
                NoteKind::HoleRequest => {
                    let lost = match self.bug {
                        Some(Bug::FalseLoss) => note.ranges.clone(),
                        _ => outflow.hole_request(&note, now.ms),
                    };
                    if self.bug == Some(Bug::SilentDrop) {
                        continue;
                    }
                    if !lost.is_empty() {
                        let names = (fixture.lab_id(), self.stream, note.run);
                        let loss =
                            Note::encode(NoteKind::Loss, names, lost.as_slice(), now.ms, &fixture.edge);
                        hub.publish(loss, chance);
                    }
                }
                NoteKind::Loss => {}
            }
        }
        Ok(())
    }

    pub fn reconnect(&mut self) {
        if let Some(process) = &mut self.process {
            process.outflows.values_mut().for_each(Outflow::disconnected);
            process.connected = false;
        }
    }

    pub fn die(&mut self, power: bool, chance: &mut Seeded, oracle: &mut Oracle) -> Result<(), String> {
        self.process = None;
        if power {
            let mut torn = Seeded::new(chance.draw());
            self.torn += u64::from(self.journal.lose_power(chance, |line| line.tear(&mut torn)));
            oracle.lost_power(|run, number| self.holds(run, number));
            return Ok(());
        }
        // A killed process loses nothing that it gave to the system.
        oracle.killed(|run, number| self.holds(run, number))
    }

    pub fn holds(&self, run: RunId, number: u64) -> bool {
        place_of(&self.journal, run, number).is_some()
    }

    pub fn has_ended(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.ended)
    }
}

/// So many lines wait for a disk at most: then no more is sealed.
const MOST_UNKEPT: usize = 6;

pub fn block_of(journal: &Disk<Line>, run: RunId, number: u64) -> Option<&[u8]> {
    journal.lines().iter().find_map(|line| match line {
        Line::Block(of, place, bytes) if (*of, place.number) == (run, number) => Some(bytes.as_slice()),
        _ => None,
    })
}

fn place_of(journal: &Disk<Line>, run: RunId, number: u64) -> Option<BlockPlace> {
    journal.lines().iter().find_map(|line| match line {
        Line::Block(of, place, _) if (*of, place.number) == (run, number) => Some(*place),
        _ => None,
    })
}

impl Now {
    pub fn calendar(&self) -> UnixSeconds {
        UnixSeconds(crate::lab::NOW.0 + self.ms / 1000)
    }

    fn moment<'a>(&self, entropy: &'a mut Seeded, bug: Option<Bug>) -> Moment<'a> {
        Moment {
            credentials: &Fixture::the().edge,
            entropy,
            list_number: self.list(bug).number(),
            now: self.calendar(),
        }
    }

    pub fn list(&self, bug: Option<Bug>) -> &'static schwann_session::RevocationList<Vec<u8>> {
        let revoked = self.revoked && bug != Some(Bug::RevokedIsServed);
        &Fixture::the().lists[usize::from(revoked)]
    }
}
