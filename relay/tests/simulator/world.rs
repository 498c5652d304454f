//! The turns: chaos first, then calm, then judgement.

use schwann_relay::{Stake, StreamId};

use crate::{
    edge::Edge,
    hub::Hub,
    lab::{Fixture, Seeded},
    oracle::Oracle,
    recorder::Recorder,
};

/// A mistake that a program around the crate could make.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bug {
    AcknowledgedIsDelivered,
    AnnouncedOnce,
    FalseLoss,
    ForgottenDisk,
    ForgottenHole,
    FullDiskIsIgnored,
    FullRecordingGoesOn,
    KeysNotKept,
    LastCountsForAllBefore,
    PublishedBeforeJournal,
    ReceiptBeforeSync,
    ReceiptOverHoles,
    RepeatedRandomness,
    RevokedIsServed,
    SilentDrop,
    TornLineIsRead,
    TrustedResume,
}

impl Bug {
    pub const ALL: [Self; 17] = [
        Self::AcknowledgedIsDelivered,
        Self::AnnouncedOnce,
        Self::FalseLoss,
        Self::ForgottenDisk,
        Self::ForgottenHole,
        Self::FullDiskIsIgnored,
        Self::FullRecordingGoesOn,
        Self::KeysNotKept,
        Self::LastCountsForAllBefore,
        Self::PublishedBeforeJournal,
        Self::ReceiptBeforeSync,
        Self::ReceiptOverHoles,
        Self::RepeatedRandomness,
        Self::RevokedIsServed,
        Self::SilentDrop,
        Self::TornLineIsRead,
        Self::TrustedResume,
    ];
}

/// What time it is, and whether the guest is revoked.
#[derive(Default)]
pub struct Now {
    pub ms: u64,
    pub revoked: bool,
}

/// What happened, added up.
#[derive(Debug, Default)]
pub struct Tally {
    pub crashes: u64,
    pub cut_off: u64,
    pub delivered: u64,
    pub held_up: u64,
    pub lost: u64,
    pub refused: u64,
    pub rolled_back: u64,
    pub torn: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.crashes += other.crashes;
        self.cut_off += other.cut_off;
        self.delivered += other.delivered;
        self.held_up += other.held_up;
        self.lost += other.lost;
        self.refused += other.refused;
        self.rolled_back += other.rolled_back;
        self.torn += other.torn;
    }
}

pub struct World {
    seed: u64,
    chance: Seeded,
    now: Now,
    hub: Hub,
    edge: Edge,
    recorder: Recorder,
    /// A member that the lab may revoke in the middle.
    guest: Recorder,
    oracle: Oracle,
    has_guest: bool,
    crashes: u64,
    lost: u64,
}

impl World {
    pub fn new(seed: u64, bug: Option<Bug>) -> Self {
        let stream = StreamId([0x5E; 16]);
        let fixture = Fixture::the();
        let has_guest = seed.is_multiple_of(16) || bug == Some(Bug::RevokedIsServed);
        Self {
            seed,
            chance: Seeded::new(seed),
            now: Now::default(),
            hub: Hub::default(),
            edge: Edge::new(stream, has_guest, bug),
            recorder: Recorder::new(stream, &fixture.recorder, bug),
            guest: Recorder::new(stream, &fixture.guest, None),
            oracle: Oracle::default(),
            has_guest,
            crashes: 0,
            lost: 0,
        }
    }

    pub fn live(mut self) -> Result<Tally, String> {
        for _ in 0..12 + self.chance.below(24) {
            self.turn()?;
        }
        self.calm()?;
        self.oracle.judge(&self.edge, &self.recorder)?;
        Ok(Tally {
            crashes: self.crashes,
            cut_off: self.oracle.cut_off,
            delivered: self.oracle.delivered,
            held_up: self.edge.held_up,
            lost: self.lost,
            refused: self.recorder.refused,
            rolled_back: self.hub.rolled_back,
            torn: self.edge.torn,
        })
    }

    fn turn(&mut self) -> Result<(), String> {
        self.now.ms += 20 + self.chance.draw() % 3000;
        if self.chance.once_in(40) {
            // The wall clock is set ahead by an hour: a new epoch.
            self.now.ms += 3_600_000;
        }
        self.hub.misbehave(&mut self.chance);
        self.keep_up()?;
        match self.chance.below(16) {
            0..=5 => self.edge.produce(&self.now, false, &mut self.hub, &mut self.oracle)?,
            6 | 7 => self.edge.publish(3, &mut self.hub, &mut self.chance, &mut self.oracle),
            8 => self.edge.listen(&self.now, &mut self.hub, &mut self.chance, &mut self.oracle)?,
            9 => self.edge.reconnect(),
            10 => self.edge.journal.sync(),
            11 => self.record()?,
            12 => self.recorder.ask(&self.now, &mut self.hub, &mut self.chance),
            13 => self.give_receipts(),
            14 => self.strike()?,
            _ => self.rarity()?,
        }
        Ok(())
    }

