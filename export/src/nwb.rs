//! Neurodata Without Borders 2: an HDF5 file with a time series per stream.
//!
//! The library lays a file out before it writes it, with the arrays in memory. So the arrays are zeros that the system never
//! gives memory to, and the file gets a hole in their place. A second step writes the samples there.
//!
//! Source: NWB 2.8, <https://nwb-schema.readthedocs.io>, `NWBFile`, `TimeSeries`, `AnnotationSeries`.

use core::hash::{Hash, Hasher as _};
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hdf5_pure::{
    AttrValue, FileBuilder, FinishedGroup, GroupBuilder, Layout, make_f32_type, make_f64_type, make_i8_type,
    make_i16_type, make_i32_type, make_i64_type,
};
use schwann_xdf::{Format, Location};

use crate::Progress;
use crate::error::{ExportError, writing};
use crate::number::put_bytes;
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Event, Plan, Stream};
use crate::report::Report;
use crate::timing::{Stamper, Timing};

/// Writes all streams into one file.
pub(crate) fn write(
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let streams: Vec<_> = plan.streams.iter().filter(|stream| stream.samples > 0).collect();
    if streams.is_empty() {
        return Err(ExportError::Empty);
    }
    plan.streams.iter().filter(|stream| stream.samples == 0).for_each(|stream| report.leave_empty(stream));
    let target = outputs.path("", "nwb");
    let mut file = outputs.create_plain(&target)?;
    let mut holes = Holes { file: &mut file, at: 0 };
    lay_out(recording.path(), plan, &streams)?
        .finish_to(&mut holes)
        .map_err(|error| failed(&target, error))?;
    let end = holes.at;
    file.set_len(end).map_err(writing(&target))?;
    let mut places = find(&target, &streams)?;
    let mut bytes = Vec::new();
    pass(recording, progress, |samples| {
        let place = places.iter_mut().find(|place| place.stream == samples.stream);
        place
            .map_or(Ok(()), |place| place.take(&mut file, samples.stamps, samples.values, &mut bytes))
            .map_err(writing(&target))
    })?;
    file.sync_all().map_err(writing(&target))?;
    for stream in streams {
        let place = places.iter().find(|place| place.stream == stream.header.id);
        report.holds(&target, stream, place.map_or(0.0, |place| place.stamper.time_error()));
    }
    report.leave_far_events(plan);
    Ok(())
}

fn failed(path: &Path, error: impl core::fmt::Display) -> ExportError {
    ExportError::Library(format!("{}: {error}", path.display()))
}

/// The file with all that is not a sample.
fn lay_out(path: &Path, plan: &Plan, streams: &[&Stream]) -> Result<FileBuilder, ExportError> {
    let mut file = FileBuilder::new();
    attributes(&mut |name, value| file.set_attr(name, value), "NWBFile", &plan.datetime);
    file.set_attr("nwb_version", text("2.8.0"));
    let began = began(&plan.datetime);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let described = format!("Recording of live streams, exported from {name}");
    let identifier = format!("{name} {}", object_id(&(&*name, &plan.datetime)));
    for (key, value) in [
        ("identifier", identifier.as_str()),
        ("session_description", described.as_str()),
        ("session_start_time", began.as_str()),
        ("timestamps_reference_time", began.as_str()),
    ] {
        file.create_dataset(key).with_vlen_strings(&[value]).with_shape(&[]);
    }
    file.create_dataset("file_create_date").with_vlen_strings(&[&created()]).with_shape(&[1]);
    let origin = origin(streams);
    let mut acquisition = file.create_group("acquisition");
    for stream in streams {
        let group = acquisition.create_group(&stream.part);
        acquisition.add_group(series(group, plan, stream, origin));
    }
    file.add_group(acquisition.finish());
    add_empty_groups(&mut file);
    Ok(file)
}

/// Groups that every file has.
fn add_empty_groups(file: &mut FileBuilder) {
    for name in ["analysis", "general", "processing"] {
        let group = file.create_group(name);
        file.add_group(group.finish());
    }
    let mut stimulus = file.create_group("stimulus");
    for name in ["presentation", "templates"] {
        let group = stimulus.create_group(name);
        stimulus.add_group(group.finish());
    }
    file.add_group(stimulus.finish());
}

