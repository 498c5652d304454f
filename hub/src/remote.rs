//! What goes through a hub, seen from outside: streams with their site, whether samples come, and who has receipted them.
//!
//! Nothing of it is received but the newest block of each stream once a second.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use schwann::{StreamInfo, local_clock};
use schwann_recorder::{Limits, Trouble, judge_stamps};
use schwann_relay::{Backlog, BlockKind, BlockPlace, Ranges, RunId, StreamId};

use crate::access::{Access, now};
use crate::address::Address;
use crate::far::{ClockBound, Far, FarRun, News, Origin, Wanted};
use crate::history::History;
use crate::link::Problem;
use crate::samples;

/// One hub, looked at.
pub struct Remote {
    address: Address,
    far: Far,
    /// Why it is not reached; nothing while it is.
    problem: Option<Problem>,
    seen: BTreeMap<RunId, Seen>,
}

/// What was seen of one run.
struct Seen {
    place: BlockPlace,
    /// When its number rose last.
    rose: Instant,
    /// Whether it has risen while we looked.
    has_risen: bool,
    /// When the hub says that its newest block came, in seconds since 1970.
    came: i64,
    /// The newest stamp and the samples up to it, as they were first.
    first: Option<(f64, u64)>,
    /// The same of the newest block.
    last: Option<(f64, u64)>,
    /// When the newest block was seen first, in seconds on the local clock.
    arrived: f64,
}

/// A stream of another site.
#[derive(Clone, Debug)]
pub struct RemoteStream {
    /// Its description; nothing while its key is not here.
    pub info: Option<StreamInfo>,
    /// The device that sends it.
    pub site: String,
    /// What the hub calls it.
    pub stream: StreamId,
    /// How it is.
    pub state: RemoteState,
    /// Its newest block at the hub.
    pub newest: Option<u64>,
    /// Samples per second, by their stamps; nothing before two blocks.
    pub rate: Option<f64>,
    /// Age of its newest sample when the block was seen, in seconds; nothing while its clock is not known, or no block
    /// has come since we looked.
    pub lag: Option<f64>,
    /// What is wrong with its stamps, which makes its state [`RemoteState::Stamps`].
    pub stamps: Option<Trouble>,
    /// What its edge still has to hand over to the hub; nothing if the edge does not answer.
    pub backlog: Option<Backlog>,
    /// How far its clock is from ours.
    pub clock: Option<ClockBound>,
    /// By recorder: the blocks that it has on disk.
    pub receipts: BTreeMap<String, Ranges>,
}

/// How a stream of another site is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RemoteState {
    /// New blocks come, and older ones still wait at its site.
    Behind,
    /// Its blocks come and its edge answers, but the wall clocks contradict what was measured of its clock.
    Contradicted,
    /// Too little was seen to say.
    Early,
    /// Its key did not come: the edge does not know this device yet, or does not serve it.
    NoKey,
    /// Its device was revoked: nothing more of it is taken.
    Revoked,
    /// No new block comes.
    Silent,
    /// Its blocks come and its edge answers, but its stamps are not those of its sender's clock.
    Stamps,
    /// New blocks come, but the edge does not answer: they may be old.
    Unanswered,
    /// The edge answers, and new blocks come if the stream has a rate.
    Well,
}

impl Remote {
    /// Begins to look.
    ///
    /// - Errors: the key folder cannot be used, or the system gives no thread.
    pub fn open(address: &Address, access: &Access) -> std::io::Result<Self> {
        // A look wipes no wrapping key: whether a recorder still needs it, the recorder's configuration says.
        let far = Far::open(address, access, History::All, Wanted::Newest)?;
        let problem = Some(Problem::Silent(String::from("it has not answered yet")));
        Ok(Self { address: address.clone(), far, problem, seen: BTreeMap::new() })
    }

    /// Where the hub is.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Why the hub is not reached; nothing while it is.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Takes in what came.
    pub fn update(&mut self) {
        for one in self.far.hear(Duration::ZERO) {
            match one {
                News::Connected => self.problem = None,
                News::Disconnected(problem) => self.problem = Some(problem),
                News::Newest { run, place, content, came } => {
                    let stamp =
                        self.far.runs().get(&run).and_then(|run| newest_stamp(run, content.as_deref()));
                    let entry = self.seen.entry(run);
                    entry.or_insert_with(|| Seen::new(place, came)).see(place, came, stamp);
                }
                News::Block { .. } | News::Described(_) | News::Word(..) => {}
            }
        }
    }

