//! Sockets that never block, because calls cannot say so for themselves.

use std::io::{self, IoSlice, Read};
use std::os::windows::io::AsRawSocket;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use socket2::Socket;

pub(crate) use crate::sys::polled_receive::WaitingReceive;

/// Sees to what a link's socket needs before its first byte.
pub(crate) fn prepare(socket: &Socket) {
    // Fails only for what is no socket.
    let _ = socket.set_nonblocking(true);
}

/// Sees to what a socket needs once it is connected.
///
/// - Errors: none on this system.
pub(crate) fn finish_connecting(_socket: &Socket) -> io::Result<()> {
    Ok(())
}

/// Whether a connection was begun, and is yet to be made.
pub(crate) fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Whether this computer has no sockets or memory left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NOBUFS];
    shortages.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether joining failed because the socket has as many groups as the system permits.
pub(crate) fn is_membership_limit(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// Lets several programs have the discovery port.
pub(crate) fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}

/// The name of this computer.
pub(crate) fn host_name() -> Vec<u8> {
    gethostname::gethostname().to_string_lossy().into_owned().into_bytes()
}

/// One send of as much of `slices` as the socket takes at once.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if it takes nothing now; what else the system says.
pub(crate) fn send(socket: &Socket, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    socket.send_vectored(slices)
}

/// What a poller outside calls the socket.
#[allow(clippy::unnecessary_cast, reason = "a handle is as wide as a pointer")]
pub(crate) fn descriptor(socket: &Socket) -> i64 {
    socket.as_raw_socket().cast_signed() as i64
}

/// Two sockets that are connected to each other. The system has no pairs. One comes about by a connection on
/// loopback, and any other connection that comes first is turned away.
pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
    let listener = std::net::TcpListener::bind((core::net::Ipv4Addr::LOCALHOST, 0))?;
    let ours = std::net::TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (theirs, address) = listener.accept()?;
        if address == ours.local_addr()? {
            return Ok((ours.into(), theirs.into()));
        }
    }
}

/// Receives the bytes at hand; 0 bytes are the end.
///
/// - Errors: [`io::ErrorKind::WouldBlock`] if nothing is there now; what else the system says.
pub(crate) fn receive_now(mut socket: &Socket, room: &mut [u8]) -> io::Result<usize> {
    socket.read(room)
}

/// A link's socket as a poller knows it: a second handle, because a poller takes no other kind.
#[derive(Debug)]
pub(crate) struct Watched(TcpStream);

impl Watched {
    /// - Errors: no handle is left.
    pub(crate) fn new(socket: &Socket) -> io::Result<Self> {
        Ok(Self(TcpStream::from_std(socket.try_clone()?.into())))
    }
}

impl Source for Watched {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.0.deregister(registry)
    }
}

/// A poller tells of readiness once, and must then be asked again. What is ready meanwhile is told at once.
pub(crate) const POLLER_IS_ASKED_EACH_TIME: bool = true;
/// Whether a poller tells of room in a TCP socket each time that it is asked. The alternative is only after
/// there was none.
pub(crate) const ROOM_IS_TOLD_UNASKED: bool = true;
