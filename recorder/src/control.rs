//! One recorder that several hands drive at once: the keyboard, the dashboard, a web page, another program.
//!
//! A [`Control`] looks for streams once it is open, so a recording has its first sample some milliseconds after its start.
//! All its copies drive the same recorder, from any thread. Each of them sees what the others did.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use schwann::Context;
//! use schwann_recorder::control::{Control, Settings};
//! use schwann_recorder::Naming;
//!
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! let settings = Settings::new(Naming::dated(Path::new("recordings")));
//! let control = Control::open(Arc::clone(Context::get()), settings)?;
//! let path = control.start()?;
//! control.annotate("the participant sneezed")?;
//! control.next_run()?;
//! let ended = control.stop()?;
//! println!("{} and {}: {} streams", path.display(), ended.path.display(), ended.streams.len());
//! # Ok(())
//! # }
//! ```

mod desk;
mod error;

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann::resolver::ResolveError;
use schwann::{Context, StreamInfo};
use schwann_xdf::Recipients;

use super::naming::{Labels, Naming};
use super::query::Selector;
use super::search::Unmatched;
use super::space::Forecast;
use super::status::{Phase, RecordingStream};
use super::stop::Stop;
use super::verdict::{Limits, Verdict};
use desk::Desk;
pub use error::{ControlError, Failed};

/// Drives a recorder; a copy drives the same one. The recorder ends with the last copy, and completes its file.
#[derive(Clone)]
pub struct Control {
    driver: Arc<Driver>,
}

/// What is recorded, and where to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// What to record; nothing for all streams.
    pub wanted: Vec<Selector>,
    /// Without these no recording begins.
    pub required: Vec<Selector>,
    /// These are recorded as well, if they come: that they do not is no fault.
    pub welcome: Vec<Selector>,
    /// What recordings are called.
    pub naming: Naming,
    /// Keys that recordings are sealed to; nothing to do as the configuration says.
    pub sealed_to: Option<Recipients>,
    /// After how long a recording goes on in another file; nothing for never.
    pub split_every: Option<Duration>,
    /// What streams may do before something is wrong with them.
    pub limits: Limits,
}

impl Settings {
    /// Every stream, in files with these names.
    #[must_use]
    pub fn new(naming: Naming) -> Self {
        Self {
            wanted: Vec::new(),
            required: Vec::new(),
            welcome: Vec::new(),
            naming,
            sealed_to: None,
            split_every: None,
            limits: Limits::USUAL,
        }
    }
}

/// Where the recorder stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The recording in progress; nothing if there is none.
    pub recording: Option<Progress>,
    /// The streams that are there, recorded or not.
    pub found: Vec<StreamInfo>,
    /// The files that are complete, in their order.
    pub complete: Vec<PathBuf>,
    /// The recordings that have ended, in their order.
    pub ended: Vec<Arc<Ended>>,
    /// What happened that a person should know, in sentences; the newest last.
    pub remarks: Vec<String>,
    /// How many older sentences are not kept any more.
    pub remarks_passed: usize,
    /// Why the last recording ended, if that was no one's wish and none has begun since.
    pub failure: Option<Failed>,
    /// Every recording that ended against all wishes.
    pub failures: Vec<Failed>,
}

/// A recording in progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The file of now.
    pub path: PathBuf,
    /// Bytes in the file of now.
    pub file_bytes: u64,
    /// Since when, in seconds.
    pub seconds: f64,
    /// The streams, in the order in which they came.
    pub streams: Vec<RecordingStream>,
    /// How each of them is.
    pub verdicts: Vec<Verdict>,
    /// Queries that have found nothing.
    pub unmatched: Vec<Unmatched>,
    /// How many streams are or were announced and have not been recorded: they cannot be, or too many did not answer.
    pub left_out: usize,
    /// Files of it that were moved or deleted while they were recorded.
    pub lost_files: Vec<PathBuf>,
    /// Files of it before this one that could not be completed: each lacks what came last, or its end.
    pub incomplete: Vec<Failed>,
    /// How long the disk takes more; nothing where the system does not say.
    pub forecast: Option<Forecast>,
}

/// A recording that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// The last file.
    pub path: PathBuf,
    /// Bytes in the last file.
    pub file_bytes: u64,
    /// How long it was recorded, in seconds.
    pub seconds: f64,
    /// What arrived, over all files.
    pub streams: Vec<RecordingStream>,
    /// How the streams were just before the end.
    pub verdicts: Vec<Verdict>,
    /// Queries that have found nothing.
    pub unmatched: Vec<Unmatched>,
    /// How many streams were announced and not recorded: they could not be, or too many did not answer.
    pub left_out: usize,
    /// Files of it that were moved or deleted while they were recorded.
    pub lost_files: Vec<PathBuf>,
    /// Files of it before the last one that could not be completed: each lacks what came last, or its end.
    pub incomplete: Vec<Failed>,
    /// Whether a required stream was not connected at the end.
    pub lost_required: bool,
}

