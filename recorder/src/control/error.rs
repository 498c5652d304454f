//! Why a recorder that is driven did not do what it was asked for.

use core::fmt;
use std::path::PathBuf;

use schwann_xdf::{CreateError, Failure, PushError};

use crate::naming::NameError;
use crate::sealing::SealingError;
use crate::search::Missing;

/// A file that takes no more, and why.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The file.
    pub path: PathBuf,
    /// What happened.
    pub failure: Failure,
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, failure) = (self.path.display(), self.failure);
        write!(out, "{path}: {failure}; what was recorded before is in the file and readable")
    }
}

/// Why the recorder did not do what it was asked for. Each says so in one sentence.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// There is a recording already.
    Recording(PathBuf),
    /// There is no recording.
    Idle,
    /// Required streams are not there.
    Missing(Missing),
    /// There is no name for the file.
    Name(NameError),
    /// It is not known to whom to seal the file.
    Sealing(SealingError),
    /// The file cannot be made.
    Create(PathBuf, CreateError),
    /// The file does not take a note.
    Annotate(PushError),
    /// The file takes no more.
    Failed(Failed),
}

impl fmt::Display for ControlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording(path) => write!(out, "{} is being recorded already", path.display()),
            Self::Idle => out.write_str("nothing is being recorded"),
            Self::Missing(missing) => write!(out, "{missing}; nothing was recorded"),
            Self::Name(error) => error.fmt(out),
            Self::Sealing(error) => error.fmt(out),
            Self::Create(path, error) => write!(out, "{}: {error}", path.display()),
            Self::Annotate(error) => write!(out, "the note is not in the file: {error}"),
            Self::Failed(failed) => failed.fmt(out),
        }
    }
}

impl core::error::Error for ControlError {}
