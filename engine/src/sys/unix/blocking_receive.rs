//! The wait for samples where a call can say for itself whether it waits.

use core::time::Duration;
use std::io;

use rustix::net::RecvFlags;
use rustix::net::sockopt::Timeout;
use socket2::Socket;

use crate::sys::poll::{Ready, wait};

/// How the thread that needs the samples waits for them: in the receive itself. This saves one system call and one
/// wake-up.
#[derive(Default)]
pub(crate) struct WaitingReceive {
    /// The receive timeout that the socket has now.
    socket_timeout: Option<Duration>,
}

impl WaitingReceive {
    /// Receives once into `room`, waiting for the first byte for `left` at most; without it, as long as it takes.
    ///
    /// - Errors: [`io::ErrorKind::WouldBlock`] and [`io::ErrorKind::Interrupted`] if nothing came so far, perhaps before the
    ///   time was over; what else the system says.
    pub(crate) fn receive(
        &mut self,
        socket: &Socket,
        room: &mut [u8],
        left: Option<Duration>,
    ) -> io::Result<usize> {
        let flags = match left {
            Some(left) if left < SHORTEST_BLOCKING_WAIT => {
                if !left.is_zero() && !wait(socket, Ready::ToReceive, left) {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                RecvFlags::DONTWAIT
            }
            left => {
                self.set_timeout(socket, left);
                RecvFlags::empty()
            }
        };
        Ok(rustix::net::recv(socket, room, flags)?.1)
    }

    /// Lets a blocking receive return no later than after `left`. A coarse value serves, because the
    /// rest is waited for again. It saves a system call when the next wait is alike.
    fn set_timeout(&mut self, socket: &Socket, left: Option<Duration>) {
        let wanted = left.map(|left| {
            let exponent = left.as_millis().max(1).ilog2();
            Duration::from_millis(1 << (exponent - 1).min(30))
        });
        if wanted != self.socket_timeout
            && rustix::net::sockopt::set_socket_timeout(socket, Timeout::Recv, wanted).is_ok()
        {
            self.socket_timeout = wanted;
        }
    }
}

/// A blocking receive is used only for waits at least this long. The system rounds its timeout up to a
/// timer tick, so `poll` waits for the last stretch.
const SHORTEST_BLOCKING_WAIT: Duration = Duration::from_millis(64);
