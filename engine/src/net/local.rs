//! The local transport: a UNIX stream socket in place of TCP between two programs of one user on one computer.
//!
//! It carries the same bytes as TCP and has the same ends; only the way there is shorter. A listener has a
//! name in the abstract namespace; the system forgets it with the listener. The name holds the outlet's UID
//! and TCP port. An inlet that was told another port, such as a relay's, does not bypass the relay this way.
//!
//! Both ends look at whose process the other one is, as the system says, and want their own user's. So both
//! come to the same result, and what another user's process offers or asks is left to TCP.
//!
//! Source: lsl-wire §26; `docs/decisions/latency-path.md`.

use core::net::SocketAddr;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};
use socket2::{Domain, SockAddr, Socket, Type};

use super::interfaces;
use super::sockets::BACKLOG;
use crate::log;

/// Where programs of the same user connect to an outlet.
#[derive(Debug)]
pub(crate) struct LocalListener {
    socket: Socket,
    /// Whose process this was when it began to listen; the other end is told this one.
    user: Uid,
}

impl LocalListener {
    /// Listens in the name of the outlet `uid` whose TCP listener has `port`.
    ///
    /// - Errors: [`io::ErrorKind::AddrInUse`] if the name is taken; others from the system.
    pub(crate) fn open(uid: &str, port: u16) -> io::Result<Self> {
        let user = own_user()?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&name(uid, port)?)?;
        socket.listen(BACKLOG)?;
        Ok(Self { socket, user })
    }

    /// Takes the next connection of a process of the same user; others are ended.
    ///
    /// - Errors: [`io::ErrorKind::WouldBlock`] if there is none now; what else the system says.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        loop {
            let (socket, _) = self.socket.accept()?;
            if is_of(&socket, self.user) {
                // Samples that a busy receiver has yet to take; the system grants what it permits.
                let _ = socket.set_send_buffer_size(SEND_BUFFER);
                return Ok(socket);
            }
            log::verbose!(1, "a local connection of another user's process was ended");
        }
    }
}

impl Source for LocalListener {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.socket.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.socket.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.socket.as_raw_fd()).deregister(registry)
    }
}

/// Connects to the outlet `uid` at `address`, if that is on this computer and it listens locally.
///
/// Nothing in case of doubt: TCP then leads to the program at that address.
pub(crate) fn connect(uid: &str, address: SocketAddr) -> Option<Socket> {
    if !interfaces::is_own(address.ip()) {
        return None;
    }
    connect_to(own_user().ok()?, &name(uid, address.port()).ok()?).ok()
}

/// - Errors: [`io::ErrorKind::PermissionDenied`] if another user's process listens; what else the system says.
fn connect_to(user: Uid, name: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // So that a full backlog is an error, and no wait.
    socket.set_nonblocking(true)?;
    socket.connect(name)?;
    if is_of(&socket, user) { Ok(socket) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The name of an outlet's listener. The first byte, zero, puts it into the abstract namespace.
///
/// - Errors: [`io::ErrorKind::InvalidInput`] if the UID is too long to be one.
fn name(uid: &str, port: u16) -> io::Result<SockAddr> {
    let name = format!("\0schwann-lsl/{uid}/{port}");
    SockAddr::unix(OsStr::from_bytes(name.as_bytes()))
}

/// - Errors: [`io::ErrorKind::PermissionDenied`] for the user that stands for all whom a user namespace does not know.
fn own_user() -> io::Result<Uid> {
    let user = geteuid();
    if user.as_raw() == OVERFLOW_USER { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(user) }
}

/// The number of the process at the other end, or of the one that opened the connection for it.
pub(super) fn process_of(socket: &Socket) -> Option<u32> {
    let peer = socket_peercred(socket.as_fd()).ok()?;
    u32::try_from(peer.pid.as_raw_pid()).ok()
}

/// Whether the process at the other end is, or was when it connected or began to listen, that of `user`.
fn is_of(socket: &Socket, user: Uid) -> bool {
    socket_peercred(socket.as_fd()).is_ok_and(|peer| peer.uid == user)
}

/// What the system calls users who have no number in the own user namespace (`/proc/sys/kernel/overflowuid`).
const OVERFLOW_USER: u32 = 65_534;

/// Room asked for, in bytes. Without privileges the system grants what `net.core.wmem_max` says, usually 208 KiB.
const SEND_BUFFER: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A port and a UID that no other test uses.
    fn outlet(number: u16) -> (String, u16) {
        (format!("test-{}-{number}", std::process::id()), number)
    }

    fn here(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn somebody_else() -> Uid {
        Uid::from_raw(geteuid().as_raw() ^ 1)
    }

    #[test]
    fn an_outlet_is_reached_by_its_uid_and_its_port_on_this_computer_alone() {
        let (uid, port) = outlet(1);
        let listener = LocalListener::open(&uid, port).expect("a name");
        assert!(connect(&uid, here(port)).is_some());
        assert!(connect(&uid, here(port + 1)).is_none(), "what is at another port may be a relay");
        assert!(connect(&format!("{uid}0"), here(port)).is_none());
        // TEST-NET-1 belongs to no host.
        assert!(connect(&uid, SocketAddr::from(([192, 0, 2, 1], port))).is_none());
        listener.accept().expect("the connection");
        assert_eq!(listener.accept().expect_err("no other").kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn the_name_goes_with_its_listener_and_no_sooner() {
        let (uid, port) = outlet(2);
        let listener = LocalListener::open(&uid, port).expect("a name");
        assert_eq!(LocalListener::open(&uid, port).expect_err("taken").kind(), io::ErrorKind::AddrInUse);
        let client = connect(&uid, here(port)).expect("a connection");
        let served = listener.accept().expect("the connection");
        drop(listener);
        assert!(connect(&uid, here(port)).is_none());
        LocalListener::open(&uid, port).expect("the name is free, although a connection stands");
        drop((client, served));
    }

    #[test]
    fn a_uid_that_is_too_long_for_a_name_leads_nowhere() {
        assert!(connect(&"x".repeat(200), here(3)).is_none());
        assert!(LocalListener::open(&"x".repeat(200), 3).is_err());
    }

    #[test]
    fn a_listener_of_another_users_process_is_not_spoken_to() {
        let (uid, port) = outlet(4);
        let _listener = LocalListener::open(&uid, port).expect("a name");
        let name = name(&uid, port).expect("a name");
        let refused = connect_to(somebody_else(), &name).expect_err("not this user's");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        connect_to(geteuid(), &name).expect("this user's");
    }

    #[test]
    fn a_connection_of_another_users_process_is_ended_unheard() {
        let (uid, port) = outlet(5);
        let listener = LocalListener::open(&uid, port).expect("a name");
        let listener = LocalListener { user: somebody_else(), ..listener };
        let mut client = connect(&uid, here(port)).expect("a connection");
        assert_eq!(listener.accept().expect_err("no other client").kind(), io::ErrorKind::WouldBlock);
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn a_full_backlog_is_no_wait() {
        let (uid, port) = outlet(6);
        let _listener = LocalListener::open(&uid, port).expect("a name");
        let waiting: Vec<_> = core::iter::from_fn(|| connect(&uid, here(port))).take(10_000).collect();
        assert!(waiting.len() < 10_000);
    }
}