    /// The newest run of every stream that has not ended, by name and site.
    #[must_use]
    pub fn streams(&self) -> Vec<RemoteStream> {
        let mut newest: BTreeMap<Origin, &FarRun> = BTreeMap::new();
        for run in self.far.runs().values() {
            let known = newest.entry(run.origin()).or_insert(run);
            if run.began() > known.began() {
                *known = run;
            }
        }
        let mut streams: Vec<_> = newest.into_values().filter_map(|run| self.stream(run)).collect();
        let name = |one: &RemoteStream| one.info.as_ref().map(|info| info.name().to_string());
        streams.sort_by_cached_key(|one| (name(one), one.site.clone(), one.stream));
        streams
    }

    fn stream(&self, run: &FarRun) -> Option<RemoteStream> {
        let seen = self.seen.get(&run.id());
        if seen.is_some_and(|seen| seen.place.kind == BlockKind::End) {
            return None;
        }
        let stamps = seen.and_then(|seen| seen.misstamped(run));
        let state = state(run, seen, stamps);
        // Of an edge that broke off long ago nothing is expected.
        let is_old = seen.is_none_or(|seen| now().0.cast_signed().abs_diff(seen.came) > FORGOTTEN);
        let is_expected = !matches!(state, RemoteState::Revoked | RemoteState::Silent);
        if !is_expected && is_old && !run.goes_on() {
            return None;
        }
        Some(RemoteStream {
            info: run.info().cloned(),
            site: run.device().to_owned(),
            stream: run.stream(),
            state,
            newest: run.newest(),
            rate: seen.and_then(Seen::rate),
            lag: seen.zip(run.clock()).and_then(|(seen, clock)| seen.lag(&clock)),
            stamps: stamps.filter(|_| state == RemoteState::Stamps),
            backlog: run.backlog(),
            clock: run.clock(),
            receipts: run.receipts().clone(),
        })
    }
}

impl Seen {
    fn new(place: BlockPlace, came: i64) -> Self {
        let arrived = local_clock();
        Self { place, rose: Instant::now(), has_risen: false, came, first: None, last: None, arrived }
    }

    fn see(&mut self, place: BlockPlace, came: i64, stamp: Option<f64>) {
        if place.number > self.place.number {
            (self.rose, self.has_risen, self.arrived) = (Instant::now(), true, local_clock());
        }
        (self.place, self.came) = (place, came);
        let samples = place.first_sample.saturating_add(u64::from(place.count));
        self.last = stamp.map(|stamp| (stamp, samples)).or(self.last);
        self.first = self.first.or(self.last);
    }

    fn rate(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.first?, self.last?);
        (to > from).then(|| last.saturating_sub(first) as f64 / (to - from))
    }

    fn lag(&self, clock: &ClockBound) -> Option<f64> {
        let (stamp, _) = self.last.filter(|_| self.has_risen)?;
        Some(self.arrived - (stamp + clock.offset))
    }

    fn misstamped(&self, run: &FarRun) -> Option<Trouble> {
        let (clock, (newest, _)) = (run.clock()?, self.last?);
        judge_stamps(newest, self.lag(&clock)?, clock.bound, run.info()?.nominal_rate(), &Limits::USUAL)
    }
}

fn state(run: &FarRun, seen: Option<&Seen>, stamps: Option<Trouble>) -> RemoteState {
    if run.is_revoked() {
        return RemoteState::Revoked;
    }
    let is_early = run.known_since().elapsed() < EARLY;
    let Some(info) = run.info() else {
        return if is_early { RemoteState::Early } else { RemoteState::NoKey };
    };
    let comes = seen.is_some_and(|seen| seen.has_risen && seen.rose.elapsed() < SILENT);
    match (comes || info.nominal_rate() == 0.0, run.goes_on()) {
        (true, true) if run.clock().is_some_and(|clock| clock.is_contradicted()) => RemoteState::Contradicted,
        (true, true) if run.backlog().is_some_and(Backlog::is_behind) => RemoteState::Behind,
        (true, true) if stamps.is_some() => RemoteState::Stamps,
        (true, true) => RemoteState::Well,
        _ if is_early => RemoteState::Early,
        _ if comes => RemoteState::Unanswered,
        _ => RemoteState::Silent,
    }
}

fn newest_stamp(run: &FarRun, content: Option<&[u8]>) -> Option<f64> {
    samples::newest_stamp(&samples::layout(run.info()?)?, content?)
}

/// How long a stream may go without a new block, which are asked for once a second.
pub(crate) const SILENT: Duration = Duration::from_secs(6);
/// How long keys and two blocks may take to come.
const EARLY: Duration = Duration::from_secs(4);
/// A run without an end of which nothing came for so many seconds is not expected back.
const FORGOTTEN: u64 = 3600;
