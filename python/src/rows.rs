//! Numbers from and to numpy, by the type of a stream's values.

use numpy::ndarray::{Dimension as _, IntoDimension};
use numpy::prelude::*;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAny;
use schwann::{Flush, Outlet, Value};

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
pub(crate) fn push(
    outlet: &Outlet,
    values: &Bound<'_, PyAny>,
    stamps: Stamps<'_>,
    flush: Flush,
) -> PyResult<()> {
    let outcome = None
        .or_else(|| push_as::<f32>(outlet, values, stamps, flush))
        .or_else(|| push_as::<f64>(outlet, values, stamps, flush))
        .or_else(|| push_as::<i16>(outlet, values, stamps, flush))
        .or_else(|| push_as::<i32>(outlet, values, stamps, flush))
        .or_else(|| push_as::<i64>(outlet, values, stamps, flush))
        .or_else(|| push_as::<i8>(outlet, values, stamps, flush));
    let py = values.py();
    outcome
        .unwrap_or_else(|| Err(exception(py, Kind::Argument, "The array's type is none that streams have.")))
}

/// Pushes an array of this very type; nothing if it is of another.
fn push_as<T: Element + Value>(
    outlet: &Outlet,
    values: &Bound<'_, PyAny>,
    stamps: Stamps<'_>,
    flush: Flush,
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
        Stamps::Each(stamps) => outlet.push_chunk_stamped(numbers, stamps, flush),
        Stamps::Last(stamp) => outlet.push_chunk(numbers, stamp, flush),
        Stamps::Only(stamp) => outlet.push_sample(numbers, stamp, flush),
    });
    Some(pushed.map_err(|error| of_stream(py, error)))
}

/// An array of this shape, such as samples × channels. What is in it does not matter, so a large one is not cleared first.
/// numpy would let other threads run while it clears one, and if the interpreter ended then, this thread would end in here.
///
/// - Errors: numpy's, if there is no memory for so many.
pub(crate) fn room<'py, T: Element, S: IntoDimension>(
    py: Python<'py>,
    shape: S,
) -> PyResult<Bound<'py, PyArray<T, S::Dim>>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let shape = shape.into_dimension();
    let bytes = shape.size_checked().and_then(|values| values.checked_mul(size_of::<T>()));
    if bytes.is_some_and(|bytes| bytes < CLEARED) {
        return Ok(PyArray::zeros(py, shape, false));
    }
    let empty = EMPTY.import(py, "numpy", "empty")?;
    Ok(empty.call1((shape.slice(), numpy::dtype::<T>(py)))?.cast_into()?)
}

/// Has `fill` put samples into arrays of the caller's.
///
/// - Errors: `ArgumentError` for arrays of another type or shape.
pub(crate) fn filled_into<T: Element + Send>(
    values: &Bound<'_, PyAny>,
    stamps: &Bound<'_, PyAny>,
    channels: usize,
    fill: impl FnOnce(&mut [T], &mut [f64]) -> PyResult<usize>,
) -> PyResult<usize> {
    let unfit = || {
        let message = "The arrays must be contiguous and writable: samples × channels of the stream's type, and a float64 for each sample.";
        exception(values.py(), Kind::Argument, message)
    };
    let values: &Bound<'_, PyArray2<T>> = values.cast().map_err(|_| unfit())?;
    let stamps: &Bound<'_, PyArray1<f64>> = stamps.cast().map_err(|_| unfit())?;
    if values.shape()[1] != channels || values.shape()[0] != stamps.len() {
        return Err(unfit());
    }
    let mut values = values.try_readwrite().map_err(|_| unfit())?;
    let mut stamps = stamps.try_readwrite().map_err(|_| unfit())?;
    let values = values.as_slice_mut().map_err(|_| unfit())?;
    fill(values, stamps.as_slice_mut().map_err(|_| unfit())?)
}

/// Makes arrays for `rows` samples, has `fill` put samples in, and returns as much as it says it has.
pub(crate) fn filled<'py, T: Element + Send>(
    py: Python<'py>,
    rows: usize,
    channels: usize,
    fill: impl FnOnce(&mut [T], &mut [f64]) -> PyResult<usize>,
) -> PyResult<Rows<'py>> {
    let values = room::<T, _>(py, [rows, channels])?;
    let stamps = room::<f64, _>(py, [rows])?;
    let count = fill(values.readwrite().as_slice_mut()?, stamps.readwrite().as_slice_mut()?)?;
    if count == rows {
        return Ok((values.into_any(), stamps));
    }
    // Views: what was not filled is seldom much.
    let first = pyo3::types::PySlice::new(py, 0, count.try_into()?, 1);
    let stamps = stamps.get_item(&first)?.cast_into::<PyArray1<f64>>()?;
    Ok((values.get_item(&first)?, stamps))
}

/// Bytes that numpy clears without letting go of the interpreter.
///
/// - Source: numpy `npy_alloc_cache_zero`, whose cache has blocks of less.
const CLEARED: usize = 1024;
