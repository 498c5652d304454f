//! Comma-separated values: a file per stream, a line per sample.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use schwann_xdf::{Format, Location, Values};

use crate::Progress;
use crate::error::{ExportError, writing};
use crate::number::put_text;
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Plan, Stream};
use crate::report::Report;
use crate::timing::Stamper;

/// Writes each stream into a file of its own.
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
    let mut sinks = Vec::new();
    for stream in &plan.streams {
        let part = if plan.streams.len() == 1 { "" } else { stream.part.as_str() };
        sinks.push(Sink::create(stream, outputs.path(part, "csv"), outputs)?);
    }
    pass(recording, progress, |samples| {
        let sink = plan.index(samples.stream).and_then(|at| sinks.get_mut(at));
        sink.map_or(Ok(()), |sink| sink.take(samples.stamps, samples.values))
    })?;
    for sink in sinks {
        sink.finish(report)?;
    }
    Ok(())
}

struct Sink<'a> {
    stream: &'a Stream,
    stamper: Stamper,
    path: PathBuf,
    file: BufWriter<File>,
    line: String,
}

impl<'a> Sink<'a> {
    fn create(stream: &'a Stream, path: PathBuf, outputs: &mut Outputs) -> Result<Self, ExportError> {
        let mut line = String::from("time");
        for label in stream.labels() {
            line.push(',');
            put_csv_field(label, &mut line);
        }
        line.push('\n');
        let mut file = outputs.create(&path)?;
        file.write_all(line.as_bytes()).map_err(writing(&path))?;
        Ok(Self { stream, stamper: stream.stamper(), path, file, line })
    }

    fn take(&mut self, stamps: &[f64], values: &Values) -> Result<(), ExportError> {
        let channels = self.stream.header.channel_count;
        for (row, stamp) in stamps.iter().enumerate() {
            self.line.clear();
            self.line.push_str(&self.stamper.next(*stamp).to_string());
            for at in row * channels..(row + 1) * channels {
                self.line.push(',');
                match values {
                    Values::String(texts) => {
                        put_csv_field(texts.get(at).map_or("", String::as_str), &mut self.line);
                    }
                    numbers => put_text(numbers, at, &mut self.line),
                }
            }
            self.line.push('\n');
            self.file.write_all(self.line.as_bytes()).map_err(writing(&self.path))?;
        }
        Ok(())
    }

    fn finish(mut self, report: &mut Report) -> Result<(), ExportError> {
        self.file.flush().map_err(writing(&self.path))?;
        report.holds(&self.path, self.stream, self.stamper.time_error());
        Ok(())
    }
}

/// Appends a text as a field of a CSV file: in quotes if it holds what separates fields or lines. Source: RFC 4180 §2.
pub fn put_csv_field(text: &str, out: &mut String) {
    if text.contains([',', '"', '\n', '\r']) {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

/// Whether a stream has texts.
pub(crate) fn has_texts(stream: &Stream) -> bool {
    stream.header.format == Format::String
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_separate_are_quoted() {
        let mut out = String::new();
        ["a", "b,c", "say \"x\"", "l\nm"].iter().for_each(|text| put_csv_field(text, &mut out));
        assert_eq!(out, "a\"b,c\"\"say \"\"x\"\"\"\"l\nm\"");
    }
}
