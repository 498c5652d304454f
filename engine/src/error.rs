//! What can go wrong with a stream, by who must act.

use core::fmt;

/// Why an operation on a stream did not succeed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The caller broke a rule of the operation; the text says which.
    Argument(&'static str),
    /// A chunk's length does not fit the stream's channels or stamps.
    ChunkShape,
    /// The handle belongs to the parent process from which this one was forked. Make an outlet or inlet of its
    /// own here.
    Forked,
    /// The system refused a socket or a thread; the text says which.
    System(&'static str),
    /// The stream is gone and cannot be recovered: resolve it again.
    Lost,
    /// Nothing happened within the time given: try again.
    Timeout,
    /// The stream's whole description is too long or nested too deep to be read, or lacks what every stream has.
    Undescribed,
    /// Streams must be sealed on this computer, and cannot be: the log and `schwann keys status` say why.
    Unsealed,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(rule) => out.write_str(rule),
            Self::ChunkShape => out.write_str(
                "The number of values must be a multiple of the channel count, and match the number of stamps.",
            ),
            Self::Forked => out.write_str(
                "An outlet or inlet cannot be used in a child of the process that made it: make one after the fork.",
            ),
            Self::System(what) => write!(out, "The operating system refused {what}."),
            Self::Lost => out.write_str(
                "The stream read by this inlet has been lost. To continue reading, you need to re-resolve the source.",
            ),
            Self::Timeout => out.write_str("The operation timed out."),
            Self::Undescribed => out.write_str(
                "The whole description of the stream is too long or nested too deep to be read, or is none: its program \
                 must describe it otherwise.",
            ),
            Self::Unsealed => out.write_str(
                "Streams must be sealed on this computer, and cannot be; `schwann keys status` says why and what \
                 to do.",
            ),
        }
    }
}

impl core::error::Error for Error {}
