//! The owner of the program at the other end: the kernel's table of connections tells, and the credentials of a
//! UNIX socket.

use core::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;

/// The user at the other end.
pub(crate) fn of_local(stream: &UnixStream) -> Option<u32> {
    rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.uid.as_raw())
}

/// The user who owns the end at `end` of the connection with `other`.
pub(crate) fn of_tcp(end: SocketAddr, other: SocketAddr) -> Option<u32> {
    // A program may reach an IPv4 address through a socket of IPv6.
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|path| {
        let table = std::fs::read_to_string(path).ok()?;
        table.lines().filter_map(Row::parse).find(|row| row.is_between(end, other))?.user
    })
}

/// The users of all sockets that send datagrams from `end`.
pub(crate) fn of_udp_end(end: SocketAddr) -> Vec<Option<u32>> {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].into_iter();
    let tables = tables.filter_map(|path| std::fs::read_to_string(path).ok());
    let owners = tables.map(|table| {
        let rows = table.lines().filter_map(Row::parse).filter(|row| row.may_send_from(end));
        rows.map(|row| row.user).collect::<Vec<_>>()
    });
    owners.flatten().collect()
}

/// A line of the system's table of connections.
struct Row {
    end: SocketAddr,
    other: SocketAddr,
    /// Nothing for a socket without a process: the table then says 0, which is root's number.
    user: Option<u32>,
}

impl Row {
    /// Source: Linux, Documentation/networking/proc_net_tcp.rst.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (end, other) = (parse_address(words.nth(1)?)?, parse_address(words.next()?)?);
        let (user, file) = (words.nth(4)?.parse().ok()?, words.nth(1)?);
        Some(Self { end, other, user: (file != "0").then_some(user) })
    }

    /// Whether packets from `end` may be this socket's; one that is bound to no address sends from any.
    fn may_send_from(&self, end: SocketAddr) -> bool {
        let own = self.end.ip().to_canonical();
        self.end.port() == end.port() && (own == end.ip().to_canonical() || own.is_unspecified())
    }

    fn is_between(&self, end: SocketAddr, other: SocketAddr) -> bool {
        let is = |one: SocketAddr, another: SocketAddr| {
            (one.ip().to_canonical(), one.port()) == (another.ip().to_canonical(), another.port())
        };
        is(self.end, end) && is(self.other, other)
    }
}

/// Reads an address as the table has it: 32 bits at a time, read as numbers of this machine.
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
