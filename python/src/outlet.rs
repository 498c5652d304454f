//! Outlets.

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use schwann::outlet::{ConsumerStatus, Delivery, Pace};
use schwann::{BufferUnit, Error, Flush, OutletOptions, TRANSPORT_SYNC_BLOCKING};

use crate::failure::{Kind, closed, exception, of_stream};
use crate::info::Info;
use crate::patience::Patience;
use crate::rows::{self, Stamps};

/// The sending end of a stream; any thread may use it.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Outlet(Mutex<Option<Arc<schwann::Outlet>>>);

#[pymethods]
impl Outlet {
    /// Makes the stream known. `chunk_samples` are sent at a time, 0 as they come. For a lagging consumer,
    /// `buffer_length` of samples is kept: seconds, unless the transport flags of the C interface say
    /// otherwise.
    #[new]
    #[pyo3(signature = (info, chunk_samples, buffer_length, flags=0))]
    fn new(
        py: Python<'_>,
        info: &Info,
        chunk_samples: u32,
        buffer_length: i32,
        flags: i32,
    ) -> PyResult<Self> {
        let Some(buffer_unit) = BufferUnit::from_transport_flags(flags) else {
            return Err(exception(py, Kind::Argument, "The buffer's length has two units: set one flag."));
        };
        let is_synchronous = flags & TRANSPORT_SYNC_BLOCKING != 0;
        let delivery = if is_synchronous { Delivery::Synchronous } else { Delivery::Queued };
        let options = OutletOptions { chunk_samples, buffer_length, buffer_unit, delivery };
        let info = info.lock().clone();
        let made = py.detach(|| schwann::Outlet::new(&info, &options));
        made.map(|outlet| Self(Mutex::new(Some(Arc::new(outlet))))).map_err(|error| of_stream(py, error))
    }

    /// Pushes one sample of numbers; with `later`, it is sent with a later push.
    #[pyo3(signature = (values, stamp, later=false))]
    fn push_sample(&self, values: &Bound<'_, PyAny>, stamp: f64, later: bool) -> PyResult<()> {
        rows::push(&*self.open(values.py())?, values, Stamps::Only(stamp), flush(later))
    }

    /// Pushes samples × channels of numbers; `stamp` is that of the last.
    #[pyo3(signature = (values, stamp, later=false))]
    fn push_chunk(&self, values: &Bound<'_, PyAny>, stamp: f64, later: bool) -> PyResult<()> {
        rows::push(&*self.open(values.py())?, values, Stamps::Last(stamp), flush(later))
    }

    /// Pushes samples × channels of numbers with a stamp each.
    #[pyo3(signature = (values, stamps, later=false))]
    fn push_stamped(
        &self,
        values: &Bound<'_, PyAny>,
        stamps: PyReadonlyArray1<'_, f64>,
        later: bool,
    ) -> PyResult<()> {
        let stamps = contiguous(values.py(), &stamps)?;
        rows::push(&*self.open(values.py())?, values, Stamps::Each(stamps), flush(later))
    }

    /// Pushes one sample of strings.
    #[pyo3(signature = (strings, stamp, later=false))]
    fn push_strings(&self, py: Python<'_>, strings: Vec<Text>, stamp: f64, later: bool) -> PyResult<()> {
        self.push_texts(py, &strings, |outlet, texts| outlet.push_strings(texts, stamp, flush(later)))
    }

    /// Pushes samples × channels of strings, row by row; `stamp` is that of the last.
    #[pyo3(signature = (strings, stamp, later=false))]
    fn push_string_chunk(&self, py: Python<'_>, strings: Vec<Text>, stamp: f64, later: bool) -> PyResult<()> {
        self.push_texts(py, &strings, |outlet, texts| outlet.push_string_chunk(texts, stamp, flush(later)))
    }

    /// Pushes samples × channels of strings, row by row, with a stamp for each row.
    #[pyo3(signature = (strings, stamps, later=false))]
    fn push_stamped_strings(
        &self,
        py: Python<'_>,
        strings: Vec<Text>,
        stamps: PyReadonlyArray1<'_, f64>,
        later: bool,
    ) -> PyResult<()> {
        let stamps = contiguous(py, &stamps)?;
        self.push_texts(py, &strings, |outlet, texts| {
            outlet.push_string_chunk_stamped(texts, stamps, flush(later))
        })
    }

