//! The stream for tokio's traits, and the handshake over any of its transports.
//!
//! Nothing here waits between taking bytes from a transport and passing them through their cipher. So a future
//! dropped half-way loses nothing: reads and writes are cancel-safe. The handshake is not, and need not be: a
//! connection whose handshake was given up is closed.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};

use alloc::vec::Vec;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::handshake::{Established, Handshake, Status};
use crate::net::DriveError;
use crate::policy::{Cause, Failure};
use crate::stream::{BLOCK, Incoming, Outgoing, Stream};

/// Runs a handshake to its end. Returns its outcome and what was read beyond it.
///
/// `after_read` is called after every read. For a `TcpStream`, ask for a quick acknowledgement there, or
/// libtorrent makes both sides wait 40 ms. Put one time-out around the whole call.
///
/// - Errors: as [`crate::net::drive`].
pub async fn drive<S: AsyncRead + AsyncWrite + Unpin>(
    transport: &mut S,
    machine: &mut (dyn Handshake + Send),
    mut after_read: impl FnMut(&S),
) -> Result<(Status, Vec<u8>), DriveError> {
    let mut buffer = alloc::vec![0; 2_048];
    let mut input: &[u8] = &[];
    loop {
        let status = match machine.handle_input(&mut input) {
            Ok(status) => status,
            Err(error) => return Err(failed(machine, Cause::Handshake(error))),
        };
        if let Some(step) = machine.poll_output() {
            write_all(transport, &step).await.map_err(|error| classify(machine, error))?;
        }
        if !matches!(status, Status::Wait) {
            return Ok((status, input.to_vec()));
        }
        if input.is_empty() {
            let len = read(transport, &mut buffer).await.map_err(|error| classify(machine, error))?;
            after_read(transport);
            input = buffer.get(..len).unwrap_or_default();
        }
    }
}

async fn read(from: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> io::Result<usize> {
    let mut buffer = ReadBuf::new(buffer);
    poll_fn(|context| Pin::new(&mut *from).poll_read(context, &mut buffer)).await?;
    match buffer.filled().len() {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        len => Ok(len),
    }
}

async fn write_all(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        match poll_fn(|context| Pin::new(&mut *to).poll_write(context, left)).await? {
            0 => return Err(ErrorKind::WriteZero.into()),
            count => left = left.get(count..).unwrap_or_default(),
        }
    }
    poll_fn(|context| Pin::new(&mut *to).poll_flush(context)).await
}

fn failed(machine: &(dyn Handshake + Send), cause: Cause) -> DriveError {
    DriveError::Failed(Failure::mse(cause, machine.progress()))
}

fn classify(machine: &(dyn Handshake + Send), error: io::Error) -> DriveError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            failed(machine, Cause::Closed)
        }
        _ => DriveError::Io(error),
    }
}

/// Takes an established connection apart into halves that two tasks may use without a lock.
#[must_use]
pub fn split(
    socket: TcpStream,
    established: Established,
    rest: &[u8],
) -> (AsyncReader<OwnedReadHalf>, AsyncWriter<OwnedWriteHalf>) {
    let (socket, incoming, outgoing) = Stream::new(socket, established, rest).into_parts();
    let (reader, writer) = socket.into_split();
    (AsyncReader::new(reader, incoming), AsyncWriter::new(writer, outgoing))
}

/// The receiving half of a connection; it decrypts in the caller's buffer.
#[derive(Debug)]
pub struct AsyncReader<R> {
    inner: R,
    incoming: Incoming,
}

impl<R> AsyncReader<R> {
    /// Joins a transport's reading end and the state of that direction.
    pub fn new(inner: R, incoming: Incoming) -> Self {
        Self { inner, incoming }
    }
}

impl AsyncReader<OwnedReadHalf> {
    /// Reads into several buffers with one system call. Cancel-safe.
    ///
    /// - Errors: the socket's. Zero bytes mean that the peer has closed.
    pub async fn read_vectored(&mut self, out: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if let Some(slice) = out.iter_mut().find(|slice| !slice.is_empty())
            && let Some(len) = self.incoming.take_early(slice)
        {
            return Ok(len);
        }
        loop {
            self.inner.readable().await?;
            match self.inner.try_read_vectored(out) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(len) => {
                    self.incoming.open_vectored(out, len);
                    return Ok(len);
                }
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for AsyncReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Some(len) = this.incoming.take_early(out.initialize_unfilled()) {
            out.advance(len);
            return Poll::Ready(Ok(()));
        }
        let start = out.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, out))?;
        this.incoming.open(out.filled_mut().get_mut(start..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

/// The sending half of a connection. What the transport does not take at once is kept, encrypted, and goes first.
#[derive(Debug)]
pub struct AsyncWriter<W> {
    inner: W,
    outgoing: Outgoing,
}

impl<W> AsyncWriter<W> {
    /// Joins a transport's writing end and the state of that direction.
    pub fn new(inner: W, outgoing: Outgoing) -> Self {
        Self { inner, outgoing }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWriter<W> {
    /// Encrypts `data` where it lies and hands it to the transport, without copying what is taken at once.
    ///
    /// It is all accepted when this returns; flush to know that it is sent. Cancel-safe: a call dropped before
    /// its first byte was accepted has changed nothing. `data` is encrypted only once the pending bytes are
    /// gone, and from then on nothing waits.
    ///
    /// - Errors: the transport's.
    pub async fn write_in_place(&mut self, data: &mut [u8]) -> io::Result<()> {
        poll_fn(|context| self.poll_drain(context)).await?;
        poll_fn(|context| {
            self.outgoing.seal(data);
            Poll::Ready(self.offer(context, data))
        })
        .await
    }

    /// Sends what is pending. Only then may new bytes be accepted.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.pending().is_empty() {
            let pending = self.outgoing.pending();
            match ready!(Pin::new(&mut self.inner).poll_write(context, pending))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                count => self.outgoing.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes encrypted bytes while the transport takes them, and keeps the rest.
    fn offer(&mut self, context: &mut Context<'_>, sealed: &[u8]) -> io::Result<()> {
        let mut left = sealed;
        while !left.is_empty() {
            match Pin::new(&mut self.inner).poll_write(context, left) {
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => left = left.get(count..).unwrap_or_default(),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    self.outgoing.keep(left);
                    break;
                }
            }
        }
        Ok(())
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for AsyncWriter<W> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, plain: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(plain)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        plain: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(context))?;
        let mut block = [0; BLOCK];
        let sealed = self.outgoing.gather(&mut block, plain);
        let len = sealed.len();
        Poll::Ready(self.offer(context, sealed).map(|()| len))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
