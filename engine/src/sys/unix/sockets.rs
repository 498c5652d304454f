//! Sockets that block, and calls on them that never wait, by their own flags.
//!
//! Apple's systems heed `MSG_DONTWAIT` in receives alone: a send to a full socket would wait for a slow receiver. So there sockets
//! never block, as on Windows.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::{Domain, Socket, Type};

#[cfg(target_vendor = "apple")]
pub(crate) use crate::sys::polled_receive::WaitingReceive;
#[cfg(not(target_vendor = "apple"))]
pub(crate) use crate::sys::unix::blocking_receive::WaitingReceive;

/// Sees to what a link's socket needs before its first byte.
pub(crate) fn prepare(socket: &Socket) {
    // Where a send cannot say that it raises no signal and does not wait, the socket does.
    #[cfg(target_vendor = "apple")]
    {
        // These fail only for what is no socket.
        let _ = socket.set_nosigpipe(true);
        let _ = socket.set_nonblocking(true);
    }
    #[cfg(not(target_vendor = "apple"))]
    let _ = socket;
}

/// Sees to what a socket needs once it is connected.
pub(crate) fn finish_connecting(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(cfg!(target_vendor = "apple"))
}

/// Whether a connection was begun, and is yet to be made.
pub(crate) fn is_in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error())
}

/// Whether this computer has no descriptors or memory left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    shortages.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether joining failed because the socket has as many groups as the system permits (20 on Linux).
pub(crate) fn is_membership_limit(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// Lets several programs have the discovery port.
pub(crate) fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    // BSD and macOS want both options. On Linux the second one would distribute unicast among the sockets.
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
    socket.set_reuse_port(true)?;
    Ok(())
}

/// The name of this computer.
pub(crate) fn host_name() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_vec()
}

/// One send of as much of `slices` as the socket takes at once.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if it takes nothing now; what else the system says.
pub(crate) fn send(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | NO_SIGNAL;
    loop {
        let sent = match slices {
            [one] => rustix::net::send(socket, one, flags),
            many => rustix::net::sendmsg(socket, many, &mut SendAncillaryBuffer::default(), flags),
        };
        match sent {
            Err(Errno::INTR) => {}
            sent => return Ok(sent?),
        }
    }
}

/// Receives the bytes at hand; 0 bytes are the end.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if nothing is there now; what else the system says.
pub(crate) fn receive_now(socket: &Socket, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(socket, &mut *room, RecvFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            received => return Ok(received?.1),
        }
    }
}

/// What a poller outside calls the socket.
pub(crate) fn descriptor(socket: &Socket) -> i64 {
    socket.as_raw_fd().into()
}

/// Two sockets that are connected to each other.
pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
    Socket::pair(Domain::UNIX, Type::STREAM, None)
}

/// A link's socket as a poller knows it. It is not to be used after the link.
#[derive(Debug)]
pub(crate) struct Watched(RawFd);

impl Watched {
    /// - Errors: none on this system.
    pub(crate) fn new(socket: &Socket) -> io::Result<Self> {
        Ok(Self(socket.as_raw_fd()))
    }
}

impl Source for Watched {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.0).register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.0).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.0).deregister(registry)
    }
}

/// `MSG_NOSIGNAL`, where there is one; Apple's systems have an option of the socket instead.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();
/// Told readiness is told again only when there is more. A poller may be asked for all of it at all times.
pub(crate) const POLLER_IS_ASKED_EACH_TIME: bool = false;
/// Whether a poller tells of room in a TCP socket each time that the peer takes something. The alternative is only
/// after there was none. kqueue does.
pub(crate) const ROOM_IS_TOLD_UNASKED: bool = cfg!(not(any(target_os = "linux", target_os = "android")));
