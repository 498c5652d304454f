//! What a recording is called.

use std::path::{Path, PathBuf};

use crate::exit::Problem;

/// Where the recording goes: a file, or a place in a BIDS folder.
#[derive(clap::Args, Debug)]
pub(crate) struct Name {
    /// The recording to write; it must not exist yet.
    #[arg(short, long, value_name = "FILE.xdf", required_unless_present = "bids", conflicts_with = "bids")]
    output: Option<PathBuf>,
    /// Name the recording as BIDS does, in this folder.
    #[arg(long, value_name = "FOLDER", requires_all = ["subject", "task"])]
    bids: Option<PathBuf>,
    /// BIDS: who, such as 01.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    subject: Option<String>,
    /// BIDS: which visit.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    session: Option<String>,
    /// BIDS: what the subject does.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    task: Option<String>,
    /// BIDS: which repetition; the next free one if not said.
    #[arg(long, value_name = "N")]
    run: Option<u32>,
    /// BIDS: what is measured.
    #[arg(long, value_name = "LABEL", value_parser = label, default_value = "eeg")]
    modality: String,
}

impl Name {
    /// Returns the path of the recording.
    ///
    /// - Errors: no run number is free.
    pub(super) fn path(&self) -> Result<PathBuf, Problem> {
        if let Some(path) = &self.output {
            return Ok(path.clone());
        }
        let root = self.bids.as_deref().unwrap_or(Path::new("."));
        let runs = self.run.map_or(1..=RUN_MAX, |run| run..=run);
        let free =
            runs.map(|run| self.bids_path(root, run)).find(|path| self.run.is_some() || !path.exists());
        free.ok_or_else(|| Problem::with(root.display(), "no run number is free"))
    }

    /// Whether the folder of the recording is to be made.
    pub(super) fn makes_folders(&self) -> bool {
        self.bids.is_some()
    }

    /// Source: BIDS specification 1.10, "Filesystem structure"; the entities in the order that it prescribes.
    fn bids_path(&self, root: &Path, run: u32) -> PathBuf {
        let mut folder = root.to_owned();
        let mut name = String::new();
        for (entity, label) in [("sub", &self.subject), ("ses", &self.session)] {
            if let Some(label) = label {
                folder.push(format!("{entity}-{label}"));
                name.push_str(&format!("{entity}-{label}_"));
            }
        }
        if let Some(task) = &self.task {
            name.push_str(&format!("task-{task}_"));
        }
        name.push_str(&format!("run-{run:03}_{}.xdf", self.modality));
        folder.join(&self.modality).join(name)
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

const RUN_MAX: u32 = 999;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        name: Name,
    }

    fn path(line: &str) -> Option<PathBuf> {
        Line::try_parse_from(line.split(' ')).ok()?.name.path().ok()
    }

    #[test]
    fn names_are_those_of_bids() {
        let cases = [
            ("x --bids /none --subject 01 --task rest", "/none/sub-01/eeg/sub-01_task-rest_run-001_eeg.xdf"),
            (
                "x --bids /none --subject P7 --session 2 --task rest --run 12 --modality ieeg",
                "/none/sub-P7/ses-2/ieeg/sub-P7_ses-2_task-rest_run-012_ieeg.xdf",
            ),
            ("x -o a.xdf", "a.xdf"),
        ];
        for (line, expected) in cases {
            assert_eq!(path(line).as_deref(), Some(Path::new(expected)), "{line}");
        }
    }

    #[test]
    fn a_name_that_is_no_bids_name_is_refused() {
        for line in [
            "x",
            "x --bids /none --subject 01",
            "x --bids /none --subject ../01 --task rest",
            "x --bids /none --subject 01 --task rest -o a.xdf",
        ] {
            assert_eq!(path(line), None, "{line}");
        }
    }
}
