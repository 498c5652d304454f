//! Samples that a pull had taken when a signal broke it off, such as Ctrl-C: the next pull begins with them.

use core::any::Any;
use std::sync::{Mutex, PoisonError};

/// Samples that were taken from the inlet and given to no one.
#[derive(Default)]
pub(super) struct Kept(Mutex<Samples>);

#[derive(Default)]
struct Samples {
    stamps: Vec<f64>,
    /// A `Vec` of values, samples × channels; of one type for one stream.
    values: Option<Box<dyn Any + Send>>,
}

impl Kept {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().stamps.len()
    }

    /// Keeps these for the next pull.
    pub(super) fn keep<T: Send + 'static>(&self, values: Vec<T>, stamps: Vec<f64>) {
        if !stamps.is_empty() {
            *self.lock() = Samples { stamps, values: Some(Box::new(values)) };
        }
    }

    /// Takes the first ones, at most `rows`.
    pub(super) fn take<T: Send + 'static>(&self, rows: usize, channels: usize) -> (Vec<T>, Vec<f64>) {
        let mut samples = self.lock();
        let Samples { mut stamps, values } = core::mem::take(&mut *samples);
        let values = values.and_then(|values| values.downcast::<Vec<T>>().ok());
        let mut values = values.map_or_else(Vec::new, |values| *values);
        if stamps.len() > rows {
            let rest = values.split_off(rows.saturating_mul(channels).min(values.len()));
            *samples = Samples { stamps: stamps.split_off(rows), values: Some(Box::new(rest)) };
        }
        (values, stamps)
    }

    /// Drops them; returns how many there were.
    pub(super) fn drop_all(&self) -> usize {
        core::mem::take(&mut *self.lock()).stamps.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Samples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
