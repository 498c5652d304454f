//! The TCP conversation before samples flow: what an inlet asks, and what an outlet answers.
//!
//! An outlet feeds what it received to a [`RequestReader`] and lets its [`Offer`] decide. It sends the
//! response of the [`Agreement`] or the status line of the [`Refusal`]. An inlet encodes a [`FeedRequest`]
//! and feeds what comes back to a [`ResponseReader`]. Both readers see all bytes received so far and keep
//! none. lsl-wire §10, §11, §14 (the older request).
//!
//! Not here: the test pattern that follows ([`super::test_pattern`]) and the samples ([`super::sample`],
//! [`super::archive`]).

mod agreement;
mod header;
mod report;
mod request;
mod response;

pub use agreement::{Agreement, Offer, Preamble, Refusal};
pub use report::{Malformed, Pace, REPORT_LIMIT, Report};
pub use request::{Command, FeedRequest, REQUEST_LIMIT, RequestError, RequestReader};
pub use response::{Expected, RESPONSE_LIMIT, Response, ResponseError, ResponseReader};

/// How samples travel on a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DataProtocol {
    /// Protocol 1.00: a portable archive, always little endian ([`super::archive`]).
    Archive,
    /// Protocol 1.10: plain values ([`super::sample`]).
    Plain,
}

impl DataProtocol {
    /// Returns the version number that headers use.
    pub const fn version(self) -> i32 {
        match self {
            Self::Archive => crate::stream::PROTOCOL_VERSION_ARCHIVE,
            Self::Plain => crate::stream::PROTOCOL_VERSION,
        }
    }

    /// Returns what a version number stands for: anything below 110 is the archive.
    pub const fn from_version(version: i32) -> Self {
        if version >= crate::stream::PROTOCOL_VERSION { Self::Plain } else { Self::Archive }
    }
}

#[cfg(test)]
mod tests;
