//! The wait for samples where sockets never block: Windows, and Apple's systems.

use core::time::Duration;
use std::io;

use socket2::Socket;

use crate::sys::poll::{Ready, wait};
use crate::sys::sockets::receive_now;

/// How the thread that needs the samples waits for them. It remembers nothing, unlike that of other systems.
#[derive(Default)]
pub(crate) struct WaitingReceive {}

impl WaitingReceive {
    /// Receives once into `room`, waiting for the first byte for `left` at most; without it, as long as it takes.
    ///
    /// - Errors: [`io::ErrorKind::WouldBlock`] if nothing came so far, perhaps before the time was over; what else the
    ///   system says.
    pub(crate) fn receive(
        &mut self,
        socket: &Socket,
        room: &mut [u8],
        left: Option<Duration>,
    ) -> io::Result<usize> {
        // Bytes already at hand need no wait.
        match receive_now(socket, room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => return received,
        }
        let left = left.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        if left.is_zero() || !wait(socket, Ready::ToReceive, left) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        receive_now(socket, room)
    }
}

/// A wait without a limit is one that is begun anew; the system counts milliseconds in 31 bits.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