    /// Waits until `count` inlets receive the stream, and says whether they do.
    fn wait_for_consumers(&self, py: Python<'_>, count: usize, timeout: Option<f64>) -> PyResult<bool> {
        let patience = Patience::seconds(py, timeout)?;
        let met = |outlet: &schwann::Outlet, turn| outlet.wait_for_consumers(count, Some(turn)).then_some(());
        Ok(self.wait(py, patience, met)?.is_some())
    }

    /// Waits until the system has all samples for all inlets.
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let patience = Patience::seconds(py, timeout)?;
        let sent = self.wait(py, patience, |outlet, turn| match outlet.flush(Some(turn)) {
            Err(Error::Timeout) => None,
            other => Some(other),
        })?;
        sent.unwrap_or(Err(Error::Timeout)).map_err(|error| of_stream(py, error))
    }

    /// The description as it is on the network.
    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        Ok(Info::of(self.open(py)?.info().clone()))
    }

    /// Each receiver: its name, the samples it was too slow for, and the bytes that wait for it. Then what its
    /// program said: the seconds by which it is behind, and how many samples it skipped.
    fn consumers(&self, py: Python<'_>) -> PyResult<Vec<Receiver>> {
        let describe = |one: ConsumerStatus| {
            let skipped = one.report.map_or(0, |report| report.skipped);
            let behind = one.report.filter(|report| report.pace == Pace::Behind);
            let lag = behind.map_or(0.0, |report| report.lag);
            (one.name, one.dropped_samples, one.waiting_bytes, lag, skipped)
        };
        Ok(self.open(py)?.consumers().into_iter().map(describe).collect())
    }

    #[getter]
    fn consumer_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.open(py)?.consumer_count())
    }

    #[getter]
    fn dropped_samples(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open(py)?.dropped_samples())
    }

    #[getter]
    fn buffered_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.open(py)?.buffered_bytes())
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.slot().is_none()
    }

    /// Ends the stream, and the waits of other threads.
    fn close(&self, py: Python<'_>) {
        let outlet = self.slot().take();
        py.detach(move || drop(outlet));
    }
}

impl Outlet {
    fn slot(&self) -> MutexGuard<'_, Option<Arc<schwann::Outlet>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<schwann::Outlet>> {
        self.slot().clone().ok_or_else(|| closed(py))
    }

    /// Waits as `patience` says, until `step` has an outcome or another thread closes the outlet.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        patience: Patience,
        mut step: impl FnMut(&schwann::Outlet, Duration) -> Option<T> + Send,
    ) -> PyResult<Option<T>> {
        // Held for one turn at a time: the stream ends once no thread holds the outlet.
        let turn = |turn| {
            let Some(outlet) = self.slot().clone() else { return Some(None) };
            step(&outlet, Duration::from_secs_f64(turn)).map(Some)
        };
        patience.wait(py, turn)?.map(|outcome| outcome.ok_or_else(|| closed(py))).transpose()
    }

    fn push_texts(
        &self,
        py: Python<'_>,
        strings: &[Text],
        push: impl FnOnce(&schwann::Outlet, &[&[u8]]) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let outlet = self.open(py)?;
        let texts: Vec<&[u8]> = strings.iter().map(Text::as_bytes).collect();
        py.detach(|| push(&outlet, &texts)).map_err(|error| of_stream(py, error))
    }
}

/// A value of a stream of strings, which may be any bytes.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Characters(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Text {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Characters(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

fn flush(later: bool) -> Flush {
    if later { Flush::Later } else { Flush::Now }
}

fn contiguous<'a>(py: Python<'_>, stamps: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
    stamps.as_slice().map_err(|_| exception(py, Kind::Argument, "The array of stamps is not contiguous."))
}

/// A receiver as Python gets it: name, dropped samples, waiting bytes, seconds behind, skipped samples.
type Receiver = (String, u64, u64, f64, u64);
