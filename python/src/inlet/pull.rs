//! Pulls of numbers, until there are as many as the caller wants or its patience ends.

use numpy::Element;
use pyo3::prelude::*;
use schwann::Value;

use super::Inlet;
use crate::patience::Patience;
use crate::rows::{Rows, filled, filled_into};

impl Inlet {
    pub(super) fn pull_as<'py, T: Element + Send + Value>(
        &self,
        py: Python<'py>,
        rows: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Rows<'py>> {
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        let rows = self.rows_to_pull(py, &inlet, rows, patience)?;
        filled::<T>(py, rows, self.channels, |values, stamps| self.fill(py, &inlet, patience, values, stamps))
    }

    /// Pulls until the arrays are full, or as long as `patience` lasts; returns how many samples that were.
    fn fill<T: Send + Value>(
        &self,
        py: Python<'_>,
        inlet: &schwann::Inlet,
        patience: Patience,
        values: &mut [T],
        stamps: &mut [f64],
    ) -> PyResult<usize> {
        let channels = self.channels;
        let mut done = 0;
        self.wait(py, patience, |turn| {
            match inlet.pull_chunk(&mut values[done * channels..], &mut stamps[done..], turn) {
                Ok(count) => done += count,
                Err(error) if done == 0 => return Some(Err(error)),
                Err(_) => return Some(Ok(())),
            }
            (done == stamps.len()).then_some(Ok(()))
        })?;
        Ok(done)
    }

    /// How many samples to make room for: the requested number, or all at hand once there is one.
    pub(super) fn rows_to_pull(
        &self,
        py: Python<'_>,
        inlet: &schwann::Inlet,
        rows: Option<usize>,
        patience: Patience,
    ) -> PyResult<usize> {
        if let Some(rows) = rows {
            return Ok(rows);
        }
        let there_is_one = self.wait(py, patience, |turn| match inlet.wait_for_sample(turn) {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })?;
        Ok(there_is_one.map_or(0, |()| inlet.samples_available()))
    }

    pub(super) fn pull_into_as<T: Element + Send + Value>(
        &self,
        values: &Bound<'_, PyAny>,
        stamps: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let py = values.py();
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        filled_into::<T>(values, stamps, self.channels, |values, stamps| {
            self.fill(py, &inlet, patience, values, stamps)
        })
    }
}
