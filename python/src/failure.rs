//! What the engine reports, as exceptions of the package.

use pyo3::prelude::*;
use schwann::{Error, ResolveError};

/// An exception that the package defines in `_errors.py`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Argument,
    Closed,
    Error,
    Forked,
    Lost,
    TimedOut,
    Unsealed,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Argument => "ArgumentError",
            Self::Closed => "ClosedError",
            Self::Error => "Error",
            Self::Forked => "ForkedError",
            Self::Lost => "LostError",
            Self::TimedOut => "TimedOutError",
            Self::Unsealed => "UnsealedError",
        }
    }
}

/// The exception of this kind, with this message.
pub(crate) fn exception(py: Python<'_>, kind: Kind, message: impl Into<String>) -> PyErr {
    let made = py
        .import("schwann._errors")
        .and_then(|module| module.getattr(kind.name()))
        .and_then(|class| class.call1((message.into(),)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// What went wrong with an outlet or an inlet.
pub(crate) fn of_stream(py: Python<'_>, error: Error) -> PyErr {
    let kind = match error {
        Error::Argument(_) | Error::ChunkShape => Kind::Argument,
        Error::Forked => Kind::Forked,
        Error::Lost => Kind::Lost,
        Error::Timeout => Kind::TimedOut,
        Error::Unsealed => Kind::Unsealed,
        _ => Kind::Error,
    };
    exception(py, kind, error.to_string())
}

/// What went wrong with a search.
pub(crate) fn of_search(py: Python<'_>, error: ResolveError) -> PyErr {
    let kind = match error {
        ResolveError::Query(_) => Kind::Argument,
        ResolveError::Unsealed => Kind::Unsealed,
        _ => Kind::Error,
    };
    exception(py, kind, error.to_string())
}

/// The outlet or inlet was closed.
pub(crate) fn closed(py: Python<'_>) -> PyErr {
    exception(py, Kind::Closed, "It was closed: open the stream, or make the outlet, once more.")
}
