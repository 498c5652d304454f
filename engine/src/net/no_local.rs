//! Stands for the local transport where the system has no abstract namespace: nothing listens or answers.

use core::convert::Infallible;
use core::net::SocketAddr;
use std::io;

use mio::event::Source;
use mio::{Interest, Registry, Token};
use socket2::Socket;

/// A listener that never exists.
#[derive(Debug)]
pub(crate) struct LocalListener(Infallible);

impl LocalListener {
    /// - Errors: always [`io::ErrorKind::Unsupported`].
    pub(crate) fn open(_uid: &str, _port: u16) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match self.0 {}
    }
}

impl Source for LocalListener {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        match self.0 {}
    }

    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        match self.0 {}
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        match self.0 {}
    }
}

/// Nothing: there is no such connection.
pub(super) fn process_of(_socket: &Socket) -> Option<u32> {
    None
}

/// Nothing: TCP leads everywhere.
pub(crate) fn connect(_uid: &str, _address: SocketAddr) -> Option<Socket> {
    None
}
