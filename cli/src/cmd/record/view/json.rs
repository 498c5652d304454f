//! What a recording shows of itself, for scripts.

use schwann_recorder::{RecordingStream, Trouble, Unmatched, Verdict};
use serde_json::{Value, json};

use super::Scene;
use crate::terminal::printable;

pub(super) fn of(scene: &Scene) -> Value {
    let streams = scene.streams.iter().zip(&scene.verdicts);
    json!({
        "file": scene.idle.is_none().then(|| scene.path.display().to_string()),
        "file_bytes": scene.file_bytes,
        "seconds": scene.seconds,
        "remote": scene.idle.and_then(|(remote, _)| remote).map(|address| address.to_string()),
        "files_before": scene.complete_count,
        "disk": {
            "free_bytes": scene.forecast.map(|forecast| forecast.free_bytes),
            "seconds_left": scene.forecast.and_then(|forecast| forecast.seconds_left),
        },
        "streams": streams.map(|(stream, verdict)| stream_json(stream, *verdict)).collect::<Vec<_>>(),
        "not_recorded": scene.left_out,
        "unmatched": scene.unmatched.iter().map(unmatched_json).collect::<Vec<_>>(),
        "in_the_clear": scene.admitted,
        "unseen": scene.unseen.iter().map(|one| printable(&one.to_string()).into_owned()).collect::<Vec<_>>(),
    })
}

fn stream_json(stream: &RecordingStream, verdict: Verdict) -> Value {
    let (info, reading) = (&stream.info, &stream.reading);
    json!({
        "name": info.name().to_string_lossy(),
        "type": info.stream_type().to_string_lossy(),
        "uid": info.uid().to_string_lossy(),
        "phase": stream.phase.word(),
        "sample_count": reading.sample_count,
        "rate": reading.rate,
        "lag_p50": reading.lag_p50,
        "lag_p99": reading.lag_p99,
        "gap_count": reading.gap_count,
        "missing": reading.missing,
        "recoveries": stream.recoveries,
        "away_seconds": stream.away_seconds,
        "verdict": verdict.word(),
        "trouble": verdict.trouble().map(|trouble| trouble.to_string()),
        "explanation": verdict.trouble().and_then(Trouble::explained),
        "unrecorded": stream.unrecorded,
        "description_cut": stream.is_description_cut,
    })
}

fn unmatched_json(unmatched: &Unmatched) -> Value {
    json!({ "query": unmatched.query, "nearest": unmatched.nearest, "found": unmatched.found })
}
