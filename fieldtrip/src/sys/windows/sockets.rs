//! Sockets that wait in each call: what must not wait asks first.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, IoSlice, Write as _};
use std::net::{TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::local;
use crate::socket::Socket;

/// Sends a part of `parts`.
pub(crate) fn write_some(socket: &Socket, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    (&mut tcp(socket)).write_vectored(parts)
}

/// Sends a few bytes. A socket that has room for one takes them all: the system copies a send whole.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if it takes nothing now; what else the system says.
pub(crate) fn send_now(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    if is_writable(socket) { (&mut tcp(socket)).write(bytes) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

/// Whether a few bytes can be sent without waiting.
pub(crate) fn is_writable(socket: &Socket) -> bool {
    wait(socket, PollFlags::OUT, Some(Duration::ZERO)).unwrap_or(false)
}

/// Waits for something to read; no timeout means for ever.
pub(crate) fn await_input(socket: &Socket, timeout: Option<Duration>) -> io::Result<bool> {
    wait(socket, PollFlags::IN, timeout)
}

fn tcp(socket: &Socket) -> &TcpStream {
    match socket {
        Socket::Tcp(stream) => stream,
        Socket::Local(stream) => match *stream {},
    }
}

fn wait(socket: &Socket, events: PollFlags, timeout: Option<Duration>) -> io::Result<bool> {
    // Windows takes no more than 24 days, and refuses what is longer.
    let timeout = timeout.filter(|timeout| timeout.as_millis() <= i32::MAX.unsigned_abs().into());
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    Ok(poll(&mut [PollFd::new(tcp(socket), events)], timeout.as_ref())? > 0)
}

/// Whether the peer has closed its end, as far as can be told without taking what it sent before.
pub(crate) fn is_peer_gone(socket: &Socket) -> bool {
    match await_input(socket, Some(Duration::ZERO)) {
        Ok(false) => false,
        Ok(true) => !tcp(socket).peek(&mut [0]).is_ok_and(|count| count > 0),
        Err(_) => true,
    }
}

/// Nothing: acknowledging at once cannot be asked for.
pub(crate) fn acknowledge(_: &TcpStream) {}

/// Nothing: connections inherit nothing from their listener.
///
/// - Errors: none on this system.
pub(crate) fn prepare(_: &TcpListener, _: SocketAddr) -> io::Result<()> {
    Ok(())
}

/// Nothing: a thread that waits for connections is woken by one.
pub(crate) fn stop_accepting<T>(_: &T) {}

/// Accepts a connection that sends at once what it is given.
pub(crate) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// - Errors: none, as there is no listener.
pub(crate) fn accept_local(listener: &local::Listener, _bytes: usize) -> io::Result<local::Stream> {
    Ok(listener.accept()?.0)
}
