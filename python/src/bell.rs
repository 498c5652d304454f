//! What event loops wait for.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::failure::of_stream;

/// What wakes an event loop besides bytes; one for each loop.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Bell(pub(crate) Arc<schwann::inlet::Bell>);

#[pymethods]
impl Bell {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let bell = schwann::inlet::Bell::new().map_err(|error| of_stream(py, error))?;
        Ok(Self(Arc::new(bell)))
    }

    fn fileno(&self) -> i64 {
        self.0.descriptor()
    }

    /// Wakes the loop.
    fn ring(&self) {
        self.0.ring();
    }

    /// Lets the loop wait again; look at every stream after it.
    fn clear(&self) {
        self.0.clear();
    }
}

/// What can be read when bytes of a stream have come; its descriptor is there as long as this is.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Readable(pub(crate) schwann::inlet::Readable);

#[pymethods]
impl Readable {
    fn fileno(&self) -> i64 {
        self.0.descriptor()
    }
}
