//! What a recording from a hub says at its end.

use schwann_hub::{Finished, Ranges, RecordedRun, RecordedStream, RunEnd};
use schwann_recorder::words::thousands;

/// Each stream in one line, and then what is missing besides and what to do.
pub(super) fn finished(finished: &Finished) -> Vec<String> {
    let mut lines: Vec<String> = finished.streams.iter().map(stream).collect();
    if finished.streams.is_empty() {
        lines.push(String::from("nothing came; `schwann relay status` shows what there is"));
    }
    let unmatched =
        |query: &String| format!("no stream matches {query}; `schwann relay status` shows what there is");
    lines.extend(finished.unmatched.iter().map(unmatched));
    lines.extend(finished.unreadable.iter().map(|site| {
        format!(
            "what {site} sends is not all recorded, because a key did not come; compare `schwann keys status` at both sites"
        )
    }));
    lines.extend(unwritten(finished));
    lines.extend(finished.uncertified.iter().map(|error| {
        format!("{}: complete, but its certificate cannot be written: {error}", finished.path.display())
    }));
    if let Some(problem) = &finished.problem {
        lines.push(format!(
            "what was sent last is not known, because the hub was not reached at the end: {problem}"
        ));
    }
    lines
}

/// A stream in one line, with exactly what is missing of each run.
fn stream(stream: &RecordedStream) -> String {
    let mut line = format!("{} of {}: {} samples", stream.name, stream.device, thousands(stream.samples()));
    for (number, run) in (1..).zip(&stream.runs) {
        let facts = facts(run).join("; ");
        if !facts.is_empty() {
            let which = match stream.runs.len() {
                1 => String::new(),
                count => format!("run {number} of {count}: "),
            };
            line = format!("{line}; {which}{facts}");
        }
    }
    if stream.may_have_more {
        line.push_str("; there may be more of it, because a key did not come");
    }
    line
}

fn facts(run: &RecordedRun) -> Vec<String> {
    let mut facts = Vec::new();
    if !run.missing.is_empty() {
        facts.push(format!("blocks {} are missing", words(&run.missing)));
    }
    if !run.lost.is_empty() {
        facts.push(format!("of these the sender no longer has {}", words(&run.lost)));
    }
    match run.end {
        RunEnd::Complete if run.missing.is_empty() => facts.push(String::from("complete to its end")),
        RunEnd::Complete | RunEnd::Open => {}
        RunEnd::CutOff => {
            facts.push(String::from("its sender was cut off, 200 ms before that may be missing"));
        }
        RunEnd::Silent => {
            facts.push(String::from("no sample came in the last seconds, although its sender answers"));
        }
        RunEnd::Unknown => {
            facts.push(String::from("its end is not known, because its sender does not answer"));
        }
    }
    facts
}

fn words(ranges: &Ranges) -> String {
    let all: Vec<_> =
        ranges.as_slice().iter().map(|range| format!("{} to {}", range.first, range.last)).collect();
    all.join(", ")
}

/// The kept blocks that are not in the file, and what to do with them.
fn unwritten(finished: &Finished) -> Vec<String> {
    let Some(folder) = &finished.folder else { return Vec::new() };
    let unwritten = finished.unwritten;
    let reasons = [
        (unwritten.unopened, "cannot be opened, because their keys are not here"),
        (unwritten.refused, "are of a stream that no file takes"),
        (unwritten.malformed, "hold no samples of their stream"),
        (unwritten.damaged, "are damaged on this disk, and count as missing"),
    ];
    let counted = reasons.iter().filter(|(count, _)| *count > 0);
    let mut lines: Vec<_> = counted
        .map(|(count, why)| format!("{} blocks {why}; they are not in the file", thousands(*count)))
        .collect();
    let (folder, file) = (folder.display(), finished.path.display());
    lines.push(match finished.summary {
        Some(_) => format!(
            "{folder} keeps all blocks; to try again, rename {file} and give the same command; or remove the folder"
        ),
        None => format!("{folder} keeps all blocks; the same command goes on with it; or remove the folder"),
    });
    lines
}

#[cfg(test)]
mod tests {
    use schwann_hub::{Range, Ranges, RecordedRun, RecordedStream, RunEnd};

    use super::stream;

    fn run(missing: Option<Range>, end: RunEnd) -> RecordedRun {
        let missing = missing.into_iter().collect();
        RecordedRun { began: 0, samples: 5, blocks: 1, missing, lost: Ranges::default(), end }
    }

    fn recorded(runs: Vec<RecordedRun>) -> RecordedStream {
        RecordedStream {
            name: String::from("EEG"),
            device: String::from("site"),
            is_regular: true,
            runs,
            may_have_more: false,
        }
    }

    fn said(runs: Vec<RecordedRun>) -> (String, bool) {
        let one = recorded(runs);
        (stream(&one), one.is_well())
    }

    #[test]
    fn each_run_is_told_with_its_own_blocks() {
        let first = run(Some(Range { first: 3, last: 9 }), RunEnd::CutOff);
        assert_eq!(
            said(vec![first, run(None, RunEnd::Complete)]),
            (
                String::from(
                    "EEG of site: 10 samples; run 1 of 2: blocks 3 to 9 are missing; its sender was cut off, 200 ms before that \
                     may be missing; run 2 of 2: complete to its end"
                ),
                false
            )
        );
    }

    #[test]
    fn a_run_without_a_key_leaves_its_stream_in_doubt() {
        let mut one = recorded(vec![run(None, RunEnd::Complete)]);
        one.may_have_more = true;
        assert!(
            stream(&one)
                .ends_with("complete to its end; there may be more of it, because a key did not come")
        );
        assert!(!one.is_well());
    }

    #[test]
    fn an_end_that_is_not_known_is_not_well() {
        assert_eq!(said(vec![run(None, RunEnd::Open)]), (String::from("EEG of site: 5 samples"), true));
        let (line, is_well) = said(vec![run(None, RunEnd::Unknown)]);
        assert!(line.ends_with("its end is not known, because its sender does not answer") && !is_well);
        let (line, is_well) = said(vec![run(Some(Range::one(0)), RunEnd::Complete)]);
        assert!(line.ends_with("blocks 0 to 0 are missing") && !is_well);
    }
}
