//! BrainVision Core Data Format 1.0: a header and a marker file as text, and the samples as they are.
//!
//! Source: "BrainVision Core Data Format 1.0", Brain Products 2018.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use schwann_xdf::{Format, Location, Values};

use crate::Progress;
use crate::channel::{changed_count, written_labels};
use crate::error::{ExportError, writing};
use crate::grid::{Grid, Step, Walk};
use crate::number::{put_bytes, put_f64};
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Event, Plan, Stream};
use crate::report::{Report, Written};
use crate::signals::sinks_of_signals;

/// Writes each stream with a rate into three files, with all events in each.
pub(crate) fn write(
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let mut sinks = sinks_of_signals(plan, report, |stream, part| Sink::create(stream, part, outputs))?;
    pass(recording, progress, |samples| {
        let sink = plan.index(samples.stream).and_then(|at| sinks.get_mut(at)?.as_mut());
        sink.map_or(Ok(()), |sink| sink.take(samples.values, samples.stamps))
    })?;
    leave_outside(plan, &sinks, report);
    for sink in sinks.into_iter().flatten() {
        sink.finish(plan, outputs, report)?;
    }
    Ok(())
}

/// Names the streams with events that no file has: a marker is at a sample, and there is none so early or so late.
fn leave_outside(plan: &Plan, sinks: &[Option<Sink<'_>>], report: &mut Report) {
    let is_held = |event: &Event| sinks.iter().flatten().any(|sink| sink.grid.place(event.at).is_some());
    let why = |count| {
        format!(
            "{count} of its events came before the first sample or after the last; --to edf, nwb, mcap or csv keeps them"
        )
    };
    report.events -= report.leave_events(plan, |event| !is_held(event), why) as u64;
}

/// Writes one stream, with all events.
pub(crate) fn write_one(
    recording: &Location,
    plan: &Plan,
    stream: &Stream,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let mut sink = Sink::create(stream, "", outputs)?;
    pass(recording, progress, |samples| {
        let is_it = samples.stream == stream.header.id;
        if is_it { sink.take(samples.values, samples.stamps) } else { Ok(()) }
    })?;
    sink.finish(plan, outputs, report)
}

/// How values lie in the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Binary {
    Int16,
    Int32,
    Float32,
}

impl Binary {
    /// The smallest that holds all values of a format; of doubles, the only one.
    const fn of(format: Format) -> Self {
        match format {
            Format::Int8 | Format::Int16 => Self::Int16,
            Format::Int32 | Format::Int64 => Self::Int32,
            Format::Float32 | Format::Double64 | Format::String => Self::Float32,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Int16 => "INT_16",
            Self::Int32 => "INT_32",
            Self::Float32 => "IEEE_FLOAT_32",
        }
    }

    /// A value where there is none.
    const fn nothing(self) -> &'static [u8] {
        match self {
            Self::Int16 => &[0; 2],
            Self::Int32 => &[0; 4],
            Self::Float32 => &NAN,
        }
    }
}

struct Sink<'a> {
    stream: &'a Stream,
    grid: Grid,
    walk: Walk,
    binary: Binary,
    labels: Vec<String>,
    header: PathBuf,
    markers: PathBuf,
    data: PathBuf,
    file: BufWriter<File>,
    bytes: Vec<u8>,
    numbers: Vec<f64>,
    value_error: f64,
}

impl<'a> Sink<'a> {
    fn create(stream: &'a Stream, part: &str, outputs: &mut Outputs) -> Result<Self, ExportError> {
        let grid = Grid::of(stream)?;
        let data = outputs.path(part, "eeg");
        Ok(Self {
            stream,
            walk: grid.walk(&stream.clock),
            grid,
            binary: Binary::of(stream.header.format),
            labels: labels(stream),
            header: outputs.path(part, "vhdr"),
            markers: outputs.path(part, "vmrk"),
            file: outputs.create(&data)?,
            data,
            bytes: Vec::new(),
            numbers: Vec::new(),
            value_error: 0.0,
        })
    }

    fn take(&mut self, values: &Values, stamps: &[f64]) -> Result<(), ExportError> {
        self.bytes.clear();
        self.encode(values)?;
        let row = self.stream.header.channel_count * self.binary.nothing().len();
        for step in self.walk.steps(stamps) {
            match step {
                Step::Fill(places) => self.fill(places)?,
                Step::Take(rows) => {
                    let bytes = self.bytes.get(rows.start * row..rows.end * row).unwrap_or_default();
                    self.file.write_all(bytes).map_err(writing(&self.data))?;
                }
            }
        }
        Ok(())
    }

