//! `schwann record --hub`: streams of other sites.

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use schwann::Context;
use schwann::security::Roles;
use schwann_hub::{Access, Address, Far, RecordedStream, Recording, Wanted};
use schwann_recorder::Stop;
use schwann_recorder::words::thousands;

use super::Arguments;
use crate::cmd::relay::{failed, history, say};
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;

/// Records from a hub.
pub(super) fn run(arguments: &Arguments, address: &Address, config: &Arc<Context>, stop: &Stop) -> Outcome {
    let access = Access::of(config, Roles::SUBSCRIBE).map_err(failed)?;
    let mut naming = arguments.name.naming();
    if super::sealed_to(arguments, config, naming.is_sealed())?.is_some() {
        return Err(Problem::Failed(String::from(SEALED)));
    }
    let path = naming.next(SystemTime::now()).map_err(failed)?;
    let far = Far::open(address, &access, history(config)?, Wanted::All);
    let far = far.map_err(|error| Problem::with("relay", error))?;
    let mut recording = Recording::open(&path, far, arguments.queries.clone()).map_err(failed)?;
    let how = if recording.is_resumed() { "goes on" } else { "begins" };
    if !arguments.json {
        say(&[format!("The recording {} {how}. Ctrl-C ends it.", path.display())])?;
    }
    let begun = Instant::now();
    let end = arguments.seconds.map(stop::seconds_or_forever);
    let mut told = Instant::now();
    while !stop.is_raised() && end.is_none_or(|end| begun.elapsed() < end) {
        recording.turn(HEAR).map_err(failed)?;
        tell(arguments, &mut recording, &mut told)?;
    }
    let ending = Instant::now();
    while recording.has_holes() && ending.elapsed() < PATIENCE {
        recording.turn(HEAR).map_err(failed)?;
    }
    let (streams, written) = recording.finish().map_err(failed)?;
    let malformed = written.map(|written| written.malformed_blocks);
    let is_well = !streams.is_empty() && streams.iter().all(is_well) && malformed.unwrap_or_default() == 0;
    conclude(arguments, &streams, malformed)?;
    Ok(if is_well { Exit::Good } else { Exit::Found })
}

fn tell(arguments: &Arguments, recording: &mut Recording, told: &mut Instant) -> io::Result<()> {
    let remarks = recording.take_remarks();
    if arguments.json {
        if told.elapsed() >= TELL_EVERY {
            *told = Instant::now();
            writeln!(io::stdout().lock(), "{}", to_json(&recording.streams(), None))?;
        }
        return Ok(());
    }
    say(&remarks)
}

fn is_well(stream: &RecordedStream) -> bool {
    stream.missing.is_empty() && stream.end != schwann_hub::End::CutOff
}

fn conclude(arguments: &Arguments, streams: &[RecordedStream], malformed: Option<u64>) -> io::Result<()> {
    if arguments.json {
        return writeln!(io::stdout().lock(), "{}", to_json(streams, malformed));
    }
    let mut lines: Vec<String> = streams.iter().map(said).collect();
    if streams.is_empty() {
        lines.push(String::from("nothing came; `schwann relay status` shows what there is"));
    }
    if let Some(count) = malformed.filter(|count| *count > 0) {
        lines.push(format!("{count} blocks hold no samples of their stream, and are not in the file"));
    }
    say(&lines)
}

/// A stream in one line, with exactly what is missing.
fn said(stream: &RecordedStream) -> String {
    let ranges = |ranges: &schwann_hub::Ranges| {
        let all: Vec<_> =
            ranges.as_slice().iter().map(|range| format!("{} to {}", range.first, range.last)).collect();
        all.join(", ")
    };
    let mut line = format!("{} of {}: {} samples", stream.name, stream.device, thousands(stream.samples));
    if !stream.missing.is_empty() {
        line = format!("{line}; blocks {} are missing", ranges(&stream.missing));
    }
    if !stream.lost.is_empty() {
        line = format!("{line}; of these the sender no longer has {}", ranges(&stream.lost));
    }
    match stream.end {
        schwann_hub::End::Complete => format!("{line}; complete to its end"),
        schwann_hub::End::CutOff => {
            format!("{line}; its sender was cut off, 200 ms before that may be missing")
        }
        schwann_hub::End::Open => line,
    }
}

fn to_json(streams: &[RecordedStream], malformed: Option<u64>) -> serde_json::Value {
    let ranges = |ranges: &schwann_hub::Ranges| -> Vec<[u64; 2]> {
        ranges.as_slice().iter().map(|range| [range.first, range.last]).collect()
    };
    let streams: Vec<_> = streams
        .iter()
        .map(|stream| {
            serde_json::json!({
                "name": stream.name,
                "site": stream.device,
                "samples": stream.samples,
                "blocks": stream.blocks,
                "missing": ranges(&stream.missing),
                "lost": ranges(&stream.lost),
                "end": format!("{:?}", stream.end).to_lowercase(),
                "is_well": is_well(stream),
            })
        })
        .collect();
    serde_json::json!({ "streams": streams, "malformed_blocks": malformed, "is_over": malformed.is_some() })
}

const SEALED: &str = "this recording shall be sealed at rest, which --hub cannot do; run `schwann relay in --hub URL`, and \
                      record what it brings with `schwann record --seal`";
const HEAR: Duration = Duration::from_millis(50);
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How long what is missing may still come at the end.
const PATIENCE: Duration = Duration::from_secs(10);
