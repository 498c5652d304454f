//! Made-up recordings.

use core::time::Duration;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;

use schwann_proto::stream::ChannelFormat;
use schwann_xdf::{AddStreamError, Options, PushError, StreamWriter, Writer, patiently};

use super::Arguments;
use super::fault::{Fault, Faults};
use crate::cmd::survey::{Progress, bytes};
use crate::exit::{Exit, Outcome, Problem};
use crate::signal::{Kind, Source, Spec};

/// Writes the recording.
pub(super) fn write(arguments: &Arguments, output: &Path) -> Outcome {
    let seconds = arguments.seconds.unwrap_or(USUAL_SECONDS);
    let wrong = |error: &dyn core::fmt::Display| Problem::with(output.display(), error);
    let has_faults = !arguments.fault.is_empty();
    let mut options = Options::default();
    if has_faults {
        options.flush_every = Duration::from_millis(1);
    }
    let writer = Writer::create(output, options).map_err(|error| wrong(&error))?;
    let mut fakes = Fake::all(&writer, arguments).map_err(|error| wrong(&error))?;
    let mut progress = Progress::new("writing");
    let per_second = bytes_per_second(&arguments.streams);
    for second in 0..seconds {
        fakes.iter_mut().try_for_each(|fake| fake.add_second(second)).map_err(|error| wrong(&error))?;
        // Faults of clocks show in the measurements between the samples. So both must be in the file as they come.
        if has_faults {
            wait_until_written(&writer);
        }
        fakes.iter().try_for_each(|fake| fake.measure(second)).map_err(|error| wrong(&error))?;
        progress.show(per_second * u64::from(second), per_second * u64::from(seconds));
    }
    let summary = writer.finish().map_err(|error| wrong(&error))?;
    progress.clear();
    writeln!(io::stdout(), "{}: {}", output.display(), bytes(summary.file_bytes))?;
    Ok(Exit::Good)
}

/// About the bytes that the samples of one second take.
fn bytes_per_second(streams: &[Spec]) -> u64 {
    let size = |spec: &Spec| spec.format.value_size().unwrap_or(4) as u64;
    streams.iter().map(|spec| spec.rate as u64 * spec.channel_count as u64 * size(spec)).sum()
}

fn wait_until_written(writer: &Writer) {
    while writer.health().backlog_bytes > 0 && writer.health().failure.is_none() {
        thread::yield_now();
    }
}

/// One made-up stream, with its markers if it has any.
struct Fake {
    spec: Spec,
    source: Source,
    signal: StreamWriter,
    markers: Option<StreamWriter>,
    made: u64,
    faults: Faults,
    /// Another stream that claims to be this one.
    _twin: Option<StreamWriter>,
}

impl Fake {
    /// One for each stream that is asked for.
    fn all(writer: &Writer, arguments: &Arguments) -> Result<Vec<Self>, AddStreamError> {
        let numbered = (0_u64..).zip(&arguments.streams);
        numbered
            .map(|(place, &spec)| {
                Self::new(writer, spec, arguments.seed.wrapping_add(place), &arguments.fault)
            })
            .collect()
    }

    fn new(writer: &Writer, spec: Spec, seed: u64, faults: &[Fault]) -> Result<Self, AddStreamError> {
        let faults = Faults::new(faults);
        let source = Source::new(spec, seed);
        let signal = writer.add_stream(&signal_xml(spec, source.labels()))?;
        let markers = match spec.kind {
            Kind::Eeg => Some(writer.add_stream(MARKERS_XML)?),
            Kind::Counter | Kind::Sine => None,
        };
        let twin =
            faults.has_twin().then(|| writer.add_stream(&signal_xml(spec, source.labels()))).transpose()?;
        Ok(Self { spec, source, signal, markers, made: 0, faults, _twin: twin })
    }

    /// Adds the samples of one second.
    fn add_second(&mut self, second: u32) -> Result<(), PushError> {
        let rate = self.spec.rate * self.faults.rate_factor();
        let until = (self.faults.sent_until(f64::from(second) + 1.0) * rate).round() as u64;
        // What is left out is made all the same, so that the rest is as it would be.
        let samples: Vec<_> = (self.made..until.max(self.made)).collect();
        let is_sent = |sample: &u64| self.faults.is_sent(*sample as f64 / rate);
        for piece in samples.chunk_by(|one, other| is_sent(one) == is_sent(other)) {
            let stamps: Vec<_> = piece.iter().map(|&sample| self.stamp(sample, rate)).collect();
            let (count, sent) = (stamps.len() * self.spec.channel_count, piece.first().is_some_and(is_sent));
            if self.spec.format == ChannelFormat::Int16 {
                let mut values = vec![0; count];
                self.source.fill_int16(&mut values);
                if sent {
                    patiently(|| self.signal.push(&stamps, &values))?;
                }
            } else {
                let mut values = vec![0.0_f32; count];
                self.source.fill(&mut values);
                if sent {
                    patiently(|| self.signal.push(&stamps, &values))?;
                }
            }
        }
        self.made = until.max(self.made);
        self.add_markers(rate)
    }

    /// Adds the markers of what the samples were made with.
    fn add_markers(&mut self, rate: f64) -> Result<(), PushError> {
        for moment in self.source.take_moments() {
            if let Some(markers) = &self.markers {
                patiently(|| markers.push_text(&[self.stamp(moment.sample, rate)], &[moment.what]))?;
            }
        }
        Ok(())
    }

    /// Adds a measurement of the clock.
    fn measure(&self, second: u32) -> Result<(), PushError> {
        match self.faults.has_offsets() {
            true => self.signal.clock_offset(f64::from(second), 0.0),
            false => Ok(()),
        }
    }

    fn stamp(&self, sample: u64, rate: f64) -> f64 {
        let time = sample as f64 / rate;
        self.faults.stamp(time, time, sample, 1.0 / rate)
    }
}

fn signal_xml(spec: Spec, labels: &[String]) -> String {
    let unit = if spec.kind == Kind::Eeg { "<unit>microvolts</unit><type>EEG</type>" } else { "" };
    let channels: String =
        labels.iter().map(|label| format!("<channel><label>{label}</label>{unit}</channel>")).collect();
    format!(
        "<?xml version=\"1.0\"?>\n<info><name>Fake {spec}</name><type>{}</type><channel_count>{}</channel_count>\
         <nominal_srate>{}</nominal_srate><channel_format>{}</channel_format>\
         <source_id>schwann-fake-{spec}</source_id><created_at>0</created_at>\
         <desc><channels>{channels}</channels></desc></info>",
        spec.content_type(),
        spec.channel_count,
        spec.rate,
        spec.format
    )
}

const MARKERS_XML: &str = "<?xml version=\"1.0\"?>\n<info><name>Fake markers</name><type>Markers</type>\
    <channel_count>1</channel_count><nominal_srate>0</nominal_srate><channel_format>string</channel_format>\
    <source_id>schwann-fake-markers</source_id><created_at>0</created_at><desc/></info>";

/// How long a recording is unless said otherwise.
const USUAL_SECONDS: u32 = 60;
