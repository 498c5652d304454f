//! EDF+ and BDF+: blocks of one length with whole numbers of 16 or 24 bits. Events have a channel of their own.
//!
//! Whole numbers that fit are exact. Others are scaled between the smallest and the largest of their channel.
//!
//! Source: Kemp and Olivan, "European data format 'plus' (EDF+)", 2003; BDF+ of EDFbrowser's documentation.

mod annotation;
mod header;
mod scale;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use schwann_xdf::{Location, Values};

use crate::Progress;
use crate::channel::{Channel, changed_count, written_labels};
use crate::error::{ExportError, writing};
use crate::grid::{Grid, Step, Walk};
use crate::number::put_f64;
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Plan, Stream};
use crate::report::{Report, Written};
use crate::signals::sinks_of_signals;
use annotation::{Annotations, BLANK, TEXT_CHARS_MAX};
use header::{LABEL_CHARS_MAX, ascii, header};
use scale::{Scale, short};

/// One of the two formats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    extension: &'static str,
    version: &'static [u8; 8],
    continuous: &'static str,
    annotations: &'static str,
    value_bytes: usize,
    least: i64,
    most: i64,
}

/// Writes each stream with a rate into a file, with all events in each.
pub(crate) fn write(
    kind: Kind,
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let mut sinks = sinks_of_signals(plan, report, |stream, part| {
        let target = outputs.path(part, kind.extension);
        Sink::create(kind, stream, plan, target, outputs)
    })?;
    pass(recording, progress, |samples| {
        let sink = plan.index(samples.stream).and_then(|at| sinks.get_mut(at)?.as_mut());
        sink.map_or(Ok(()), |sink| sink.take(samples.values, samples.stamps))
    })?;
    for sink in sinks.into_iter().flatten() {
        sink.complaints().for_each(|why| report.leave(&sink.stream.header.name, &why));
        let written = sink.finish()?;
        report.files.push(written);
    }
    let why = |count| format!("the text of {count} of its events is cut to {TEXT_CHARS_MAX} characters");
    report.leave_events(plan, |event| annotation::is_cut(&event.text), why);
    let why = |count| {
        format!(
            "{count} of its events have no text; the file has {BLANK} there, since it holds no event without"
        )
    };
    report.leave_events(plan, |event| annotation::is_blank(&event.text), why);
    report.leave_far_events(plan);
    Ok(())
}

/// How samples are cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Blocks {
    /// Samples of each channel in a block.
    samples: usize,
    /// Seconds of a block, as the header says.
    seconds: f64,
    count: u64,
}

impl Blocks {
    /// The cut whose length in seconds the header's eight characters say best.
    fn of(grid: &Grid, channels: usize, value_bytes: usize) -> Self {
        let most = (BLOCK_BYTES_MAX / (channels * value_bytes)).max(1);
        let longest = ((grid.rate * BLOCK_SECONDS_MAX) as usize).clamp(1, most);
        let error = |samples: usize| {
            let seconds = samples as f64 / grid.rate;
            let said = short(seconds).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            // Relative, and told apart only where it matters.
            ((said - seconds).abs() / seconds * 1e10).round()
        };
        // A second where that is as good as any: what people expect.
        let second = (grid.rate.round() as usize).clamp(1, most);
        let candidates = core::iter::once(second).chain((1..=longest).rev().take(CANDIDATES_MAX));
        let samples = candidates.min_by(|one, other| error(*one).total_cmp(&error(*other))).unwrap_or(second);
        let seconds = short(samples as f64 / grid.rate).and_then(|text| text.parse().ok());
        Self {
            samples,
            seconds: seconds.unwrap_or(samples as f64 / grid.rate),
            count: grid.places.div_ceil(samples as u64),
        }
    }
}

struct Sink<'a> {
    kind: Kind,
    stream: &'a Stream,
    grid: Grid,
    walk: Walk,
    blocks: Blocks,
    scales: Vec<Scale>,
    labels: Vec<String>,
    annotations: Annotations,
    path: PathBuf,
    file: BufWriter<File>,
    numbers: Vec<f64>,
    /// The block that is being filled, channel after channel, and how many of its samples are there.
    block: Vec<u8>,
    filled: usize,
    written: u64,
    value_error: f64,
    /// Values that are NaN or infinite.
    unsaid: u64,
}

/// How each channel's values become integers.
fn scales(kind: Kind, stream: &Stream) -> Result<Vec<Scale>, ExportError> {
    let scale = |(range, channel): (&(f64, f64), &Channel)| {
        let scale = Scale::of(*range, stream.header.format, kind.least, kind.most);
        scale.ok_or_else(|| ExportError::Range(channel.label.clone()))
    };
    stream.ranges.iter().zip(&stream.channels).map(scale).collect()
}

impl<'a> Sink<'a> {
    fn create(
        kind: Kind,
        stream: &'a Stream,
        plan: &Plan,
        path: PathBuf,
        outputs: &mut Outputs,
    ) -> Result<Self, ExportError> {
        let grid = Grid::of(stream)?;
        let channels = stream.header.channel_count;
        if channels > CHANNELS_MAX {
            let stream = stream.header.name.clone();
            return Err(ExportError::Channels { stream, count: channels, most: CHANNELS_MAX });
        }
        let blocks = Blocks::of(&grid, channels, kind.value_bytes);
        let scales = scales(kind, stream)?;
        let annotations = Annotations::lay_out(plan, &grid, &blocks, kind.value_bytes);
        let mut file = outputs.create(&path)?;
        let labels = written_labels(&stream.channels, LABEL_CHARS_MAX, kind.annotations, ascii);
        let header = header(kind, stream, plan, &blocks, &scales, &labels, &annotations);
        file.write_all(&header).map_err(writing(&path))?;
        let block = vec![0; blocks.samples * channels * kind.value_bytes];
        Ok(Self {
            kind,
            stream,
            walk: grid.walk(&stream.clock),
            grid,
            blocks,
            scales,
            labels,
            annotations,
            path,
            file,
            numbers: Vec::new(),
            block,
            filled: 0,
            written: 0,
            value_error: 0.0,
            unsaid: 0,
        })
    }

