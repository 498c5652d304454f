//! Calls on sockets that never wait, by their own flags, and raise no signal.

use core::time::Duration;
use std::io::{self, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

#[cfg(target_os = "linux")]
pub(crate) use crate::sys::linux::sockets::{acknowledge, is_peer_gone, prepare, stop_accepting};

use super::local;
use crate::socket::Socket;

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Local(stream) => stream.as_fd(),
        }
    }
}

/// Sends a part of `parts`. Not by `write_vectored`: in a program that is not Rust's, writing to a closed connection would end it.
pub(crate) fn write_some(socket: &Socket, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), NO_SIGNAL)?)
}

/// Sends a few bytes if the socket takes them at once, even while others use it.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if it takes nothing now; what else the system says.
pub(crate) fn send_now(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    // Apple's systems do not heed the flag in sends. There, a socket that is writable has room for 2 KiB.
    if cfg!(target_vendor = "apple") && !is_writable(socket) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    Ok(send(socket, bytes, SendFlags::DONTWAIT | NO_SIGNAL)?)
}

/// Whether a few bytes can be sent without waiting.
pub(crate) fn is_writable(socket: &Socket) -> bool {
    wait(socket, PollFlags::OUT, Some(Duration::ZERO)).unwrap_or(false)
}

/// Waits for something to read; no timeout means for ever.
pub(crate) fn await_input(socket: &Socket, timeout: Option<Duration>) -> io::Result<bool> {
    wait(socket, PollFlags::IN, timeout)
}

pub(crate) fn wait(socket: &Socket, events: PollFlags, timeout: Option<Duration>) -> io::Result<bool> {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut [PollFd::new(socket, events)], timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the peer has closed its end, as far as can be told without taking what it sent before.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_peer_gone(socket: &Socket) -> bool {
    use rustix::net::{RecvFlags, recv};
    match recv(socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((count, _)) => count == 0,
        Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
    }
}

/// Nothing: acknowledging at once cannot be asked for.
#[cfg(not(target_os = "linux"))]
pub(crate) fn acknowledge(_: &TcpStream) {}

/// Nothing: connections inherit nothing from their listener.
///
/// - Errors: none on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prepare(_: &TcpListener, _: core::net::SocketAddr) -> io::Result<()> {
    Ok(())
}

/// Nothing: a thread that waits for connections is woken by one.
#[cfg(not(target_os = "linux"))]
pub(crate) fn stop_accepting(_: &impl AsFd) {}

/// Accepts a connection that sends at once what it is given.
pub(crate) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    // Linux hands the listener's setting down.
    #[cfg(not(target_os = "linux"))]
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Accepts a connection of a program of this computer, which takes `bytes` in one go.
pub(crate) fn accept_local(listener: &local::Listener, bytes: usize) -> io::Result<local::Stream> {
    let (stream, _) = listener.accept()?;
    local::widen(&stream, bytes);
    Ok(stream)
}

#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// The standard library asks for no signal when it makes the socket.
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();
