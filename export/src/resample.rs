//! Streams with a rate at another rate, all at the same times of the recorder's clock.
//!
//! Resampled streams are written as a recording of their own, in a file without a lasting name. It is exported like
//! any other.

mod kernel;
mod resampler;

use core::fmt;
use core::time::Duration;
use std::path::Path;

use roxmltree::{Document, ParsingOptions};
use schwann_xdf::{Location, Options, Readers, StreamHeader, StreamWriter, Values, Writer, patiently};
use tempfile::TempDir;

use crate::Progress;
use crate::error::ExportError;
use crate::number::put_f64;
use crate::pass::pass;
use crate::plan::{Plan, Stream, Wanted};
use crate::report::{Report, Resampled};
use crate::sys::private_folder;
use crate::timing::{Stamper, Stretch, Timing};
use resampler::Resampler;

/// A recording whose streams with a rate have another one. Its file goes with this value.
pub(crate) struct ResampledCopy {
    _folder: TempDir,
    pub(crate) location: Location,
    pub(crate) plan: Plan,
    /// What was done to which stream.
    pub(crate) resampled: Vec<Resampled>,
    /// Names of streams that have no samples at the rate, and are not in the plan.
    pub(crate) emptied: Vec<String>,
}

impl ResampledCopy {
    /// Resamples what is planned of a recording to `rate` in hertz. Its result has a folder of its own in `folder`.
    ///
    /// - Errors: [`ExportError`].
    pub(crate) fn make(
        recording: &Location,
        plan: &Plan,
        rate: f64,
        wanted: &Wanted<'_>,
        folder: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Self, ExportError> {
        let stretches = plan.streams.iter().map(even).collect::<Result<Vec<_>, _>>()?;
        let failed = |error| ExportError::Write(folder.to_owned(), error);
        let place = private_folder(folder).map_err(failed)?;
        let path = place.path().join(NAME);
        let writer = passing_writer(&path)?;
        let pairs = plan.streams.iter().zip(&stretches);
        let tracks = pairs.map(|(stream, stretches)| Track::new(stream, *stretches, rate, &writer));
        let mut tracks = tracks.collect::<Result<Vec<_>, _>>()?;
        pass(recording, progress, |samples| {
            let track = plan.index(samples.stream).and_then(|at| tracks.get_mut(at));
            track.map_or(Ok(()), |track| track.take(samples.stamps, samples.values))
        })?;
        drop(tracks);
        writer.finish().map_err(not_kept)?;
        let location = Location::from(path);
        let mut copied = Plan::make(&location, &Wanted { names: &[], ..*wanted }, progress)?;
        let is_emptied = |copy: &Stream| copy.samples == 0 && had_samples(plan, copy.header.id);
        let emptied: Vec<_> = copied.streams.extract_if(.., |copy| is_emptied(copy)).collect();
        if !emptied.is_empty() && copied.signals().next().is_none() {
            return Err(ExportError::TooSlow(rate));
        }
        let pairs =
            plan.streams.iter().zip(stretches).filter(|(stream, _)| copied.index(stream.header.id).is_some());
        let resampled = pairs.filter_map(|(stream, stretches)| resampled(stream, stretches?, rate)).collect();
        let emptied = emptied.into_iter().map(|stream| stream.header.name).collect();
        let plan = Plan { datetime: plan.datetime.clone(), ..copied };
        Ok(Self { _folder: place, location, plan, resampled, emptied })
    }

    /// Puts into the report what was done to streams, and which are gone.
    pub(crate) fn tell(&self, report: &mut Report) {
        report.resampled.clone_from(&self.resampled);
        for stream in &self.emptied {
            report.leave(
                stream,
                "it is so short that it has no sample at this rate; --resample with a higher one keeps it",
            );
        }
    }
}

/// Writes a file that lies there for the length of the export alone. For its owner alone: the recording may be sealed.
fn passing_writer(path: &Path) -> Result<Writer, ExportError> {
    let mut options = Options::default();
    options.sync_every = Duration::from_secs(3600);
    options.readers = Readers::Owner;
    Writer::create(path, options).map_err(|error| ExportError::Library(error.to_string()))
}

fn had_samples(plan: &Plan, id: u32) -> bool {
    plan.index(id).and_then(|at| plan.streams.get(at)).is_some_and(|stream| stream.samples > 0)
}

/// The stretches of a stream that is resampled; none of one that keeps its samples.
fn even(stream: &Stream) -> Result<Option<&[Stretch]>, ExportError> {
    if !stream.is_signal() {
        return Ok(None);
    }
    let shortest = stream.header.interval() / FASTEST;
    match &stream.timing {
        Timing::Even(stretches) if stretches.iter().all(|stretch| stretch.step > shortest) => {
            Ok(Some(stretches))
        }
        _ => Err(ExportError::NoRate(stream.header.name.clone())),
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
    fn new(
        stream: &Stream,
        stretches: Option<&[Stretch]>,
        rate: f64,
        writer: &Writer,
    ) -> Result<Self, ExportError> {
        let (xml, how) = match stretches {
            Some(stretches) => {
                let xml = resampled_xml(&stream.header, rate);
                let xml = xml.ok_or_else(|| ExportError::NoRate(stream.header.name.clone()))?;
                let channels = stream.header.channel_count;
                (xml, How::Resampled(Resampler::new(rate, channels, stretches.to_vec())))
            }
            None => (stream.header.xml.clone(), How::AsIs(stream.stamper())),
        };
        let added = writer.add_stream_as(stream.header.id, &xml);
        let writer = added.map_err(|error| ExportError::Library(error.to_string()))?;
        Ok(Self { writer, how, numbers: Vec::new(), times: Vec::new(), rows: Vec::new() })
    }

    fn take(&mut self, stamps: &[f64], values: &Values) -> Result<(), ExportError> {
        let Self { writer, how, numbers, times, rows } = self;
        times.clear();
        let pushed = match how {
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
        };
        pushed.map_err(not_kept)
    }
}

fn not_kept(error: impl fmt::Display) -> ExportError {
    ExportError::Library(format!("the resampled streams cannot be kept until they are exported: {error}"))
}

fn resampled(stream: &Stream, stretches: &[Stretch], to: f64) -> Option<Resampled> {
    let from = stretches.iter().max_by_key(|stretch| stretch.count)?.step.recip();
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

/// Samples that follow each other so many times faster than their nominal rate have no rate.
const FASTEST: f64 = 1e4;
const NAME: &str = "resampled.xdf";
