//! What a line of the remote control protocol asks for.

use crate::naming::Labels;

/// A line that makes sense.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Command {
    /// `select all`
    SelectAll,
    /// `select none`
    SelectNone,
    /// `start`
    Start,
    /// `stop`
    Stop,
    /// `update`: look for streams, which is done all the time.
    Update,
    /// `filename {option:value}…`
    FileName {
        /// `{root:…}`
        root: Option<String>,
        /// `{template:…}`
        template: Option<String>,
        /// `{participant:…}{session:…}{task:…}{acquisition:…}{modality:…}{run:…}`
        labels: Labels,
    },
    /// `next`, which LabRecorder has not: go on in the next file.
    NextRun,
    /// `annotate TEXT`, which LabRecorder has not: a note in the file.
    Annotate(String),
}

impl Command {
    /// Reads a line.
    ///
    /// - Errors: a sentence for the other end.
    /// - Source: LabRecorder's README, "Remote Control".
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (word.to_ascii_lowercase().as_str(), rest) {
            ("start", "") => Ok(Self::Start),
            ("stop", "") => Ok(Self::Stop),
            ("update", "") => Ok(Self::Update),
            ("next", "") => Ok(Self::NextRun),
            ("select", "all") => Ok(Self::SelectAll),
            ("select", "none") => Ok(Self::SelectNone),
            ("annotate", text) if !text.is_empty() => Ok(Self::Annotate(text.to_owned())),
            ("filename", options) => Self::file_name(options),
            _ => Err("not a command: select all, select none, start, stop, update, filename, next, annotate"
                .into()),
        }
    }

    fn file_name(text: &str) -> Result<Self, String> {
        let (mut root, mut template, mut labels) = (None, None, Labels::default());
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('{') {
            let (option, after) = after.split_once('}').ok_or("a { has no }")?;
            rest = after;
            let (name, value) = option.split_once(':').ok_or_else(|| format!("{option:?} has no :"))?;
            // An empty label takes the one before away; an empty root or template is as if it were not said.
            let value = Some(value.to_owned());
            let said = value.clone().filter(|value| !value.is_empty());
            match name.trim().to_ascii_lowercase().as_str() {
                "root" => root = said,
                "template" => template = said,
                "participant" => labels.participant = value,
                "session" => labels.session = value,
                "task" => labels.task = value,
                "acquisition" => labels.acquisition = value,
                "modality" => labels.modality = value.map(|value| value.to_lowercase()),
                "run" => labels.run = said.map(|value| run(&value)).transpose()?,
                other => return Err(format!("{other:?} is no option of filename")),
            }
        }
        Ok(Self::FileName { root, template, labels })
    }
}

fn run(text: &str) -> Result<u32, String> {
    let run = text.trim().parse().ok().filter(|run| *run < RUN_END);
    run.ok_or_else(|| format!("{text:?} is no number of a run"))
}

const RUN_END: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_lab_recorders_readme_are_understood() {
        let parse = |line| Command::parse(line).expect("a command");
        assert_eq!(parse("select all\n"), Command::SelectAll);
        assert_eq!(parse("start\r\n"), Command::Start);
        let line = "filename {root:C:\\Data\\} {template:exp%n\\%p_block_%b.xdf} {run:2} {participant:P003} \
                    {task:MemoryGuided}\n";
        let labels = Labels {
            participant: Some("P003".into()),
            task: Some("MemoryGuided".into()),
            run: Some(2),
            ..Labels::default()
        };
        let (root, template) = (Some("C:\\Data\\".into()), Some("exp%n\\%p_block_%b.xdf".into()));
        assert_eq!(parse(line), Command::FileName { root, template, labels });
        let nameless = Command::FileName {
            root: None,
            template: None,
            labels: Labels { participant: Some(String::new()), ..Labels::default() },
        };
        assert_eq!(parse("filename {root:} {participant:}"), nameless, "the next person is not the last one");
        assert_eq!(parse("annotate  a note: {x}"), Command::Annotate("a note: {x}".into()));
    }

    #[test]
    fn a_line_that_makes_no_sense_is_refused_in_a_sentence() {
        for line in [
            "",
            "begin",
            "select",
            "start now",
            "filename {root",
            "filename {x:1}",
            "filename {run:two}",
            "filename {root}",
            "annotate",
            "filename {run:99999999999}",
        ] {
            assert!(Command::parse(line).is_err_and(|why| !why.is_empty()), "{line}");
        }
    }
}
