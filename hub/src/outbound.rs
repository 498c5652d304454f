//! All streams that leave: finds them, and runs an edge for each in a thread of its own.

mod remainders;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann::{Context, StreamInfo, resolver};
use schwann_recorder::{Selector, Stop, any_of, has_changed};

use self::remainders::Remainders;
use crate::access::Access;
use crate::edge::{BeginError, Edge, EdgeStatus, Settings, journal_of};

/// The edges of this program.
pub struct Outbound {
    context: Arc<Context>,
    access: Access,
    settings: Settings,
    query: Option<String>,
    stop: Arc<Stop>,
    edges: BTreeMap<String, Running>,
    remainders: Remainders,
    /// Streams that are not relayed, by UID, and since when that is known.
    left_alone: BTreeMap<String, Instant>,
    /// By journal: the names of those that could not be relayed, and were not since.
    unrelayed: BTreeMap<PathBuf, String>,
    /// By journal: the names of streams that are called as one that is relayed.
    twins: BTreeMap<PathBuf, String>,
    /// Something was relayed.
    has_begun: bool,
    looks: u32,
    remarks: Vec<String>,
    /// Whether all of the streams that have ended is at the hub or in a journal.
    is_whole: bool,
}

/// A stream in its thread, which opens it first: one that does not answer keeps no other waiting.
struct Running {
    info: StreamInfo,
    /// The folder of its journal.
    journal: PathBuf,
    /// Set once it is open.
    status: Arc<OnceLock<Arc<Mutex<EdgeStatus>>>>,
    /// Ends this one alone.
    stop: Arc<Stop>,
    /// Whether it was told that it is relayed.
    is_told: bool,
    thread: JoinHandle<Result<(), BeginError>>,
}

impl Outbound {
    /// Relays the streams that one of `selectors` chooses; all, if there is none.
    #[must_use]
    pub fn new(
        context: Arc<Context>,
        access: Access,
        settings: Settings,
        selectors: &[Selector],
        stop: Arc<Stop>,
    ) -> Self {
        Self {
            context,
            access,
            settings,
            query: any_of(selectors),
            stop,
            edges: BTreeMap::new(),
            remainders: Remainders::default(),
            left_alone: BTreeMap::new(),
            unrelayed: BTreeMap::new(),
            twins: BTreeMap::new(),
            has_begun: false,
            looks: 0,
            remarks: Vec::new(),
            is_whole: true,
        }
    }

    /// Looks for streams, begins with new ones, and parts from those that have ended. Takes a second and a half.
    ///
    /// - Errors: the search.
    pub fn look(&mut self) -> Result<(), resolver::ResolveError> {
        self.part_from_ended();
        let found = match &self.query {
            Some(query) => resolver::resolve_bypred(&self.context, query, 0, LOOK)?,
            None => resolver::resolve_session(&self.context, 0, LOOK)?,
        };
        self.left_alone.retain(|_, since| since.elapsed() < AGAIN);
        self.end_reshaped(&found);
        self.take_in(found);
        self.note_begun();
        if !self.stop.is_raised() {
            let there = self.edges.values().map(|running| running.journal.clone()).collect();
            self.has_begun |= self.remainders.look(&self.access, &self.settings, &there);
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks == PATIENT_LOOKS && !self.has_begun {
            self.remarks
                .push(String::from("nothing is relayed yet; `schwann doctor` tells which streams are seen"));
        }
        Ok(())
    }

    /// Begins with the streams that are new, as many at once as may be.
    fn take_in(&mut self, found: Vec<StreamInfo>) {
        let uids: BTreeSet<_> = found.iter().map(|info| info.uid().to_string_lossy().into_owned()).collect();
        for info in found {
            let uid = info.uid().to_string_lossy().into_owned();
            let is_new = !self.edges.contains_key(&uid) && !self.left_alone.contains_key(&uid);
            let has_room =
                self.edges.values().filter(|one| one.status.get().is_none()).count() < OPENING_MOST;
            if !is_new || !has_room || self.stop.is_raised() {
                continue;
            }
            let journal = journal_of(&info, &self.access, &self.settings);
            if self.has_twin(&journal, &uids) {
                self.leave_twin(uid, journal, &info);
            } else if info.source_id().is_empty() || !self.runs(&journal) {
                self.begin(info, uid, journal);
            }
        }
    }

    /// What happened since this was last called.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.note_begun();
        for running in self.edges.values() {
            let remarks =
                running.status.get().map(|status| remarks_of(&running.info.name().to_string(), status));
            self.remarks.extend(remarks.unwrap_or_default());
        }
        self.remarks.extend(self.remainders.take_remarks());
        core::mem::take(&mut self.remarks)
    }

