//! What Linux alone can be asked of a socket.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use rustix::event::PollFlags;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_tcp_nodelay, set_tcp_quickack};
use rustix::net::{Shutdown, shutdown};

use crate::socket::{BLOCK_BYTES, Socket};
use crate::sys::sockets::wait;

/// Whether the peer has closed its end, even if input is left to read.
pub(crate) fn is_peer_gone(socket: &Socket) -> bool {
    wait(socket, PollFlags::RDHUP, Some(Duration::ZERO)).unwrap_or(true)
}

/// Acknowledges what has arrived now instead of in 40 ms.
pub(crate) fn acknowledge(stream: &TcpStream) {
    // If it fails, the client is slow but served.
    let _ = set_tcp_quickack(stream, true);
}

/// Sets what connections inherit from their listener.
///
/// - Errors: what the system says.
pub(crate) fn prepare(listener: &TcpListener, address: SocketAddr) -> io::Result<()> {
    set_tcp_nodelay(listener, true)?;
    if address.ip().is_loopback() {
        // A new connection takes 64 KiB at first and more by and by. A client with a single request never sees the
        // rest. From other machines the system knows better, because what should be on the way depends on the way.
        // Without it such a client is slower, and served.
        let _ = set_socket_recv_buffer_size(listener, BLOCK_BYTES);
    }
    Ok(())
}

/// Ends the accepting of every thread.
pub(crate) fn stop_accepting(listener: &impl AsFd) {
    // It may have ended already.
    let _ = shutdown(listener, Shutdown::Both);
}
