//! The plain ends of a tunnel, which never leave the computer.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;

use schwann_fieldtrip::door::{Door as _, Stranger, check_local, check_tcp};
use schwann_fieldtrip::{Address, local};

use crate::cmd::ft::door::Door;
use crate::exit::Problem;
use crate::sys;

/// A connection within this computer.
#[derive(Debug)]
pub(super) enum Plain {
    Tcp(TcpStream),
    Local(local::Stream),
}

/// Where programs of this computer connect to.
#[derive(Debug)]
pub(super) struct PlainListener {
    socket: Listener,
    /// What keeps programs of other users out, unless they are welcome.
    door: Option<Arc<Door>>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Local(local::Listener),
}

impl Plain {
    /// Connects to a buffer of this computer.
    pub(super) fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
                for ip in loopback(host)? {
                    match TcpStream::connect(SocketAddr::new(ip, *port)) {
                        Ok(stream) => return stream.set_nodelay(true).map(|()| Self::Tcp(stream)),
                        Err(error) => failure = error,
                    }
                }
                Err(failure)
            }
            Address::Unix(path) => local::Stream::connect(path).map(Self::Local),
        }
    }

    /// Acknowledges arrived bytes at once. Until then an old client holds the second part of a request back
    /// (fieldtrip §16.2).
    pub(super) fn acknowledge(&self) {
        if let Self::Tcp(stream) = self {
            sys::sockets::acknowledge(stream);
        }
    }

    /// Whether it is a connection of this user's own program.
    fn check_user(&self) -> Result<(), Stranger> {
        match self {
            Self::Tcp(stream) => check_tcp(stream),
            Self::Local(stream) => check_local(stream),
        }
    }

    pub(super) fn shut(&self, how: Shutdown) {
        // An error means that the peer has closed it already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Local(stream) => stream.shutdown(how),
        };
    }
}

impl Read for &Plain {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => (&mut &*stream).read(out),
            Plain::Local(stream) => (&mut &*stream).read(out),
        }
    }
}

impl Write for &Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => (&mut &*stream).write(bytes),
            Plain::Local(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PlainListener {
    /// Listens at every address of this computer that `address` names; returns it with the port it got.
    pub(super) fn bind(address: &Address, door: Option<Arc<Door>>) -> io::Result<(Vec<Self>, Address)> {
        let (sockets, address) = Listener::bind(address, door.is_some())?;
        let listeners = sockets.into_iter().map(|socket| Self { socket, door: door.clone() }).collect();
        Ok((listeners, address))
    }

    /// Waits for the next connection that may come in.
    pub(super) fn accept(&self) -> io::Result<Plain> {
        loop {
            let plain = self.socket.accept()?;
            let Some(door) = &self.door else { return Ok(plain) };
            match plain.check_user() {
                Ok(()) => return Ok(plain),
                Err(stranger) => door.turned_away(stranger),
            }
        }
    }
}

impl Listener {
    fn bind(address: &Address, is_private: bool) -> io::Result<(Vec<Self>, Address)> {
        match address {
            Address::Tcp { host, port } => bind_tcp(host, *port),
            Address::Unix(path) => {
                local::bind(path, is_private).map(|listener| (vec![Self::Local(listener)], address.clone()))
            }
        }
    }

    fn accept(&self) -> io::Result<Plain> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true).map(|()| Plain::Tcp(stream))
            }
            Self::Local(listener) => Ok(Plain::Local(listener.accept()?.0)),
        }
    }
}

/// Refuses an address that is not within this computer: what goes there is in the clear.
///
/// `instead` says which one to name.
pub(super) fn must_be_here(address: &Address, instead: &str) -> Result<(), Problem> {
    let Address::Tcp { host, .. } = address else { return Ok(()) };
    match loopback(host) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Problem::with(
            address,
            format_args!("is not within this computer, and the way there would be in the clear; {instead}"),
        )),
        Err(error) => Err(Problem::with(address, error)),
    }
}

/// The addresses of a host that are all within this computer.
///
/// - Errors: [`io::ErrorKind::PermissionDenied`] if one is not.
fn loopback(host: &str) -> io::Result<Vec<IpAddr>> {
    if host == "localhost" {
        // Independent of any name server.
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    let addresses: Vec<_> = (host, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    if addresses.iter().all(IpAddr::is_loopback) {
        Ok(addresses)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn bind_tcp(host: &str, wanted: u16) -> io::Result<(Vec<Listener>, Address)> {
    let mut listeners = Vec::new();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut port = wanted;
    for ip in loopback(host)? {
        match TcpListener::bind(SocketAddr::new(ip, port)) {
            Ok(listener) => {
                // The same free port at every address.
                port = listener.local_addr()?.port();
                listeners.push(Listener::Tcp(listener));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && wanted != 0 => return Err(error),
            // A computer may have a name but not the protocol.
            Err(error) => failure = error,
        }
    }
    if listeners.is_empty() {
        return Err(failure);
    }
    Ok((listeners, Address::Tcp { host: host.into(), port }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_within_the_computer_may_be_plain() {
        for here in ["localhost:1972", "127.0.0.1", "127.8.0.1:1972", "[::1]:1972", "/tmp/ft"] {
            let address: Address = here.parse().expect("an address");
            assert!(must_be_here(&address, "").is_ok(), "{here}");
        }
        for elsewhere in ["0.0.0.0:1972", "192.0.2.7", "[::]:1972", "[2001:db8::1]:1972"] {
            let address: Address = elsewhere.parse().expect("an address");
            assert!(must_be_here(&address, "").is_err(), "{elsewhere}");
        }
    }
}