    fn encode(&mut self, values: &Values) -> Result<(), ExportError> {
        match (values, self.binary) {
            (Values::Float32(_), Binary::Float32) | (Values::Int16(_), _) | (Values::Int32(_), _) => {
                put_bytes(values, &mut self.bytes);
            }
            (Values::Int8(numbers), _) => {
                let wide = numbers.iter().flat_map(|number| i16::from(*number).to_le_bytes());
                self.bytes.extend(wide);
            }
            (Values::Int64(numbers), _) => {
                for number in numbers {
                    let narrow = i32::try_from(*number);
                    let narrow = narrow.map_err(|_| ExportError::Range(self.stream.header.name.clone()))?;
                    self.bytes.extend(narrow.to_le_bytes());
                }
            }
            _ => {
                self.numbers.clear();
                put_f64(values, &mut self.numbers);
                for number in &self.numbers {
                    let narrow = *number as f32;
                    if number.is_finite() && !narrow.is_finite() {
                        return Err(ExportError::Range(self.stream.header.name.clone()));
                    }
                    let error = (f64::from(narrow) - number).abs();
                    if number.is_finite() && error > self.value_error {
                        self.value_error = error;
                    }
                    self.bytes.extend(narrow.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, places: u64) -> Result<(), ExportError> {
        let row = self.binary.nothing().repeat(self.stream.header.channel_count);
        for _ in 0..places {
            self.file.write_all(&row).map_err(writing(&self.data))?;
        }
        Ok(())
    }

    fn finish(mut self, plan: &Plan, outputs: &mut Outputs, report: &mut Report) -> Result<(), ExportError> {
        self.file.flush().map_err(writing(&self.data))?;
        let mut header = outputs.create(&self.header)?;
        header.write_all(self.header_text().as_bytes()).map_err(writing(&self.header))?;
        header.flush().map_err(writing(&self.header))?;
        let mut markers = outputs.create(&self.markers)?;
        markers.write_all(self.marker_text(plan).as_bytes()).map_err(writing(&self.markers))?;
        markers.flush().map_err(writing(&self.markers))?;
        self.walk.complaint().iter().for_each(|why| report.leave(&self.stream.header.name, why));
        report.files.push(Written {
            path: self.header,
            stream: self.stream.header.name.clone(),
            samples: self.stream.samples,
            rate: self.grid.rate,
            filled: self.grid.filled(),
            padded: 0,
            time_error: self.walk.time_error(),
            value_error: self.value_error,
            changed_labels: changed_count(&self.stream.channels, &self.labels),
        });
        Ok(())
    }

    fn header_text(&self) -> String {
        let (data, markers) = (file_name(&self.data), file_name(&self.markers));
        let (count, interval) = (self.stream.header.channel_count, 1e6 / self.grid.rate);
        let mut text = format!(
            "Brain Vision Data Exchange Header File Version 1.0\n; Written by schwann export\n\n[Common Infos]\n\
             Codepage=UTF-8\nDataFile={data}\nMarkerFile={markers}\nDataFormat=BINARY\nDataOrientation=MULTIPLEXED\n\
             NumberOfChannels={count}\n; In microseconds\nSamplingInterval={interval}\n\n[Binary Infos]\n\
             BinaryFormat={}\n\n[Channel Infos]\n; Name, reference, resolution, unit\n",
            self.binary.name()
        );
        for ((number, channel), label) in (1..).zip(&self.stream.channels).zip(&self.labels) {
            // Readers take no unit at all for microvolts.
            let unit = if channel.unit.is_empty() { "n/a" } else { channel.unit.as_str() };
            text.push_str(&format!("Ch{number}={},,1,{}\n", plain(label), plain(unit)));
        }
        text
    }

    fn marker_text(&self, plan: &Plan) -> String {
        let mut text = format!(
            "Brain Vision Data Exchange Marker File, Version 1.0\n\n[Common Infos]\nCodepage=UTF-8\nDataFile={}\n\n\
             [Marker Infos]\n; Type, description, position, length, channel, date\nMk1=New Segment,,1,1,0{}\n",
            file_name(&self.data),
            date(&plan.datetime)
        );
        let gaps = self
            .grid
            .gaps()
            .map(|gap| (gap.start, gap.end - gap.start, "Bad Interval", "BAD_gap".to_owned()));
        let placed = |event: &Event| Some((self.grid.place(event.at)?, 1, "Comment", plain(&event.text)));
        let mut marks: Vec<_> = gaps.chain(plan.events.iter().filter_map(placed)).collect();
        marks.sort_by_key(|(place, ..)| *place);
        for (number, (place, length, kind, what)) in (2..).zip(marks) {
            text.push_str(&format!("Mk{number}={kind},{what},{},{length},0\n", place + 1));
        }
        text
    }
}

/// The labels of channels, as the header has them but for what stands for commas.
pub(crate) fn labels(stream: &Stream) -> Vec<String> {
    written_labels(&stream.channels, usize::MAX, "", one_line)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Text as an entry can hold it: commas are escaped, and it has one line.
fn plain(text: &str) -> String {
    one_line(text).trim().replace(',', "\\1")
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The date of a recording as markers have it: year to microsecond, 20 digits; nothing if there is none.
fn date(datetime: &str) -> String {
    let digits: String = datetime.chars().take(19).filter(char::is_ascii_digit).collect();
    if digits.len() == 14 { format!(",{digits}000000") } else { String::new() }
}

const NAN: [u8; 4] = f32::NAN.to_le_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_one_line_with_escaped_commas() {
        assert_eq!(plain("left,\nright\u{7}"), "left\\1 right");
        assert_eq!(date("2025-01-31T00:21:17+0000"), ",20250131002117000000");
        assert_eq!(date("some day"), "");
    }
}
