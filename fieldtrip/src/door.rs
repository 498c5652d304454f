//! Keeps other users of the same computer out of a buffer, by the owner of the connecting
//! program.
//!
//! The protocol has no passwords. On an address of this computer, the system knows whose process is at the
//! other end. A UNIX socket itself tells. For a TCP connection (on Linux), the table of connections tells.
//! Elsewhere TCP tells nothing, and an unknown program stays out.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::net::TcpStream;

use crate::sys::{local, users};

/// Hears of the strangers that a door keeps out.
pub trait Door: Send + Sync {
    /// A connection was closed unheard, because a stranger made it.
    fn turned_away(&self, stranger: Stranger);
}

/// Who is kept out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stranger {
    /// A program on another computer, or one that reaches this one as if it were on another.
    Elsewhere(IpAddr),
    /// A program that had already gone, or whose user the system does not tell.
    Unknown,
    /// A program of the user with this number.
    User(u32),
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere(address) => write!(f, "a program at {address}"),
            Self::Unknown => f.write_str("a program whose user could not be told"),
            Self::User(number) => write!(f, "a program of the user with number {number}"),
        }
    }
}

/// Checks that a connection comes from one of this user's own programs. Root passes, too, because root can
/// read their memory anyway.
///
/// - Errors: who it is.
pub fn check_tcp(stream: &TcpStream) -> Result<(), Stranger> {
    let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
    let (local, peer) = ends.map_err(|_| Stranger::Unknown)?;
    check_tcp_between(peer, local)
}

/// The same of a connection from `peer` to `local`, which itself is not at hand.
///
/// - Errors: who it is.
pub fn check_tcp_between(peer: SocketAddr, local: SocketAddr) -> Result<(), Stranger> {
    check_place(peer)?;
    judge(users::of_tcp(peer, local))
}

/// The same of a datagram that came from `peer`.
///
/// - Errors: who it is.
pub fn check_udp_from(peer: SocketAddr) -> Result<(), Stranger> {
    check_owners(peer, users::of_udp_end(peer))
}

fn check_place(peer: SocketAddr) -> Result<(), Stranger> {
    let address = peer.ip().to_canonical();
    if address.is_loopback() { Ok(()) } else { Err(Stranger::Elsewhere(address)) }
}

/// A port may have several sockets: each must be this user's.
fn check_owners(peer: SocketAddr, owners: Vec<Option<u32>>) -> Result<(), Stranger> {
    check_place(peer)?;
    if owners.is_empty() {
        return Err(Stranger::Unknown);
    }
    owners.into_iter().try_for_each(judge)
}

/// The same over a local socket. Where the system does not tell whose it is, the mode of the socket's file decides.
///
/// - Errors: who it is.
pub fn check_local(stream: &local::Stream) -> Result<(), Stranger> {
    judge(users::of_local(stream))
}

fn judge(user: Option<u32>) -> Result<(), Stranger> {
    match user {
        // Stands for all users whom a user namespace does not know.
        Some(OVERFLOW_USER) => Err(Stranger::User(OVERFLOW_USER)),
        Some(0) => Ok(()),
        Some(user) if Some(user) == users::own() => Ok(()),
        Some(user) => Err(Stranger::User(user)),
        None => Err(Stranger::Unknown),
    }
}

/// Whether the system tells whose program is at the other end of a TCP connection.
pub const TELLS_USERS: bool = users::TELLS;

/// Source: `/proc/sys/kernel/overflowuid`.
const OVERFLOW_USER: u32 = 65_534;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn the_user_of_a_connection_is_found_over_both_protocols() {
        for (listened, reached) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("127.0.0.1:0", "::ffff:127.0.0.1")]
        {
            let listener = TcpListener::bind(listened).expect("a port");
            let address = SocketAddr::new(
                reached.parse().expect("an address"),
                listener.local_addr().expect("bound").port(),
            );
            let _client = TcpStream::connect(address).expect("a connection");
            let (served, _) = listener.accept().expect("the connection");
            assert_eq!(check_tcp(&served), Ok(()), "{reached}");
        }
    }

    #[test]
    fn an_earlier_connection_from_the_same_port_does_not_count() {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
        let reach = |from: SocketAddr, listener: &TcpListener| {
            let client = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
            sockopt::set_socket_reuseaddr(&client, true).expect("an option");
            bind(&client, &from).expect("the port");
            connect(&client, &listener.local_addr().expect("bound")).expect("a connection");
            (TcpStream::from(client), listener.accept().expect("the connection"))
        };
        let [one, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let (earlier, (served, from)) = reach(SocketAddr::from(([127, 0, 0, 1], 0)), &one);
        // The system remembers a connection for a minute after its end: as of no user.
        drop(earlier);
        drop(served);
        let (_client, (served, peer)) = reach(from, &other);
        assert_eq!((check_tcp(&served), peer), (Ok(()), from));
        let ended = one.local_addr().expect("bound");
        assert_eq!(check_tcp_between(peer, ended), Err(Stranger::Unknown));
    }

    #[test]
    fn the_users_of_a_port_are_found_for_a_datagram() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0"] {
            let socket = UdpSocket::bind(bound).expect("a port");
            let port = socket.local_addr().expect("bound").port();
            assert_eq!(check_udp_from(SocketAddr::from(([127, 0, 0, 1], port))), Ok(()), "{bound}");
            assert!(matches!(
                check_udp_from(SocketAddr::from(([10, 0, 0, 1], port))),
                Err(Stranger::Elsewhere(_))
            ));
            drop(socket);
            assert_eq!(check_udp_from(SocketAddr::from(([127, 0, 0, 1], port))), Err(Stranger::Unknown));
        }
        let other = if users::own() == Some(1000) { 1001 } else { 1000 };
        let loopback = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(check_owners(loopback, vec![users::own(), Some(other)]), Err(Stranger::User(other)));
    }

    #[test]
    fn a_program_that_has_gone_is_not_taken_for_root() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        drop(TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection"));
        let (served, _) = listener.accept().expect("the connection");
        assert_eq!(check_tcp(&served), Err(Stranger::Unknown));
    }

    #[test]
    fn other_users_are_strangers() {
        let own = users::own().expect("a user");
        let other = if own == 1000 { 1001 } else { 1000 };
        assert_eq!(judge(Some(other)), Err(Stranger::User(other)));
        assert_eq!(judge(Some(OVERFLOW_USER)), Err(Stranger::User(OVERFLOW_USER)));
        assert_eq!((judge(Some(own)), judge(None)), (Ok(()), Err(Stranger::Unknown)));
    }

    #[test]
    fn the_ends_of_a_unix_socket_are_of_one_user() {
        let (one, other) = local::Stream::pair().expect("a pair");
        assert_eq!((check_local(&one), check_local(&other)), (Ok(()), Ok(())));
    }
}
