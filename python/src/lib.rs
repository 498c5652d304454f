//! The native part of the Python package `schwann`: outlets, inlets and searches, as numpy arrays and plain values.
//!
//! The package in `schwann/` gives them their Python names, types and defaults; programs use that. Unsafe code is only
//! what pyo3 generates.
//!
//! Handlers of signals run in the main thread. Nothing else of a program is called from here, and no function of C that
//! lets go of the interpreter. Before 3.14, CPython ends a thread that comes back to an interpreter that ends, and below
//! Rust's frames that ends the process. pyo3 keeps such a thread in `detach`.
#![deny(unsafe_code)]

mod bell;
mod element;
mod failure;
mod filter;
mod info;
mod inlet;
mod keys;
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
    use super::bell::{Bell, Readable};
    #[pymodule_export]
    use super::element::Element;
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::info::Info;
    #[pymodule_export]
    use super::inlet::{Alarms, Inlet};
    #[pymodule_export]
    use super::keys::{
        Membership, key_status, library_info, policy_of, set_config_content, set_config_filename,
    };
    #[pymodule_export]
    use super::outlet::Outlet;
    #[pymodule_export]
    use super::recorder::Recorder;
    #[pymodule_export]
    use super::recording::{Recorded, read_xdf};
    #[pymodule_export]
    use super::search::{Search, resolve};

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Seconds on this computer's clock, which stamps are of.
    #[pyo3::pyfunction]
    fn local_clock() -> f64 {
        schwann::local_clock()
    }

    /// The newest version of the protocol that streams are delivered by, times 100.
    #[pyo3::pyfunction]
    fn protocol_version() -> i32 {
        schwann::Context::get().tuning.protocol_version.min(schwann::PROTOCOL_VERSION)
    }

    /// Tells the engine that this process is the child of a fork.
    #[pyo3::pyfunction]
    fn note_fork() {
        schwann::note_fork();
    }
}