    /// Waits until every edge has ended its run; `stop` was raised. Returns what happened, and whether all that was found was
    /// relayed, and nothing lost.
    pub fn end(mut self) -> (Vec<String>, bool) {
        self.note_begun();
        self.edges.values().for_each(|running| running.stop.raise());
        for (uid, running) in core::mem::take(&mut self.edges) {
            if running.is_told {
                self.part(uid, running);
            } else {
                // It has nothing to end.
                let name = running.info.name().to_string();
                self.leave_alone(uid, running.journal, &name, "was still being opened");
            }
        }
        self.is_whole &= self.remainders.end();
        self.remarks.extend(self.remainders.take_remarks());
        if !self.has_begun {
            self.remarks
                .push(String::from("nothing was relayed; `schwann doctor` tells which streams are seen"));
        }
        let unrelayed = self.unrelayed.values().chain(self.twins.values());
        self.remarks.extend(unrelayed.map(|name| format!("{name}: was not relayed, as is said above")));
        let is_all = self.unrelayed.is_empty() && self.twins.is_empty();
        (self.remarks, self.is_whole && self.has_begun && is_all)
    }

    fn begin(&mut self, info: StreamInfo, uid: String, journal: PathBuf) {
        let name = info.name();
        self.remainders.give_way(&journal);
        let (asked, context, stop) = (info.clone(), Arc::clone(&self.context), Arc::<Stop>::default());
        let ends = Arc::clone(&stop);
        let (access, settings) = (self.access.clone(), self.settings.clone());
        let status = Arc::<OnceLock<_>>::default();
        let open = Arc::clone(&status);
        let relay = move || {
            let edge = Edge::begin(&asked, &context, &access, &settings)?;
            let _ = open.set(edge.status());
            edge.relay(&ends);
            Ok(())
        };
        match thread::Builder::new().name(format!("edge {name}")).spawn(relay) {
            Ok(thread) => {
                let running = Running { info, journal, status, stop, is_told: false, thread };
                self.edges.insert(uid, running);
            }
            Err(error) => {
                let why = format!("the system gives no thread: {error}");
                self.leave_alone(uid, journal, &name.to_string(), &why);
            }
        }
    }

    /// Ends the runs of streams whose sender came back with samples of another shape: no connection of theirs takes those.
    fn end_reshaped(&mut self, found: &[StreamInfo]) {
        for (uid, running) in &self.edges {
            let is_away = !found.iter().any(|info| info.uid().to_string_lossy() == *uid);
            let is_reshaped = is_away && found.iter().any(|info| has_changed(&running.info, info));
            if is_reshaped && !running.stop.is_raised() {
                running.stop.raise();
                self.remarks
                    .push(format!("{}: its sender came back with another shape", running.info.name()));
            }
        }
    }

    /// Tells which streams are relayed since this was last called.
    fn note_begun(&mut self) {
        for running in self.edges.values_mut().filter(|one| !one.is_told && one.status.get().is_some()) {
            running.is_told = true;
            self.has_begun = true;
            let name = running.info.name().to_string();
            self.remarks.push(format!("{name}: is relayed"));
            self.unrelayed.remove(&running.journal);
        }
    }