impl Ended {
    /// Whether every stream that was found answered, every query found one, and every sample that arrived is in the file. Also,
    /// no stream had more gaps than its limits allow, none was away, and none was refused or in trouble at the end. A sender that
    /// ended for good was not away: without a source id it is not looked for.
    pub fn is_well(&self) -> bool {
        let is_whole = |(stream, verdict): (&RecordingStream, &Verdict)| {
            // A sender that ended for good before its recording is in the events of the file, and no fault. One that is looked for
            // is one: its samples of that time are missing, as they are if it comes back.
            let is_in_trouble =
                matches!(stream.phase, Phase::Recording | Phase::Recovering) && verdict.trouble().is_some();
            let was_recorded =
                stream.has_answered && !matches!(stream.phase, Phase::Failed | Phase::Unreadable);
            let is_complete = stream.reading.gap_count <= stream.limits.gaps
                && stream.unrecorded == 0
                && stream.recoveries == 0
                // One that is refused has not ended.
                && stream.refusal.is_none();
            was_recorded && is_complete && !is_in_trouble
        };
        !self.streams.is_empty()
            && self.left_out == 0
            && self.lost_files.is_empty()
            && self.incomplete.is_empty()
            && !self.lost_required
            && self.unmatched.is_empty()
            && self.streams.iter().zip(&self.verdicts).all(is_whole)
    }
}

impl Control {
    /// Begins to look for streams. Nothing is recorded yet.
    ///
    /// - Errors: [`ResolveError`]: the system refuses a thread.
    pub fn open(context: Arc<Context>, settings: Settings) -> Result<Self, ResolveError> {
        let shared = Arc::new(DriverShared {
            desk: Mutex::new(Desk::open(context, settings)?),
            stop: Stop::default(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || for_thread.run())
            .map_err(|error| ResolveError::System(error.kind()))?;
        Ok(Self { driver: Arc::new(Driver { shared, thread: Some(thread) }) })
    }

    /// Begins a recording of the streams that are there and of those that come later; returns its file.
    ///
    /// - Errors: [`ControlError`]; nothing is recorded then.
    pub fn start(&self) -> Result<PathBuf, ControlError> {
        self.desk().start(Duration::ZERO)
    }

    /// The same, once all required streams are there; nothing if `stop` is raised before.
    ///
    /// - Errors: [`ControlError`]; [`ControlError::Missing`] once `patience` is over.
    pub fn start_when_complete(
        &self,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Option<PathBuf>, ControlError> {
        let began = Instant::now();
        loop {
            if self.desk().is_complete() || began.elapsed() >= patience {
                return self.desk().start(patience).map(Some);
            }
            if stop.wait(LOOK_EVERY) {
                return Ok(None);
            }
        }
    }

    /// Ends the recording and completes its file.
    ///
    /// - Errors: [`ControlError::Idle`]; [`ControlError::Failed`] if the file lacks what came last.
    pub fn stop(&self) -> Result<Arc<Ended>, ControlError> {
        self.desk().stop()
    }

    /// Goes on in the next file, which it returns. Every sample is in one of the two.
    ///
    /// - Errors: [`ControlError`]; the recording then goes on in the file it is in.
    pub fn next_run(&self) -> Result<PathBuf, ControlError> {
        self.desk().next_run()
    }

    /// Puts a note into the file, as a marker of now on its stream `Annotations`.
    ///
    /// - Errors: [`ControlError::Idle`], [`ControlError::Annotate`].
    pub fn annotate(&self, text: &str) -> Result<(), ControlError> {
        self.desk().annotate(text)
    }

    /// Records these from the next start on; all streams if there are none.
    pub fn select(&self, wanted: Vec<Selector>) {
        self.desk().select(wanted);
    }

    /// Begins no recording without these, from the next start on.
    pub fn require(&self, required: Vec<Selector>) {
        self.desk().require(required);
    }

    /// Names recordings from the next one on in another way; `naming` gets the folder that no recording leaves.
    ///
    /// - Errors: that of `naming`; nothing has changed then.
    pub fn rename<E>(&self, naming: impl FnOnce(&Path) -> Result<Naming, E>) -> Result<(), E> {
        self.desk().rename(naming)
    }

    /// Names recordings from the next one on as a program asks; see [`Naming::ask`].
    ///
    /// - Errors: [`ControlError::Name`]; nothing has changed then.
    pub fn name(
        &self,
        root: Option<&str>,
        template: Option<&str>,
        labels: Labels,
    ) -> Result<(), ControlError> {
        self.desk().name(root, template, labels)
    }

    /// What the next start records, and where to.
    pub fn settings(&self) -> Settings {
        self.desk().settings()
    }

    /// Puts [`Control::settings`] back as they were.
    pub fn restore(&self, settings: Settings) {
        self.desk().restore(settings);
    }

    /// Where the recorder stands now.
    pub fn status(&self) -> Status {
        self.desk().status()
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.driver.shared.desk()
    }
}

/// Lives as long as a [`Control`] does.
struct Driver {
    shared: Arc<DriverShared>,
    thread: Option<JoinHandle<()>>,
}

struct DriverShared {
    desk: Mutex<Desk>,
    stop: Stop,
}

impl DriverShared {
    /// Does what is due: takes in new streams, begins the next file, watches the disk.
    fn run(&self) {
        while !self.stop.wait(LOOK_EVERY) {
            self.desk().tick(Instant::now());
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.stop.raise();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        // What ends a program without a word still completes the file.
        let _ = self.shared.desk().stop();
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
