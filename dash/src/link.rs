//! One end of a connection to a browser: its socket, and TLS above it where other computers reach the dashboard.

use core::time::Duration;
use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Instant,
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection to a browser, which reads and writes.
pub(super) enum Link {
    /// Bytes as they are.
    Plain(Wire),
    /// TLS.
    Sealed(Box<StreamOwned<ServerConnection, Wire>>),
}

/// A socket that gives up at a moment, however many bytes come before.
pub(super) struct Wire {
    socket: TcpStream,
    until: Option<Instant>,
}

/// What a peer begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opening {
    /// A handshake of TLS.
    Handshake,
    /// Anything else, such as a request of HTTP.
    Other,
}

impl Link {
    /// Takes a connection as it is.
    pub(super) fn plain(socket: TcpStream) -> Self {
        Self::Plain(Wire { socket, until: None })
    }

    /// Takes a connection that begins with a handshake, which the first bytes that are read wait for.
    ///
    /// - Errors: those of `rustls`.
    pub(super) fn sealed(socket: TcpStream, settings: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let connection = ServerConnection::new(settings)?;
        Ok(Self::Sealed(Box::new(StreamOwned::new(connection, Wire { socket, until: None }))))
    }

    /// Gives up reading at this moment; none to wait for each read alone.
    pub(super) fn read_until(&mut self, until: Option<Instant>) {
        self.wire_mut().until = until;
    }

    /// Waits this long for bytes.
    ///
    /// - Errors: those of the socket.
    pub(super) fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.wire_mut().socket.set_read_timeout(Some(patience))
    }

    /// The socket below.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(wire) => &wire.socket,
            Self::Sealed(stream) => &stream.sock.socket,
        }
    }

    fn wire_mut(&mut self) -> &mut Wire {
        match self {
            Self::Plain(wire) => wire,
            Self::Sealed(stream) => &mut stream.sock,
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // A peer that is told nothing cannot tell an end from an attacker who cut the connection (RFC 8446 §6.1).
        if let Self::Sealed(stream) = self {
            stream.conn.send_close_notify();
            // Who is gone needs no goodbye.
            let _ = stream.conn.write_tls(&mut stream.sock);
        }
    }
}

impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(wire) => wire.read(bytes),
            Self::Sealed(stream) => stream.read(bytes),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(wire) => wire.write(bytes),
            Self::Sealed(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(wire) => wire.flush(),
            Self::Sealed(stream) => stream.flush(),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
        }
        self.socket.read(bytes)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Looks at how a peer begins, and leaves that for who reads next.
///
/// - Errors: it says nothing for this long, or the connection breaks.
pub(super) fn opening(socket: &TcpStream, patience: Duration) -> io::Result<Opening> {
    socket.set_read_timeout(Some(patience))?;
    let mut first = [0];
    match socket.peek(&mut first)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        // The content type `handshake` (RFC 8446 §5.1), which begins no line of HTTP.
        _ if first == [22] => Ok(Opening::Handshake),
        _ => Ok(Opening::Other),
    }
}
