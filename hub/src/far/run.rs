//! One run at the far end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use schwann::{StreamInfo, local_clock};
use schwann_relay::{
    Announcement, Backlog, Block, BlockPlace, Follower, Note, NoteKind, Range, Ranges, Refused, RunId,
    StreamId, Taken,
};
use schwann_session::{Certificate, Refusal, UnixSeconds};

use super::above;
use super::clock::{Clock, ClockBound};
use crate::access::Access;
use crate::wrapping::WrappingKeys;

/// A stream of one device. Any device that may publish can announce a run of any stream, so only runs of one device are one stream.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Origin {
    /// What the hub calls the stream.
    pub(crate) stream: StreamId,
    device: [u8; 32],
}

/// One run, with what is known around it.
pub struct FarRun {
    follower: Follower,
    /// The stream's description, once it can be read.
    info: Option<StreamInfo>,
    certificate: Certificate,
    /// The newest revocation list has it: nothing of the run is taken any more.
    is_revoked: bool,
    began: UnixSeconds,
    /// Announcements of different epochs, to the letter, the newest last.
    announcements: VecDeque<Vec<u8>>,
    /// When the edge was heard last.
    heard: Instant,
    /// Blocks whose key or description is not here yet.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// The first block that is wanted; nothing while none is.
    floor: Option<u64>,
    /// The highest block that came.
    newest: Option<u64>,
    /// The highest block of the run's device whose key was not here.
    unopened: Option<u64>,
    receipts: BTreeMap<String, Ranges>,
    pub(super) clock: Clock,
    known_since: Instant,
}

impl FarRun {
    pub(super) fn new(announcement: &Announcement<'_>) -> Self {
        Self {
            follower: Follower::new(announcement),
            info: None,
            certificate: announcement.certificate,
            is_revoked: false,
            began: announcement.began,
            announcements: VecDeque::new(),
            heard: Instant::now(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            floor: None,
            newest: None,
            unopened: None,
            receipts: BTreeMap::new(),
            clock: Clock::default(),
            known_since: Instant::now(),
        }
    }

    /// The run itself.
    #[must_use]
    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    /// The same, to restore it and to mark it.
    pub fn follower_mut(&mut self) -> &mut Follower {
        &mut self.follower
    }

    /// What the hub calls the stream.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.follower.names().1
    }

    /// Whose run of which stream it is.
    pub(crate) fn origin(&self) -> Origin {
        Origin { stream: self.stream(), device: self.certificate.statement.device.0 }
    }

