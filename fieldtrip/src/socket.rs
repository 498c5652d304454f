//! TCP and UNIX sockets, and what the protocol needs of them beyond reading and writing.

use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::Instant;

use crate::address::Address;
use crate::door::{self, Stranger};
use crate::sys::{local, sockets};

/// A connected socket; reading and writing need no exclusive access, so that it can be shared.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Local(local::Stream),
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Failed(io::Error),
    /// The host has no address: waiting for the server would not help.
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
            Address::Unix(path) => Ok(Self::from_local(local::Stream::connect(path)?)),
        }
    }

    fn from_local(stream: local::Stream) -> Self {
        local::widen(&stream, BLOCK_BYTES);
        Self::Local(stream)
    }

    pub(crate) fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        retry(|| match self {
            Self::Tcp(stream) => (&mut &*stream).read(out),
            Self::Local(stream) => (&mut &*stream).read(out),
        })
    }

    pub(crate) fn read_parts(&self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        retry(|| match self {
            Self::Tcp(stream) => (&mut &*stream).read_vectored(out),
            Self::Local(stream) => (&mut &*stream).read_vectored(out),
        })
    }

    /// Writes all parts, in one system call as long as the peer keeps up.
    pub(crate) fn write_parts(&self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        while !parts.is_empty() {
            let batch = parts.get(..MOST_PARTS).unwrap_or(parts);
            let count = retry(|| sockets::write_some(self, batch))?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut parts, count);
        }
        Ok(())
    }

    /// Sends a few bytes if that is possible at once, even while others use the socket. Otherwise ends the
    /// connection: its peer has left too much unread.
    pub(crate) fn send_or_shut(&self, bytes: &[u8]) {
        if !sockets::send_now(self, bytes).is_ok_and(|count| count == bytes.len()) {
            self.shut();
        }
    }

    /// Whether a few bytes can be sent without blocking, as far as the system tells.
    pub(crate) fn is_writable(&self) -> bool {
        sockets::is_writable(self)
    }

    /// Waits for something to read; no timeout means for ever.
    pub(crate) fn await_input(&self, timeout: Option<Duration>) -> io::Result<Input> {
        Ok(if sockets::await_input(self, timeout)? { Input::Ready } else { Input::TimedOut })
    }

    /// Whether the peer has closed its end, as far as the system tells.
    pub(crate) fn is_peer_gone(&self) -> bool {
        sockets::is_peer_gone(self)
    }

    /// Acknowledges what has arrived now instead of in 40 ms.
    ///
    /// With Nagle's algorithm on, a client that sends a request in two writes holds the second back. It waits
    /// until the first is acknowledged. The system delays that, hoping for a reply to send it with. The
    /// option lasts for a moment only, so this is called each time (spec: fieldtrip §16.2).
    pub(crate) fn acknowledge(&self) {
        if let Self::Tcp(stream) = self {
            sockets::acknowledge(stream);
        }
    }

    /// Whether one of this user's own programs is at the other end.
    pub(crate) fn check_user(&self) -> Result<(), Stranger> {
        match self {
            Self::Tcp(stream) => door::check_tcp(stream),
            Self::Local(stream) => door::check_local(stream),
        }
    }

    pub(crate) fn shut(&self) {
        // An error means that the peer has closed it already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Local(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    pub(crate) fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
            Self::Local(stream) => {
                stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write))
            }
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

/// What a socket of this machine should take at once: several blocks of 256 channels and 256 samples.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Parts that one system call takes, on every system.
const MOST_PARTS: usize = 512;
