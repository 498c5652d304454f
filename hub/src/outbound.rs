//! All streams that leave: finds them, and runs an edge for each in a thread of its own.

mod remainders;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann::{Context, StreamInfo, resolver};
use schwann_recorder::{Selector, Stop, any_of};

use self::remainders::Remainders;
use crate::access::Access;
use crate::edge::{BeginError, Edge, EdgeStatus, Settings};

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
    /// Something was relayed.
    has_begun: bool,
    looks: u32,
    remarks: Vec<String>,
    /// Whether all of the streams that have ended is at the hub or in a journal.
    is_whole: bool,
}

struct Running {
    name: String,
    status: Arc<Mutex<EdgeStatus>>,
    thread: JoinHandle<()>,
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
        for info in found {
            let uid = info.uid().to_string_lossy().into_owned();
            let is_new = !self.edges.contains_key(&uid) && !self.left_alone.contains_key(&uid);
            if is_new && !self.runs(&info) && !self.stop.is_raised() {
                self.begin(&info, uid);
            }
        }
        if !self.stop.is_raised() {
            self.has_begun |= self.remainders.look(&self.access, &self.settings);
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks == PATIENT_LOOKS && !self.has_begun {
            self.remarks
                .push(String::from("nothing is relayed yet; `schwann doctor` tells which streams are seen"));
        }
        Ok(())
    }

    /// What happened since this was last called.
    pub fn take_remarks(&mut self) -> Vec<String> {
        for running in self.edges.values() {
            self.remarks.extend(remarks_of(&running.name, &running.status));
        }
        self.remarks.extend(self.remainders.take_remarks());
        core::mem::take(&mut self.remarks)
    }

    /// Waits until every edge has ended its run; `stop` was raised. Returns what happened, and whether something was relayed and
    /// nothing lost.
    pub fn end(mut self) -> (Vec<String>, bool) {
        for (_, running) in core::mem::take(&mut self.edges) {
            self.part(running);
        }
        self.is_whole &= self.remainders.end();
        self.remarks.extend(self.remainders.take_remarks());
        if !self.has_begun {
            self.remarks
                .push(String::from("nothing was relayed; `schwann doctor` tells which streams are seen"));
        }
        (self.remarks, self.is_whole && self.has_begun)
    }

    fn begin(&mut self, info: &StreamInfo, uid: String) {
        let name = info.name().to_string_lossy().into_owned();
        self.remainders.give_way(&name);
        match Edge::begin(info, &self.context, &self.access, &self.settings) {
            Ok(edge) => {
                let (status, stop) = (edge.status(), Arc::clone(&self.stop));
                let spawned =
                    thread::Builder::new().name(format!("edge {name}")).spawn(move || edge.relay(&stop));
                match spawned {
                    Ok(thread) => {
                        self.remarks.push(format!("{name}: is relayed"));
                        self.edges.insert(uid, Running { name, status, thread });
                        self.has_begun = true;
                    }
                    Err(error) => self.remarks.push(format!("{name}: the system gives no thread: {error}")),
                }
            }
            // It may be this program's own, at the other end.
            Err(BeginError::Relayed) => _ = self.left_alone.insert(uid, Instant::now()),
            Err(error) => {
                self.remarks.push(format!("{name}: {error}"));
                self.left_alone.insert(uid, Instant::now());
            }
        }
    }

    /// Whether this stream, which may have come back under another UID, is relayed already.
    fn runs(&self, info: &StreamInfo) -> bool {
        let name = info.name().to_string_lossy();
        !info.source_id().is_empty()
            && self.edges.values().any(|running| {
                let status = lock(&running.status);
                running.name == name && status.source_id == info.source_id().to_string_lossy()
            })
    }

    fn part_from_ended(&mut self) {
        let ended: Vec<_> = self.edges.extract_if(.., |_, running| running.thread.is_finished()).collect();
        ended.into_iter().for_each(|(_, running)| self.part(running));
    }

    fn part(&mut self, running: Running) {
        let Running { name, status, thread } = running;
        let broke = thread.join().is_err();
        self.remarks.extend(remarks_of(&name, &status));
        let status = lock(&status);
        let how = if broke { "broke off" } else { "has ended" };
        self.is_whole &= !broke && status.loss().is_none();
        self.remarks.push(format!("{name}: {how} after {} samples; {}", status.samples, rest(&status)));
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
/// So many searches find nothing before that is said.
const PATIENT_LOOKS: u32 = 3;
/// When a stream that could not be relayed is tried again.
const AGAIN: Duration = Duration::from_secs(20);