    fn take(&mut self, values: &Values, stamps: &[f64]) -> Result<(), ExportError> {
        let mut numbers = core::mem::take(&mut self.numbers);
        numbers.clear();
        put_f64(values, &mut numbers);
        let channels = self.stream.header.channel_count;
        for step in self.walk.steps(stamps) {
            match step {
                Step::Fill(places) => {
                    for _ in 0..places {
                        self.put_row(None)?;
                    }
                }
                Step::Take(rows) => {
                    let rows = numbers.get(rows.start * channels..rows.end * channels).unwrap_or_default();
                    for row in rows.chunks_exact(channels) {
                        self.put_row(Some(row))?;
                    }
                }
            }
        }
        self.numbers = numbers;
        Ok(())
    }

    /// Puts a sample into the block, or one that stands for none.
    fn put_row(&mut self, row: Option<&[f64]>) -> Result<(), ExportError> {
        let bytes = self.kind.value_bytes;
        for (channel, scale) in self.scales.iter().enumerate() {
            let value = row.and_then(|row| row.get(channel)).copied();
            let digital = value.map_or(scale.nothing(), |value| {
                let (digital, error) = scale.digital(value);
                self.value_error = self.value_error.max(error);
                self.unsaid += u64::from(!value.is_finite());
                digital
            });
            let at = (channel * self.blocks.samples + self.filled) * bytes;
            let number = digital.to_le_bytes();
            if let (Some(place), Some(number)) = (self.block.get_mut(at..at + bytes), number.get(..bytes)) {
                place.copy_from_slice(number);
            }
        }
        self.filled += 1;
        if self.filled == self.blocks.samples { self.put_block() } else { Ok(()) }
    }

    fn put_block(&mut self) -> Result<(), ExportError> {
        self.file.write_all(&self.block).map_err(writing(&self.path))?;
        let annotation = self.annotations.block(self.written);
        self.file.write_all(&annotation).map_err(writing(&self.path))?;
        (self.filled, self.written) = (0, self.written + 1);
        Ok(())
    }

    /// What the file does not hold as it was recorded, once all samples are taken.
    fn complaints(&self) -> impl Iterator<Item = String> {
        let unsaid = (self.unsaid > 0).then(|| {
            format!(
                "{} of its values are infinite or no number; the file has 0 there, or what is nearest to it; --to brainvision keeps them",
                self.unsaid
            )
        });
        self.walk.complaint().into_iter().chain(unsaid)
    }

    fn finish(mut self) -> Result<Written, ExportError> {
        let mut padded = 0;
        while self.filled > 0 {
            self.put_row(None)?;
            padded += 1;
        }
        self.file.flush().map_err(writing(&self.path))?;
        // The rate that the header's seconds mean, against that of the samples.
        let rate = self.blocks.samples as f64 / self.blocks.seconds;
        let drift = self.grid.places as f64 * (1.0 / rate - 1.0 / self.grid.rate).abs();
        Ok(Written {
            path: self.path,
            stream: self.stream.header.name.clone(),
            samples: self.stream.samples,
            rate,
            filled: self.grid.filled(),
            padded,
            time_error: self.walk.time_error() + drift,
            value_error: self.value_error,
            changed_labels: changed_count(&self.stream.channels, &self.labels),
        })
    }
}

pub(crate) const EDF: Kind = Kind {
    extension: "edf",
    version: b"0       ",
    continuous: "EDF+C",
    annotations: "EDF Annotations",
    value_bytes: 2,
    least: -32_768,
    most: 32_767,
};

pub(crate) const BDF: Kind = Kind {
    extension: "bdf",
    version: b"\xffBIOSEMI",
    continuous: "BDF+C",
    annotations: "BDF Annotations",
    value_bytes: 3,
    least: -8_388_608,
    most: 8_388_607,
};

/// The header counts channels in four characters, and events have one.
const CHANNELS_MAX: usize = 9_998;
/// Readers take a block into memory at once.
const BLOCK_BYTES_MAX: usize = 1 << 20;
const BLOCK_SECONDS_MAX: f64 = 9.99;
const CANDIDATES_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rate: f64) -> Grid {
        Grid { rate, begin: 0.0, runs: Vec::new(), places: 100_000, time_error: 0.0 }
    }

    #[test]
    fn a_block_is_a_second_where_that_is_exact_and_else_what_is_said_best() {
        let even = Blocks::of(&grid(500.0), 8, 2);
        assert_eq!((even.samples, even.seconds, even.count), (500, 1.0, 200));
        let odd = Blocks::of(&grid(499.987_31), 8, 2);
        let relative = (odd.samples as f64 / odd.seconds - 499.987_31).abs() / 499.987_31;
        assert!(relative < 1e-9, "{odd:?}: {relative}");
        let wide = Blocks::of(&grid(30_000.0), 1000, 3);
        assert!(wide.samples * 1000 * 3 <= BLOCK_BYTES_MAX);
    }
}
