//! What goes into a session and comes out of it, between a protocol's bytes and the socket's bytes.
//!
//! The owner of the socket moves bytes through [`Secure`](crate::Secure). That owns no socket, thread or buffer;
//! the caller brings the memory.
//!
//! It does not frame messages for the protocol: like TCP, it carries a stream of bytes.

use core::{fmt, ops::Range};

/// The bytes to seal.
#[derive(Clone, Copy, Debug)]
pub enum Plain<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes behind the first [`RECORD_HEAD`](crate::RECORD_HEAD) of `wire`: they are sealed where they lie, without a copy.
    Placed(usize),
}

impl<'a, Bytes: AsRef<[u8]> + ?Sized> From<&'a Bytes> for Plain<'a> {
    fn from(bytes: &'a Bytes) -> Self {
        Self::Bytes(bytes.as_ref())
    }
}

/// What [`Secure::open`](crate::Secure::open) made of the bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Opened {
    /// A message of the layer's own, which the protocol above must not see. The driver of the layer
    /// reads it if it knows what it is, and skips it otherwise.
    Control {
        /// How many bytes from the front of the buffer are done with.
        consumed: usize,
        /// Where the message lies.
        message: Range<usize>,
    },
    /// `plain` is where the opened bytes lie in the caller's buffer (it may be empty).
    /// `consumed` says how many bytes of the buffer they took.
    Data {
        /// How many bytes from the front of the buffer are done with.
        consumed: usize,
        /// Where the plaintext lies.
        plain: Range<usize>,
    },
    /// The peer ended the stream, and proved it.
    End {
        /// How many bytes from the front of the buffer are done with.
        consumed: usize,
    },
    /// More bytes are needed before anything can be opened.
    Incomplete,
}

/// Why bytes could not be sealed or opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LayerError {
    /// This side has ended the direction, or it has failed before.
    Closed,
    /// The keys may seal no further byte: the session must be made anew.
    Exhausted,
    /// The peer's bytes do not verify: damage or an attack. The connection must end.
    Forged,
    /// The peer's bytes verify but are not what the layer's specification prescribes.
    Malformed,
    /// `wire` is shorter than [`Secure::sealed_len`](crate::Secure::sealed_len) asks for.
    NoSpace,
    /// The peer announced a unit larger than the layer permits.
    Oversized,
    /// The peer does not want this session; the layer may know more.
    Refused,
}

impl fmt::Display for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "this direction of the session has ended",
            Self::Exhausted => "the session's keys are used up",
            Self::Forged => "the peer's bytes do not verify",
            Self::Malformed => "the peer's bytes make no sense",
            Self::NoSpace => "the buffer is too short",
            Self::Oversized => "the peer announced more than is permitted",
            Self::Refused => "the peer refused the session",
        })
    }
}

impl core::error::Error for LayerError {}

/// The peer's bytes ended before the authenticated end of its stream: someone cut it, or the peer died.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Truncated {
    /// How many units the peer is known to have sent.
    pub received: u64,
}

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stream was cut after {} records", self.received)
    }
}

impl core::error::Error for Truncated {}
