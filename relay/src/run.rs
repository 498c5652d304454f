//! The edge's side of one run: it seals samples into blocks and wraps its keys for members (relay §3 to §6).

use core::fmt;
use std::collections::BTreeMap;

use schwann_session::{Credentials, Entropy, LabId, NoEntropy, PublicKey, UnixSeconds};

use crate::{
    announcement::{Before, Head, MAX_DESCRIPTION},
    block::{BlockKind, Hash, Header, MAX_CONTENT, root},
    chain::BlockPlace,
    key::{EpochKey, FreshKey, Scope},
    member::WrappingPublic,
    names::{RunId, StreamId},
    wrapped::wrap,
};
use sha2::{Digest, Sha256};

/// What the edge knows at this moment, for whatever it seals or signs now.
pub struct Moment<'a> {
    /// The device that signs.
    pub credentials: &'a Credentials,
    /// Randomness.
    pub entropy: &'a mut dyn Entropy,
    /// Number of the newest revocation list that the edge knows.
    pub list_number: u64,
    /// The calendar.
    pub now: UnixSeconds,
}

/// What a run begins with.
pub struct Start {
    /// The lab.
    pub lab: LabId,
    /// The stream, the same in all its runs.
    pub stream: StreamId,
    /// The stream's description, as XML.
    pub description: Vec<u8>,
    /// What the journal holds of the run before.
    pub before: Before,
}

/// One run of a relayed stream. It is never continued after a restart: see [`RunId::draw`].
pub struct Run {
    scope: Scope,
    device: PublicKey,
    description: Vec<u8>,
    before: Before,
    began: UnixSeconds,
    /// The present epoch, and its number.
    present: Epoch,
    epoch: u32,
    /// Epochs that have ended, and whose keys members may still get.
    earlier: BTreeMap<u32, Epoch>,
    next: u64,
    samples: u64,
    head: Hash,
    ended: bool,
}

struct Epoch {
    key: EpochKey,
    announcement: Vec<u8>,
    began: UnixSeconds,
    list_number: u64,
}

/// A block that was sealed now.
pub struct Sealed {
    /// Its place in the chain; the journal keeps it beside the block.
    pub place: BlockPlace,
    /// The block.
    pub bytes: Vec<u8>,
    /// Whether an epoch began with it: then announcement and wrapped keys go to the hub before it.
    pub new_epoch: bool,
}

impl Run {
    /// Begins a run under a name that was never used.
    ///
    /// - Errors: [`SealError::NoEntropy`], [`SealError::TooLong`] for the description.
    pub fn begin(start: Start, moment: &mut Moment<'_>) -> Result<Self, SealError> {
        let Start { lab, stream, description, before } = start;
        if description.len() > MAX_DESCRIPTION {
            return Err(SealError::TooLong);
        }
        let device = moment.credentials.certificate().statement.device;
        let scope = Scope { lab, stream, run: RunId::draw(stream, &device, moment.entropy)? };
        let head = root(&scope, &device, &description);
        let began = moment.now;
        let present = begin_epoch(&Head { scope, epoch: 0, began, before }, &description, moment)?;
        Ok(Self {
            scope,
            device,
            description,
            before,
            began,
            present,
            epoch: 0,
            earlier: BTreeMap::new(),
            next: 0,
            samples: 0,
            head,
            ended: false,
        })
    }