/// One stream.
fn series(mut group: GroupBuilder, plan: &Plan, stream: &Stream, origin: f64) -> FinishedGroup {
    let kind = if stream.header.format == Format::String { "AnnotationSeries" } else { "TimeSeries" };
    attributes(&mut |name, value| group.set_attr(name, value), kind, &(&stream.header.xml, stream.header.id));
    let labels: Vec<_> = stream.labels().collect();
    let kind = &stream.header.content_type;
    group.set_attr(
        "description",
        text(&format!("{} ({kind}); channels: {}", stream.header.name, labels.join(", "))),
    );
    group.set_attr("comments", text(&stream.header.xml));
    if stream.header.format == Format::String {
        let events: Vec<_> = plan.events.iter().filter(|event| event.stream == stream.header.id).collect();
        return annotations(group, &events, origin);
    }
    add_data(&mut group, stream);
    add_times(&mut group, stream, origin);
    group.finish()
}

/// Room for the values of a stream.
fn add_data(group: &mut GroupBuilder, stream: &Stream) {
    let (rows, channels) = (stream.samples, stream.header.channel_count as u64);
    let (datatype, bytes) = match stream.header.format {
        Format::Double64 | Format::String => (make_f64_type(), 8),
        Format::Float32 => (make_f32_type(), 4),
        Format::Int8 => (make_i8_type(), 1),
        Format::Int16 => (make_i16_type(), 2),
        Format::Int32 => (make_i32_type(), 4),
        Format::Int64 => (make_i64_type(), 8),
    };
    let shape = if channels == 1 { vec![rows] } else { vec![rows, channels] };
    let data = group.create_dataset("data");
    data.with_raw_data(datatype, zeros(rows * channels * bytes), rows * channels).with_shape(&shape);
    data.set_attr("unit", text(unit(stream)));
    data.set_attr("conversion", AttrValue::F64(1.0));
    data.set_attr("offset", AttrValue::F64(0.0));
    data.set_attr("resolution", AttrValue::F64(-1.0));
}

/// When a stream began and its rate, or room for its stamps.
fn add_times(group: &mut GroupBuilder, stream: &Stream, origin: f64) {
    match even(stream) {
        Some((begin, rate)) => {
            let start = group.create_dataset("starting_time");
            start.with_f64_data(&[begin - origin]).with_shape(&[]);
            start.set_attr("rate", AttrValue::F64(rate));
            start.set_attr("unit", text("seconds"));
        }
        None => {
            let rows = stream.samples;
            let stamps = group.create_dataset("timestamps");
            stamps.with_raw_data(make_f64_type(), zeros(rows * 8), rows).with_shape(&[rows]);
            stamps.set_attr("interval", AttrValue::I32(1));
            stamps.set_attr("unit", text("seconds"));
        }
    }
}

fn annotations(mut group: GroupBuilder, events: &[&Event], origin: f64) -> FinishedGroup {
    let texts: Vec<_> = events.iter().map(|event| event.text.as_str()).collect();
    let times: Vec<_> = events.iter().map(|event| event.at - origin).collect();
    let data = group.create_dataset("data");
    data.with_vlen_strings(&texts).with_shape(&[texts.len() as u64]);
    data.set_attr("unit", text("n/a"));
    data.set_attr("conversion", AttrValue::F64(1.0));
    data.set_attr("offset", AttrValue::F64(0.0));
    data.set_attr("resolution", AttrValue::F64(-1.0));
    let stamps = group.create_dataset("timestamps");
    stamps.with_f64_data(&times).with_shape(&[times.len() as u64]);
    stamps.set_attr("interval", AttrValue::I32(1));
    stamps.set_attr("unit", text("seconds"));
    group.finish()
}

/// Gives an object its type and its number, which is the same whenever it is exported.
fn attributes(set: &mut dyn FnMut(&str, AttrValue), kind: &str, seed: &impl Hash) {
    set("namespace", text("core"));
    set("neurodata_type", text(kind));
    set("object_id", text(&object_id(seed)));
}

fn text(value: &str) -> AttrValue {
    AttrValue::VarLenString(value.to_owned())
}

