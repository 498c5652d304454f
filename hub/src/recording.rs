//! Remote streams in a file. While it records, sealed blocks are kept in a folder beside the file, synced and receipted; at the end
//! they become an XDF file, in order and without repeats.
//!
//! A recorder that is killed goes on where it was: the folder has the blocks, and the words that open them.

mod account;
mod archive;
mod error;
mod finish;
mod report;
mod write;

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schwann::local_clock;
use schwann_recorder::certificate::Events;
use schwann_recorder::{Selector, all_or_any};
use schwann_relay::RunId;

use self::archive::Archive;
pub use self::error::RecordingError;
pub use self::finish::Finished;
pub use self::report::{RecordedRun, RecordedStream, RunEnd};
pub use self::write::Unwritten;
use crate::access::now;
use crate::far::{Far, FarRun, News};
use crate::journal::hold;
use crate::link::Problem;

/// A recording in progress.
pub struct Recording {
    far: Far,
    path: PathBuf,
    folder: PathBuf,
    selectors: Vec<Selector>,
    /// When it began first, in seconds since 1970.
    began: u64,
    archives: BTreeMap<RunId, Archive>,
    /// Words of runs of which no block is kept yet.
    words: BTreeMap<RunId, Vec<Vec<u8>>>,
    synced: Instant,
    /// When the hub was last listened to, on our clock. How long the file takes then says nothing of a sender.
    listened: f64,
    /// Since when the hub is reached, or why it is not.
    hub: Result<Instant, Problem>,
    remarks: Vec<String>,
    /// For the certificate.
    happened: Events,
    told: Option<String>,
    is_resumed: bool,
    /// Two that kept blocks there would damage each other's.
    _lock: File,
}

impl Recording {
    /// Begins a recording that becomes the file at `path`, or goes on with one that was broken off.
    ///
    /// - Errors: [`RecordingError`]; a file that exists is never replaced.
    pub fn open(path: &Path, far: Far, selectors: Vec<Selector>) -> Result<Self, RecordingError> {
        if path.exists() {
            return Err(RecordingError::Exists(path.to_owned()));
        }
        let folder = path.with_added_extension("blocks");
        let is_resumed = folder.join(BEGAN).exists();
        let began = archive::begin(&folder.join(BEGAN), now().0).map_err(RecordingError::Disk)?;
        let lock = hold(&folder, IN_USE).map_err(RecordingError::Held)?;
        let mut recording = Self {
            far,
            path: path.to_owned(),
            folder,
            selectors,
            began,
            archives: BTreeMap::new(),
            words: BTreeMap::new(),
            synced: Instant::now(),
            listened: local_clock(),
            hub: Err(Problem::Silent(String::from("it has not answered yet"))),
            remarks: Vec::new(),
            happened: Events::default(),
            told: None,
            is_resumed,
            _lock: lock,
        };
        recording.happened.note(if is_resumed {
            "start: goes on with what an earlier one kept"
        } else {
            "start"
        });
        recording.restore()?;
        Ok(recording)
    }

    /// Whether it goes on with one that was broken off.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Takes in what comes, waiting up to `patience` for it; syncs and gives receipts when it is time.
    ///
    /// - Errors: the disk. What was receipted is on it; the same command goes on.
    pub fn turn(&mut self, patience: Duration) -> Result<(), RecordingError> {
        let heard = self.far.hear(patience);
        self.listened = local_clock();
        for one in heard {
            match one {
                News::Block { run, place, sealed, .. } => self.keep(run, place.number, &sealed)?,
                News::Described(run) => self.described(run),
                News::Word(run, word) => self.keep_word(run, word)?,
                News::Connected => {
                    self.hub = Ok(Instant::now());
                    self.tell(String::from("the hub is reached"));
                }
                News::Disconnected(problem) => {
                    self.tell(problem.to_string());
                    self.hub = Err(problem);
                }
                News::Newest { .. } => {}
            }
        }
        if self.synced.elapsed() >= SYNC_EVERY {
            self.synced = Instant::now();
            self.sync()?;
        }
        Ok(())
    }

    /// Says what happened, once.
    fn tell(&mut self, what: String) {
        if self.told.as_ref() != Some(&what) {
            self.happened.note(&what);
            self.remarks.push(what.clone());
            self.told = Some(what);
        }
    }

    /// What happened since this was last called.
    pub fn take_remarks(&mut self) -> Vec<String> {
        let mut remarks = core::mem::take(&mut self.remarks);
        remarks.extend(self.far.take_remarks());
        remarks
    }

