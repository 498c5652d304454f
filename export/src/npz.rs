//! NumPy's npz: an archive with two arrays per stream, `NAME/stamps` and `NAME/values`.
//!
//! An archive takes one array after the other, so each takes a pass of its own over the recording.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use schwann_xdf::{Format, Location, Values};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Progress;
use crate::csv::has_texts;
use crate::error::{ExportError, writing};
use crate::number::put_bytes;
use crate::output::Outputs;
use crate::pass::pass;
use crate::plan::{Plan, Stream};
use crate::report::Report;

/// Writes all streams into one archive.
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
    if let Some(stream) = plan.streams.iter().find(|stream| has_texts(stream) && is_sparse(stream)) {
        return Err(ExportError::Texts(stream.header.name.clone()));
    }
    let target = outputs.path("", "npz");
    let mut zip = ZipWriter::new(outputs.create(&target)?);
    let failed =
        |error: zip::result::ZipError| ExportError::Library(format!("{}: {error}", target.display()));
    for stream in &plan.streams {
        begin(&mut zip, &format!("{}/stamps.npy", stream.part)).map_err(failed)?;
        let time_error =
            put_stamps(&mut zip, recording, stream, progress).map_err(|error| named(error, &target))?;
        begin(&mut zip, &format!("{}/values.npy", stream.part)).map_err(failed)?;
        put_values(&mut zip, recording, stream, progress).map_err(|error| named(error, &target))?;
        report.holds(&target, stream, time_error);
    }
    zip.finish().map_err(failed)?.flush().map_err(writing(&target))
}

/// Whether an array, whose texts all take the space of the longest, is much larger than the texts.
fn is_sparse(stream: &Stream) -> bool {
    let cells = stream.samples.saturating_mul(stream.header.channel_count as u64);
    let bytes = cells.saturating_mul(4 * stream.longest_text as u64);
    bytes > SPARSE_BYTES_MAX.max(stream.text_bytes.saturating_mul(64))
}

fn named(error: ExportError, path: &Path) -> ExportError {
    match error {
        ExportError::Write(_, error) => ExportError::Write(path.to_owned(), error),
        other => other,
    }
}

fn begin(zip: &mut ZipWriter<BufWriter<File>>, name: &str) -> Result<(), zip::result::ZipError> {
    // Any entry may be larger than 4 GB, and an archive is the same whenever it is made.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(true)
        .last_modified_time(zip::DateTime::default());
    zip.start_file(name, options)
}

/// Writes when each sample was; returns the most by which that differs from its stamp, in seconds.
fn put_stamps(
    out: &mut impl Write,
    recording: &Location,
    stream: &Stream,
    progress: &mut Progress<'_>,
) -> Result<f64, ExportError> {
    put(out, &header("<f8", &format!("({},)", stream.samples)))?;
    let (mut stamper, mut bytes) = (stream.stamper(), Vec::new());
    pass(recording, progress, |samples| {
        if samples.stream != stream.header.id {
            return Ok(());
        }
        bytes.clear();
        bytes.extend(samples.stamps.iter().flat_map(|stamp| stamper.next(*stamp).to_le_bytes()));
        put(out, &bytes)
    })?;
    Ok(stamper.time_error())
}

fn put_values(
    out: &mut impl Write,
    recording: &Location,
    stream: &Stream,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let shape = format!("({}, {})", stream.samples, stream.header.channel_count);
    put(out, &header(&kind(stream), &shape))?;
    let mut bytes = Vec::new();
    pass(recording, progress, |samples| {
        if samples.stream != stream.header.id {
            return Ok(());
        }
        bytes.clear();
        match samples.values {
            Values::String(texts) => {
                texts.iter().for_each(|text| put_padded(text, stream.longest_text.max(1), &mut bytes));
            }
            numbers => put_bytes(numbers, &mut bytes),
        }
        put(out, &bytes)
    })
}

fn put(out: &mut impl Write, bytes: &[u8]) -> Result<(), ExportError> {
    out.write_all(bytes).map_err(writing(Path::new("")))
}

/// A text in UTF-32, with zeros up to the length of the longest.
fn put_padded(text: &str, chars: usize, out: &mut Vec<u8>) {
    let end = out.len() + 4 * chars;
    out.extend(text.chars().take(chars).flat_map(|c| u32::from(c).to_le_bytes()));
    out.resize(end, 0);
}

/// The type of the values, as NumPy writes it.
fn kind(stream: &Stream) -> String {
    match stream.header.format {
        Format::Double64 => "<f8".to_owned(),
        Format::Float32 => "<f4".to_owned(),
        Format::Int8 => "|i1".to_owned(),
        Format::Int16 => "<i2".to_owned(),
        Format::Int32 => "<i4".to_owned(),
        Format::Int64 => "<i8".to_owned(),
        Format::String => format!("<U{}", stream.longest_text.max(1)),
    }
}

/// The header of an array. Source: NumPy, `numpy.lib.format`, version 1.0.
fn header(kind: &str, shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Ten bytes before it, a line feed after it, and 64 divides all.
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(text.as_bytes());
    out
}

const SPARSE_BYTES_MAX: u64 = 64 << 20;
