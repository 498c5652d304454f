//! Whose program connects: what keeps other users of the same computer out of a buffer.
//!
//! The protocol has no passwords. On an address of this computer the system knows whose process is at the other
//! end: of a UNIX socket from the socket itself, of a TCP connection (on Linux) from the table of connections.
//! Elsewhere TCP tells nothing, and what cannot be told stays out.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;

/// Who is told of those that a door keeps out.
pub trait Door: Send + Sync {
    /// A connection was closed unheard, because a stranger made it.
    fn turned_away(&self, stranger: Stranger);
}

/// Who is not let in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stranger {
    /// A program on another computer, or one that reaches this one as if it were on another.
    Elsewhere(IpAddr),
    /// A program that had gone when it was looked at, or whose user the system does not tell.
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

/// Checks that a connection is one of this user's own programs, or of root, who can read their memory anyway.
///
/// - Errors: who it is.
pub fn check_tcp(stream: &TcpStream) -> Result<(), Stranger> {
    let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
    let (local, peer) = ends.map_err(|_| Stranger::Unknown)?;
    if !peer.ip().to_canonical().is_loopback() {
        return Err(Stranger::Elsewhere(peer.ip().to_canonical()));
    }
    judge(user_at(peer, local))
}

/// The same over a UNIX socket.
#[cfg(target_os = "linux")]
pub fn check_unix(stream: &UnixStream) -> Result<(), Stranger> {
    judge(rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.uid.as_raw()))
}

/// The same over a UNIX socket. The system does not say whose it is, so the mode of the socket's file decides.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn check_unix(_: &UnixStream) -> Result<(), Stranger> {
    Ok(())
}

fn judge(user: Option<u32>) -> Result<(), Stranger> {
    match user {
        // Stands for all users whom a user namespace does not know.
        Some(OVERFLOW_USER) => Err(Stranger::User(OVERFLOW_USER)),
        Some(0) => Ok(()),
        Some(user) if Some(user) == own_user() => Ok(()),
        Some(user) => Err(Stranger::User(user)),
        None => Err(Stranger::Unknown),
    }
}

#[cfg(unix)]
fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn own_user() -> Option<u32> {
    None
}

/// The user who owns the end at `end` of the connection with `other`.
#[cfg(target_os = "linux")]
fn user_at(end: SocketAddr, other: SocketAddr) -> Option<u32> {
    // A program may reach an IPv4 address through a socket of IPv6.
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|path| {
        let table = std::fs::read_to_string(path).ok()?;
        table.lines().filter_map(Row::parse).find(|row| row.is_between(end, other))?.user
    })
}

#[cfg(not(target_os = "linux"))]
fn user_at(_: SocketAddr, _: SocketAddr) -> Option<u32> {
    None
}

/// A line of the system's table of connections.
#[cfg(target_os = "linux")]
struct Row {
    end: SocketAddr,
    other: SocketAddr,
    /// Nothing for a socket that no process has any more: the table then says 0, which is root's number.
    user: Option<u32>,
}

#[cfg(target_os = "linux")]
impl Row {
    /// Source: Linux, Documentation/networking/proc_net_tcp.rst.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (end, other) = (parse_address(words.nth(1)?)?, parse_address(words.next()?)?);
        let (user, file) = (words.nth(4)?.parse().ok()?, words.nth(1)?);
        Some(Self { end, other, user: (file != "0").then_some(user) })
    }

    fn is_between(&self, end: SocketAddr, other: SocketAddr) -> bool {
        let is = |one: SocketAddr, another: SocketAddr| {
            (one.ip().to_canonical(), one.port()) == (another.ip().to_canonical(), another.port())
        };
        is(self.end, end) && is(self.other, other)
    }
}

/// Reads an address as the table has it: 32 bits at a time, as the machine would read them as numbers.
#[cfg(target_os = "linux")]
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::from(word(address)?),
        32 => {
            let mut octets = [0; 16];
            for (place, text) in octets.chunks_exact_mut(4).zip((0..).step_by(8)) {
                place.copy_from_slice(&word(address.get(text..text + 8)?)?);
            }
            IpAddr::from(octets)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Source: `/proc/sys/kernel/overflowuid`.
const OVERFLOW_USER: u32 = 65_534;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;

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
    fn a_program_that_has_gone_is_not_taken_for_root() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        drop(TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection"));
        let (served, _) = listener.accept().expect("the connection");
        assert_eq!(check_tcp(&served), Err(Stranger::Unknown));
    }

    #[test]
    fn other_users_are_strangers() {
        let own = own_user().expect("a user");
        let other = if own == 1000 { 1001 } else { 1000 };
        assert_eq!(judge(Some(other)), Err(Stranger::User(other)));
        assert_eq!(judge(Some(OVERFLOW_USER)), Err(Stranger::User(OVERFLOW_USER)));
        assert_eq!((judge(Some(own)), judge(None)), (Ok(()), Err(Stranger::Unknown)));
    }

    #[test]
    fn the_ends_of_a_unix_socket_are_of_one_user() {
        let (one, other) = UnixStream::pair().expect("a pair");
        assert_eq!((check_unix(&one), check_unix(&other)), (Ok(()), Ok(())));
    }
}
