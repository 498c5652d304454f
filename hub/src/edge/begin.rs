//! How an edge begins: it opens the stream, reads the journal, and starts a new run.

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use schwann::{Context, Error, Inlet, InletOptions, StreamInfo};
use schwann_proto::wire::sample::Layout;
use schwann_relay::{Outflow, SealError, StreamId, Subject};
use schwann_session::{DeviceName, LabId};
use sha2::{Digest, Sha256};

use super::keep::Unkept;
use super::members::Members;
use super::status::EdgeStatus;
use super::told::Remainder;
use super::words::Words;
use super::{Edge, Live, Times, handed};
use crate::access::Access;
use crate::address::Address;
use crate::history::History;
use crate::journal::{Journal, Kept};
use crate::link::{Link, Questions};
use crate::samples::{self, Gathering};
use crate::wall;

/// How edges work.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub.
    pub hub: Address,
    /// Where journals are.
    pub folder: PathBuf,
    /// How long samples are gathered for a block: 5 to 100 ms.
    pub block: Duration,
    /// Bytes of one stream's journal at most.
    pub limit_bytes: u64,
    /// How long delivered blocks stay in a journal.
    pub keep_delivered: Duration,
    /// How much of the past members get.
    pub history: History,
    /// Devices whose receipts, all together, make a block delivered; any one's does if there is none.
    pub recorders: Vec<DeviceName>,
}

impl Edge {
    /// Begins to relay a stream under a new run.
    ///
    /// - Errors: [`BeginError`].
    pub fn begin(
        info: &StreamInfo,
        context: &Arc<Context>,
        access: &Access,
        settings: &Settings,
    ) -> Result<Self, BeginError> {
        let (layout, inlet, full) = open_stream(info, context)?;
        let journal = journal_of(&full, access, settings);
        let journal = std::fs::create_dir_all(&journal).and_then(|()| Journal::open(&journal));
        let journal = journal.map_err(BeginError::Journal)?;
        let status = EdgeStatus::new(&full, journal.stream(), &settings.hub);
        let mut edge = Self::of_journal(journal, status, access, settings)?;
        let run = edge.begin_run(full.fullinfo())?;
        edge.live = Some(Live {
            inlet,
            gathering: Gathering::new(layout),
            since: None,
            run,
            is_clock_missed: false,
            asked: None,
        });
        // If the disk takes nothing now, that is told, and what comes waits in memory.
        edge.keep_epoch();
        Ok(edge)
    }

    /// Begins to hand over what is in the journal of a stream that is away.
    ///
    /// - Errors: [`BeginError`]; [`BeginError::OtherLab`] if the journal is not this lab's.
    pub(crate) fn without_stream(
        remainder: &Remainder,
        access: &Access,
        settings: &Settings,
    ) -> Result<Self, BeginError> {
        let journal = Journal::open(&remainder.folder).map_err(BeginError::Journal)?;
        let mut words = journal.runs().iter().flat_map(|kept| &kept.words);
        if words.any(|word| word.get(4..20) != Some(&access.lab_id().0)) {
            return Err(BeginError::OtherLab);
        }
        let status = EdgeStatus::of_remainder(remainder, journal.stream());
        Self::of_journal(journal, status, access, settings)
    }

    fn of_journal(
        journal: Journal,
        mut status: EdgeStatus,
        access: &Access,
        settings: &Settings,
    ) -> Result<Self, BeginError> {
        let runs = journal.runs().iter().map(|kept| kept.run);
        let handed_over = handed::read(journal.folder(), &settings.hub.to_string(), runs);
        let outflow =
            |kept: &Kept| Outflow::new(kept.held(), &handed_over.of(kept.run), settings.recorders.clone());
        let outflows = journal.runs().iter().map(|kept| (kept.run, outflow(kept))).collect();
        status.damaged(journal.damaged());
        let heard = subjects(access.lab_id(), journal.stream());
        let link = Link::open(&settings.hub, access, heard).map_err(BeginError::Thread)?;
        wall::begin();
        Ok(Self {
            access: access.clone(),
            settings: settings.clone(),
            live: None,
            status: Arc::new(Mutex::new(status)),
            journal,
            outflows,
            handed_over,
            members: Members::default(),
            link,
            is_connected: false,
            questions: Questions::default(),
            words: Words::default(),
            tickets: BTreeMap::new(),
            next_ticket: 0,
            gone: BTreeMap::new(),
            refused: false,
            probes: (Instant::now(), 0),
            told_list: 0,
            unkept: VecDeque::<Unkept>::new(),
            times: Times::now(),
        })
    }
}

/// What an edge hears of what members say.
fn subjects(lab: LabId, stream: StreamId) -> Vec<String> {
    let all = [
        Subject::Notes(lab, stream),
        Subject::Clock(lab, stream),
        Subject::Members(lab),
        Subject::Revoked(lab),
    ];
    all.map(|subject| subject.to_string()).to_vec()
}

impl Times {
    fn now() -> Self {
        let now = Instant::now();
        Self { aged: now, announced: now, looked: now, synced: now, told: now }
    }
}

/// Opens a stream that may be relayed; returns its layout, and its whole description.
fn open_stream(info: &StreamInfo, context: &Arc<Context>) -> Result<(Layout, Inlet, StreamInfo), BeginError> {
    let layout = samples::layout(info).ok_or(BeginError::NoChannels)?;
    let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(context));
    let inlet = inlet.map_err(BeginError::Stream)?;
    let full = inlet.full_info(OPENING_SECONDS).map_err(BeginError::Stream)?;
    if is_relayed(&full) {
        return Err(BeginError::Relayed);
    }
    inlet.open_stream(OPENING_SECONDS).map_err(BeginError::Stream)?;
    Ok((layout, inlet, full))
}

/// Whether a stream came out of a hub: such a one is not relayed again.
#[must_use]
pub fn is_relayed(info: &StreamInfo) -> bool {
    info.desc().is_some_and(|desc| info.document().child(desc, "relay").is_some())
}

/// The folder of a stream's journal: the same after a restart of its sender, and without its name.
pub(crate) fn journal_of(info: &StreamInfo, access: &Access, settings: &Settings) -> PathBuf {
    let host = if info.source_id().is_empty() { info.hostname().as_bytes() } else { b"" };
    let mut hash = Sha256::new().chain_update(access.lab_id().0);
    for part in [info.name().as_bytes(), info.stream_type().as_bytes(), info.source_id().as_bytes(), host] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    settings.folder.join(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Why a stream is not relayed.
#[derive(Debug)]
pub enum BeginError {
    /// Its journal cannot be used.
    Journal(std::io::Error),
    /// It has no channels or no format.
    NoChannels,
    /// Its journal is another lab's.
    OtherLab,
    /// It came out of a hub itself.
    Relayed,
    /// It cannot be sealed.
    Seal(SealError),
    /// It does not answer.
    Stream(Error),
    /// The system gives no thread.
    Thread(std::io::Error),
}

impl fmt::Display for BeginError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(error) => write!(out, "its journal cannot be used: {error}"),
            Self::NoChannels => out.write_str("it has no channels"),
            Self::OtherLab => out.write_str("its journal is another lab's"),
            Self::Relayed => out.write_str("it came out of a hub, and is not relayed again"),
            Self::Seal(error) => error.fmt(out),
            Self::Stream(error) => write!(out, "it does not answer: {error}"),
            Self::Thread(error) => write!(out, "the system gives no thread: {error}"),
        }
    }
}

impl core::error::Error for BeginError {}

/// Seconds for the stream to answer.
const OPENING_SECONDS: f64 = 10.0;
