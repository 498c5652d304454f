//! What can go wrong while recording, by who must act.

use core::fmt;
use std::io;

use crate::header::HeaderError;

/// Why the file cannot be created.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CreateError {
    /// A file of this name exists. Choose another: recordings are never replaced.
    Exists,
    /// The folder does not exist.
    NoFolder,
    /// A sealed file was requested, and there is no key to seal it to.
    NoRecipient,
    /// Writing there is not permitted.
    NotPermitted,
    /// A file was requested that is compressed and sealed, and no reader has both.
    SealedPacked,
    /// The disk refused.
    Failed(Failure),
}

impl From<io::Error> for CreateError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists,
            io::ErrorKind::NotFound => Self::NoFolder,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::NotPermitted,
            _ => Self::Failed(Failure::from(error)),
        }
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => out.write_str(
                "a file or folder of this name exists already, and none is ever replaced; name another file",
            ),
            Self::NoFolder => out.write_str("the folder does not exist; make it, or name a file in another"),
            Self::NoRecipient => out.write_str("there is no key to seal it to"),
            Self::NotPermitted => {
                out.write_str("writing there is not permitted; name a file in another folder")
            }
            Self::SealedPacked => {
                out.write_str("a sealed recording cannot be compressed, too: name it .xdf and not .xdfz")
            }
            Self::Failed(Failure::Full) => {
                write!(out, "{}; make room, or name a file on another disk", Failure::Full)
            }
            Self::Failed(failure) => failure.fmt(out),
        }
    }
}

impl core::error::Error for CreateError {}

/// Why a stream cannot be added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AddStreamError {
    /// No reader can use the header.
    Header(HeaderError),
    /// The file has a stream of this id.
    IdTaken,
    /// The recording has ended early.
    Failed(Failure),
}

impl fmt::Display for AddStreamError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => error.fmt(out),
            Self::IdTaken => out.write_str("the recording has a stream of this id already"),
            Self::Failed(failure) => failure.fmt(out),
        }
    }
}

impl core::error::Error for AddStreamError {}

/// Why samples were not taken. Nothing of the call is then recorded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PushError {
    /// The disk does not keep up and memory is at its limit: push again later.
    Backlogged,
    /// The recording has been finished.
    Finished,
    /// The values are not of the stream's format.
    Format,
    /// The number of values is not stamps × channels.
    Shape,
    /// The recording has ended early.
    Failed(Failure),
}

impl fmt::Display for PushError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backlogged => out.write_str("the disk does not keep up with the recording"),
            Self::Finished => out.write_str("the recording has been finished"),
            Self::Format => out.write_str("the values are not of the stream's format"),
            Self::Shape => out.write_str("the number of values is not samples × channels"),
            Self::Failed(failure) => failure.fmt(out),
        }
    }
}

impl core::error::Error for PushError {}

/// Why a recording ended early. What was written before it is whole and readable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The disk reported an error of its own (EIO): do not trust it.
    Device,
    /// The disk, or the user's share of it, is full.
    Full,
    /// The file is not where it was made any more.
    Gone,
    /// A thread of the writer ended; a defect of this crate.
    Internal,
    /// The file may not grow further: the file system's or the process's limit.
    TooLarge,
    /// Another refusal of the operating system, with its number for it.
    Other {
        /// What the standard library makes of it.
        kind: io::ErrorKind,
        /// `errno`, or what `GetLastError` says.
        code: Option<i32>,
    },
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ if error.raw_os_error() == Some(EIO) => Self::Device,
            kind => Self::Other { kind, code: error.raw_os_error() },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => out.write_str("the disk reports an input/output error"),
            Self::Full => out.write_str("the disk is full"),
            Self::Gone => out.write_str("the file was moved or deleted while it was recorded"),
            Self::Internal => out.write_str("the writer's thread ended unexpectedly"),
            Self::TooLarge => out.write_str("the file reached the largest size permitted"),
            Self::Other { code: Some(code), .. } => {
                write!(out, "the system refused: {}", io::Error::from_raw_os_error(*code))
            }
            Self::Other { kind, code: None } => write!(out, "the system refused: {kind}"),
        }
    }
}

impl core::error::Error for Failure {}

/// Equal on every Unix; the standard library has no name for it.
const EIO: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refused_is_named_as_the_system_names_it() {
        let error = io::Error::from_raw_os_error(24);
        let named = error.to_string();
        assert_eq!(Failure::from(error).to_string(), format!("the system refused: {named}"));
        let unnumbered = Failure::from(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(unnumbered.to_string(), "the system refused: permission denied");
    }
}
