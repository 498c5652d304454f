//! A member that reads what the hub gives it; the recorder keeps it on disk and gives receipts.

use std::collections::BTreeMap;

use schwann_relay::{Announcement, Block, BlockPlace, Follower, Note, NoteKind, RunId, StreamId, Taken};

use crate::{
    disk::Disk,
    hub::Hub,
    lab::{Fixture, Party, Seeded},
    oracle::Oracle,
    world::{Bug, Now},
};

/// A line of the recording.
pub enum Line {
    Description(RunId, Vec<u8>),
    Block(RunId, BlockPlace),
}

pub struct Recorder {
    stream: StreamId,
    who: &'static Party,
    pub disk: Disk<Line>,
    process: Option<Process>,
    bug: Option<Bug>,
    pub refused: u64,
}

#[derive(Default)]
struct Process {
    followers: BTreeMap<RunId, Follower>,
    announcements: BTreeMap<RunId, Vec<u8>>,
    read: usize,
}

impl Recorder {
    pub fn new(stream: StreamId, who: &'static Party, bug: Option<Bug>) -> Self {
        Self { stream, who, disk: Disk::default(), process: None, bug, refused: 0 }
    }

    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    pub fn start(&mut self) {
        self.disk.open(true);
        self.process = Some(Process::default());
    }

    pub fn die(&mut self, power: bool, chance: &mut Seeded) {
        self.process = None;
        if power {
            self.disk.lose_power(chance, |_| {});
        }
    }

    /// Takes what the hub has, in the order in which it gives it. Tells how many blocks were new.
    pub fn read(
        &mut self,
        now: &Now,
        hub: &Hub,
        chance: &mut Seeded,
        oracle: &mut Oracle,
    ) -> Result<u64, String> {
        let Some(process) = &mut self.process else { return Ok(0) };
        let (messages, read) = hub.since(process.read, chance);
        process.read = read;
        let mut fresh = 0;
        for message in messages {
            fresh += u64::from(self.message(&message, now, oracle)?);
        }
        Ok(fresh)
    }

    /// As [`read`](Self::read), for a member of whom nothing is expected but that it opens no more than it may.
    pub fn read_blindly(&mut self, now: &Now, hub: &Hub, chance: &mut Seeded) {
        let Some(process) = &mut self.process else { return };
        let (messages, read) = hub.since(process.read, chance);
        process.read = read;
        for message in messages {
            match message.get(..4) {
                Some(b"SRA\x01") => self.announcement(&message, now),
                Some(b"SRK\x01") => self.keys(&message),
                _ => {}
            }
        }
    }

    fn message(&mut self, message: &[u8], now: &Now, oracle: &mut Oracle) -> Result<bool, String> {
        match message.get(..4) {
            Some(b"SRA\x01") => self.announcement(message, now),
            Some(b"SRK\x01") => self.keys(message),
            Some(b"SRB\x01") => return self.block(message, oracle),
            Some(b"SRL\x01") => self.loss(message, now),
            _ => {}
        }
        Ok(false)
    }

    fn announcement(&mut self, message: &[u8], now: &Now) {
        let Some(process) = &mut self.process else { return };
        // Announcements are repeated to the letter: one look is enough.
        if process.announcements.values().any(|known| known == message) {
            return;
        }
        let Ok(announcement) = Announcement::parse(message, &Fixture::the().lab, now.list(None)) else {
            self.refused += 1;
            return;
        };
        if announcement.stream() != self.stream {
            return;
        }
        let run = announcement.run();
        if !process.followers.contains_key(&run) {
            let mut follower = Follower::new(&announcement);
            if self.bug != Some(Bug::ForgottenDisk) {
                restore(&mut follower, &self.disk, run);
            }
            // Runs may become known in any order: each learns what the next one says of it.
            for text in process.announcements.values() {
                if let Ok(next) = Announcement::parse(text, &Fixture::the().lab, now.list(None)) {
                    let _of_another = follower.followed_by(&next);
                }
            }
            process.followers.insert(run, follower);
            if let Some(earlier) = process.followers.get_mut(&announcement.before.run) {
                self.refused += u64::from(earlier.followed_by(&announcement).is_err());
            }
        }
        if let Some(follower) = process.followers.get_mut(&run) {
            self.refused += u64::from(follower.announcement(&announcement).is_err());
        }
        process.announcements.insert(run, message.to_vec());
    }

