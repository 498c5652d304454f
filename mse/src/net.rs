//! Sockets: dialling and accepting with one deadline for the whole handshake.
//!
//! Each step goes out in one write with Nagle's algorithm off. On Linux, a quick acknowledgement follows
//! every read. libtorrent splits its steps over several writes and would otherwise wait 40 ms for ours
//! (mse §7.4).

mod dial;
mod gate;
mod listen;

use core::fmt;
use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use alloc::vec::Vec;

pub use self::dial::{Connection, DialError, Dialler};
pub use self::gate::{Entered, Gate, Refusal};
pub use self::listen::{AcceptError, Acceptor};
use crate::handshake::{Handshake, Status};
use crate::policy::{Cause, Failure};
use crate::sys;

/// Whether to acknowledge at once while shaking hands. Only Linux can; elsewhere both mean the same.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum QuickAck {
    /// As the system sees fit.
    Off,
    /// At once, after every read of the handshake.
    #[default]
    On,
}

/// Why driving a handshake over a socket ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError {
    /// The handshake failed; the peer's doing.
    Failed(Failure),
    /// The socket failed in a way that says nothing about the peer.
    Io(io::Error),
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DriveError {}

/// Runs a handshake to its end over a socket. Returns its outcome and what was read beyond it.
///
/// - Units: `deadline` covers everything, so a peer that sends a byte at a time gains nothing.
/// - Errors: [`DriveError::Failed`] says how far it came, for [`crate::policy::Dialling`].
pub fn drive(
    socket: &TcpStream,
    machine: &mut dyn Handshake,
    deadline: Instant,
    quick_ack: QuickAck,
) -> Result<(Status, Vec<u8>), DriveError> {
    socket.set_nodelay(true).map_err(DriveError::Io)?;
    let outcome = drive_steps(socket, machine, deadline, quick_ack);
    if outcome.is_ok() {
        // The deadline was for the handshake alone.
        socket.set_read_timeout(None).map_err(DriveError::Io)?;
        socket.set_write_timeout(None).map_err(DriveError::Io)?;
    }
    outcome
}

fn drive_steps(
    mut socket: &TcpStream,
    machine: &mut dyn Handshake,
    deadline: Instant,
    quick_ack: QuickAck,
) -> Result<(Status, Vec<u8>), DriveError> {
    let fail = |machine: &dyn Handshake, cause| Failure::mse(cause, machine.progress());
    // Longer than every step but the longest initial payload.
    let mut buffer = [0; 2_048];
    let mut input: &[u8] = &[];
    loop {
        let status = match machine.handle_input(&mut input) {
            Ok(status) => status,
            Err(error) => return Err(DriveError::Failed(fail(machine, Cause::Handshake(error)))),
        };
        if let Some(step) = machine.poll_output() {
            arm(deadline, |left| socket.set_write_timeout(left))
                .and_then(|()| socket.write_all(&step))
                .map_err(|error| classify(error, |cause| fail(machine, cause)))?;
        }
        if !matches!(status, Status::Wait) {
            return Ok((status, input.to_vec()));
        }
        if input.is_empty() {
            let len = arm(deadline, |left| socket.set_read_timeout(left))
                .and_then(|()| read(&mut socket, &mut buffer))
                .map_err(|error| classify(error, |cause| fail(machine, cause)))?;
            acknowledge(socket, quick_ack);
            input = buffer.get(..len).unwrap_or_default();
        }
    }
}

/// Reads at least one byte.
fn read(socket: &mut &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Sets a socket's time-out to what is left until the deadline.
fn arm(deadline: Instant, set: impl FnOnce(Option<Duration>) -> io::Result<()>) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    set(Some(left))
}

/// Tells what the peer did from what broke on this side.
fn classify(error: io::Error, fail: impl FnOnce(Cause) -> Failure) -> DriveError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => DriveError::Failed(fail(Cause::TimedOut)),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => DriveError::Failed(fail(Cause::Closed)),
        _ => DriveError::Io(error),
    }
}

fn acknowledge(socket: &TcpStream, quick_ack: QuickAck) {
    if quick_ack == QuickAck::On {
        sys::acknowledge(socket);
    }
}
