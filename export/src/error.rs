//! Why a recording is not exported.

use core::fmt;
use std::io;
use std::path::PathBuf;

use schwann_xdf::ReadError;

/// Why a recording is not exported. No file is left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The recording cannot be read.
    Read(ReadError),
    /// A file cannot be written.
    Write(PathBuf, io::Error),
    /// No stream of the recording is of a kind that the format holds.
    Nothing,
    /// The recording has no streams, or none with samples.
    Empty,
    /// No stream with numbers and a rate is of type EEG, and BIDS has a place for those alone.
    NoEeg,
    /// Streams were asked for that are not there.
    NoSuchStream {
        /// The names that no stream has, and no type either.
        missing: Vec<String>,
        /// The streams' names.
        there: Vec<String>,
    },
    /// A stream's gaps are too long to be filled, and the format has none.
    Gaps {
        /// The stream's name.
        stream: String,
        /// All gaps together, in seconds.
        seconds: f64,
    },
    /// A stream's stamps make no sense, and the format needs a rate.
    Stamps(String),
    /// A stream's stamps stand still, go back or jump all the time, and it shall have another rate.
    NoRate(String),
    /// A stream has more channels than the format counts.
    Channels {
        /// The stream's name.
        stream: String,
        /// Its channels.
        count: usize,
        /// As many fit.
        most: usize,
    },
    /// At the rate that streams shall have, in hertz, none has a sample.
    TooSlow(f64),
    /// A channel's values are beyond what the format holds.
    Range(String),
    /// Texts of one stream differ too much in length for an array.
    Texts(String),
    /// The recording is damaged, and shall be copied as it is.
    Damaged,
    /// There are more events than fit in memory.
    Events,
    /// It was asked to stop.
    Stopped,
    /// A label or text cannot stand in a name of BIDS.
    Label(String),
    /// A library refuses what it was given.
    Library(String),
}

impl fmt::Display for ExportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(out),
            Self::Write(path, error) => write!(out, "{}: {error}", path.display()),
            Self::Nothing => out.write_str(
                "no stream has numbers and a rate, which this format needs; --to csv, npz, mcap or nwb takes every stream",
            ),
            Self::Empty => out.write_str("no stream has samples, so there is nothing to export; schwann verify says what the file has"),
            Self::NoEeg => out.write_str(
                "no stream with numbers and a rate has the type EEG, which BIDS needs; schwann info shows the types; --to csv, npz, mcap \
                 or nwb takes every stream",
            ),
            Self::NoSuchStream { missing, there } => {
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                let missing = missing.join(", ");
                write!(out, "no stream has the name or type {missing}; the streams are: {there}; name one of them with --stream")
            }
            Self::Gaps { stream, seconds } => write!(
                out,
                "{stream} has gaps of {seconds:.0} s, too long to be filled; --to csv, npz, mcap or nwb keeps them"
            ),
            Self::Stamps(stream) => write!(
                out,
                "the stamps of {stream} make no even sequence; --to csv, npz, mcap or nwb keeps them as they are"
            ),
            Self::NoRate(stream) => write!(
                out,
                "the stamps of {stream} stand still, go back or jump, so there is no rate to resample from; leave out --resample, \
                 or name the other streams with --stream"
            ),
            Self::Channels { stream, count, most } => write!(
                out,
                "{stream} has {count} channels, and this format holds {most} at most; --to nwb, npz, mcap or csv takes them all"
            ),
            Self::TooSlow(rate) => write!(
                out,
                "at {rate} Hz no stream has a sample left, as all are shorter than its period; name a higher rate with --resample"
            ),
            Self::Range(channel) => {
                write!(out, "the values of {channel} are beyond what this format holds; --to nwb, npz or csv takes them")
            }
            Self::Texts(stream) => {
                write!(out, "the texts of {stream} are too long for an array; --to csv, mcap or nwb takes them")
            }
            Self::Damaged => out.write_str("the recording is damaged; schwann repair writes what is whole of it"),
            Self::Events => out.write_str("there are more events than fit in memory; --to csv, npz or mcap takes any number"),
            Self::Stopped => out.write_str("stopped before it was done; no file is left"),
            Self::Label(label) => write!(out, "{label:?} is no BIDS label: letters and digits alone"),
            Self::Library(what) => out.write_str(what),
        }
    }
}

impl core::error::Error for ExportError {}

impl From<ReadError> for ExportError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Names the file in an error of writing it.
pub(crate) fn writing(path: &std::path::Path) -> impl Fn(io::Error) -> ExportError + '_ {
    |error| ExportError::Write(path.to_owned(), error)
}
