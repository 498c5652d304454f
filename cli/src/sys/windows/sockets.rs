//! What can be asked of a socket.

use std::io;
use std::net::TcpStream;

/// Nothing: acknowledging at once cannot be asked for.
pub(crate) fn acknowledge(_: &TcpStream) {}

/// Nothing: a listener has such a port anyway, and asking would let another program take it, too.
pub(crate) fn reuse_port_of_listener(_: &socket2::Socket) -> io::Result<()> {
    Ok(())
}