    /// Dead processes are started again, sooner or later.
    fn keep_up(&mut self) -> Result<(), String> {
        if !self.edge.is_up() && (self.hub.honest || self.chance.once_in(3)) {
            self.edge.start(self.seed, &self.now, &mut self.oracle)?;
        }
        if !self.recorder.is_up() && (self.hub.honest || self.chance.once_in(3)) {
            self.recorder.start();
        }
        Ok(())
    }

    fn record(&mut self) -> Result<(), String> {
        self.recorder.read(&self.now, &self.hub, &mut self.chance, &mut self.oracle)?;
        Ok(())
    }

    fn give_receipts(&mut self) {
        self.recorder.receipt(&self.now, &mut self.hub, &mut self.chance);
        self.oracle.look_at(&self.recorder);
    }

    fn strike(&mut self) -> Result<(), String> {
        self.crashes += 1;
        let power = self.chance.once_in(2);
        if self.chance.once_in(2) {
            self.edge.die(power, &mut self.chance, &mut self.oracle)?;
        } else {
            self.recorder.die(power, &mut self.chance);
            self.oracle.look_at(&self.recorder);
        }
        Ok(())
    }

    fn rarity(&mut self) -> Result<(), String> {
        match self.chance.below(5) {
            0 => _ = self.edge.trim(1 + self.chance.draw() % 3, Stake::OnlyHere, &mut self.oracle),
            1 => self.now.revoked = true,
            2 => self.edge.journal.set_room(Some(self.chance.below(4)).filter(|room| *room < 3)),
            3 => self.recorder.disk.set_room(Some(self.chance.below(6)).filter(|room| *room < 3)),
            _ => self.edge.produce(&self.now, true, &mut self.hub, &mut self.oracle)?,
        }
        Ok(())
    }

    /// Nothing breaks any more, and everybody gets the time that it needs.
    fn calm(&mut self) -> Result<(), String> {
        self.hub.honest = true;
        self.edge.journal.set_room(None);
        self.recorder.disk.set_room(None);
        self.keep_up()?;
        self.edge.keep(&mut self.oracle);
        if !self.edge.has_ended() {
            self.edge.produce(&self.now, false, &mut self.hub, &mut self.oracle)?;
            self.edge.produce(&self.now, true, &mut self.hub, &mut self.oracle)?;
        }
        // The last chance of a mistaken edge to be killed.
        self.keep_up()?;
        for round in 0..4 {
            self.now.ms += 6000;
            if round == 0 {
                self.edge.reconnect();
                self.recorder.reread();
            }
            self.edge.publish(usize::MAX, &mut self.hub, &mut self.chance, &mut self.oracle);
            self.edge.check_handed_over(&self.hub)?;
            self.record()?;
            // Keys may lie behind the blocks that need them.
            self.recorder.reread();
            self.record()?;
            self.recorder.ask(&self.now, &mut self.hub, &mut self.chance);
            self.give_receipts();
            self.edge.listen(&self.now, &mut self.hub, &mut self.chance, &mut self.oracle)?;
        }
        self.lost = self.recorder.followers().map(|(_, follower)| follower.report().lost.count()).sum();
        self.check_guest()
    }

    /// A revoked member opens nothing of what is sealed after the edge learnt of it.
    fn check_guest(&mut self) -> Result<(), String> {
        if !self.has_guest {
            return Ok(());
        }
        self.now.revoked = true;
        self.edge.die(false, &mut self.chance, &mut self.oracle)?;
        self.edge.start(self.seed + 1000, &self.now, &mut self.oracle)?;
        let begun = self.oracle.newest();
        self.edge.produce(&self.now, true, &mut self.hub, &mut self.oracle)?;
        self.edge.publish(usize::MAX, &mut self.hub, &mut self.chance, &mut self.oracle);
        self.guest.start();
        for _ in 0..2 {
            self.guest.reread();
            self.guest.read_blindly(&self.now, &self.hub, &mut self.chance);
        }
        let opened = self
            .guest
            .followers()
            .any(|(run, follower)| Some(*run) == begun && follower.description().is_some());
        if opened {
            return Err("a revoked member opened a run that began after its revocation".into());
        }
        self.edge.publish(usize::MAX, &mut self.hub, &mut self.chance, &mut self.oracle);
        self.record()?;
        self.recorder.reread();
        self.record()
    }
}
