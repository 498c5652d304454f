//! Where clients of an outlet come in: over TCP, or by the local transport.

use std::io;

use mio::event::Source;
use mio::net::TcpListener;
use mio::{Interest, Registry, Token};

use super::link::Link;
use super::local::{self, LocalListener};
use super::sockets::OutletPorts;
use crate::log;

/// One of an outlet's listeners. Everything behind [`Self::accept`] is the same for both kinds.
#[derive(Debug)]
pub(crate) enum Listener {
    Local(LocalListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Local listeners of the outlet `uid`, one for each of its TCP ports; none where there is no such thing.
    pub(crate) fn local(uid: &str, ports: OutletPorts) -> impl Iterator<Item = Self> {
        let other = Some(ports.v6_data).filter(|port| *port != ports.v4_data);
        let ports = [Some(ports.v4_data), other].into_iter().flatten().filter(|port| *port != 0);
        ports.filter_map(move |port| match LocalListener::open(uid, port) {
            Ok(listener) => Some(Self::Local(listener)),
            Err(error) => {
                log::verbose!(1, "programs of this computer are served over TCP alone: {error}");
                None
            }
        })
    }

    /// Takes the next connection.
    ///
    /// - Errors: [`io::ErrorKind::WouldBlock`] if there is none now; what else the system says.
    pub(crate) fn accept(&self) -> io::Result<Link> {
        match self {
            Self::Local(listener) => {
                let socket = listener.accept()?;
                let process = local::process_of(&socket);
                Ok(Link::local(socket).of_process(process))
            }
            Self::Tcp(listener) => {
                let (socket, address) = listener.accept()?;
                Ok(Link::tcp(std::net::TcpStream::from(socket), address))
            }
        }
    }
}

impl Listener {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Local(listener) => listener,
            Self::Tcp(listener) => listener,
        }
    }
}

impl Source for Listener {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.source().deregister(registry)
    }
}
