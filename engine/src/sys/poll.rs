//! Waiting for sockets, which goes alike everywhere. A wait may end early: its caller looks at its clock and goes on.

use core::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use socket2::Socket;

/// What a socket is waited for to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ready {
    ToReceive,
    ToSend,
}

/// Waits until the socket is `ready`, or broken; says no after `left`.
pub(crate) fn wait(socket: &Socket, ready: Ready, left: Duration) -> bool {
    // An interrupted wait counts as ready: the caller tries, and waits again.
    !matches!(rustix::event::poll(&mut [entry(socket, ready)], Some(&timespec(left))), Ok(0))
}

/// Waits until at least one of the sockets can be sent to, or `left` is over.
pub(crate) fn wait_any_to_send<'a>(sockets: impl Iterator<Item = &'a Socket>, left: Duration) {
    let mut sockets: Vec<_> = sockets.map(|socket| entry(socket, Ready::ToSend)).collect();
    // The caller's next try shows what ended the wait.
    let _ = rustix::event::poll(&mut sockets, Some(&timespec(left)));
}

fn entry(socket: &Socket, ready: Ready) -> PollFd<'_> {
    let flags = match ready {
        Ready::ToReceive => PollFlags::IN,
        Ready::ToSend => PollFlags::OUT,
    };
    PollFd::new(socket, flags)
}

fn timespec(left: Duration) -> Timespec {
    Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ }
}
