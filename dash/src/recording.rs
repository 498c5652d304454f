//! The recorder that pages drive: the same one, with the same rules, as that of `schwann record`.

use core::time::Duration;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schwann::Context;
use schwann_recorder::{
    Labels, Naming, Selector, Stop, Trouble,
    control::{Control, Ended, Progress, Settings},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::outlets::Reason;

/// What a page wants of the recorder.
#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase")]
pub(super) enum Order {
    /// To begin.
    Start(Plan),
    /// To go on in the next file.
    Next,
    /// To put a note into the file.
    Note { text: String },
    /// To end.
    Stop,
}

/// What is to be recorded, and how it is called.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Plan {
    /// Queries; all streams if there are none.
    wanted: Vec<String>,
    /// Without these nothing is recorded.
    required: Vec<String>,
    naming: NamingPlan,
    participant: String,
    session: String,
    task: String,
    /// With placeholders, as LabRecorder has them.
    template: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum NamingPlan {
    Bids,
    #[default]
    Dated,
    Template,
}

/// Where recordings go, and the recorder, once a page has asked for it.
pub(super) struct Desk {
    context: Arc<Context>,
    folder: PathBuf,
    /// One order at a time; held while it is obeyed, which may take a second.
    orders: Mutex<()>,
    control: Mutex<Option<Control>>,
}

impl Desk {
    /// Prepares to record into `folder`, which no recording leaves.
    pub(super) fn new(context: Arc<Context>, folder: PathBuf) -> Self {
        Self { context, folder, orders: Mutex::default(), control: Mutex::default() }
    }

    /// Does what a page asks for. A start takes as long as a search does.
    ///
    /// - Errors: why not, in a sentence.
    pub(super) fn obey(&self, order: &Order) -> Result<(), Reason> {
        let _alone = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        // The status is asked for all the time, and does not wait for this.
        let control = self.lock().clone();
        if let Order::Start(plan) = order {
            return self.start(plan, control.as_ref());
        }
        let control = control.ok_or("Nothing is being recorded.")?;
        match order {
            Order::Next => control.next_run().map(drop),
            Order::Note { text } => control.annotate(text),
            Order::Start(_) | Order::Stop => control.stop().map(drop),
        }
        .map_err(|error| error.to_string())
    }

    fn start(&self, plan: &Plan, before: Option<&Control>) -> Result<(), Reason> {
        if let Some(progress) = before.and_then(|control| control.status().recording) {
            return Err(format!("{} is being recorded already.", progress.path.display()));
        }
        let settings = plan.settings(&self.folder)?;
        let new = Control::open(Arc::clone(&self.context), settings).map_err(|error| error.to_string())?;
        plan.name(&new)?;
        let started = new.start_when_complete(FINDING_TIME, &Stop::default());
        let control = started.as_ref().is_ok().then_some(new);
        let _ended = core::mem::replace(&mut *self.lock(), control);
        started.map(drop).map_err(|error| error.to_string())
    }

    /// Where the recorder stands.
    pub(super) fn status(&self) -> Value {
        let folder = self.folder.display().to_string();
        let control = self.lock().clone();
        let Some(status) = control.as_ref().map(Control::status) else {
            return json!({ "folder": folder, "recording": null, "ended": null, "remarks": [], "failure": null });
        };
        json!({
            "folder": folder,
            "recording": status.recording.as_ref().map(progress),
            "ended": status.ended.last().map(|ended| ended_json(ended)),
            "remarks": status.remarks,
            "failure": status.failure.map(|failure| failure.to_string()),
        })
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

impl Plan {
    fn settings(&self, folder: &Path) -> Result<Settings, Reason> {
        let naming = match self.naming {
            NamingPlan::Bids => Naming::bids(folder, self.labels()),
            NamingPlan::Dated | NamingPlan::Template => Naming::dated(folder),
        };
        let mut settings = Settings::new(naming);
        settings.wanted = selectors(&self.wanted)?;
        settings.required = selectors(&self.required)?;
        Ok(settings)
    }

    /// Checks what a page made up, for a name that leads nowhere else.
    fn name(&self, control: &Control) -> Result<(), Reason> {
        let template = match self.naming {
            NamingPlan::Template => Some(&*self.template),
            NamingPlan::Dated | NamingPlan::Bids => return Ok(()),
        };
        control.name(None, template, self.labels()).map_err(|error| error.to_string())
    }

    fn labels(&self) -> Labels {
        let label = |text: &String| (!text.is_empty()).then(|| text.clone());
        Labels {
            participant: label(&self.participant),
            session: label(&self.session),
            task: label(&self.task),
            ..Labels::default()
        }
    }
}

fn selectors(texts: &[String]) -> Result<Vec<Selector>, Reason> {
    texts.iter().map(|text| text.parse().map_err(|error| format!("{text}: {error}"))).collect()
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
            "trouble": verdict.trouble().and_then(Trouble::explained),
        })).collect::<Vec<_>>(),
        "missing": progress.unmatched.iter().map(|missing| &missing.query).collect::<Vec<_>>(),
        "free_bytes": forecast.map(|forecast| forecast.free_bytes),
        "seconds_left": forecast.and_then(|forecast| forecast.seconds_left),
        "is_short": forecast.is_some_and(|forecast| forecast.is_short()),
    })
}

fn ended_json(ended: &Ended) -> Value {
    json!({
        "path": ended.path.display().to_string(),
        "bytes": ended.file_bytes,
        "seconds": ended.seconds,
        "streams": ended.streams.len(),
        "is_well": ended.is_well(),
    })
}

/// A search that begins finds all streams of a lab within this time.
const FINDING_TIME: Duration = Duration::from_secs(1);
