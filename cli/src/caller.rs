//! Which user's process is at the other end of a TCP connection on this computer.
//!
//! A socket of the loopback interface has no credentials, but Linux lists all sockets with their users. Nothing here
//! asks the other end: what it says would prove nothing.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whose process made a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Caller {
    /// One of the user who runs this program.
    Own,
    /// Another user's, or one on another computer.
    Other,
    /// This system does not tell.
    Untold,
}

/// Looks whose process is at the other end of a connection that is established.
///
/// - Units: `here` and `there` are the connection's ends as this process sees them.
/// - Source: the columns of `/proc/net/tcp`, proc(5).
pub(crate) fn caller(here: SocketAddr, there: SocketAddr) -> Caller {
    if !cfg!(target_os = "linux") {
        return Caller::Untold;
    }
    // A program that uses an IPv6 socket for IPv4 is in the second table.
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let user = tables.iter().filter_map(|path| std::fs::read_to_string(path).ok()).find_map(|table| {
        let mut rows = table.lines().filter_map(Row::parse);
        rows.find(|row| same(row.local, there) && same(row.remote, here)).map(|row| row.user)
    });
    if user.is_some() && user == own_user() { Caller::Own } else { Caller::Other }
}

/// A connection that is established, as the end that has the socket sees it.
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    user: u32,
}

impl Row {
    /// Reads a line of the table; nothing of headings and of sockets in other states, whose user may be untrue.
    fn parse(line: &str) -> Option<Self> {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (address(columns.next()?)?, address(columns.next()?)?);
        let is_established = columns.next()? == "01";
        let user = columns.nth(3)?.parse().ok()?;
        is_established.then_some(Self { local, remote, user })
    }
}

/// Reads an address, whose bytes are printed as words of this machine, and its port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = ip
        .as_bytes()
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u32::from_str_radix(core::str::from_utf8(word).ok()?, 16).ok().map(u32::to_ne_bytes))
        .collect();
    let ip = match *words?.as_slice() {
        [word] => Ipv4Addr::from(word).into(),
        [a, b, c, d] => {
            let mut bytes = [0; 16];
            bytes.as_chunks_mut().0.copy_from_slice(&[a, b, c, d]);
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

fn same(one: SocketAddr, other: SocketAddr) -> bool {
    let canonical = |ip: IpAddr| ip.to_canonical();
    one.port() == other.port() && canonical(one.ip()) == canonical(other.ip())
}

#[cfg(target_os = "linux")]
fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn own_user() -> Option<u32> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_process_is_its_own_users() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A computer without IPv6 has nothing to tell.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let target = listener.local_addr().expect("bound");
            let there = TcpStream::connect(target).expect("it listens");
            let (here, peer) = listener.accept().expect("connected");
            assert_eq!(caller(here.local_addr().expect("connected"), peer), Caller::Own, "{host}");
            drop(there);
        }
    }

    #[test]
    fn what_is_not_in_the_table_is_not_our_own() {
        let end = |text: &str| text.parse().expect("an address");
        assert_eq!(caller(end("127.0.0.1:9"), end("192.0.2.1:9")), Caller::Other);
    }

    #[test]
    fn only_established_sockets_have_a_user_that_counts() {
        let line = |state: &str| {
            format!(
                "   1: 0100007F:40BA 0100007F:A2D4 {state} 00000000:00000000 00:00000000 00000000 65534 0 77 1"
            )
        };
        let row = Row::parse(&line("01")).expect("established");
        assert_eq!((row.local.port(), row.user), (0x40ba, 65534));
        assert_eq!(row.remote.to_string(), "127.0.0.1:41684");
        assert!(Row::parse(&line("05")).is_none());
        assert!(Row::parse("  sl  local_address rem_address   st tx_queue rx_queue").is_none());
        let v6 = address("0000000000000000FFFF00000100007F:0050").expect("an address");
        assert!(same(v6, "127.0.0.1:80".parse().expect("an address")));
    }
}
