//! What can be asked of a socket.

use std::net::TcpStream;

/// Acknowledges what has arrived now; if this fails, the peer is slow but served.
pub(crate) fn acknowledge(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_quickack(true);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}
