//! Names of recordings in the manner of BIDS, the Brain Imaging Data Structure.
//!
//! Source: LabRecorder README, "Filename templates"; BIDS specification 1.10, "Entities".

use core::fmt;
use std::path::{Path, PathBuf};

/// What a recording's name says about it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Entities {
    /// `sub-`: who was recorded.
    pub participant: String,
    /// `ses-`: which visit; left out of the name if empty.
    pub session: String,
    /// `task-`: what they did.
    pub task: String,
    /// `acq-`: with which settings; left out of the name if empty.
    pub acquisition: String,
    /// What was recorded: `eeg`, `beh`, …
    pub modality: String,
    /// `run-`: which repetition, from 1; none for the first whose file does not exist.
    pub run: Option<u32>,
}

/// Why no name can be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NameError {
    /// An entity has a character that BIDS does not permit: letters and digits alone may be in it.
    Character,
    /// `participant`, `task` or `modality` is empty.
    Missing,
    /// All runs up to 9999 exist.
    RunsExhausted,
    /// The template has a placeholder that is not one of those documented at [`Entities::fill`].
    Placeholder,
}

impl Entities {
    /// Returns a recording of EEG of this participant and task.
    #[must_use]
    pub fn new(participant: &str, task: &str) -> Self {
        Self {
            participant: participant.to_owned(),
            task: task.to_owned(),
            modality: "eeg".to_owned(),
            ..Self::default()
        }
    }

    /// Returns the path of the recording within the study's folder, as
    /// `sub-P001/ses-S001/eeg/sub-P001_ses-S001_task-Default_run-001_eeg.xdf`.
    ///
    /// `exists` is asked for each run, unless one is given.
    ///
    /// - Errors: [`NameError`]
    pub fn path(&self, exists: impl Fn(&Path) -> bool) -> Result<PathBuf, NameError> {
        let mut template = String::from("sub-%p/");
        let mut name = String::from("sub-%p");
        if !self.session.is_empty() {
            template.push_str("ses-%s/");
            name.push_str("_ses-%s");
        }
        name.push_str("_task-%b");
        if !self.acquisition.is_empty() {
            name.push_str("_acq-%a");
        }
        self.fill(&format!("{template}%m/{name}_run-%r_%m.xdf"), exists)
    }

    /// Fills in a template as LabRecorder's: `%p` participant, `%s` session, `%b` task (or block), `%a`
    /// acquisition, `%m` modality, `%r` or `%n` run in three digits, `%%` a percent sign.
    ///
    /// - Errors: [`NameError`]
    pub fn fill(&self, template: &str, exists: impl Fn(&Path) -> bool) -> Result<PathBuf, NameError> {
        let every = [&self.participant, &self.session, &self.task, &self.acquisition, &self.modality];
        if every.iter().any(|entity| !entity.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Err(NameError::Character);
        }
        if [&self.participant, &self.task, &self.modality].iter().any(|entity| entity.is_empty()) {
            return Err(NameError::Missing);
        }
        if let Some(run) = self.run {
            return self.fill_run(template, run);
        }
        let mut before = None;
        for run in 1..=RUN_MAX {
            let path = self.fill_run(template, run)?;
            // A template without a run has one name only.
            if before.as_ref() == Some(&path) {
                break;
            }
            if !exists(&path) {
                return Ok(path);
            }
            before = Some(path);
        }
        Err(NameError::RunsExhausted)
    }

    fn fill_run(&self, template: &str, run: u32) -> Result<PathBuf, NameError> {
        let mut out = String::with_capacity(template.len() + 32);
        let mut rest = template.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match rest.next() {
                Some('p') => out.push_str(&self.participant),
                Some('s') => out.push_str(&self.session),
                Some('b') => out.push_str(&self.task),
                Some('a') => out.push_str(&self.acquisition),
                Some('m') => out.push_str(&self.modality),
                Some('r' | 'n') => out.push_str(&format!("{run:03}")),
                Some('%') => out.push('%'),
                _ => return Err(NameError::Placeholder),
            }
        }
        Ok(PathBuf::from(out))
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Character => "names may have letters and digits only",
            Self::Missing => "participant, task and modality must not be empty",
            Self::RunsExhausted => "every run's file exists already",
            Self::Placeholder => "the template has an unknown placeholder; known are %p %s %b %a %m %r %n %%",
        })
    }
}

impl core::error::Error for NameError {}

/// Four digits are more runs than anyone sits through.
const RUN_MAX: u32 = 9_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_bids_prescribes() {
        let mut name = Entities::new("P001", "Default");
        let nothing = |_: &Path| false;
        assert_eq!(
            name.path(nothing).unwrap(),
            Path::new("sub-P001/eeg/sub-P001_task-Default_run-001_eeg.xdf")
        );
        name.session = "S001".into();
        name.acquisition = "dry".into();
        name.run = Some(12);
        let path = "sub-P001/ses-S001/eeg/sub-P001_ses-S001_task-Default_acq-dry_run-012_eeg.xdf";
        assert_eq!(name.path(nothing).unwrap(), Path::new(path));
        assert_eq!(name.fill("%%/%p_%b_%n.xdf", nothing).unwrap(), Path::new("%/P001_Default_012.xdf"));
    }

    #[test]
    fn the_next_free_run_is_taken() {
        let name = Entities::new("7", "rest");
        let taken = |path: &Path| {
            path.to_string_lossy().contains("run-001") || path.to_string_lossy().contains("run-002")
        };
        assert!(name.path(taken).unwrap().ends_with("sub-7_task-rest_run-003_eeg.xdf"));
        assert_eq!(name.path(|_| true), Err(NameError::RunsExhausted));
        assert_eq!(name.fill("fixed.xdf", |_| true), Err(NameError::RunsExhausted));
    }

    #[test]
    fn no_name_leads_out_of_its_folder() {
        for participant in ["../x", "a/b", "a b", "a_b", "ü", "a-b"] {
            assert_eq!(
                Entities::new(participant, "t").path(|_| false),
                Err(NameError::Character),
                "{participant}"
            );
        }
        assert_eq!(Entities::new("", "t").path(|_| false), Err(NameError::Missing));
        assert_eq!(Entities::new("p", "t").fill("%q", |_| false), Err(NameError::Placeholder));
        assert_eq!(Entities::new("p", "t").fill("x%", |_| false), Err(NameError::Placeholder));
    }
}
