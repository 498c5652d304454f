//! What can be asked of a socket.

use std::net::TcpStream;

/// Nothing: acknowledging at once cannot be asked for.
pub(crate) fn acknowledge(_: &TcpStream) {}
