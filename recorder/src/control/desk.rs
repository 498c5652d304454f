//! What a recorder that is driven knows: its search, its recording, its names.

use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use schwann::resolver::ResolveError;
use schwann::{Context, StreamInfo, local_clock};
use schwann_xdf::{Failure, Recipients};

use super::{ControlError, Ended, Failed, Progress, Settings, Status};
use crate::naming::{Labels, Naming};
use crate::query::Selector;
use crate::recorder::{Finished, Leaving, Recorder};
use crate::sealing;
use crate::search::{Missing, Search};
use crate::space::Space;
use crate::status::{Phase, RecordingStream, verdicts};
use crate::verdict::has_changed;

/// The state behind a [`Control`](super::Control); one thread at a time has it.
pub(super) struct Desk {
    context: Arc<Context>,
    settings: Settings,
    search: Search,
    running: Option<Running>,
    complete: Vec<PathBuf>,
    ended: Vec<Arc<Ended>>,
    remarks: Vec<String>,
    /// How many older ones are not kept any more.
    remarks_passed: usize,
    failure: Option<Failed>,
    failures: Vec<Failed>,
}

/// A recording in progress.
struct Running {
    recorder: Recorder,
    /// What had to be there when it began.
    required: Vec<Selector>,
    began: Instant,
    file_began: Instant,
    space: Space,
    /// Bytes in the files before this one.
    bytes_before: u64,
    closing: Vec<Closing>,
    /// Files that were moved or deleted while they were recorded.
    lost_files: Vec<PathBuf>,
    /// Files that could not be completed.
    incomplete: Vec<Failed>,
}

/// A file that streams are leaving.
struct Closing {
    path: PathBuf,
    thread: JoinHandle<Result<Finished, Failure>>,
}

impl Desk {
    pub(super) fn open(context: Arc<Context>, settings: Settings) -> Result<Self, ResolveError> {
        let mut search = Search::start(Arc::clone(&context), &settings.wanted, &settings.required)?;
        search.welcome(&settings.welcome);
        Ok(Self {
            context,
            settings,
            search,
            running: None,
            complete: Vec::new(),
            ended: Vec::new(),
            remarks: Vec::new(),
            remarks_passed: 0,
            failure: None,
            failures: Vec::new(),
        })
    }

    /// Whether all required streams are there.
    pub(super) fn is_complete(&self) -> bool {
        self.search.missing().is_empty()
    }

    pub(super) fn start(&mut self, waited: Duration) -> Result<PathBuf, ControlError> {
        if let Some(running) = &self.running {
            return Err(ControlError::Recording(running.recorder.path().to_owned()));
        }
        let missing = self.search.missing();
        if !missing.is_empty() {
            return Err(ControlError::Missing(Missing { queries: missing, after: waited }));
        }
        let sealed_to = self.sealed_to()?;
        let path = self.next_path()?;
        let mut recorder = Recorder::create_for(&path, Arc::clone(&self.context), sealed_to)
            .map_err(|error| ControlError::Create(path.clone(), error))?;
        recorder.set_limits(self.settings.limits);
        self.search.begin_anew(&self.settings.wanted);
        let mut running = Running::new(recorder, self.settings.required.clone());
        let remarks = running.take_in_new(&mut self.search);
        self.failure = None;
        self.running = Some(running);
        remarks.into_iter().for_each(|remark| self.remark(remark));
        Ok(path)
    }

    /// To whom the next recording is sealed; its name then says so.
    fn sealed_to(&mut self) -> Result<Option<Recipients>, ControlError> {
        let wished = self.settings.sealed_to.clone();
        let is_wished = wished.is_some() || self.settings.naming.is_sealed();
        let all = match wished {
            Some(all) => Some(all),
            None => sealing::recipients(&self.context, is_wished, &Recipients::default())
                .map_err(ControlError::Sealing)?,
        };
        if all.is_some() {
            self.settings.naming = self.settings.naming.clone().sealed();
        }
        Ok(all)
    }

    pub(super) fn stop(&mut self) -> Result<Arc<Ended>, ControlError> {
        let running = self.running.take().ok_or(ControlError::Idle)?;
        let mut last = running.progress(&self.search);
        let lost_required = running.lacks_required(&last.streams);
        let path = last.path.clone();
        let Running { recorder, closing, .. } = running;
        last.incomplete.extend(closing.into_iter().filter_map(|closing| self.note_closed(closing)));
        let finished = recorder.finish().map_err(|failure| {
            let failed = Failed { path: path.clone(), failure };
            self.failure = Some(failed.clone());
            self.failures.push(failed.clone());
            ControlError::Failed(failed)
        })?;
        self.note_complete(path.clone(), finished.uncertified);
        let ended = Arc::new(Ended {
            path,
            file_bytes: finished.summary.file_bytes,
            seconds: last.seconds,
            streams: finished.streams,
            lost_required,
            lost_files: last.lost_files,
            incomplete: last.incomplete,
            verdicts: last.verdicts,
            unmatched: last.unmatched,
            left_out: last.left_out,
        });
        self.ended.push(Arc::clone(&ended));
        Ok(ended)
    }