    /// Which run it is.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.follower.names().2
    }

    /// When it began, on the edge's clock.
    #[must_use]
    pub fn began(&self) -> UnixSeconds {
        self.began
    }

    /// The device that seals it, as the lab calls it.
    #[must_use]
    pub fn device(&self) -> &str {
        self.certificate.statement.name.as_str()
    }

    /// The device's certificate.
    pub(crate) fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// When the edge was heard last.
    #[must_use]
    pub fn heard(&self) -> Instant {
        self.heard
    }

    /// Whether the device was revoked. Then nothing of the run is taken any more.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.is_revoked
    }

    /// Looks whether the newest revocation list has the device; says whether that is news.
    pub(super) fn is_newly_revoked(&mut self, access: &Access) -> bool {
        let was_revoked = self.is_revoked;
        self.is_revoked = access.checking(|lab, _, revoked| {
            let refused = Announcement::parse(self.announcement(), lab, revoked).err();
            refused == Some(Refused::NotAdmitted(Refusal::Revoked))
        });
        self.is_revoked && !was_revoked
    }

    /// How far the stream's clock is from ours, once that is known.
    #[must_use]
    pub fn clock(&self) -> Option<ClockBound> {
        self.clock.best()
    }

    /// Whether its edge has answered a question of ours in the last seconds, so that the run goes on now. A hub may give any
    /// earlier run again.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.went_on(local_clock())
    }

    /// The same at an earlier moment on our clock.
    pub(crate) fn went_on(&self, moment: f64) -> bool {
        self.clock.was_answered(moment)
    }

    /// What its edge still has to hand over to the hub; nothing if it has not answered in the last seconds.
    #[must_use]
    pub fn backlog(&self) -> Option<Backlog> {
        self.clock.backlog()
    }

    /// Since when this member knows the run.
    #[must_use]
    pub fn known_since(&self) -> Instant {
        self.known_since
    }

    /// The highest block that came.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// The blocks behind all that could be opened, up to one that came and waits for its key.
    #[must_use]
    pub fn unopened(&self) -> Option<Range> {
        let (first, last) = (self.newest.map_or(0, |newest| newest.saturating_add(1)), self.unopened?);
        (first <= last).then_some(Range { first, last })
    }

    /// By device: the blocks that it has on disk.
    #[must_use]
    pub fn receipts(&self) -> &BTreeMap<String, Ranges> {
        &self.receipts
    }

    /// The stream's description, once it can be read.
    #[must_use]
    pub fn info(&self) -> Option<&StreamInfo> {
        self.info.as_ref()
    }

    /// Wants all blocks from `floor` on.
    pub fn want_from(&mut self, floor: u64) {
        self.floor = Some(floor);
    }

    /// Whether anything of it is wanted.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.floor.is_some()
    }

    /// Whether a recorder takes this block. What it opens and does not keep would be a false receipt later, so a block counts only
    /// if it is wanted. A hub may give blocks of any earlier run: of a run that is not wanted yet the edge must have answered
    /// (relay §11.2).
    pub(super) fn wants(&self, number: u64) -> bool {
        match self.floor {
            _ if self.is_revoked => false,
            Some(floor) => number >= floor,
            None => self.goes_on(),
        }
    }

    /// The first block that is wanted.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor.unwrap_or_default()
    }

    /// Blocks that are wanted and missing, and may still be had.
    #[must_use]
    pub fn holes(&self) -> Ranges {
        if self.is_revoked {
            return Ranges::default();
        }
        above(self.follower.holes(), self.floor())
    }

    /// The newest announcement.
    pub(super) fn announcement(&self) -> &[u8] {
        self.announcements.back().map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether this is the certificate of the device that seals the run.
    pub(super) fn is_of(&self, certificate: &Certificate) -> bool {
        self.certificate.statement.device == certificate.statement.device
    }

    pub(super) fn is_described(&self) -> bool {
        self.follower.description().is_some()
    }

    /// Whether this announcement is known; the edge is there then.
    pub(super) fn heard_again(&mut self, message: &[u8]) -> bool {
        let known = self.announcements.iter().any(|one| one == message);
        if known && !self.is_revoked {
            self.heard = Instant::now();
        }
        known
    }

    pub(super) fn announced(&mut self, message: &[u8], access: &Access) -> Result<(), Refused> {
        self.open(message, access)?;
        self.heard = Instant::now();
        // It has a newer certificate.
        self.is_revoked = false;
        if self.announcements.len() >= MAX_ANNOUNCEMENTS {
            self.announcements.pop_front();
        }
        self.announcements.push_back(message.to_vec());
        Ok(())
    }

    fn open(&mut self, message: &[u8], access: &Access) -> Result<(), Refused> {
        let follower = &mut self.follower;
        access.checking(|lab, _, revoked| {
            follower.announcement(&Announcement::parse(message, lab, revoked)?)
        })?;
        if self.info.is_none() {
            self.info = self.follower.description().and_then(|text| StreamInfo::parse(text).ok());
        }
        Ok(())
    }

    pub(super) fn followed_by(&mut self, next: &[u8], access: &Access) -> Result<(), Refused> {
        let follower = &mut self.follower;
        access.checking(|lab, _, revoked| follower.followed_by(&Announcement::parse(next, lab, revoked)?))
    }

    /// Unwraps a key; says whether it was for this member and new.
    pub(super) fn unwrap(
        &mut self,
        message: &[u8],
        keys: &WrappingKeys,
        access: &Access,
    ) -> Result<bool, Refused> {
        for key in keys.iter() {
            if self.follower.wrapped(message, key)? {
                // One of them is of this key's epoch.
                for text in self.announcements.clone() {
                    self.open(&text, access)?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a block; returns what is new.
    pub(super) fn take(&mut self, block: &Block<'_>) -> Result<Option<(BlockPlace, Vec<u8>)>, Refused> {
        match self.follower.take(block)? {
            Taken::New(place, content) => {
                self.newest = self.newest.max(Some(place.number));
                Ok(Some((place, content)))
            }
            Taken::NoKey => {
                self.unopened = self.unopened.max(Some(block.number()));
                self.wait(block.as_bytes());
                Ok(None)
            }
            Taken::Repeat => Ok(None),
        }
    }

    /// Looks at a block that is newer than all before, and keeps nothing of it but its number; returns its content once its key is
    /// here. Nothing for one that is older.
    pub(super) fn look_at(&mut self, block: &Block<'_>) -> Result<Option<Glimpse>, Refused> {
        let place = block.place();
        if self.newest.is_some_and(|newest| place.number < newest) {
            return Ok(None);
        }
        let content = self.follower.look_at(block)?;
        self.newest = Some(place.number);
        Ok(Some((place, content)))
    }

    /// Keeps a block until its key comes; of too many, the oldest goes, and is asked for again.
    fn wait(&mut self, block: &[u8]) {
        self.waiting_bytes += block.len();
        self.waiting.push_back(block.to_vec());
        while self.waiting_bytes > WAITING_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= oldest.len();
        }
    }

    pub(super) fn take_waiting(&mut self) -> VecDeque<Vec<u8>> {
        self.waiting_bytes = 0;
        core::mem::take(&mut self.waiting)
    }

    pub(super) fn note(&mut self, note: &Note) -> Result<(), Refused> {
        match note.kind {
            NoteKind::Loss => self.follower.loss(note),
            NoteKind::HoleRequest => Ok(()),
            NoteKind::Receipt(_) => {
                let device = note.certificate.statement.name.as_str().to_owned();
                let known = self.receipts.entry(device).or_default();
                note.ranges.as_slice().iter().for_each(|range| known.insert(*range));
                // Of too many parts the oldest is forgotten: who has all has one.
                if let Some(oldest) =
                    known.as_slice().first().copied().filter(|_| known.as_slice().len() > MAX_RECEIPTED)
                {
                    known.remove(oldest);
                }
                Ok(())
            }
        }
    }
}

/// A block that was looked at, and its content once its key is here.
pub(super) type Glimpse = (BlockPlace, Option<Vec<u8>>);

/// Bytes of blocks of one run that wait for their key at most.
const WAITING_BYTES: usize = 32 << 20;
/// Parts of one device's receipts that are kept.
const MAX_RECEIPTED: usize = 256;
/// Announcements that are kept: an epoch is an hour long.
const MAX_ANNOUNCEMENTS: usize = 200;
