//! Numbers from and to numpy, by the type of a stream's values.

use numpy::prelude::*;
use numpy::{Element, PyArray1, PyArray2, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use schwann::{Outlet, Value};

use crate::failure::{Kind, exception, of_stream};

/// What a pull returns: values, samples × channels, and a stamp for each sample.
pub(crate) type Rows<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>);

/// How the samples of a push are stamped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stamps<'a> {
    /// Each by its own.
    Each(&'a [f64]),
    /// The last of a chunk; 0 stands for now.
    Last(f64),
    /// The only one; 0 stands for now.
    Only(f64),
}

/// Pushes the numbers of an array of any type that streams have.
///
/// - Errors: `ArgumentError` for another type, for an array that is not contiguous, and for a wrong shape.
pub(crate) fn push(outlet: &Outlet, values: &Bound<'_, PyAny>, stamps: Stamps<'_>) -> PyResult<()> {
    let outcome = None
        .or_else(|| push_as::<f32>(outlet, values, stamps))
        .or_else(|| push_as::<f64>(outlet, values, stamps))
        .or_else(|| push_as::<i16>(outlet, values, stamps))
        .or_else(|| push_as::<i32>(outlet, values, stamps))
        .or_else(|| push_as::<i64>(outlet, values, stamps))
        .or_else(|| push_as::<i8>(outlet, values, stamps));
    let py = values.py();
    outcome
        .unwrap_or_else(|| Err(exception(py, Kind::Argument, "The array's type is none that streams have.")))
}

/// Pushes an array of this very type; nothing if it is of another.
fn push_as<T: Element + Value>(
    outlet: &Outlet,
    values: &Bound<'_, PyAny>,
    stamps: Stamps<'_>,
) -> Option<PyResult<()>> {
    let py = values.py();
    let array: PyReadonlyArrayDyn<'_, T> = values.extract().ok()?;
    if !array.is_c_contiguous() {
        return Some(Err(exception(py, Kind::Argument, "The array is not contiguous.")));
    }
    let Ok(numbers) = array.as_slice() else {
        return Some(Err(exception(py, Kind::Argument, "The array is not contiguous.")));
    };
    let pushed = py.detach(|| match stamps {
        Stamps::Each(stamps) => outlet.push_chunk_stamped(numbers, stamps, schwann::Flush::Now),
        Stamps::Last(stamp) => outlet.push_chunk(numbers, stamp, schwann::Flush::Now),
        Stamps::Only(stamp) => outlet.push_sample(numbers, stamp, schwann::Flush::Now),
    });
    Some(pushed.map_err(|error| of_stream(py, error)))
}

/// Makes arrays for `rows` samples, has `fill` put samples in, and returns as much as it says it has.
pub(crate) fn filled<'py, T: Element + Send>(
    py: Python<'py>,
    rows: usize,
    channels: usize,
    fill: impl FnOnce(&mut [T], &mut [f64]) -> PyResult<usize>,
) -> PyResult<Rows<'py>> {
    let values = PyArray2::<T>::zeros(py, [rows, channels], false);
    let stamps = PyArray1::<f64>::zeros(py, rows, false);
    let count = fill(values.readwrite().as_slice_mut()?, stamps.readwrite().as_slice_mut()?)?;
    if count == rows {
        return Ok((values.into_any(), stamps));
    }
    // Views: what was not filled is seldom much.
    let first = pyo3::types::PySlice::new(py, 0, count.try_into()?, 1);
    let stamps = stamps.get_item(&first)?.cast_into::<PyArray1<f64>>()?;
    Ok((values.get_item(&first)?, stamps))
}
