//! Why an inlet and an outlet do not come together.

use core::fmt;
use std::io;

use schwann_proto::wire::feed::ResponseError;
use schwann_proto::wire::test_pattern::Mismatch;
use schwann_session::Refusal;

use crate::sys::sockets;

/// Why no stream could be opened; it is tried again.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The outlet's archive describes another stream, or nothing.
    Archive,
    /// The stream was closed meanwhile.
    Cancelled,
    /// No connection, or it broke.
    Connection(io::Error),
    /// The local transport failed; TCP comes next.
    Local,
    /// The outlet's samples cannot be decoded.
    Malformed,
    /// It is not known where the stream is.
    NoAddress,
    /// The outlet encodes its values otherwise than we do.
    Pattern(Mismatch),
    /// There is no secure session with the outlet.
    Refused(Refusal),
    /// The outlet's answer.
    Response(ResponseError),
    /// The outlet did not answer in time.
    Slow,
    /// The description asks for more channels than a handshake has room for.
    Vast,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive => out.write_str("the outlet describes another stream than the one asked for"),
            Self::Cancelled => out.write_str("the stream was closed"),
            Self::Connection(error) => write!(out, "no connection: {error}"),
            Self::Local => out.write_str("no connection by the local socket"),
            Self::Malformed => out.write_str("the outlet sends something that is not samples"),
            Self::NoAddress => out.write_str("the stream's address is not known yet"),
            Self::Pattern(mismatch) => write!(out, "the test pattern: {mismatch}"),
            Self::Refused(refusal) => write!(out, "no secure session: {refusal}"),
            Self::Response(error) => error.fmt(out),
            Self::Slow => out.write_str("the outlet did not answer in time"),
            Self::Vast => {
                out.write_str("the description asks for more channels than a connection can begin with")
            }
        }
    }
}

impl HandshakeError {
    /// Whether this computer, not the outlet, is the reason: it has no descriptors or memory left.
    pub(crate) fn is_shortage(&self) -> bool {
        let Self::Connection(error) = self else { return false };
        sockets::is_shortage(error)
    }
}