    /// Why the hub is not reached; nothing while it is.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.hub.as_ref().err()
    }

    /// Whether any block came.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.archives.is_empty()
    }

    /// Whether blocks are missing that may still come.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.far.runs().values().any(|run| run.is_wanted() && !run.holes().is_empty())
    }

    /// Syncs what was kept, and says so to the edges.
    fn sync(&mut self) -> Result<(), RecordingError> {
        for (run, archive) in &mut self.archives {
            let Some(far) = self.far.run_mut(*run) else { continue };
            if let Some(clock) = far.clock() {
                archive.keep_clock(clock).map_err(RecordingError::Disk)?;
            }
            let mark = far.follower().mark().from_block(far.floor());
            archive.sync().map_err(RecordingError::Disk)?;
            let receipts = far.follower_mut().synced(mark);
            self.far.receipt(*run, &receipts);
        }
        Ok(())
    }

    fn keep(&mut self, run: RunId, number: u64, sealed: &[u8]) -> Result<(), RecordingError> {
        let Some(far) = self.far.runs().get(&run) else { return Ok(()) };
        let is_new = !self.archives.contains_key(&run);
        if is_new && !self.chooses(far) {
            return Ok(());
        }
        // What is not wanted yet ran before the recording began: what is sealed from now on belongs to it.
        let floor = if far.is_wanted() { far.floor() } else { number };
        if number < floor {
            // It was opened together with the first one that is wanted.
            return Ok(());
        }
        if is_new {
            let come = came(far);
            self.begin_run(run, floor)?;
            self.happened.note(&come);
        }
        if let Some(far) = self.far.run_mut(run) {
            far.want_from(floor);
        }
        let Some(archive) = self.archives.get_mut(&run) else { return Ok(()) };
        archive.keep(number, sealed).map_err(RecordingError::Disk)
    }

    fn begin_run(&mut self, run: RunId, floor: u64) -> Result<(), RecordingError> {
        let mut archive = Archive::create(&self.folder, run, floor).map_err(RecordingError::Disk)?;
        for word in self.words.remove(&run).unwrap_or_default() {
            archive.keep_word(&word).map_err(RecordingError::Disk)?;
        }
        self.archives.insert(run, archive);
        Ok(())
    }

    fn keep_word(&mut self, run: RunId, word: Vec<u8>) -> Result<(), RecordingError> {
        match self.archives.get_mut(&run) {
            Some(archive) => archive.keep_word(&word).map_err(RecordingError::Disk),
            None => {
                let words = self.words.entry(run).or_default();
                if words.len() < MAX_WORDS && !words.contains(&word) {
                    words.push(word);
                }
                Ok(())
            }
        }
    }

    /// A stream's description can be read: a run that began after the recording did belongs to it from its first block on.
    fn described(&mut self, run: RunId) {
        if self.archives.contains_key(&run) {
            return self.resume(run);
        }
        let Some(far) = self.far.runs().get(&run) else { return };
        if self.chooses(far) && !far.is_wanted() && self.is_later(far) {
            let stream = far.stream();
            if let Some(far) = self.far.run_mut(run) {
                far.want_from(0);
            }
            self.far.reread(stream);
        }
    }

    fn chooses(&self, far: &FarRun) -> bool {
        far.info().is_some_and(|info| all_or_any(&self.selectors, info))
    }

    /// Whether a run began after the recording did.
    fn is_later(&self, far: &FarRun) -> bool {
        far.began().0 >= self.began.saturating_sub(CLOCK_SLACK_S)
    }

    /// Goes on with what is on the disk.
    fn restore(&mut self) -> Result<(), RecordingError> {
        let folder = self.folder.display().to_string();
        let mut damaged = 0;
        for mut archive in archive::read_all(&self.folder).map_err(RecordingError::Disk)? {
            let run = archive.run();
            for word in core::mem::take(&mut archive.restored().words) {
                self.far.restore_word(&word);
            }
            damaged += archive.restored().damaged;
            self.archives.insert(run, archive);
            if self.far.runs().get(&run).is_none_or(|far| far.follower().description().is_none()) {
                self.tell(format!(
                    "{folder} has blocks of a run whose keys are not here; they stay there until these come"
                ));
            }
            self.resume(run);
        }
        if damaged > 0 {
            self.tell(format!(
                "{damaged} places of {folder} are damaged on this disk; the blocks that were there are asked for again"
            ));
        }
        Ok(())
    }

    /// Goes on with a run of which the disk has blocks, once its description can be read.
    fn resume(&mut self, run: RunId) {
        let is_later = self.far.runs().get(&run).is_some_and(|far| self.is_later(far));
        let Some((archive, far)) = self.archives.get_mut(&run).zip(self.far.run_mut(run)) else { return };
        let Some(description) = far.follower().description().map(<[u8]>::to_vec) else { return };
        let places = core::mem::take(&mut archive.restored().places);
        if far.is_wanted() {
            return;
        }
        let lowest = places.iter().map(|place| place.number).min().unwrap_or_default();
        far.want_from(archive.floor().unwrap_or(if is_later { 0 } else { lowest }));
        far.follower_mut().restore(description, places);
        let stream = far.stream();
        self.far.reread(stream);
    }
}

/// The event of the certificate.
fn came(run: &FarRun) -> String {
    format!("came: {} of {}", report::name(run), run.device())
}

const BEGAN: &str = "began";
const IN_USE: &str = "another program records into this file already; end it first, or name another file";
/// How late receipts are at most.
const SYNC_EVERY: Duration = Duration::from_millis(200);
const MAX_WORDS: usize = 1024;
/// How far the calendars of two sites may differ, in seconds.
const CLOCK_SLACK_S: u64 = 5;
