//! Causal filters, as cascades of second-order sections.

use std::sync::{Mutex, PoisonError};

use numpy::prelude::*;
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use schwann_recorder::Sections;

use crate::failure::{Kind, exception};
use crate::rows::room;

/// A cascade of sections, with the state of each channel in each section.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Filter {
    sections: Sections,
    channels: usize,
    /// Two numbers for each section, and there for each channel: the delays of the transposed direct form II.
    state: Mutex<Vec<[f64; 2]>>,
}

#[pymethods]
impl Filter {
    /// Makes a filter at rest; each section is b0, b1, b2, a0, a1, a2.
    #[new]
    fn new(py: Python<'_>, sections: Vec<[f64; 6]>, channels: usize) -> PyResult<Self> {
        let length = sections.len();
        let Some(sections) = Sections::new(&sections).filter(|_| length > 0 && channels > 0) else {
            let message =
                "A filter has channels and sections, each of six finite numbers with a0 other than 0.";
            return Err(exception(py, Kind::Argument, message));
        };
        let state = Mutex::new(vec![[0.0; 2]; length * channels]);
        Ok(Self { sections, channels, state })
    }

    /// Filters samples × channels, and goes on from there the next time.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        samples: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if samples.shape()[1] != self.channels || !samples.is_c_contiguous() {
            let message = format!("The filter takes samples × {} channels.", self.channels);
            return Err(exception(py, Kind::Argument, message));
        }
        let filtered = room::<f64, _>(py, [samples.shape()[0], self.channels])?;
        let (input, mut output) = (samples.as_slice()?, filtered.readwrite());
        let output = output.as_slice_mut()?;
        py.detach(|| self.run(input, output));
        Ok(filtered)
    }

    /// Forgets what came before.
    fn reset(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).fill([0.0; 2]);
    }
}

impl Filter {
    fn run(&self, input: &[f64], output: &mut [f64]) {
        output.copy_from_slice(input);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.sections.run(output, self.channels, &mut state);
    }
}
