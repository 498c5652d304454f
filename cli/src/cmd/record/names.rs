//! What a recording is called.

use std::path::{Path, PathBuf};

use schwann_recorder::{Labels, Naming, RecordProfile};

/// Where recordings go: a file, a folder, or a place in a BIDS folder.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Name {
    /// The recording to write; it must not exist yet. Without it, the time of the start is the name.
    #[arg(short, long, value_name = "FILE.xdf", conflicts_with_all = ["bids", "folder"])]
    output: Option<PathBuf>,
    /// Folder for recordings without -o. Programs that drive the recorder cannot write outside it.
    #[arg(long, value_name = "FOLDER", conflicts_with = "bids")]
    folder: Option<PathBuf>,
    /// Name the recording as BIDS does, among the source data of the dataset in this folder.
    #[arg(long, value_name = "FOLDER", requires_all = ["subject", "task"])]
    bids: Option<PathBuf>,
    /// BIDS: who, such as 01.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    subject: Option<String>,
    /// BIDS: the session (visit).
    #[arg(long, value_name = "LABEL", value_parser = label)]
    session: Option<String>,
    /// BIDS: what the subject does.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    task: Option<String>,
    /// BIDS: which repetition; the next free one if not said.
    #[arg(long, value_name = "N")]
    run: Option<u32>,
    /// BIDS: what is measured; eeg if not said.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    modality: Option<String>,
}

impl Name {
    /// Takes what is not said from a profile.
    ///
    /// - Errors: what is wrong with the names together, in words.
    pub(super) fn apply(&mut self, profile: &RecordProfile) -> Result<(), String> {
        if self.output.is_none() && self.folder.is_none() && self.bids.is_none() {
            (self.folder, self.bids) = (profile.folder.clone(), profile.bids.clone());
        }
        for (own, of_profile) in [
            (&mut self.subject, &profile.subject),
            (&mut self.session, &profile.session),
            (&mut self.task, &profile.task),
            (&mut self.modality, &profile.modality),
        ] {
            if let (None, Some(text)) = (&own, of_profile) {
                *own = Some(label(text).map_err(|error| format!("{text:?}: {error}"))?);
            }
        }
        if self.bids.is_some() && (self.subject.is_none() || self.task.is_none()) {
            return Err("names of BIDS need a subject and a task: --subject 01 --task rest".to_owned());
        }
        Ok(())
    }

    /// Refuses names that would count for nothing, or mislead. With a profile, labels may be for its other recordings.
    ///
    /// - Errors: what is wrong with them, in words.
    pub(super) fn check(&self, profiled: bool) -> Result<(), String> {
        let labels = [&self.subject, &self.session, &self.task, &self.modality];
        if self.bids.is_none()
            && !profiled
            && (self.run.is_some() || labels.iter().any(|label| label.is_some()))
        {
            return Err(
                "--subject, --session, --task, --run and --modality name files of BIDS: add --bids FOLDER"
                    .to_owned(),
            );
        }
        let ending = self.output.as_deref().and_then(Path::extension).unwrap_or_default();
        if FOREIGN.iter().any(|other| ending.eq_ignore_ascii_case(other)) {
            let ending = ending.display();
            return Err(format!(
                "a recording is XDF, and no .{ending}; name it x.xdf, and then: schwann export x.xdf --help"
            ));
        }
        Ok(())
    }

    /// The folder that programs which drive the recorder cannot leave.
    pub(super) fn folder(&self) -> &Path {
        let file = self.output.as_deref().and_then(Path::parent).filter(|it| !it.as_os_str().is_empty());
        file.or(self.bids.as_deref()).or(self.folder.as_deref()).unwrap_or(Path::new("."))
    }

    /// What recordings are called.
    pub(super) fn naming(&self) -> Naming {
        if let Some(path) = &self.output {
            return Naming::file(path);
        }
        let Some(root) = &self.bids else {
            return Naming::dated(self.folder.as_deref().unwrap_or(Path::new(".")));
        };
        let labels = Labels {
            participant: self.subject.clone(),
            session: self.session.clone(),
            task: self.task.clone(),
            acquisition: None,
            modality: self.modality.clone(),
            run: self.run,
        };
        Naming::bids(root, labels)
    }
}

/// Accepts what BIDS permits in a label: letters and digits.
fn label(text: &str) -> Result<String, &'static str> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        Ok(text.to_owned())
    } else {
        Err("a BIDS label has letters and digits alone")
    }
}

/// Endings of other formats, which a program would take the recording for.
const FOREIGN: [&str; 12] =
    ["bdf", "csv", "edf", "fif", "gdf", "h5", "mat", "mcap", "npz", "nwb", "tsv", "vhdr"];

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        name: Name,
    }

    #[test]
    fn a_name_that_is_no_bids_name_is_refused() {
        for line in [
            "x --bids /none --subject 01",
            "x --bids /none --subject ../01 --task rest",
            "x --bids /none --subject 01 --task rest -o a.xdf",
            "x --folder /none -o a.xdf",
        ] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        for line in ["x", "x -o a.xdf", "x --folder /none", "x --bids /none --subject 01 --task rest"] {
            let parsed = Line::try_parse_from(line.split(' ')).map(|line| line.name.naming());
            assert!(parsed.is_ok(), "{line}");
        }
    }
}
