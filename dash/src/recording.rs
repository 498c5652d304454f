//! The recorder that pages drive: the same one, with the same rules, as that of `schwann record`.

use core::time::Duration;
use std::{
    path::{self, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schwann::{Context, StreamInfo, local_clock};
use schwann_recorder::{
    Naming, RecordingStream, Selector, Stop, Trouble, Verdict,
    control::{Control, Ended, Progress, Settings},
};
use serde_json::{Value, json};

use super::{
    order::{Order, Plan},
    outlets::Reason,
};

/// The recorder, and what was told to it.
pub(super) struct Desk {
    whose: Whose,
    folder: PathBuf,
    /// One order at a time; held while it is obeyed, which may take a second.
    orders: Mutex<()>,
    control: Mutex<Option<Control>>,
}

/// Who opened the recorder.
enum Whose {
    /// This desk, anew for each recording. The markers of its dashboard, with this source id, are in each.
    Own(Arc<Context>, String),
    /// The program, which drives it as well.
    Given,
}

impl Desk {
    /// Prepares to record into `folder`, which no recording leaves; `markers` is the source id of the dashboard's own.
    pub(super) fn new(context: Arc<Context>, folder: PathBuf, markers: String) -> Self {
        Self {
            whose: Whose::Own(context, markers),
            folder,
            orders: Mutex::default(),
            control: Mutex::default(),
        }
    }

    /// Drives a recorder that records into `folder`.
    pub(super) fn of(control: Control, folder: PathBuf) -> Self {
        Self { whose: Whose::Given, folder, orders: Mutex::default(), control: Mutex::new(Some(control)) }
    }

    /// Does what a page asks for. A start takes as long as a search does.
    ///
    /// - Errors: why not, in a sentence.
    pub(super) fn obey(&self, order: &Order) -> Result<(), Reason> {
        let _alone = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        // The status is asked for all the time, and does not wait for a search.
        let control = self.lock().clone();
        if let (Order::Start(plan), Whose::Own(context, markers)) = (order, &self.whose) {
            return self.open_and_start(plan, context, markers, control.as_ref());
        }
        let control = control.ok_or("Nothing is being recorded.")?;
        match order {
            Order::Start(plan) => return start(plan, &control),
            Order::Prepare(_) if matches!(self.whose, Whose::Own(..)) => return Err(WITH_START.into()),
            Order::Prepare(plan) => return plan.prepare(&control),
            Order::Next => control.next_run().map(drop),
            Order::Note { text } => control.annotate(text),
            Order::Stop => control.stop().map(drop),
        }
        .map_err(|error| error.to_string())
    }

    fn open_and_start(
        &self,
        plan: &Plan,
        context: &Arc<Context>,
        markers: &str,
        before: Option<&Control>,
    ) -> Result<(), Reason> {
        before.map_or(Ok(()), check_idle)?;
        let mut settings = Settings::new(Naming::dated(&self.folder));
        // Their stream opens with the first marker, so that nobody can choose it before.
        settings.welcome = vec![own(markers)?];
        let new = Control::open(Arc::clone(context), settings).map_err(|error| error.to_string())?;
        plan.prepare(&new)?;
        new.start_when_complete(FINDING_TIME, &Stop::default()).map_err(|error| error.to_string())?;
        // Without a new one, the page goes on to show how the last one ended.
        let _ended = self.lock().replace(new);
        Ok(())
    }

    /// Where the recorder stands.
    pub(super) fn status(&self) -> Value {
        self.state().0
    }

    /// The same, and the streams that are there, if the recorder looks for them.
    pub(super) fn state(&self) -> (Value, Vec<StreamInfo>) {
        // A page is told where its file goes, and "." says nothing there.
        let folder =
            path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone()).display().to_string();
        let markers = match &self.whose {
            Whose::Own(_, markers) => Some(markers),
            Whose::Given => None,
        };
        let control = self.lock().clone();
        let Some(status) = control.as_ref().map(Control::status) else {
            let idle = json!({ "folder": folder, "markers": markers, "recording": null, "ended": null, "remarks": [], "remarks_passed": 0, "failure": null });
            return (idle, Vec::new());
        };
        let state = json!({
            "folder": folder,
            "markers": markers,
            "recording": status.recording.as_ref().map(progress),
            "ended": status.ended.last().map(|ended| ended_json(ended)),
            "remarks": status.remarks,
            "remarks_passed": status.remarks_passed,
            "failure": status.failure.map(|failure| failure.to_string()),
        });
        (state, status.found)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Control>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl core::fmt::Debug for Desk {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Desk").field("folder", &self.folder).finish_non_exhaustive()
    }
}

fn start(plan: &Plan, control: &Control) -> Result<(), Reason> {
    // A recording in progress is left alone, its names and streams, too.
    check_idle(control)?;
    let before = control.settings();
    let started = plan.prepare(control).and_then(|()| control.start().map_err(|error| error.to_string()));
    // A start that is refused chooses and names nothing.
    started.map(drop).inspect_err(|_| control.restore(before))
}

/// What chooses a dashboard's own markers.
fn own(markers: &str) -> Result<Selector, Reason> {
    format!("source_id='{markers}'").parse().map_err(|error| format!("{markers}: {error}"))
}

fn check_idle(control: &Control) -> Result<(), Reason> {
    match control.status().recording {
        Some(progress) => Err(format!("{} is being recorded already.", progress.path.display())),
        None => Ok(()),
    }
}

fn progress(progress: &Progress) -> Value {
    let streams = progress.streams.iter().zip(&progress.verdicts);
    let forecast = progress.forecast;
    json!({
        "path": progress.path.display().to_string(),
        "bytes": progress.file_bytes,
        "seconds": progress.seconds,
        "streams": streams.map(|(stream, verdict)| json!({
            "name": stream.info.name().to_string_lossy(),
            "samples": stream.reading.sample_count,
            "gaps": stream.reading.gap_count,
            "trouble": trouble(stream, *verdict),
        })).collect::<Vec<_>>(),
        "missing": progress.unmatched.iter().map(|missing| &missing.query).collect::<Vec<_>>(),
        "free_bytes": forecast.map(|forecast| forecast.free_bytes),
        "seconds_left": forecast.and_then(|forecast| forecast.seconds_left),
        "is_short": forecast.is_some_and(|forecast| forecast.is_short()),
        "lost_files": paths(&progress.lost_files),
        "incomplete_files": progress.incomplete.iter().map(|failed| failed.path.display().to_string()).collect::<Vec<_>>(),
    })
}

/// What is wrong with a recorded stream, in a sentence to be put behind its name.
fn trouble(stream: &RecordingStream, verdict: Verdict) -> Option<String> {
    let is_asked_just_now = local_clock() - stream.since < ANSWER_SECONDS;
    let trouble = verdict.trouble().filter(|trouble| *trouble != Trouble::NotConnected || !is_asked_just_now);
    trouble.map(Trouble::sentence)
}

fn ended_json(ended: &Ended) -> Value {
    json!({
        "path": ended.path.display().to_string(),
        "bytes": ended.file_bytes,
        "seconds": ended.seconds,
        "streams": ended.streams.len(),
        "lost_files": paths(&ended.lost_files),
        "incomplete_files": ended.incomplete.iter().map(|failed| failed.path.display().to_string()).collect::<Vec<_>>(),
        "is_well": ended.is_well(),
    })
}

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// A sender that is there has answered by then.
const ANSWER_SECONDS: f64 = 2.0;
/// A search that begins finds all streams of a lab within this time.
const FINDING_TIME: Duration = Duration::from_secs(1);
const WITH_START: &str = "A dashboard takes names and streams with the order to start.";
