//! What the index of a recording and its footers say, without reading the samples.
//!
//! They were written when the recording ended. What has happened to the file since, or lies between two samples, they cannot know:
//! nothing here says that it is well.

use std::io::{self, Write};
use std::path::Path;

use schwann_xdf::{ClockQuality, IndexedRecording, Location, Source, StreamHeader, StreamIndex};
use serde_json::{Value, json};

use super::{print_clock, print_header, print_title};
use crate::cmd::survey::{seconds, with_header};
use crate::exit::Problem;
use crate::terminal::plural;

/// Opens a recording by its index; none if it has no sound one.
pub(super) fn open(recording: &Location) -> Result<Option<IndexedRecording<Source>>, Problem> {
    IndexedRecording::by_index(recording.clone())
        .map_err(|error| Problem::with(recording.path().display(), error))
}

/// One stream as the index and the footer have it.
struct Known<'a> {
    header: &'a StreamHeader,
    index: &'a StreamIndex,
    /// From the first sample to the last, on the recorder's clock; 0 without samples.
    seconds: f64,
    clock: ClockQuality,
}

/// The streams, in the order of their headers.
fn streams(recording: &IndexedRecording<Source>) -> impl Iterator<Item = Known<'_>> {
    let streams = recording.index().streams.iter().zip(recording.headers());
    streams.map(|(index, header)| Known {
        header,
        index,
        seconds: recording.span(index.id).map_or(0.0, |span| span.end - span.start),
        clock: recording.clock_quality(index.id),
    })
}

/// Prints what is known, and what is not.
pub(super) fn print(
    out: &mut impl Write,
    file: &Path,
    recording: &IndexedRecording<Source>,
) -> io::Result<()> {
    let count = recording.index().streams.len();
    print_title(out, file, count, recording.file_bytes(), recording.datetime())?;
    for stream in streams(recording) {
        // Samples that are missing count as if they took their time.
        let average = match stream.index.sample_count {
            2.. if stream.seconds > 0.0 => {
                format!(", on average {:.4} Hz", (stream.index.sample_count - 1) as f64 / stream.seconds)
            }
            _ => String::new(),
        };
        print_header(out, stream.header, &average)?;
        let samples = plural(stream.index.sample_count as usize, "sample");
        writeln!(out, "      {samples} over {}", seconds(stream.seconds))?;
        print_clock(out, &stream.clock)?;
    }
    writeln!(
        out,
        "\nFrom the index and the footers. Not looked at: gaps, stamps that go back, damage; see: schwann info --full {}",
        file.display()
    )
}

/// The same as JSON, with the names of [`survey::json`](crate::cmd::survey::json): what is not known is null.
pub(super) fn json(recording: &IndexedRecording<Source>) -> Value {
    json!({
        "read": "index",
        "file_bytes": recording.file_bytes(),
        "datetime": recording.datetime(),
        "sound": null,
        "truncated": false,
        "boundary_count": null,
        "damage_count": null,
        "damaged_bytes": null,
        "damage": null,
        "streams": streams(recording).map(|stream| stream_json(&stream)).collect::<Vec<_>>(),
    })
}

fn stream_json(stream: &Known<'_>) -> Value {
    let (index, clock) = (stream.index, &stream.clock);
    let stamp = |stamp: f64| (index.sample_count > 0).then_some(stamp);
    let known = json!({
        "effective_rate": null,
        "sample_count": index.sample_count,
        "first_stamp": stamp(index.first_stamp),
        "last_stamp": stamp(index.last_stamp),
        "gap_count": null,
        "gap_seconds": null,
        "gaps": null,
        "backward_count": null,
        "invalid_stamp_count": null,
        "guessed_stamp_count": null,
        "findings": null,
        "clock": {
            "offset_count": clock.offset_count,
            "last_offset": clock.last_offset,
            "reset_count": clock.reset_count,
            "drift_ppm": clock.drift_ppm,
            "residual": clock.residual,
            "segments": null,
        },
        "jitter_p50": null,
        "jitter_p99": null,
        "footer_sample_count": index.sample_count,
    });
    with_header(stream.header, known)
}
