//! Recordings as numpy arrays.

use std::path::{Path, PathBuf};
use std::{fs, io};

use numpy::prelude::*;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use schwann_xdf::{Clocks, Identities, Jitter, Location, ReadError, RecordedStream, Recording, Values};
use zeroize::Zeroizing;

use crate::failure::{Kind, exception};
use crate::patience::in_thread;

/// One stream of a recording.
#[pyclass(frozen, get_all, module = "schwann._schwann")]
pub(crate) struct Recorded {
    id: u32,
    name: String,
    stream_type: String,
    source_id: String,
    hostname: String,
    format: &'static str,
    channel_count: usize,
    rate: f64,
    effective_rate: f64,
    header: String,
    footer: String,
    /// Samples × channels; for strings a list, row after row.
    values: Py<PyAny>,
    stamps: Py<PyArray1<f64>>,
    /// When each was measured, and what it is.
    clock_offsets: Vec<(f64, f64)>,
    segments: Vec<(usize, usize)>,
    clock_segments: Vec<(usize, usize)>,
    invalid_stamps: usize,
    corrupt_samples: usize,
    is_events: bool,
}

/// Reads the recording at `path`: its header, its streams, and sentences on what is damaged. A sealed one is opened with the
/// secret key in the file `identity`.
#[pyfunction]
pub(crate) fn read_xdf(
    py: Python<'_>,
    path: PathBuf,
    synchronises: bool,
    dejitters: bool,
    identity: Option<PathBuf>,
) -> PyResult<(String, Vec<Recorded>, Vec<String>)> {
    let clocks = if synchronises { Clocks::Synchronised } else { Clocks::AsRecorded };
    let jitter = if dejitters { Jitter::Removed } else { Jitter::AsRecorded };
    let shown = path.display().to_string();
    let identities = identity.map_or(Ok(Identities::none()), |file| identities_in(py, &file))?;
    let location = Location::new(path, identities);
    let recording = in_thread(py, move || Recording::load(location, clocks, jitter))?.map_err(|error| {
        let what_helps = if matches!(error, ReadError::Sealed) { SEALED } else { "" };
        exception(py, Kind::Argument, format!("{shown}: {error}.{what_helps}"))
    })?;
    let damage = recording
        .damage
        .iter()
        .map(|damage| format!("{} at byte {}; {} bytes were skipped", damage.kind, damage.at, damage.bytes));
    let damage = damage.collect();
    let streams = recording.streams.into_iter().map(|stream| recorded(py, stream));
    Ok((recording.header_xml, streams.collect::<PyResult<_>>()?, damage))
}

/// The secret keys in a file of age-keygen.
fn identities_in(py: Python<'_>, file: &Path) -> PyResult<Identities> {
    let text = fs::read_to_string(file).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            exception(py, Kind::Argument, format!("{} is not text.", file.display()))
        }
        _ => error.into(),
    });
    let text = Zeroizing::new(text?);
    let wrong = |error| exception(py, Kind::Argument, format!("{}: {error}.", file.display()));
    Identities::parse(&text).map_err(wrong)
}

fn recorded(py: Python<'_>, stream: RecordedStream) -> PyResult<Recorded> {
    let header = stream.header;
    let pairs = |ranges: Vec<core::ops::Range<usize>>| ranges.into_iter().map(|r| (r.start, r.end)).collect();
    Ok(Recorded {
        is_events: header.is_events(),
        id: header.id,
        name: header.name,
        stream_type: header.content_type,
        source_id: header.source_id,
        hostname: header.hostname,
        format: header.format.name(),
        channel_count: header.channel_count,
        rate: header.nominal_rate,
        effective_rate: stream.effective_rate,
        header: header.xml,
        footer: stream.footer.map(|footer| footer.xml).unwrap_or_default(),
        values: values(py, stream.values, stream.stamps.len(), header.channel_count)?,
        stamps: PyArray1::from_vec(py, stream.stamps).unbind(),
        clock_offsets: stream.clock_offsets.iter().map(|one| (one.collected, one.offset)).collect(),
        segments: pairs(stream.segments),
        clock_segments: pairs(stream.clock_segments),
        invalid_stamps: stream.invalid_stamps,
        corrupt_samples: stream.corrupt_samples,
    })
}

fn values(py: Python<'_>, values: Values, rows: usize, channels: usize) -> PyResult<Py<PyAny>> {
    match values {
        Values::Double64(values) => array(py, values, rows, channels),
        Values::Float32(values) => array(py, values, rows, channels),
        Values::Int16(values) => array(py, values, rows, channels),
        Values::Int32(values) => array(py, values, rows, channels),
        Values::Int64(values) => array(py, values, rows, channels),
        Values::Int8(values) => array(py, values, rows, channels),
        Values::String(texts) => Ok(texts.into_pyobject(py)?.unbind()),
    }
}

/// The array takes the vector's memory over.
fn array<T: Element>(py: Python<'_>, values: Vec<T>, rows: usize, channels: usize) -> PyResult<Py<PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape([rows, channels])?.into_any().unbind())
}

const SEALED: &str = " Name a file with the secret key: identity=.";
