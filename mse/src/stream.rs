//! The bytes after the handshake, as ordinary blocking streams.
//!
//! A connection has two directions that share nothing, so its halves need no lock. Reading decrypts in
//! the caller's buffer. Writing encrypts into a buffer on the stack, or in the caller's own
//! ([`Writer::write_in_place`]). Bytes that the transport does not take at once are kept, already
//! encrypted, and go first next time. So the keystream never runs ahead of the bytes accepted, however
//! short the writes.
//!
//! What this does not do: notice a changed byte, or that the peer is another one.

mod direction;

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;

use alloc::vec::Vec;

#[cfg(feature = "tokio")]
pub(crate) use self::direction::BLOCK;
pub use self::direction::{Incoming, Outgoing};
use crate::cipher::Cipher;
use crate::handshake::Established;
use crate::method::Method;

/// An established connection over any transport.
#[derive(Debug)]
pub struct Stream<S> {
    inner: S,
    incoming: Incoming,
    outgoing: Outgoing,
}

impl<S> Stream<S> {
    /// Wraps a transport whose handshake is over. `rest` is what was read beyond the handshake, as it came.
    ///
    /// The initial payload, if there is any, is the first thing to be read.
    pub fn new(inner: S, established: Established, rest: &[u8]) -> Self {
        let Established { incoming, outgoing, initial_payload, .. } = established;
        Self {
            inner,
            incoming: Incoming::new(incoming, initial_payload, rest),
            outgoing: Outgoing::new(outgoing),
        }
    }

    /// Wraps a transport that carries plain BitTorrent. `start` is what was read of it already.
    pub fn plain(inner: S, start: Vec<u8>) -> Self {
        Self {
            inner,
            incoming: Incoming::new(Cipher::Plain, start, &[]),
            outgoing: Outgoing::new(Cipher::Plain),
        }
    }

    /// How the payload goes over the wire.
    #[must_use]
    pub fn method(&self) -> Method {
        self.incoming.method()
    }

    /// Payload bytes taken from the transport and accepted for it so far.
    #[must_use]
    pub fn transferred(&self) -> (u64, u64) {
        (self.incoming.total(), self.outgoing.total())
    }

    /// The transport. Reading from it or writing to it breaks the stream.
    pub fn transport(&self) -> &S {
        &self.inner
    }

    /// Takes the stream apart into halves, for a transport that can be cloned.
    pub fn into_parts(self) -> (S, Incoming, Outgoing) {
        (self.inner, self.incoming, self.outgoing)
    }
}

impl Stream<TcpStream> {
    /// Splits the connection into halves that two threads may use without a lock.
    ///
    /// - Errors: the socket cannot be duplicated; the stream is gone.
    pub fn split(self) -> io::Result<(Reader<TcpStream>, Writer<TcpStream>)> {
        let (socket, incoming, outgoing) = self.into_parts();
        Ok((Reader::new(socket.try_clone()?, incoming), Writer::new(socket, outgoing)))
    }
}

impl<S: Write> Stream<S> {
    /// See [`Writer::write_in_place`].
    pub fn write_in_place(&mut self, data: &mut [u8]) -> io::Result<()> {
        self.outgoing.write_in_place(&mut self.inner, data)
    }
}

impl<S: Read> Read for Stream<S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.incoming.read(&mut self.inner, out)
    }

    fn read_vectored(&mut self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.incoming.read_vectored(&mut self.inner, out)
    }
}

impl<S: Write> Write for Stream<S> {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.outgoing.write(&mut self.inner, plain)
    }

    fn write_vectored(&mut self, plain: &[IoSlice<'_>]) -> io::Result<usize> {
        self.outgoing.write_vectored(&mut self.inner, plain)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outgoing.flush(&mut self.inner)
    }
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct Reader<R> {
    inner: R,
    incoming: Incoming,
}

impl<R> Reader<R> {
    /// Joins a transport's reading end and the state of that direction.
    pub fn new(inner: R, incoming: Incoming) -> Self {
        Self { inner, incoming }
    }

    /// The transport.
    pub fn transport(&self) -> &R {
        &self.inner
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.incoming.read(&mut self.inner, out)
    }

    fn read_vectored(&mut self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.incoming.read_vectored(&mut self.inner, out)
    }
}

/// The sending half of a connection. Flush before dropping it, as with any writer that keeps bytes.
#[derive(Debug)]
pub struct Writer<W> {
    inner: W,
    outgoing: Outgoing,
}

impl<W> Writer<W> {
    /// Joins a transport's writing end and the state of that direction.
    pub fn new(inner: W, outgoing: Outgoing) -> Self {
        Self { inner, outgoing }
    }

    /// The transport.
    pub fn transport(&self) -> &W {
        &self.inner
    }
}

impl<W: Write> Writer<W> {
    /// Encrypts `data` where it lies and sends it: no copy. Afterwards `data` holds what went over the wire.
    ///
    /// - Errors: the transport's. What finds no room in it now is kept, and is not an error.
    pub fn write_in_place(&mut self, data: &mut [u8]) -> io::Result<()> {
        self.outgoing.write_in_place(&mut self.inner, data)
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.outgoing.write(&mut self.inner, plain)
    }

    fn write_vectored(&mut self, plain: &[IoSlice<'_>]) -> io::Result<usize> {
        self.outgoing.write_vectored(&mut self.inner, plain)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outgoing.flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests;