    pub(super) fn next_run(&mut self) -> Result<PathBuf, ControlError> {
        if self.running.is_none() {
            return Err(ControlError::Idle);
        }
        let path = self.next_path()?;
        let running = self.running.as_mut().ok_or(ControlError::Idle)?;
        running.go_on_in(path.clone()).map(|()| path)
    }

    pub(super) fn annotate(&self, text: &str) -> Result<(), ControlError> {
        let running = self.running.as_ref().ok_or(ControlError::Idle)?;
        running.recorder.annotate(text, local_clock()).map_err(ControlError::Annotate)
    }

    pub(super) fn select(&mut self, wanted: Vec<Selector>) {
        self.settings.wanted = wanted;
    }

    pub(super) fn require(&mut self, required: Vec<Selector>) {
        self.search.require(&required);
        self.settings.required = required;
    }

    pub(super) fn rename<E>(&mut self, naming: impl FnOnce(&Path) -> Result<Naming, E>) -> Result<(), E> {
        self.settings.naming = naming(self.settings.naming.base())?;
        Ok(())
    }

    pub(super) fn name(
        &mut self,
        root: Option<&str>,
        template: Option<&str>,
        labels: Labels,
    ) -> Result<(), ControlError> {
        self.settings.naming.ask(root, template, labels).map_err(ControlError::Name)
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    pub(super) fn restore(&mut self, settings: Settings) {
        self.search.require(&settings.required);
        self.search.welcome(&settings.welcome);
        self.settings = settings;
    }

    pub(super) fn status(&self) -> Status {
        Status {
            recording: self.running.as_ref().map(|running| running.so_far(&self.search)),
            found: self.search.found(),
            complete: self.complete.clone(),
            ended: self.ended.clone(),
            remarks: self.remarks.clone(),
            remarks_passed: self.remarks_passed,
            failure: self.failure.clone(),
            failures: self.failures.clone(),
        }
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now: Instant) {
        let Some(running) = &mut self.running else { return };
        let remarks = running.take_in_new(&mut self.search);
        remarks.into_iter().for_each(|remark| self.remark(remark));
        self.note_closed_files();
        let Some(running) = &mut self.running else { return };
        let health = running.recorder.health();
        running.space.note(running.recorder.path(), running.bytes_before + health.file_bytes, now);
        if health.failure.is_some() {
            // The failure is kept: see `Status::failures`.
            let _ = self.stop();
            return;
        }
        let is_due = self.settings.split_every.is_some_and(|every| now - running.file_began >= every);
        if running.is_gone(now) {
            self.go_on_elsewhere();
        } else if is_due && let Err(error) = self.next_run() {
            self.remark(format!("the recording goes on in the same file: {error}"));
            if let Some(running) = &mut self.running {
                running.file_began = now;
            }
        }
    }

    /// The file of now was moved or deleted: what comes must not be lost with it.
    fn go_on_elsewhere(&mut self) {
        let Some(running) = &mut self.running else { return };
        let path = running.recorder.path().to_owned();
        if running.lost_files.last() != Some(&path) {
            running.lost_files.push(path.clone());
        }
        let gone = format!("{} was moved or deleted while it was recorded", path.display());
        match self.next_run() {
            Ok(next) => self.remark(format!("{gone}; the recording goes on in {}", next.display())),
            Err(error) => self.remark(format!("{gone}, and no other can be made: {error}")),
        }
    }

    fn next_path(&mut self) -> Result<PathBuf, ControlError> {
        self.settings.naming.next(SystemTime::now()).map_err(ControlError::Name)
    }

    fn note_closed_files(&mut self) {
        let Some(running) = &mut self.running else { return };
        let closed: Vec<_> = running.closing.extract_if(.., |closing| closing.thread.is_finished()).collect();
        let incomplete: Vec<_> = closed.into_iter().filter_map(|closing| self.note_closed(closing)).collect();
        if let Some(running) = &mut self.running {
            running.incomplete.extend(incomplete);
        }
    }

    /// Takes in how a file was closed; returns it if it could not be completed.
    fn note_closed(&mut self, closing: Closing) -> Option<Failed> {
        match closing.thread.join().unwrap_or(Err(Failure::Internal)) {
            Ok(finished) => {
                self.note_complete(closing.path, finished.uncertified);
                None
            }
            Err(failure) => {
                let failed = Failed { path: closing.path, failure };
                self.remark(failed.to_string());
                Some(failed)
            }
        }
    }

    fn note_complete(&mut self, path: PathBuf, uncertified: Option<io::Error>) {
        if let Some(error) = uncertified {
            self.remark(format!(
                "{}: complete, but its certificate cannot be written: {error}",
                path.display()
            ));
        }
        self.complete.push(path);
    }

    /// Keeps a sentence for the people who look; the same one once.
    fn remark(&mut self, text: String) {
        if self.remarks.last() != Some(&text) {
            self.remarks.push(text);
        }
        let many = self.remarks.len().saturating_sub(REMARKS_MAX);
        self.remarks.drain(..many);
        self.remarks_passed += many;
    }
}

impl Running {
    fn new(recorder: Recorder, required: Vec<Selector>) -> Self {
        let now = Instant::now();
        let (space, closing, lost_files, incomplete) = (Space::default(), Vec::new(), Vec::new(), Vec::new());
        let (began, file_began, bytes_before) = (now, now, 0);
        Self { recorder, required, began, file_began, space, bytes_before, closing, lost_files, incomplete }
    }

