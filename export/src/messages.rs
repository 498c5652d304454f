//! MCAP: a channel per stream, and a message in JSON per sample.
//!
//! The time of a message is that on the recorder's clock, in nanoseconds.
//!
//! Source: <https://mcap.dev/spec>; schema encoding `jsonschema`, message encoding `json`.

use std::collections::BTreeMap;
use std::io::Write as _;

use mcap::records::MessageHeader;
use mcap::{WriteOptions, Writer};
use schwann_xdf::{Location, Values};
use serde_json::json;

use crate::Progress;
use crate::error::{ExportError, writing};
use crate::number::put_text;
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Plan, Stream};
use crate::report::Report;

/// Writes all streams into one file.
pub(crate) fn write(
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    if plan.streams.is_empty() {
        return Err(ExportError::Nothing);
    }
    let target = outputs.path("", "mcap");
    let failed = |error: mcap::McapError| ExportError::Library(format!("{}: {error}", target.display()));
    let options =
        WriteOptions::new().compression(None).chunk_size(Some(CHUNK_BYTES)).profile("").library("schwann");
    let mut writer = Writer::with_options(outputs.create(&target)?, options).map_err(failed)?;
    let mut channels = Vec::new();
    for stream in &plan.streams {
        let schema = schema(stream).to_string();
        let schema = writer.add_schema(&stream.part, "jsonschema", schema.as_bytes()).map_err(failed)?;
        let channel = writer.add_channel(schema, &stream.part, "json", &metadata(stream)).map_err(failed)?;
        channels.push((channel, stream.timing.stamper(), 0_u32));
    }
    let mut text = String::new();
    pass(recording, progress, |samples| {
        let Some(at) = plan.index(samples.stream) else { return Ok(()) };
        let (Some(stream), Some((channel, stamper, sequence))) = (plan.streams.get(at), channels.get_mut(at))
        else {
            return Ok(());
        };
        for (row, stamp) in samples.stamps.iter().enumerate() {
            let time = stamper.next(*stamp);
            text.clear();
            put_message(samples.values, row, stream.header.channel_count, time, &mut text);
            // A negative time or none at all is at the beginning.
            let nanoseconds = (time * 1e9).round() as u64;
            let header = MessageHeader {
                channel_id: *channel,
                sequence: *sequence,
                log_time: nanoseconds,
                publish_time: nanoseconds,
            };
            writer.write_to_known_channel(&header, text.as_bytes()).map_err(failed)?;
            *sequence = sequence.wrapping_add(1);
        }
        Ok(())
    })?;
    writer.finish().map_err(failed)?;
    writer.into_inner().flush().map_err(writing(&target))?;
    report.holds(&target, &plan.streams);
    Ok(())
}

fn schema(stream: &Stream) -> serde_json::Value {
    let kind = if matches!(stream.header.format, schwann_xdf::Format::String) { "string" } else { "number" };
    json!({
        "type": "object",
        "properties": {
            "stamp": { "type": "number", "description": "seconds on the recorder's clock" },
            "values": { "type": "array", "items": { "type": [kind, "null"] } },
        },
    })
}

fn metadata(stream: &Stream) -> BTreeMap<String, String> {
    let labels: Vec<_> = stream.labels().collect();
    let entries = [
        ("name", stream.header.name.clone()),
        ("type", stream.header.content_type.clone()),
        ("source_id", stream.header.source_id.clone()),
        ("nominal_rate", stream.header.nominal_rate.to_string()),
        ("labels", json!(labels).to_string()),
        ("description", stream.header.xml.clone()),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Appends a sample as JSON; what is no number or infinite is null, which JSON has instead.
fn put_message(values: &Values, row: usize, channels: usize, time: f64, out: &mut String) {
    out.push_str("{\"stamp\":");
    if time.is_finite() {
        out.push_str(&time.to_string())
    } else {
        out.push_str("null")
    }
    out.push_str(",\"values\":[");
    for (place, at) in (row * channels..(row + 1) * channels).enumerate() {
        if place > 0 {
            out.push(',');
        }
        let is_number = match values {
            Values::Float32(numbers) => numbers.get(at).is_some_and(|number| number.is_finite()),
            Values::Double64(numbers) => numbers.get(at).is_some_and(|number| number.is_finite()),
            Values::String(texts) => {
                out.push_str(&json!(texts.get(at)).to_string());
                continue;
            }
            _ => true,
        };
        if is_number { put_text(values, at, out) } else { out.push_str("null") }
    }
    out.push_str("]}");
}

const CHUNK_BYTES: u64 = 1 << 20;
