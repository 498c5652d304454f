//! What can be asked of a socket.

use std::io;
use std::net::TcpStream;

/// Acknowledges what has arrived now; if this fails, the peer is slow but served.
pub(crate) fn acknowledge(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_quickack(true);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// Lets a listener have a port whose last connections have just ended.
///
/// - Errors: of the system.
pub(crate) fn reuse_port_of_listener(socket: &socket2::Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}
