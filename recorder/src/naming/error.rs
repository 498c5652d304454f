//! Why a recording has no name.

use core::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no name for a recording.
#[derive(Debug)]
#[non_exhaustive]
pub enum NameError {
    /// A part of the name is none that a file can safely have.
    Unsafe(String),
    /// The folder is not in the one that recordings may be in.
    Outside {
        /// What was asked for.
        folder: PathBuf,
        /// Where recordings may be.
        base: PathBuf,
    },
    /// All numbers of runs are taken in this folder.
    NoRunFree(PathBuf),
    /// The folder cannot be made.
    Folder(PathBuf, io::Error),
}

impl fmt::Display for NameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsafe(part) => write!(out, "{part:?} is no part of a file's name"),
            Self::Outside { folder, base } => write!(
                out,
                "{} is not in {}: start schwann record with --folder to record elsewhere",
                folder.display(),
                base.display()
            ),
            Self::NoRunFree(folder) => write!(out, "{}: no run number is free", folder.display()),
            Self::Folder(folder, error) => write!(out, "{}: {error}", folder.display()),
        }
    }
}

impl core::error::Error for NameError {}