    /// The run's name.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.scope.run
    }

    /// How many blocks were sealed.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.next
    }

    /// Seals `count` samples, encoded as lsl-wire §13 says, into the next block. It begins a new epoch first if one is due.
    ///
    /// - Errors: [`SealError`]; no number is given away then.
    pub fn seal(&mut self, content: &[u8], count: u32, moment: &mut Moment<'_>) -> Result<Sealed, SealError> {
        self.add(BlockKind::Samples, content, count, moment)
    }

    /// Seals the last block: members then know that the run is whole.
    ///
    /// - Errors: as [`seal`](Self::seal).
    pub fn end(&mut self, moment: &mut Moment<'_>) -> Result<Sealed, SealError> {
        let sealed = self.add(BlockKind::End, &[], 0, moment)?;
        self.ended = true;
        Ok(sealed)
    }

    /// The announcement of the present epoch. It is sealed once, when the epoch begins.
    #[must_use]
    pub fn announcement(&self) -> &[u8] {
        &self.present.announcement
    }

    /// The stream's description.
    #[must_use]
    pub fn description(&self) -> &[u8] {
        &self.description
    }

    /// The number of the present epoch.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Wipes the keys of all epochs before `epoch`: no member gets them any more. The present key stays.
    pub fn forget_epochs_before(&mut self, epoch: u32) {
        self.earlier = self.earlier.split_off(&epoch);
    }

    /// The keys of the present epoch, wrapped for `members` and no others.
    ///
    /// - Errors: [`SealError::NoEntropy`], [`SealError::OtherDevice`].
    pub fn wrapped(
        &self,
        members: &[&WrappingPublic],
        moment: &mut Moment<'_>,
    ) -> Result<Vec<u8>, SealError> {
        self.wrapped_of(self.epoch, members, moment)
    }

    /// The keys of an earlier epoch, for members that join later and may have the history.
    ///
    /// - Errors: as [`wrapped`](Self::wrapped); [`SealError::Exhausted`] if there was no such epoch, or its key
    ///   is wiped.
    pub fn wrapped_of(
        &self,
        epoch: u32,
        members: &[&WrappingPublic],
        moment: &mut Moment<'_>,
    ) -> Result<Vec<u8>, SealError> {
        self.check_device(moment.credentials)?;
        let known = if epoch == self.epoch { Some(&self.present) } else { self.earlier.get(&epoch) };
        let Epoch { key, list_number, .. } = known.ok_or(SealError::Exhausted)?;
        let key = (epoch, key);
        Ok(wrap(&self.scope, key, *list_number, members, moment.credentials, moment.entropy)?)
    }

    fn add(
        &mut self,
        kind: BlockKind,
        content: &[u8],
        count: u32,
        moment: &mut Moment<'_>,
    ) -> Result<Sealed, SealError> {
        self.check_device(moment.credentials)?;
        if content.len() > MAX_CONTENT {
            return Err(SealError::TooLong);
        }
        let samples = self.samples.checked_add(u64::from(count)).ok_or(SealError::Exhausted)?;
        let next = self.next.checked_add(1).filter(|_| !self.ended).ok_or(SealError::Exhausted)?;
        let new_epoch = self.epoch_is_due(moment);
        if new_epoch {
            self.begin_next_epoch(moment)?;
        }
        let (epoch, Epoch { key, .. }) = (self.epoch, &self.present);
        let Scope { lab, stream, run } = self.scope;
        let (number, first_sample, before) = (self.next, self.samples, self.head);
        let header = Header { kind, lab, stream, run, epoch, count, number, first_sample, before };
        let bytes = header.seal(content, key, moment.credentials).ok_or(SealError::TooLong)?;
        let hash = Sha256::digest(&bytes).into();
        (self.next, self.samples, self.head) = (next, samples, hash);
        Ok(Sealed { place: BlockPlace::of(&header, hash), bytes, new_epoch })
    }

    fn epoch_is_due(&self, moment: &Moment<'_>) -> bool {
        // A calendar that was set back must not stretch an epoch.
        let is_old = self.present.began.abs_diff(moment.now) >= EPOCH_LIFETIME;
        is_old || self.present.list_number != moment.list_number
    }

    fn begin_next_epoch(&mut self, moment: &mut Moment<'_>) -> Result<(), SealError> {
        let epoch = self.epoch.checked_add(1).ok_or(SealError::Exhausted)?;
        let Self { scope, began, before, .. } = *self;
        let next = begin_epoch(&Head { scope, epoch, began, before }, &self.description, moment)?;
        let past = core::mem::replace(&mut self.present, next);
        self.earlier.insert(self.epoch, past);
        self.epoch = epoch;
        Ok(())
    }

    fn check_device(&self, credentials: &Credentials) -> Result<(), SealError> {
        let same = credentials.certificate().statement.device == self.device;
        if same { Ok(()) } else { Err(SealError::OtherDevice) }
    }
}

/// Draws an epoch's key, and seals its announcement with it.
fn begin_epoch(head: &Head, description: &[u8], moment: &mut Moment<'_>) -> Result<Epoch, SealError> {
    let key = FreshKey::draw(moment.entropy)?;
    let (key, announcement) =
        head.announce(key, description, moment.credentials).ok_or(SealError::TooLong)?;
    Ok(Epoch { key, announcement, began: moment.now, list_number: moment.list_number })
}

/// Why nothing was sealed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SealError {
    /// The run has ended, or its numbers are used up: begin another.
    Exhausted,
    /// The system gives no random bytes.
    NoEntropy,
    /// These are another device's keys: begin another run.
    OtherDevice,
    /// More bytes than [`MAX_CONTENT`], or [`MAX_DESCRIPTION`] for the description.
    TooLong,
}

impl From<NoEntropy> for SealError {
    fn from(_: NoEntropy) -> Self {
        Self::NoEntropy
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "the run has ended",
            Self::NoEntropy => return NoEntropy.fmt(f),
            Self::OtherDevice => "the device's key is not the one with which the run began",
            Self::TooLong => "a block holds at most 1 MiB, a description 256 KiB",
        })
    }
}

impl core::error::Error for SealError {}

/// How long an epoch lasts at most, in seconds (relay §3).
const EPOCH_LIFETIME: u64 = 3600;
