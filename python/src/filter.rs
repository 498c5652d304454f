//! Causal filters, as cascades of second-order sections.

use std::sync::{Mutex, PoisonError};

use numpy::prelude::*;
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{Kind, exception};

/// A cascade of sections, with the state of each channel in each section.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Filter {
    /// b0, b1, b2, a1, a2 of each section, with a0 = 1.
    sections: Vec<[f64; 5]>,
    channels: usize,
    /// Two numbers for each section, and there for each channel: the delays of the transposed direct form II.
    state: Mutex<Vec<[f64; 2]>>,
}

#[pymethods]
impl Filter {
    /// Makes a filter at rest; each section is b0, b1, b2, a0, a1, a2.
    #[new]
    fn new(py: Python<'_>, sections: Vec<[f64; 6]>, channels: usize) -> PyResult<Self> {
        let usable =
            |section: &[f64; 6]| section.iter().all(|number| number.is_finite()) && section[3] != 0.0;
        if sections.is_empty() || channels == 0 || !sections.iter().all(usable) {
            let message =
                "A filter has channels and sections, each of six finite numbers with a0 other than 0.";
            return Err(exception(py, Kind::Argument, message));
        }
        let scaled = |[b0, b1, b2, a0, a1, a2]: [f64; 6]| [b0, b1, b2, a1, a2].map(|number| number / a0);
        let state = Mutex::new(vec![[0.0; 2]; sections.len() * channels]);
        Ok(Self { sections: sections.into_iter().map(scaled).collect(), channels, state })
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
        let filtered = PyArray2::<f64>::zeros(py, [samples.shape()[0], self.channels], false);
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
        for (section, delays) in self.sections.iter().zip(state.chunks_exact_mut(self.channels)) {
            for row in output.chunks_exact_mut(self.channels) {
                for (value, delay) in row.iter_mut().zip(&mut *delays) {
                    *value = step(section, *value, delay);
                }
            }
        }
    }
}

/// One value through one section: transposed direct form II, as `scipy.signal.sosfilt`.
fn step([b0, b1, b2, a1, a2]: &[f64; 5], value: f64, delay: &mut [f64; 2]) -> f64 {
    let filtered = b0 * value + delay[0];
    *delay = [b1 * value - a1 * filtered + delay[1], b2 * value - a2 * filtered];
    filtered
}
