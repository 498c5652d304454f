//! TCP and UNIX sockets, and what the protocol needs of them beyond reading and writing.

use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::address::Address;
use crate::door::{self, Stranger};

/// A connected socket; reading and writing need no exclusive access, so that it can be shared.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Failed(io::Error),
    /// The host has no address: it is not the server that is to be waited for.
    UnknownHost,
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// What became of waiting for input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Input {
    /// There is some, or the peer has gone: reading does not block.
    Ready,
    TimedOut,
}

impl Socket {
    /// Connects within the time given, trying every address that the host has.
    pub(crate) fn connect(address: &Address, timeout: Duration) -> Result<Self, ConnectError> {
        match address {
            Address::Tcp { host, port } => {
                let deadline = Instant::now().checked_add(timeout);
                let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
                let found = (host.as_str(), *port).to_socket_addrs();
                for resolved in found.map_err(|_| ConnectError::UnknownHost)? {
                    let left = deadline.map_or(timeout, |end| end.saturating_duration_since(Instant::now()));
                    match TcpStream::connect_timeout(&resolved, left.max(Duration::from_millis(1))) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => failure = error,
                    }
                }
                Err(failure.into())
            }
            #[cfg(unix)]
            Address::Unix(path) => Ok(Self::from_unix(UnixStream::connect(path)?)),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported).into()),
        }
    }

    /// A UNIX socket that takes a big block in one go.
    ///
    /// By default it takes 208 KiB, and a sender of more has to be woken in between.
    #[cfg(unix)]
    pub(crate) fn from_unix(stream: UnixStream) -> Self {
        // Where the system permits less it takes less.
        let _slower = rustix::net::sockopt::set_socket_send_buffer_size(&stream, BLOCK_BYTES);
        Self::Unix(stream)
    }

    pub(crate) fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        retry(|| match self {
            Self::Tcp(stream) => (&mut &*stream).read(out),
            #[cfg(unix)]
            Self::Unix(stream) => (&mut &*stream).read(out),
        })
    }

    pub(crate) fn read_parts(&self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        retry(|| match self {
            Self::Tcp(stream) => (&mut &*stream).read_vectored(out),
            #[cfg(unix)]
            Self::Unix(stream) => (&mut &*stream).read_vectored(out),
        })
    }

    /// Writes all parts, in one system call as long as the peer keeps up.
    pub(crate) fn write_parts(&self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        while !parts.is_empty() {
            let batch = parts.get(..MOST_PARTS).unwrap_or(parts);
            let count = retry(|| self.write_some(batch))?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut parts, count);
        }
        Ok(())
    }

    /// Sends a few bytes if that is possible at once, even while others use the socket; otherwise ends the
    /// connection, which then has more to read than it should.
    #[cfg(unix)]
    pub(crate) fn send_or_shut(&self, bytes: &[u8]) {
        use rustix::net::{SendFlags, send};
        let flags = SendFlags::DONTWAIT | NO_SIGNAL;
        let sent = match self {
            Self::Tcp(stream) => send(stream, bytes, flags),
            Self::Unix(stream) => send(stream, bytes, flags),
        };
        if sent != Ok(bytes.len()) {
            self.shut();
        }
    }

    /// The same where no safe call sends without blocking: [`Socket::is_writable`] is false there, so this comes too late.
    #[cfg(not(unix))]
    pub(crate) fn send_or_shut(&self, _: &[u8]) {
        self.shut();
    }

    /// Whether a few bytes can be sent without blocking, as far as the system tells.
    pub(crate) fn is_writable(&self) -> bool {
        #[cfg(unix)]
        let writable = self.poll(rustix::event::PollFlags::OUT, Some(Duration::ZERO)).unwrap_or(false);
        #[cfg(not(unix))]
        let writable = false;
        writable
    }

    /// Waits for something to read; no timeout means for ever.
    #[cfg(unix)]
    pub(crate) fn await_input(&self, timeout: Option<Duration>) -> io::Result<Input> {
        let ready = self.poll(rustix::event::PollFlags::IN, timeout)?;
        Ok(if ready { Input::Ready } else { Input::TimedOut })
    }

    /// Waits for something to read; no timeout means for ever.
    #[cfg(not(unix))]
    pub(crate) fn await_input(&self, timeout: Option<Duration>) -> io::Result<Input> {
        let Self::Tcp(stream) = self;
        let before = stream.read_timeout()?;
        stream.set_read_timeout(timeout.map(|timeout| timeout.max(Duration::from_millis(1))))?;
        let peeked = stream.peek(&mut [0]);
        stream.set_read_timeout(before)?;
        match peeked {
            Ok(_) => Ok(Input::Ready),
            Err(error) if is_timeout(&error) => Ok(Input::TimedOut),
            Err(error) => Err(error),
        }
    }

    /// Whether the peer has closed its end, even if input is left to read.
    pub(crate) fn is_peer_gone(&self) -> bool {
        #[cfg(target_os = "linux")]
        let gone = self.poll(rustix::event::PollFlags::RDHUP, Some(Duration::ZERO)).unwrap_or(true);
        #[cfg(not(target_os = "linux"))]
        let gone = false;
        gone
    }

    /// Acknowledges what has arrived now instead of in 40 ms.
    ///
    /// With Nagle's algorithm on, a client that sends a request in two writes holds the second back. It waits
    /// until the first is acknowledged. The system delays that, hoping for a reply to send it with. The
    /// option lasts for a moment only, so this is called each time (spec: fieldtrip §16.2).
    pub(crate) fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Tcp(stream) = self {
            // If it fails, the client is slow but served.
            let _slower = rustix::net::sockopt::set_tcp_quickack(stream, true);
        }
    }

    /// Whether one of this user's own programs is at the other end.
    pub(crate) fn check_user(&self) -> Result<(), Stranger> {
        match self {
            Self::Tcp(stream) => door::check_tcp(stream),
            #[cfg(unix)]
            Self::Unix(stream) => door::check_unix(stream),
        }
    }

    pub(crate) fn shut(&self) {
        // Already closed by the peer is what an error means.
        let _closed = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    pub(crate) fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
            #[cfg(unix)]
            Self::Unix(stream) => {
                stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write))
            }
        }
    }

    #[cfg(unix)]
    fn write_some(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        use rustix::net::{SendAncillaryBuffer, sendmsg};
        // Not `write_vectored`: in a program that is not Rust's, writing to a closed connection would end it.
        let mut nothing = SendAncillaryBuffer::default();
        Ok(match self {
            Self::Tcp(stream) => sendmsg(stream, parts, &mut nothing, NO_SIGNAL),
            Self::Unix(stream) => sendmsg(stream, parts, &mut nothing, NO_SIGNAL),
        }?)
    }

    #[cfg(not(unix))]
    fn write_some(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Self::Tcp(stream) = self;
        io::Write::write_vectored(&mut &*stream, parts)
    }

    #[cfg(unix)]
    fn poll(&self, events: rustix::event::PollFlags, timeout: Option<Duration>) -> io::Result<bool> {
        use rustix::event::{PollFd, Timespec, poll};
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut fds = [match self {
            Self::Tcp(stream) => PollFd::new(stream, events),
            Self::Unix(stream) => PollFd::new(stream, events),
        }];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// What a socket of this machine should take at once: a block of 256 channels and 256 samples several times over.
#[cfg(unix)]
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Parts that one system call takes, on every system.
const MOST_PARTS: usize = 512;

#[cfg(all(unix, not(target_vendor = "apple")))]
const NO_SIGNAL: rustix::net::SendFlags = rustix::net::SendFlags::NOSIGNAL;
/// The standard library asks for no signal when it makes the socket.
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: rustix::net::SendFlags = rustix::net::SendFlags::empty();
