//! The native part of the Python package `schwann`: outlets, inlets and searches, as numpy arrays and plain values.
//!
//! The package in `schwann/` gives them their Python names, types and defaults; programs use that. Unsafe code is only
//! what pyo3 generates.
#![deny(unsafe_code)]

mod failure;
mod filter;
mod info;
mod inlet;
mod outlet;
mod patience;
mod recorder;
mod recording;
mod rows;
mod search;

/// The module that the interpreter loads. It holds no Python object of its own, so it needs no global lock.
#[pyo3::pymodule(gil_used = false)]
mod _schwann {
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::info::Info;
    #[pymodule_export]
    use super::inlet::Inlet;
    #[pymodule_export]
    use super::outlet::Outlet;
    #[pymodule_export]
    use super::recorder::Recorder;
    #[pymodule_export]
    use super::recording::{Recorded, read_xdf};
    #[pymodule_export]
    use super::search::resolve;

    /// Seconds on this computer's clock, which stamps are of.
    #[pyo3::pyfunction]
    fn local_clock() -> f64 {
        schwann::local_clock()
    }

    /// Tells the engine that this process is the child of a fork.
    #[pyo3::pyfunction]
    fn note_fork() {
        schwann::note_fork();
    }
}
