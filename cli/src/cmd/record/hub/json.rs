//! A recording from a hub, for scripts.

use schwann_hub::{Finished, RecordedRun, RecordedStream, Recording, RunEnd};
use serde_json::{Value, json};

use crate::hubs::pairs;

/// A line while it records.
pub(super) fn running(recording: &Recording, remarks: &[String]) -> Value {
    json!({
        "streams": recording.streams().iter().map(stream).collect::<Vec<_>>(),
        "hub": hub(recording.problem()),
        "remarks": remarks,
        "malformed_blocks": Value::Null,
        "is_over": false,
    })
}

/// The last line.
pub(super) fn finished(finished: &Finished, remarks: &[String]) -> Value {
    let unwritten = finished.unwritten;
    json!({
        "streams": finished.streams.iter().map(stream).collect::<Vec<_>>(),
        "hub": hub(finished.problem.as_ref()),
        "remarks": remarks,
        "malformed_blocks": unwritten.malformed,
        "unopened_blocks": unwritten.unopened,
        "refused_blocks": unwritten.refused,
        "damaged_blocks": unwritten.damaged,
        "folder": finished.folder,
        "uncertified": finished.uncertified,
        "unmatched": finished.unmatched,
        "unreadable": finished.unreadable,
        "is_well": finished.is_well(),
        "is_over": true,
    })
}

fn hub(problem: Option<&schwann_hub::Problem>) -> String {
    problem.map_or_else(|| String::from("connected"), ToString::to_string)
}

fn stream(stream: &RecordedStream) -> Value {
    json!({
        "name": stream.name,
        "site": stream.device,
        "samples": stream.samples(),
        "blocks": stream.blocks(),
        "runs": stream.runs.iter().map(run).collect::<Vec<_>>(),
        "may_have_more": stream.may_have_more,
        "is_well": stream.is_well(),
    })
}

fn run(run: &RecordedRun) -> Value {
    json!({
        "began": run.began,
        "samples": run.samples,
        "blocks": run.blocks,
        "missing": pairs(&run.missing),
        "lost": pairs(&run.lost),
        "end": match run.end {
            RunEnd::Complete => "complete",
            RunEnd::CutOff => "cutoff",
            RunEnd::Open => "open",
            RunEnd::Silent => "silent",
            RunEnd::Unknown => "unknown",
        },
    })
}
