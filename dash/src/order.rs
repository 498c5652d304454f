//! What a program or a page wants of a recorder, and what that means for it.

use std::path::Path;

use schwann_recorder::{Labels, Naming, Selector, control::Control};
use serde::Deserialize;

use super::outlets::Reason;

/// What is wanted of the recorder.
#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase")]
pub(super) enum Order {
    /// To begin.
    Start(Box<Plan>),
    /// To choose and name what the next start begins.
    Prepare(Box<Plan>),
    /// To go on in the next file.
    Next,
    /// To put a note into the file.
    Note { text: String },
    /// To end.
    Stop,
}

/// What is to be recorded, and how it is called. What is not said is as it was; a word that is not known is refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Plan {
    /// Queries; all streams if there are none.
    wanted: Option<Vec<String>>,
    /// Without these nothing is recorded.
    required: Option<Vec<String>>,
    naming: Option<NamingPlan>,
    /// In the folder that no recording leaves.
    folder: String,
    participant: String,
    session: String,
    task: String,
    acquisition: String,
    modality: String,
    run: Option<u32>,
    /// With placeholders, as LabRecorder has them.
    template: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum NamingPlan {
    Bids,
    Dated,
    Template,
}

impl Plan {
    /// Tells a recorder what is said here, for its next start. Nothing has changed if that makes no sense.
    ///
    /// - Errors: why not, in a sentence.
    pub(super) fn prepare(&self, control: &Control) -> Result<(), Reason> {
        let wanted = self.wanted.as_deref().map(selectors).transpose()?;
        let required = self.required.as_deref().map(selectors).transpose()?;
        self.name(control)?;
        if let Some(wanted) = wanted {
            control.select(wanted);
        }
        if let Some(required) = required {
            control.require(required);
        }
        Ok(())
    }

    /// Says what files are called, if that is said here. What a program made up leads nowhere else.
    fn name(&self, control: &Control) -> Result<(), Reason> {
        let template = label(&self.template);
        match self.naming {
            Some(NamingPlan::Dated) => control.rename(|folder| Ok(Naming::dated(folder))),
            Some(NamingPlan::Bids) => control.rename(|folder| self.bids(folder)),
            Some(NamingPlan::Template) if template.is_none() => Err(NO_TEMPLATE.into()),
            Some(NamingPlan::Template) | None => self.ask(template.as_deref(), control),
        }
    }

    fn ask(&self, template: Option<&str>, control: &Control) -> Result<(), Reason> {
        let (folder, labels) = (label(&self.folder), self.labels());
        if template.is_none() && folder.is_none() && labels == Labels::default() {
            return Ok(());
        }
        control.name(folder.as_deref(), template, labels).map_err(|error| error.to_string())
    }

    /// Names of BIDS, which are made of labels.
    fn bids(&self, folder: &Path) -> Result<Naming, Reason> {
        if self.participant.is_empty() || self.task.is_empty() {
            return Err("Names of BIDS need a participant and a task.".into());
        }
        let labels = [&self.participant, &self.session, &self.task, &self.acquisition, &self.modality];
        let is_label = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match labels.into_iter().find(|text| !is_label(text)) {
            Some(text) => Err(format!("{text:?}: a label of BIDS has letters and digits alone.")),
            None => Ok(Naming::bids(folder, self.labels())),
        }
    }

    fn labels(&self) -> Labels {
        Labels {
            participant: label(&self.participant),
            session: label(&self.session),
            task: label(&self.task),
            acquisition: label(&self.acquisition),
            modality: label(&self.modality),
            run: self.run,
        }
    }
}

fn label(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn selectors(texts: &[String]) -> Result<Vec<Selector>, Reason> {
    texts.iter().map(|text| text.parse().map_err(|error| format!("{text}: {error}"))).collect()
}

const NO_TEMPLATE: &str = "Names by a template need the template.";
