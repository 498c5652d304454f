//! Remote streams in a file. While it records, sealed blocks are kept in a folder beside the file, synced and receipted; at the end
//! they become an XDF file, in order and without repeats.
//!
//! A recorder that is killed goes on where it was: the folder has the blocks, and the words that open them.

mod account;
mod archive;
mod error;
mod write;

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schwann_recorder::certificate::Events;
use schwann_recorder::{Selector, all_or_any};
use schwann_relay::{End, Ranges, RunId};

use self::archive::Archive;
pub use self::error::RecordingError;
pub use self::write::Written;
use crate::access::now;
use crate::far::{Far, FarRun, News, Origin, above};

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
    remarks: Vec<String>,
    /// For the certificate.
    happened: Events,
    told: Option<String>,
    is_resumed: bool,
}

/// Where one stream of a recording stands.
#[derive(Clone, Debug)]
pub struct RecordedStream {
    /// Its name.
    pub name: String,
    /// The device that sends it.
    pub device: String,
    /// Samples that are here.
    pub samples: u64,
    /// Blocks that are here.
    pub blocks: u64,
    /// Blocks that are missing.
    pub missing: Ranges,
    /// Those of the missing that its edge no longer has.
    pub lost: Ranges,
    /// How its last run ended, as far as is known.
    pub end: End,
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
        let mut recording = Self {
            far,
            path: path.to_owned(),
            folder,
            selectors,
            began,
            archives: BTreeMap::new(),
            words: BTreeMap::new(),
            synced: Instant::now(),
            remarks: Vec::new(),
            happened: Events::default(),
            told: None,
            is_resumed,
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
        for one in self.far.hear(patience) {
            match one {
                News::Block { run, place, sealed, .. } => self.keep(run, place.number, &sealed)?,
                News::Described(run) => self.described(run),
                News::Word(run, word) => self.keep_word(run, word)?,
                News::Connected => self.tell(String::from("the hub is reached")),
                News::Disconnected(problem) => self.tell(problem.to_string()),
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

    /// Whether blocks are missing that may still come.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.far.runs().values().any(|run| run.is_wanted() && !run.holes().is_empty())
    }

    /// Where every stream stands.
    #[must_use]
    pub fn streams(&self) -> Vec<RecordedStream> {
        let mut streams: BTreeMap<Origin, RecordedStream> = BTreeMap::new();
        for run in self.in_order() {
            let Some((far, archive)) = self.far.runs().get(&run).zip(self.archives.get(&run)) else {
                continue;
            };
            let report = far.follower().report();
            let entry = streams.entry(far.origin()).or_insert_with(|| RecordedStream {
                name: far.info().map_or_else(String::new, |info| info.name().to_string_lossy().into_owned()),
                device: far.device().to_owned(),
                samples: 0,
                blocks: 0,
                missing: Ranges::default(),
                lost: Ranges::default(),
                end: End::Open,
            });
            entry.samples += archive.samples();
            entry.blocks += archive.blocks();
            for (into, from) in
                [(&mut entry.missing, report.missing.clone()), (&mut entry.lost, report.lost.clone())]
            {
                above(from, far.floor()).as_slice().iter().for_each(|range| into.insert(*range));
            }
            entry.end = report.end;
        }
        streams.into_values().collect()
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
        if !self.archives.contains_key(&run) {
            if !self.far.runs().get(&run).is_some_and(|far| self.chooses(far)) {
                return Ok(());
            }
            let mut archive = Archive::create(&self.folder, run).map_err(RecordingError::Disk)?;
            for word in self.words.remove(&run).unwrap_or_default() {
                archive.keep_word(&word).map_err(RecordingError::Disk)?;
            }
            self.archives.insert(run, archive);
            let come = self.far.runs().get(&run).map_or_else(String::new, came);
            self.happened.note(&come);
        }
        if let Some(far) = self.far.run_mut(run).filter(|far| !far.is_wanted()) {
            // It ran before the recording began: what is sealed from now on belongs to it.
            far.want_from(number);
        }
        if self.far.runs().get(&run).is_some_and(|far| number < far.floor()) {
            // It was opened together with the first one that is wanted.
            return Ok(());
        }
        let Some(archive) = self.archives.get_mut(&run) else { return Ok(()) };
        archive.keep(number, sealed).map_err(RecordingError::Disk)
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
        let began = self.began.saturating_sub(CLOCK_SLACK_S);
        let Some(far) = self.far.runs().get(&run) else { return };
        if self.chooses(far) && !far.is_wanted() && far.began().0 >= began {
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

    /// Goes on with what is on the disk.
    fn restore(&mut self) -> Result<(), RecordingError> {
        for mut archive in archive::read_all(&self.folder).map_err(RecordingError::Disk)? {
            let run = archive.run();
            let (words, places) = archive.take_restored();
            for word in words {
                self.far.restore_word(&word);
            }
            let Some(far) = self.far.run_mut(run) else {
                self.remarks.push(String::from(
                    "blocks of a run are here whose keys are not; they stay where they are",
                ));
                continue;
            };
            if let Some(description) = far.follower().description().map(<[u8]>::to_vec) {
                far.want_from(places.iter().map(|place| place.number).min().unwrap_or_default());
                far.follower_mut().restore(description, places);
                let stream = far.stream();
                self.far.reread(stream);
            }
            self.archives.insert(run, archive);
        }
        Ok(())
    }

    /// The runs, by stream, device and beginning.
    fn in_order(&self) -> Vec<RunId> {
        let runs = self.archives.keys().filter_map(|run| self.far.runs().get(run));
        let mut runs: Vec<_> = runs.map(|far| (far.origin(), far.began(), far.id())).collect();
        runs.sort_unstable();
        runs.into_iter().map(|(_, _, run)| run).collect()
    }

    /// Writes the file, and lets the folder go.
    ///
    /// - Errors: [`RecordingError`]; the folder stays, and the same command tries again.
    pub fn finish(mut self) -> Result<(Vec<RecordedStream>, Option<Written>), RecordingError> {
        self.sync()?;
        let streams = self.streams();
        let has_samples = streams.iter().any(|stream| stream.samples > 0);
        let written = if has_samples { Some(write::write(&mut self)?) } else { None };
        if written.is_some() || streams.is_empty() {
            // The file has it all. A folder that stays is told at the next start.
            let _ = fs::remove_dir_all(&self.folder);
        }
        Ok((streams, written))
    }
}

/// The event of the certificate.
fn came(run: &FarRun) -> String {
    let name = run.info().map_or_else(String::new, |info| info.name().to_string_lossy().into_owned());
    format!("came: {name} of {}", run.device())
}

const BEGAN: &str = "began";
/// How late receipts are at most.
const SYNC_EVERY: Duration = Duration::from_millis(200);
const MAX_WORDS: usize = 1024;
/// How far the calendars of two sites may differ, in seconds.
const CLOCK_SLACK_S: u64 = 5;
