//! Pulls of numbers, until there are as many as the caller wants or its patience ends.

use numpy::Element;
use pyo3::prelude::*;
use schwann::Value;

use super::Inlet;
use crate::patience::Patience;
use crate::rows::{Rows, filled, filled_into};

impl Inlet {
    pub(super) fn pull_as<'py, T: Copy + Element + Send + Value>(
        &self,
        py: Python<'py>,
        rows: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Rows<'py>> {
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        let room = self.rows_to_pull(py, &inlet, rows, patience)?;
        let enough = rows.unwrap_or(1);
        filled::<T>(py, room, self.channels, |values, stamps| {
            self.fill(py, &inlet, patience, enough, values, stamps)
        })
    }

    /// Pulls until there are `enough` samples, or as long as `patience` lasts; returns how many there are. Another thread may have
    /// taken what this one made room for.
    ///
    /// What a signal breaks off is kept for the next pull.
    fn fill<T: Copy + Send + Value + 'static>(
        &self,
        py: Python<'_>,
        inlet: &schwann::Inlet,
        patience: Patience,
        enough: usize,
        values: &mut [T],
        stamps: &mut [f64],
    ) -> PyResult<usize> {
        let channels = self.channels;
        let (first, first_stamps) = self.kept.take::<T>(stamps.len(), channels);
        let mut done = first_stamps.len();
        values.iter_mut().zip(first).for_each(|(room, value)| *room = value);
        stamps.iter_mut().zip(first_stamps).for_each(|(room, stamp)| *room = stamp);
        if done == stamps.len() {
            return Ok(done);
        }
        let enough = enough.min(stamps.len());
        let waited = self.wait(py, patience, |turn| {
            match inlet.pull_chunk(&mut values[done * channels..], &mut stamps[done..], turn) {
                Ok(count) => done += count,
                Err(error) if done == 0 => return Some(Err(error)),
                Err(_) => return Some(Ok(())),
            }
            (done >= enough).then_some(Ok(()))
        });
        if let Err(broken_off) = waited {
            let values = values.iter().take(done * channels).copied().collect::<Vec<T>>();
            self.kept.keep(values, stamps.iter().take(done).copied().collect());
            return Err(broken_off);
        }
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
        if self.kept.count() > 0 {
            return Ok(self.kept.count() + inlet.samples_available());
        }
        let there_is_one = self.wait(py, patience, |turn| match inlet.wait_for_sample(turn) {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })?;
        Ok(there_is_one.map_or(0, |()| inlet.samples_available()))
    }

    pub(super) fn pull_into_as<T: Copy + Element + Send + Value>(
        &self,
        values: &Bound<'_, PyAny>,
        stamps: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let py = values.py();
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        filled_into::<T>(values, stamps, self.channels, |values, stamps| {
            self.fill(py, &inlet, patience, stamps.len(), values, stamps)
        })
    }
}
