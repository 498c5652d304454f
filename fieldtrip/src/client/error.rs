use core::fmt;
use std::io;

use crate::socket::is_timeout;
use crate::wire::Family;

/// Why a request has no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ClientError {
    /// What the server sent is no reply to the request: it speaks another protocol or another version.
    Confused,
    /// The connection broke. Whether the request was carried out is not known.
    Disconnected(io::ErrorKind),
    /// The request is too large for the protocol, or contradicts itself.
    Invalid,
    /// The server refused, with this reply code: 261 put, 517 get, 773 flush, 1029 wait. The most frequent
    /// reasons: no header yet, no events yet, or samples that are not in the ring any more.
    Refused(u16),
    /// There was no reply in time. Whether the request was carried out is not known.
    TimedOut,
    /// The host's name has no address. To try again soon does not help.
    UnknownHost,
    /// No connection could be made.
    Unreachable(io::ErrorKind),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confused => f.write_str("the server does not speak this protocol"),
            Self::Disconnected(kind) => write!(f, "the connection broke: {kind}"),
            Self::Invalid => f.write_str("the request is too large or contradicts itself"),
            // The text that scripts know.
            Self::Refused(code) => write!(f, "the buffer returned an error ({code})"),
            Self::TimedOut => f.write_str("no reply in time"),
            Self::UnknownHost => f.write_str(
                "the name of this computer is not known; check how it is written, or use its address",
            ),
            Self::Unreachable(kind) => write!(f, "no connection: {kind}"),
        }
    }
}

impl core::error::Error for ClientError {}

/// Says what the code of a reply means for a request of this family.
pub(super) fn check_code(family: Family, code: u16) -> Result<(), ClientError> {
    if code == family.ok() {
        return Ok(());
    }
    // One server answers refused puts with the code of a refused get.
    let is_refusal =
        [Family::Put, Family::Get, Family::Flush, Family::Wait].iter().any(|f| f.refused() == code);
    Err(if is_refusal { ClientError::Refused(code) } else { ClientError::Confused })
}

/// What a failed read or write means.
pub(super) fn broken(error: io::Error) -> ClientError {
    if is_timeout(&error) { ClientError::TimedOut } else { ClientError::Disconnected(error.kind()) }
}
