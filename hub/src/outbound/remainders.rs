//! Journals of streams that are away: what their hub lacks goes there, too.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann_recorder::Stop;

use super::{lock, remarks_of};
use crate::access::Access;
use crate::edge::{BeginError, Edge, EdgeStatus, Remainder, Settings, remainders};

/// The edges that hand over journals without a stream.
#[derive(Default)]
pub(super) struct Remainders {
    running: BTreeMap<PathBuf, Running>,
    /// Journals that could not be handed over, and since when that is known.
    left_alone: BTreeMap<PathBuf, Instant>,
    /// Journals of another hub, of which that was said.
    told: BTreeSet<PathBuf>,
    remarks: Vec<String>,
    /// One of them lost something.
    has_lost: bool,
}

struct Running {
    name: String,
    status: Arc<Mutex<EdgeStatus>>,
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

impl Remainders {
    /// Begins with journals that no edge has, and parts from those that the hub has whole. Says whether some are on their way.
    ///
    /// `there` are the journals of streams that have an edge, also if that has not opened its journal yet.
    pub(super) fn look(&mut self, access: &Access, settings: &Settings, there: &BTreeSet<PathBuf>) -> bool {
        let ended: Vec<_> = self.running.extract_if(.., |_, running| running.thread.is_finished()).collect();
        ended.into_iter().for_each(|(_, running)| self.part(running));
        self.left_alone.retain(|_, since| since.elapsed() < AGAIN);
        for remainder in remainders(&settings.folder) {
            let folder = &remainder.folder;
            let is_taken = self.running.contains_key(folder) || there.contains(folder);
            if is_taken || self.left_alone.contains_key(folder) {
                continue;
            }
            // Which hub sees how much this site sends is its user's choice.
            if remainder.hub == settings.hub.to_string() {
                self.begin(&remainder, access, settings);
            } else if remainder.blocks > 0 && self.told.insert(folder.clone()) {
                let Remainder { name, hub, blocks, .. } = &remainder;
                self.remarks.push(format!(
                    "{name}: {blocks} blocks wait in its journal for the hub {hub}; `schwann relay out --hub` with its address \
                     hands them over"
                ));
            }
        }
        !self.running.is_empty()
    }

    fn begin(&mut self, remainder: &Remainder, access: &Access, settings: &Settings) {
        let Remainder { folder, name, .. } = remainder.clone();
        match Edge::without_stream(remainder, access, settings) {
            Ok(edge) => {
                let (status, stop) = (edge.status(), Arc::new(Stop::default()));
                let stopped = Arc::clone(&stop);
                let spawned = thread::Builder::new()
                    .name(format!("journal {name}"))
                    .spawn(move || edge.hand_over(&stopped));
                match spawned {
                    Ok(thread) => _ = self.running.insert(folder, Running { name, status, stop, thread }),
                    Err(error) => self.remarks.push(format!("{name}: the system gives no thread: {error}")),
                }
                return;
            }
            // An edge has it, of this program or of another.
            Err(BeginError::Journal(error)) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(BeginError::OtherLab) => {}
            Err(error) => self.remarks.push(format!("{name}: {error}")),
        }
        self.left_alone.insert(folder, Instant::now());
    }

    /// The stream of this journal is back: its edge takes the journal over.
    pub(super) fn give_way(&mut self, journal: &Path) {
        let Some(running) = self.running.remove(journal) else { return };
        running.stop.raise();
        // It ends within one turn. What it did not hand over, the edge does; what it lost stays lost.
        self.part(running);
    }

    /// What happened since this was last called.
    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        for running in self.running.values() {
            self.remarks.extend(remarks_of(&running.name, &running.status));
        }
        core::mem::take(&mut self.remarks)
    }

    /// Ends all of them; says whether nothing was lost.
    pub(super) fn end(&mut self) -> bool {
        self.running.values().for_each(|running| running.stop.raise());
        let ended = core::mem::take(&mut self.running);
        ended.into_values().for_each(|running| self.part(running));
        !self.has_lost
    }

    fn part(&mut self, running: Running) {
        let Running { name, status, thread, .. } = running;
        let broke = thread.join().is_err();
        self.remarks.extend(remarks_of(&name, &status));
        let status = lock(&status);
        let how = match (broke, status.waiting_blocks, status.waiting_words) {
            (true, ..) => "broke off while its journal was handed over",
            (false, 0, 0) => "its journal was handed over",
            (false, ..) => "its journal was not handed over whole",
        };
        self.remarks.push(format!("{name}: the stream is away, and {how}; {}", super::rest(&status)));
        self.has_lost |= broke || status.loss().is_some();
    }
}

/// When a journal that could not be handed over is tried again.
const AGAIN: Duration = Duration::from_secs(20);
