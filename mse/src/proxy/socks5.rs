//! The part of SOCKS5 that a BitTorrent client uses: CONNECT without authentication (RFC 1928).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io::{self, Read, Write};
use std::net::ToSocketAddrs as _;

use alloc::string::String;
use alloc::vec;

/// The client's destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// By address.
    Address(SocketAddr),
    /// By name; this end resolves it.
    Name(String, u16),
}

impl Target {
    /// The first address of the target.
    ///
    /// - Errors: the name does not resolve.
    pub fn resolve(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Address(address) => Ok(*address),
            Self::Name(name, port) => {
                (name.as_str(), *port).to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            // The client's words must not steer a terminal.
            Self::Name(name, port) => write!(f, "{}:{port}", name.escape_debug()),
        }
    }
}

/// Why a client was not understood.
#[derive(Debug)]
#[non_exhaustive]
pub enum SocksError {
    /// It asks for something other than CONNECT.
    Command(u8),
    /// It left, or was too slow.
    Io(io::Error),
    /// It insists on authentication.
    Method,
    /// Its name for the target is no text, or its kind of address is unknown.
    Target,
    /// It does not speak version 5.
    Version(u8),
}

impl From<io::Error> for SocksError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for SocksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(code) => write!(f, "SOCKS command {code} is not supported"),
            Self::Io(error) => write!(f, "the SOCKS client: {error}"),
            Self::Method => f.write_str("the SOCKS client insists on authentication"),
            Self::Target => f.write_str("the SOCKS client's target is not understood"),
            Self::Version(version) => write!(f, "SOCKS version {version} is not supported"),
        }
    }
}

impl core::error::Error for SocksError {}

/// Reads what the client wants. It waits for an answer afterwards.
///
/// - Errors: the client has been told, where the protocol has words for it.
pub fn negotiate(client: &mut (impl Read + Write)) -> Result<Target, SocksError> {
    let [version, count] = take(client)?;
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods)?;
    if !methods.contains(&NO_AUTHENTICATION) {
        client.write_all(&[VERSION, NO_METHOD])?;
        return Err(SocksError::Method);
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION])?;
    let [version, command, _, kind] = take(client)?;
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let target = read_target(client, kind)?;
    if command != CONNECT {
        reply(client, Reply::CommandNotSupported)?;
        return Err(SocksError::Command(command));
    }
    Ok(target)
}

fn read_target(client: &mut (impl Read + Write), kind: u8) -> Result<Target, SocksError> {
    let host = match kind {
        IPV4 => IpAddr::V4(Ipv4Addr::from(take::<4>(client)?)),
        IPV6 => IpAddr::V6(Ipv6Addr::from(take::<16>(client)?)),
        NAME => {
            let [len] = take(client)?;
            let mut name = vec![0; usize::from(len)];
            client.read_exact(&mut name)?;
            let name = String::from_utf8(name).map_err(|_| SocksError::Target)?;
            return Ok(Target::Name(name, u16::from_be_bytes(take(client)?)));
        }
        _ => {
            reply(client, Reply::AddressNotSupported)?;
            return Err(SocksError::Target);
        }
    };
    Ok(Target::Address((host, u16::from_be_bytes(take(client)?)).into()))
}

/// What the client is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Reply {
    Connected = 0,
    HostUnreachable = 4,
    Refused = 5,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// Answers the client's wish. The bound address is left at zero: no client uses it.
pub(super) fn reply(client: &mut impl Write, reply: Reply) -> io::Result<()> {
    let code = match reply {
        Reply::Connected => 0,
        Reply::HostUnreachable => 4,
        Reply::Refused => 5,
        Reply::CommandNotSupported => 7,
        Reply::AddressNotSupported => 8,
    };
    client.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0])
}

fn take<const N: usize>(client: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

// RFC 1928 §3 to §6.
const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A client that has said everything in advance.
    struct Client {
        says: io::Cursor<Vec<u8>>,
        hears: Vec<u8>,
    }

    impl Read for Client {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.says.read(out)
        }
    }

    impl Write for Client {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.hears.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(says: &[u8]) -> (Result<Target, SocksError>, Vec<u8>) {
        let mut client = Client { says: io::Cursor::new(says.to_vec()), hears: Vec::new() };
        let outcome = negotiate(&mut client);
        (outcome, client.hears)
    }

    #[test]
    fn every_kind_of_target_is_understood() {
        let v4 = [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0x1a, 0xe1];
        let expected = Target::Address("127.0.0.1:6881".parse().expect("an address"));
        let (target, heard) = ask(&v4);
        assert_eq!(target.ok(), Some(expected));
        assert_eq!(heard, [5, 0]);
        let v6 = [&[5, 2, 2, 0, 5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
        let expected = Target::Address("[::1]:80".parse().expect("an address"));
        assert_eq!(ask(&v6).0.ok(), Some(expected));
        let name = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"localhost", &[0, 80]].concat();
        assert_eq!(ask(&name).0.ok(), Some(Target::Name("localhost".into(), 80)));
    }

    #[test]
    fn what_is_not_supported_is_refused_in_the_protocols_words() {
        assert!(matches!(ask(&[4, 1]).0, Err(SocksError::Version(4))));
        let (outcome, heard) = ask(&[5, 1, 2]);
        assert!(matches!(outcome, Err(SocksError::Method)));
        assert_eq!(heard, [5, 0xff]);
        let bind = [5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80];
        let (outcome, heard) = ask(&bind);
        assert!(matches!(outcome, Err(SocksError::Command(2))));
        assert_eq!(heard[3], Reply::CommandNotSupported as u8);
        let kind = [5, 1, 0, 5, 1, 0, 9, 1, 2];
        assert!(matches!(ask(&kind).0, Err(SocksError::Target)));
    }

    #[test]
    fn a_hundred_thousand_mutated_requests_neither_panic_nor_pass_for_longer_ones() {
        let request = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"localhost", &[0, 80]].concat();
        let mut seed = 3u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut bytes = request.clone();
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 56) as u8;
            bytes.truncate(1 + (seed >> 40) as usize % request.len());
            if let (Ok(target), _) = ask(&bytes) {
                assert!(bytes.len() >= 10, "{target:?} from {bytes:?}");
            }
        }
    }
}