    /// Whether the stream of this journal, which may have come back under another UID, is relayed already.
    fn runs(&self, journal: &Path) -> bool {
        let goes_on = |one: &Running| !(one.stop.is_raised() && one.thread.is_finished());
        self.edges.values().any(|one| one.journal == journal && goes_on(one))
    }

    /// Whether another stream of this journal is relayed, and still there.
    fn has_twin(&self, journal: &Path, found: &BTreeSet<String>) -> bool {
        self.edges.iter().any(|(uid, one)| one.journal == journal && found.contains(uid))
    }

    /// Says once that one journal cannot hold two streams.
    fn leave_twin(&mut self, uid: String, journal: PathBuf, info: &StreamInfo) {
        let name = info.name();
        if self.twins.insert(journal, name.to_string()).is_none() {
            self.remarks.push(format!(
                "{name}: another stream has this name, type and source id; only one of them is relayed, so give each its own source id"
            ));
        }
        self.left_alone.insert(uid, Instant::now());
    }

    fn part_from_ended(&mut self) {
        self.note_begun();
        let ended: Vec<_> = self.edges.extract_if(.., |_, running| running.thread.is_finished()).collect();
        ended.into_iter().for_each(|(uid, running)| self.part(uid, running));
    }

    fn part(&mut self, uid: String, running: Running) {
        let name = running.info.name().to_string();
        let outcome = running.thread.join();
        let how = match outcome {
            Ok(Ok(())) => "has ended",
            // It may be this program's own, at the other end.
            Ok(Err(BeginError::Relayed)) => {
                self.left_alone.insert(uid, Instant::now());
                return;
            }
            Ok(Err(error)) => return self.leave_alone(uid, running.journal, &name, &error.to_string()),
            Err(_) => {
                self.is_whole = false;
                "broke off"
            }
        };
        let Some(status) = running.status.get() else { return };
        self.remarks.extend(remarks_of(&name, status));
        let status = lock(status);
        self.is_whole &= status.loss().is_none();
        self.remarks.push(format!("{name}: {how} after {} samples; {}", status.samples, rest(&status)));
    }

    /// Tries a stream again after a while.
    fn leave_alone(&mut self, uid: String, journal: PathBuf, name: &str, why: &str) {
        self.remarks.push(format!("{name}: {why}"));
        self.unrelayed.insert(journal, name.to_owned());
        self.left_alone.insert(uid, Instant::now());
    }
}

/// What an edge told since it was asked last, under its stream's name.
fn remarks_of(name: &str, status: &Mutex<EdgeStatus>) -> Vec<String> {
    lock(status).take_remarks().into_iter().map(|what| format!("{name}: {what}")).collect()
}

/// What is lost, and what the hub lacks.
fn rest(status: &EdgeStatus) -> String {
    let loss = status.loss();
    let rest = match (status.waiting_blocks, status.waiting_words) {
        (0, 0) if loss.is_none() => String::from("the hub has all of it"),
        (0, 0) => String::from("the hub has the rest"),
        // They wait for no one: the loss names them.
        _ if status.abandoned_blocks > 0 => String::from("the hub has the rest"),
        (0, count) => format!("{count} of its keys wait in the journal for the next `schwann relay out`"),
        (count, _) => format!("{count} blocks wait in the journal for the next `schwann relay out`"),
    };
    loss.map_or_else(String::new, |loss| format!("LOST: {loss}; ")) + &rest
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time of one search.
const LOOK: Duration = Duration::from_millis(1500);
/// Streams that are opened at the same time.
const OPENING_MOST: usize = 32;
/// So many searches find nothing before that is said.
const PATIENT_LOOKS: u32 = 3;
/// When a stream that could not be relayed is tried again.
const AGAIN: Duration = Duration::from_secs(20);
