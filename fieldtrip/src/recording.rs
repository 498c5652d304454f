//! Recording folders: what the original's `recording` writes and its `playback` and MATLAB read.
//!
//! ```text
//! DIR/contents.txt
//! DIR/0001/header       a header as it travels, totals filled in at the end
//!          header.txt   the same for people
//!          samples      values, sample by sample; samples1, samples2 … when a file would exceed 2 GiB
//!          events       events as they travel
//!          timing       S COUNT SECONDS or E COUNT SECONDS for each block, since the header
//! ```
//!
//! Each new header begins the next folder; flushes leave no trace. What a recorder has written survives it. Every
//! block goes to the system as it comes. The reader counts the samples in the files instead of believing the
//! totals. Spec: fieldtrip §18.

mod play;
mod reader;
mod record;
mod writer;

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use play::sleep_until;
pub use play::{Due, Item, Playback, Target, play};
pub use reader::{RecordedAcquisition, Timing, acquisitions};
pub use record::{record_buffer, record_follower};
pub use writer::Recording;

use crate::client::ClientError;

/// Why a recording could not be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingError {
    /// The folder is not a recording, or its files contradict each other.
    Damaged(PathBuf),
    /// A file could not be written or read.
    File(PathBuf, io::Error),
    /// Samples or events came before any header.
    NoHeader,
    /// Changes came faster than the disk took them: the recording ends before the acquisition.
    Overflow,
    /// The server that is recorded does not go on; what came before is recorded.
    Server(ClientError),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(path) => write!(f, "{} is not a recording, or damaged", path.display()),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NoHeader => f.write_str("samples or events before any header"),
            Self::Overflow => {
                f.write_str("data came faster than the disk took them: the recording is incomplete")
            }
            Self::Server(error) => write!(f, "{error}; what came before is recorded"),
        }
    }
}

impl core::error::Error for RecordingError {}

fn at_file<T>(path: &Path, outcome: io::Result<T>) -> Result<T, RecordingError> {
    outcome.map_err(|error| RecordingError::File(path.to_owned(), error))
}

/// The name of a continuation of the file of samples.
fn samples_name(number: u32) -> String {
    if number == 0 { "samples".into() } else { format!("samples{number}") }
}

#[cfg(test)]
mod tests;
