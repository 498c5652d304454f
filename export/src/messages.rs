//! MCAP: a channel per stream, and a message in JSON per sample.
//!
//! The time of a message is that on the recorder's clock, in nanoseconds.
//!
//! Source: <https://mcap.dev/spec>; schema encoding `jsonschema`, message encoding `json`.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use mcap::records::MessageHeader;
use mcap::{McapError, WriteOptions, Writer};
use schwann_xdf::{Location, Values};
use serde_json::json;

use crate::Progress;
use crate::error::{ExportError, writing};
use crate::number::put_text;
use crate::output::Outputs;
use crate::pass::{Samples, pass};
use crate::plan::{Plan, Stream};
use crate::report::Report;
use crate::timing::Stamper;

/// Writes all streams into one file.
pub(crate) fn write(
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    if plan.streams.is_empty() {
        return Err(ExportError::Empty);
    }
    let target = outputs.path("", "mcap");
    let failed = |error: McapError| ExportError::Library(format!("{}: {error}", target.display()));
    let options =
        WriteOptions::new().compression(None).chunk_size(Some(CHUNK_BYTES)).profile("").library("schwann");
    let mut writer = Writer::with_options(outputs.create(&target)?, options).map_err(failed)?;
    let channels = plan.streams.iter().map(|stream| Channel::open(&mut writer, stream));
    let mut channels = channels.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    pass(recording, progress, |samples| {
        let channel = plan.index(samples.stream).and_then(|at| channels.get_mut(at));
        channel.map_or(Ok(()), |channel| channel.take(&mut writer, samples)).map_err(failed)
    })?;
    writer.finish().map_err(failed)?;
    writer.into_inner().flush().map_err(writing(&target))?;
    for (stream, channel) in plan.streams.iter().zip(&channels) {
        channel.complaints().for_each(|why| report.leave(&stream.header.name, &why));
        report.holds(&target, stream, channel.stamper.time_error());
    }
    Ok(())
}

/// The messages of one stream.
struct Channel {
    id: u16,
    /// Values of one sample.
    width: usize,
    stamper: Stamper,
    sequence: u32,
    text: String,
    /// Values that are NaN or infinite.
    unsaid: u64,
    /// Times that no message can have.
    untimed: u64,
}

impl Channel {
    fn open(writer: &mut Writer<impl Write + Seek>, stream: &Stream) -> Result<Self, McapError> {
        let schema = schema(stream).to_string();
        let schema = writer.add_schema(&stream.part, "jsonschema", schema.as_bytes())?;
        let id = writer.add_channel(schema, &stream.part, "json", &metadata(stream))?;
        let (width, stamper) = (stream.header.channel_count, stream.stamper());
        Ok(Self { id, width, stamper, sequence: 0, text: String::new(), unsaid: 0, untimed: 0 })
    }

    fn take(
        &mut self,
        writer: &mut Writer<impl Write + Seek>,
        samples: &Samples<'_>,
    ) -> Result<(), McapError> {
        for (row, stamp) in samples.stamps.iter().enumerate() {
            let time = self.stamper.next(*stamp);
            self.text.clear();
            self.unsaid += put_message(samples.values, row, self.width, time, &mut self.text);
            let nanoseconds = (time * 1e9).round();
            self.untimed += u64::from(!(0.0..u64::MAX as f64).contains(&nanoseconds));
            // What is before all times, or none at all, is at the beginning.
            let nanoseconds = nanoseconds as u64;
            let header = MessageHeader {
                channel_id: self.id,
                sequence: self.sequence,
                log_time: nanoseconds,
                publish_time: nanoseconds,
            };
            writer.write_to_known_channel(&header, self.text.as_bytes())?;
            self.sequence = self.sequence.wrapping_add(1);
        }
        Ok(())
    }

    /// What the file does not hold as it was recorded, once all samples are taken.
    fn complaints(&self) -> impl Iterator<Item = String> {
        let unsaid = (self.unsaid > 0).then(|| {
            format!(
                "{} of its values are infinite or no number; the file has null there; --to csv keeps them",
                self.unsaid
            )
        });
        let untimed = (self.untimed > 0).then(|| {
            format!(
                "{} of its times are before 0, too late to count, or none; their messages are first or last in the file; \
                 --to csv keeps them",
                self.untimed
            )
        });
        unsaid.into_iter().chain(untimed)
    }
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

/// Appends a sample as JSON. What is no number or infinite is null, which JSON has instead; returns how many values that are.
fn put_message(values: &Values, row: usize, channels: usize, time: f64, out: &mut String) -> u64 {
    out.push_str("{\"stamp\":");
    if time.is_finite() {
        out.push_str(&time.to_string())
    } else {
        out.push_str("null")
    }
    out.push_str(",\"values\":[");
    let mut unsaid = 0;
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
        if is_number {
            put_text(values, at, out);
        } else {
            out.push_str("null");
            unsaid += 1;
        }
    }
    out.push_str("]}");
    unsaid
}

const CHUNK_BYTES: u64 = 1 << 20;
