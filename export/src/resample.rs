//! Streams with a rate at another rate, all at the same times of the recorder's clock.
//!
//! What is resampled is written as a recording of its own, without a name that stays, and is exported like any other.

mod kernel;
mod resampler;

use core::time::Duration;
use std::path::Path;
use std::thread;

use roxmltree::{Document, ParsingOptions};
use schwann_xdf::{Failure, Location, Options, PushError, StreamHeader, StreamWriter, Values, Writer};
use tempfile::TempDir;

use crate::Progress;
use crate::error::ExportError;
use crate::number::put_f64;
use crate::pass::pass;
use crate::plan::{Plan, Stream};
use crate::report::Resampled;
use crate::timing::{Stamper, Timing};
use resampler::Resampler;

/// A recording whose streams with a rate have another one. It goes with this value.
#[derive(Debug)]
pub(crate) struct Copy {
    folder: TempDir,
    /// What was done to which stream.
    pub(crate) resampled: Vec<Resampled>,
}

impl Copy {
    /// Resamples a recording to `rate` in hertz, with its result in a folder of its own in `folder`.
    ///
    /// - Errors: [`ExportError`].
    pub(crate) fn make(
        recording: &Location,
        plan: &Plan,
        rate: f64,
        folder: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Self, ExportError> {
        let failed = |error| ExportError::Write(folder.to_owned(), error);
        let place = tempfile::Builder::new().prefix(".schwann-").tempdir_in(folder).map_err(failed)?;
        let path = place.path().join(NAME);
        // It lies there for the length of the export alone.
        let mut options = Options::default();
        options.sync_every = Duration::from_secs(3600);
        let writer =
            Writer::create(&path, options).map_err(|error| ExportError::Library(error.to_string()))?;
        let mut tracks = plan
            .streams
            .iter()
            .map(|stream| Track::new(stream, rate, &writer))
            .collect::<Result<Vec<_>, _>>()?;
        pass(recording, progress, |samples| {
            let track = plan.index(samples.stream).and_then(|at| tracks.get_mut(at));
            track.map_or(Ok(()), |track| track.take(samples.stamps, samples.values))
        })?;
        drop(tracks);
        writer.finish().map_err(of_failure)?;
        let resampled = plan.streams.iter().filter_map(|stream| resampled(stream, rate)).collect();
        Ok(Self { folder: place, resampled })
    }

    pub(crate) fn location(&self) -> Location {
        Location::from(self.folder.path().join(NAME))
    }
}

/// One stream on its way.
struct Track {
    writer: StreamWriter,
    how: How,
    numbers: Vec<f64>,
    times: Vec<f64>,
    rows: Vec<f64>,
}

enum How {
    /// It has a rate.
    Resampled(Resampler),
    /// It keeps its samples, at their times on the recorder's clock.
    AsIs(Stamper),
}

impl Track {
    fn new(stream: &Stream, rate: f64, writer: &Writer) -> Result<Self, ExportError> {
        let (xml, how) = match (&stream.timing, stream.is_signal()) {
            (Timing::Even(stretches), true) => {
                let xml = resampled_xml(&stream.header, rate);
                let xml = xml.ok_or_else(|| ExportError::Stamps(stream.header.name.clone()))?;
                let channels = stream.header.channel_count;
                (xml, How::Resampled(Resampler::new(rate, channels, stretches.clone())))
            }
            _ => (stream.header.xml.clone(), How::AsIs(stream.timing.stamper())),
        };
        let added = writer.add_stream_as(stream.header.id, &xml);
        let writer = added.map_err(|error| ExportError::Library(error.to_string()))?;
        Ok(Self { writer, how, numbers: Vec::new(), times: Vec::new(), rows: Vec::new() })
    }

    fn take(&mut self, stamps: &[f64], values: &Values) -> Result<(), ExportError> {
        let Self { writer, how, numbers, times, rows } = self;
        times.clear();
        match how {
            How::AsIs(stamper) => {
                times.extend(stamps.iter().map(|stamp| stamper.next(*stamp)));
                patiently(|| writer.push_values(times, values))
            }
            How::Resampled(resampler) => {
                numbers.clear();
                rows.clear();
                put_f64(values, numbers);
                resampler.take(numbers, &mut |time, row| {
                    times.push(time);
                    rows.extend_from_slice(row);
                });
                patiently(|| writer.push(times, rows))
            }
        }
    }
}

/// Pushes as soon as the disk keeps up.
fn patiently(mut push: impl FnMut() -> Result<(), PushError>) -> Result<(), ExportError> {
    loop {
        match push() {
            Ok(()) => return Ok(()),
            Err(PushError::Backlogged) => thread::sleep(PAUSE),
            Err(PushError::Failed(failure)) => return Err(of_failure(failure)),
            Err(error) => return Err(ExportError::Library(error.to_string())),
        }
    }
}

fn of_failure(failure: Failure) -> ExportError {
    ExportError::Library(format!("the resampled streams cannot be kept until they are exported: {failure}"))
}

fn resampled(stream: &Stream, to: f64) -> Option<Resampled> {
    let Timing::Even(stretches) = &stream.timing else { return None };
    let longest = stretches.iter().max_by_key(|stretch| stretch.count).filter(|_| stream.is_signal())?;
    let from = if longest.step > 0.0 { longest.step.recip() } else { stream.header.nominal_rate };
    let half = from.min(to) / 2.0;
    let stream = stream.header.name.clone();
    Some(Resampled { stream, from, to, pass: half * kernel::PASS, stop: half * kernel::STOP })
}

/// The description with the new rate, and values that need not be whole.
fn resampled_xml(header: &StreamHeader, rate: f64) -> Option<String> {
    let mut xml = header.xml.clone();
    for (tag, text) in [("nominal_srate", rate.to_string()), ("channel_format", "double64".to_owned())] {
        let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
        let range = {
            let document = Document::parse_with_options(&xml, options).ok()?;
            let node = document.root_element().children().find(|node| node.has_tag_name(tag))?;
            node.range()
        };
        xml.replace_range(range, &format!("<{tag}>{text}</{tag}>"));
    }
    Some(xml)
}

const NAME: &str = "resampled.xdf";
const PAUSE: Duration = Duration::from_millis(1);