    /// Records new streams; returns what a person should know of them.
    fn take_in_new(&mut self, search: &mut Search) -> Vec<String> {
        let recorded = self.recorder.streams();
        let new = search.new_streams(&recorded);
        let changed = new.iter().filter_map(|info| changed(info, &recorded));
        let admitted = self.recorder.admit(&new);
        search.forget(&admitted.gave_way);
        let refused = admitted.refused.iter().map(|error| format!("not recorded: {error}"));
        changed.chain(refused).collect()
    }

    fn go_on_in(&mut self, path: PathBuf) -> Result<(), ControlError> {
        let bytes = self.recorder.health().file_bytes;
        let leaving = self.recorder.next_file(&path).map_err(|error| ControlError::Create(path, error))?;
        self.bytes_before += bytes;
        self.file_began = Instant::now();
        self.close(leaving);
        Ok(())
    }

    /// Completes a file in the background: its streams take a moment to leave it, and the disk another.
    fn close(&mut self, leaving: Leaving) {
        let path = leaving.path().to_owned();
        let spawned = thread::Builder::new().name("record end".to_owned()).spawn(move || leaving.finish());
        match spawned {
            Ok(thread) => self.closing.push(Closing { path, thread }),
            // The file has all samples, but no footers and no certificate.
            Err(error) => self.incomplete.push(Failed { path, failure: error.into() }),
        }
    }

    /// Whether the file of now has another name than its own, or none; looked at once in a while.
    fn is_gone(&self, now: Instant) -> bool {
        let is_settled = now - self.file_began >= GONE_AFTER;
        let found = || self.recorder.path().symlink_metadata();
        is_settled && found().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    fn lacks_required(&self, streams: &[RecordingStream]) -> bool {
        self.required.iter().any(|selector| {
            let is_there =
                |stream: &RecordingStream| selector.chooses(&stream.info) && stream.phase == Phase::Recording;
            !streams.iter().any(is_there)
        })
    }

    /// How it goes while it goes on: what has had no time to answer is not missing yet.
    fn so_far(&self, search: &Search) -> Progress {
        let mut progress = self.progress(search);
        if !search.has_looked() {
            progress.unmatched.clear();
        }
        progress
    }

    fn progress(&self, search: &Search) -> Progress {
        let streams = self.recorder.streams();
        Progress {
            path: self.recorder.path().to_owned(),
            file_bytes: self.recorder.health().file_bytes,
            seconds: self.began.elapsed().as_secs_f64(),
            verdicts: verdicts(&streams),
            unmatched: search.unmatched(&streams),
            left_out: self.recorder.left_out(),
            lost_files: self.lost_files.clone(),
            incomplete: self.incomplete.clone(),
            forecast: self.space.forecast(),
            streams,
        }
    }
}

/// What to say of a stream that was recorded with other samples before.
fn changed(info: &StreamInfo, recorded: &[RecordingStream]) -> Option<String> {
    let before = recorded.iter().rev().map(|stream| &stream.info).find(|before| has_changed(before, info))?;
    let samples = |info: &StreamInfo| format!("{} x {}", info.channel_count(), info.channel_format().name());
    Some(format!(
        "{} of {} came back with {} and not {}: it is recorded as another stream",
        info.name(),
        info.hostname(),
        samples(info),
        samples(before)
    ))
}

/// A file that another one replaced is given this long to be made.
const GONE_AFTER: Duration = Duration::from_secs(1);
/// Sentences that are kept.
const REMARKS_MAX: usize = 50;

#[cfg(test)]
mod tests;
