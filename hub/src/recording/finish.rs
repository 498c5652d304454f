//! The end of a recording. What was receipted is in the file, or stays where it is.

use std::fs;
use std::path::PathBuf;

use schwann_xdf::Summary;

use super::write::{self, Unwritten, Written};
use super::{RecordedStream, Recording, RecordingError};
use crate::link::Problem;

/// A recording that has ended.
pub struct Finished {
    /// Where the file is, or would be.
    pub path: PathBuf,
    /// Where every stream stands.
    pub streams: Vec<RecordedStream>,
    /// What is in the file; nothing if there is none.
    pub summary: Option<Summary>,
    /// Blocks that are kept and are not in the file.
    pub unwritten: Unwritten,
    /// Why the file has no certificate; nothing if it has one.
    pub uncertified: Option<String>,
    /// Where they stay; nothing if the file has all of it.
    pub folder: Option<PathBuf>,
    /// The queries that chose no stream.
    pub unmatched: Vec<String>,
    /// Devices that send a stream whose key did not come.
    pub unreadable: Vec<String>,
    /// Why the hub was not reached at the end; nothing if it was.
    pub problem: Option<Problem>,
}

impl Finished {
    /// Whether there is a file, and it has all that was asked for.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.summary.is_some()
            && self.streams.iter().all(RecordedStream::is_well)
            && self.unwritten.count() == 0
            && self.uncertified.is_none()
            && self.unmatched.is_empty()
            && self.unreadable.is_empty()
            && self.problem.is_none()
    }
}

impl Recording {
    /// Writes the file, and lets the folder go if the file has all of it.
    ///
    /// - Errors: [`RecordingError`]; the folder stays, and the same command tries again.
    pub fn finish(mut self) -> Result<Finished, RecordingError> {
        self.sync()?;
        let Written { summary, unwritten, uncertified } = if self.has_samples() {
            write::write(&mut self)?
        } else {
            Written { summary: None, unwritten: self.unopened(), uncertified: None }
        };
        let is_whole = unwritten.count() == 0;
        if is_whole {
            // A folder that stays is told at the next start.
            let _ = fs::remove_dir_all(&self.folder);
        }
        Ok(Finished {
            streams: self.streams(),
            unmatched: self.unmatched(),
            unreadable: self.unreadable(),
            summary,
            unwritten,
            uncertified,
            folder: (!is_whole).then_some(self.folder),
            problem: self.hub.err(),
            path: self.path,
        })
    }

    /// Whether there are samples that can be opened.
    fn has_samples(&self) -> bool {
        let is_opened = |run| self.far.runs().get(run).is_some_and(|far| far.info().is_some());
        self.archives.iter().any(|(run, archive)| archive.samples() > 0 && is_opened(run))
    }

    /// Blocks of runs whose keys are not here.
    pub(super) fn unopened(&self) -> Unwritten {
        let is_locked =
            |run| self.far.runs().get(run).is_none_or(|far| far.follower().description().is_none());
        let locked = self.archives.iter().filter(|(run, _)| is_locked(run));
        Unwritten { unopened: locked.map(|(_, archive)| archive.blocks()).sum(), ..Unwritten::default() }
    }
}