    fn keys(&mut self, message: &[u8]) {
        let Some(process) = &mut self.process else { return };
        // A message of another run is foreign to a follower: the right one takes it.
        for (run, follower) in &mut process.followers {
            let Ok(true) = follower.wrapped(message, &self.who.wrapping) else { continue };
            let announcement = process.announcements.get(run).cloned().unwrap_or_default();
            if let Ok(announcement) =
                Announcement::parse(&announcement, &Fixture::the().lab, &Fixture::the().lists[0])
            {
                let _later = follower.announcement(&announcement);
            }
        }
    }

    fn block(&mut self, message: &[u8], oracle: &mut Oracle) -> Result<bool, String> {
        let Some(process) = &mut self.process else { return Ok(false) };
        let Ok(block) = Block::parse(message) else {
            self.refused += 1;
            return Ok(false);
        };
        let Some(follower) = process.followers.get_mut(&block.run()) else { return Ok(false) };
        match follower.take(&block) {
            Ok(Taken::New(place, content)) => {
                oracle.received(block.run(), &place, &content)?;
                let known = self
                    .disk
                    .lines()
                    .iter()
                    .any(|line| matches!(line, Line::Description(of, _) if *of == block.run()));
                let description = follower.description().unwrap_or_default().to_vec();
                let mut lines = vec![Line::Block(block.run(), place)];
                lines.extend((!known).then(|| Line::Description(block.run(), description)));
                if self.disk.lines().iter().any(|line| matches!(line, Line::Block(of, p) if *of == block.run() && p.number == place.number)) {
                    return Err(format!("block {} was recorded twice", place.number));
                }
                while let Some(line) = lines.pop() {
                    if self.disk.append(line).is_err() && self.bug != Some(Bug::FullRecordingGoesOn) {
                        // A recorder whose disk is full says so and ends.
                        self.process = None;
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            Ok(Taken::NoKey | Taken::Repeat) => {}
            Err(_) => self.refused += 1,
        }
        Ok(false)
    }

    fn loss(&mut self, message: &[u8], now: &Now) {
        let Some(process) = &mut self.process else { return };
        if let Ok(note) = Note::parse(message, &Fixture::the().lab, now.calendar(), now.list(None))
            && let Some(follower) = process.followers.get_mut(&note.run)
        {
            self.refused += u64::from(follower.loss(&note).is_err());
        }
    }

    /// Syncs the disk and gives receipts for what lies on it.
    pub fn receipt(&mut self, now: &Now, hub: &mut Hub, chance: &mut Seeded) {
        let Some(process) = &mut self.process else { return };
        let marks: Vec<_> = process.followers.iter().map(|(run, follower)| (*run, follower.mark())).collect();
        if self.bug != Some(Bug::ReceiptBeforeSync) {
            self.disk.sync();
        }
        for (run, mark) in marks {
            let Some(follower) = process.followers.get_mut(&run) else { continue };
            let names = follower.names();
            for (mut range, hash) in follower.synced(mark) {
                if self.bug == Some(Bug::ReceiptOverHoles) {
                    range.first = 0;
                }
                let receipt =
                    Note::encode(NoteKind::Receipt(hash), names, &[range], now.ms, &self.who.credentials);
                hub.publish(receipt, chance);
            }
        }
    }

    /// Asks for what is missing.
    pub fn ask(&mut self, now: &Now, hub: &mut Hub, chance: &mut Seeded) {
        let Some(process) = self.process.as_ref().filter(|_| self.bug != Some(Bug::ForgottenHole)) else {
            return;
        };
        for follower in process.followers.values() {
            let holes = follower.holes();
            if !holes.is_empty() {
                let names = follower.names();
                let request = Note::encode(
                    NoteKind::HoleRequest,
                    names,
                    holes.as_slice(),
                    now.ms,
                    &self.who.credentials,
                );
                hub.publish(request, chance);
            }
        }
    }

    pub fn reread(&mut self) {
        if let Some(process) = &mut self.process {
            process.read = 0;
        }
    }

    pub fn followers(&self) -> impl Iterator<Item = (&RunId, &Follower)> {
        self.process.iter().flat_map(|process| &process.followers)
    }
}

/// Goes on with what the disk has of a run.
fn restore(follower: &mut Follower, disk: &Disk<Line>, run: RunId) {
    let description = disk.lines().iter().find_map(|line| match line {
        Line::Description(of, text) if *of == run => Some(text.clone()),
        _ => None,
    });
    let Some(description) = description else { return };
    follower.restore(
        description,
        disk.lines().iter().filter_map(|line| match line {
            Line::Block(of, place) if *of == run => Some(*place),
            _ => None,
        }),
    );
}
