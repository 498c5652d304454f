//! Why a recording does not go on.

use core::fmt;
use std::io;
use std::path::PathBuf;

use schwann_xdf::{CreateError, Failure};

/// Why a recording does not go on.
#[derive(Debug)]
pub enum RecordingError {
    /// The file cannot be created.
    Create(PathBuf, CreateError),
    /// The disk takes nothing, or gives nothing back.
    Disk(io::Error),
    /// Another program records into this file, or its folder cannot be held for this one.
    Held(io::Error),
    /// There is a file already.
    Exists(PathBuf),
    /// The file could not be completed.
    Write(PathBuf, Failure),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = "what was receipted is kept, and the same command goes on with it";
        match self {
            Self::Create(path, error) => write!(out, "{}: {error}; {same}", path.display()),
            Self::Disk(error) => write!(out, "the recording's disk: {error}; give it room: {same}"),
            Self::Held(error) => error.fmt(out),
            Self::Exists(path) => {
                write!(out, "{} exists, and a recording is never replaced; name another file", path.display())
            }
            Self::Write(path, failure) => write!(
                out,
                "{} is not complete: {failure}; remove it, give the disk room: {same}",
                path.display()
            ),
        }
    }
}

impl core::error::Error for RecordingError {}
