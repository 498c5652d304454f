//! An inlet that a call holds while other threads may close it.

use core::ops::Deref;
use std::sync::Arc;

use pyo3::prelude::*;

/// An inlet for the length of a call. If it was closed meanwhile, its end waits for its threads. They may call an
/// alarm and wait for the interpreter, so the interpreter is not held then.
pub(super) struct Live(pub(super) Option<Arc<schwann::Inlet>>);

impl Deref for Live {
    type Target = schwann::Inlet;

    fn deref(&self) -> &schwann::Inlet {
        self.0.as_ref().expect("it is given up when it is dropped")
    }
}

impl Live {
    pub(super) fn share(&self) -> Arc<schwann::Inlet> {
        Arc::clone(self.0.as_ref().expect("it is given up when it is dropped"))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(inlet) = self.0.take().and_then(Arc::into_inner) {
            let mut inlet = Some(inlet);
            let _ = Python::try_attach(|py| py.detach(|| drop(inlet.take())));
        }
    }
}