/// A number in the form of a UUID (RFC 9562, version 8).
fn object_id(seed: &impl Hash) -> String {
    let half = |which: u8| {
        let mut hasher = DefaultHasher::new();
        (which, seed).hash(&mut hasher);
        hasher.finish()
    };
    let (high, low) = (half(0), half(1));
    let text = format!("{high:016x}{low:016x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-8{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The beginning and the rate of a stream whose samples are all at even times.
fn even(stream: &Stream) -> Option<(f64, f64)> {
    match &stream.timing {
        Timing::Even(stretches) => match &stretches[..] {
            [only] if only.step > 0.0 && only.count > 1 => Some((only.begin, 1.0 / only.step)),
            _ => None,
        },
        Timing::Single => None,
    }
}

/// Times count from the first even sample.
fn origin(streams: &[&Stream]) -> f64 {
    let begins = streams.iter().filter_map(|stream| match &stream.timing {
        Timing::Even(stretches) => stretches.first().map(|stretch| stretch.begin),
        Timing::Single => None,
    });
    begins.filter(|begin| begin.is_finite()).min_by(f64::total_cmp).unwrap_or(0.0)
}

/// The unit of all channels, if they have one in common.
fn unit(stream: &Stream) -> &str {
    let first = stream.channels.first().map_or("", |channel| channel.unit.as_str());
    let is_common = stream.channels.iter().all(|channel| channel.unit == first);
    if is_common && !first.is_empty() { first } else { "unknown" }
}

/// The beginning of the recording in ISO 8601, with its zone; the beginning of 1970 if it is not known.
fn began(datetime: &str) -> String {
    let zone = match datetime.get(19..).map(str::as_bytes) {
        Some(&[sign @ (b'+' | b'-'), a, b, c, d] | &[sign @ (b'+' | b'-'), a, b, b':', c, d])
            if [a, b, c, d].iter().all(u8::is_ascii_digit) =>
        {
            [sign, a, b, b':', c, d].map(char::from).iter().collect()
        }
        _ => "+00:00".to_owned(),
    };
    match datetime.get(..19) {
        Some(time) if datetime.is_ascii() => format!("{time}{zone}"),
        _ => "1970-01-01T00:00:00+00:00".to_owned(),
    }
}

/// The present in ISO 8601.
fn created() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}+00:00", days + 1)
}

/// Memory that the system only gives when it is written to.
fn zeros(bytes: u64) -> Vec<u8> {
    vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)]
}

/// A file that gets holes where zeros are written.
struct Holes<'a> {
    file: &'a mut File,
    at: u64,
}

impl Write for Holes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.chunks(HOLE_BYTES) {
            if piece.len() < HOLE_BYTES || piece.iter().any(|byte| *byte != 0) {
                self.file.seek(SeekFrom::Start(self.at))?;
                self.file.write_all(piece)?;
            }
            self.at += piece.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the samples of a stream go.
struct Destination {
    stream: u32,
    values: u64,
    stamper: Stamper,
    /// When times begin to count, in seconds on the recorder's clock.
    origin: f64,
    /// Where the times go, if each sample has one.
    times: Option<u64>,
}

/// Finds the holes of the file.
fn find(path: &Path, streams: &[&Stream]) -> Result<Vec<Destination>, ExportError> {
    let file = hdf5_pure::File::open_streaming(path).map_err(|error| failed(path, error))?;
    let address = |name: &str| {
        let layout = file.dataset(name).and_then(|dataset| dataset.layout());
        match layout.map_err(|error| failed(path, error))? {
            Layout::Contiguous { address: Some(address), .. } => Ok(address),
            other => Err(failed(path, format!("{name} lies as {other:?}"))),
        }
    };
    let origin = origin(streams);
    let numbers = streams.iter().filter(|stream| stream.header.format != Format::String);
    let places = numbers.map(|stream| {
        let times = match even(stream) {
            Some(_) => None,
            None => Some(address(&format!("acquisition/{}/timestamps", stream.part))?),
        };
        let values = address(&format!("acquisition/{}/data", stream.part))?;
        Ok(Destination { stream: stream.header.id, values, stamper: stream.stamper(), origin, times })
    });
    places.collect()
}

impl Destination {
    fn take(
        &mut self,
        file: &mut File,
        stamps: &[f64],
        values: &schwann_xdf::Values,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        bytes.clear();
        put_bytes(values, bytes);
        file.seek(SeekFrom::Start(self.values))?;
        file.write_all(bytes)?;
        self.values += bytes.len() as u64;
        bytes.clear();
        for stamp in stamps {
            bytes.extend((self.stamper.next(*stamp) - self.origin).to_le_bytes());
        }
        if let Some(at) = &mut self.times {
            file.seek(SeekFrom::Start(*at))?;
            file.write_all(bytes)?;
            *at += bytes.len() as u64;
        }
        Ok(())
    }
}

const HOLE_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_keeps_its_zone() {
        assert_eq!(began("2025-01-31T00:21:17+0530"), "2025-01-31T00:21:17+05:30");
        assert_eq!(began("2025-01-31T00:21:17-03:00"), "2025-01-31T00:21:17-03:00");
        assert_eq!(began("2025-01-31T00:21:17"), "2025-01-31T00:21:17+00:00");
        assert_eq!(began("some day"), "1970-01-01T00:00:00+00:00");
    }
}
